"""Every callback of a program has a bound: each one hangs here, sync and async, and the run ends as documented."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable
from typing import Any

import pytest

from tests.shared import ROOT
from toolkeel import Agent, Effects, tool
from toolkeel.agent.handoff import Handoff
from toolkeel.agent.turn.model_fallback import Fallback
from toolkeel.call.steps.approve import PREVIEW
from toolkeel.call.steps.cache import Cache
from toolkeel.call.steps.guard import input_guard, output_guard
from toolkeel.call.steps.join_approvals import join_approvals
from toolkeel.errors import RateLimited, ToolError
from toolkeel.messages import ToolMessage
from toolkeel.testing.scripted import Scripted, call

SHORT = 0.02
Made = tuple[list[Any], dict[str, Any]]
"""The tools of an agent, and its options."""


def tool_with(body: Callable[[], object] = lambda: "paid", **options: Any) -> Made:
    """An agent's tool `pay` with a callback among its options."""
    return [tool("pay", description="Pay.", **options)(lambda: body())], {}


def fail(error: Exception) -> Any:
    raise error


def source(slow: Any, *, required: bool) -> Made:
    found: Any = type("Source", (), {"get_tools": staticmethod(slow), "required": required})()
    return [found, *tool_with()[0]], {}


def policy(slow: Any) -> Made:
    found: Any = type("Policy", (), {"cuts": staticmethod(slow)})()
    return [*tool_with()[0]], {"history": found}


def handoff(**options: Any) -> Made:
    other = Agent(Scripted(["end"]), name="pay")
    return [], {"handoffs": [Handoff(other, "pay", **options)]}


def asked(**options: Any) -> Made:
    clerk = Agent(Scripted(["answer"]), name="pay")
    return [clerk.as_tool("pay", parameters={"type": "object"}, **options)], {}


def cached(slow: Any) -> Made:
    return tool_with(effects=Effects(read_only=True), steps=[Cache(scope=slow)])


async def is_busy(request: Any, run: Any, proceed: Any) -> Any:
    raise RateLimited("busy")


def step(slow: Any) -> Any:
    async def around(what: Any, context: Any, proceed: Any) -> Any:
        await slow()

    return around


FAILED, RAN = "failed", None
BOTH, SYNC, ASYNC = ("sync", "async"), ("sync",), ("async",)
CALLBACKS: dict[str, tuple[Callable[[Any], Made], str | None, tuple[str, ...]]] = {
    "an input guardrail": (lambda slow: ([], {"input_guardrails": [slow]}), FAILED, BOTH),
    "an output guardrail": (
        lambda slow: (tool_with()[0], {"output_guardrails": [slow]}),
        *(FAILED, BOTH),
    ),
    "instructions": (lambda slow: ([], {"instructions": slow}), FAILED, BOTH),
    "a required source": (lambda slow: source(slow, required=True), FAILED, BOTH),
    "a source": (lambda slow: source(slow, required=False), RAN, BOTH),
    "a history policy": (policy, RAN, BOTH),
    "an input filter": (lambda slow: handoff(input_filter=slow), FAILED, BOTH),
    "on_handoff": (lambda slow: handoff(on_handoff=slow), "timeout", BOTH),
    "the output of as_tool": (lambda slow: asked(output=slow), "timeout", BOTH),
    "the prompt of as_tool": (lambda slow: asked(prompt=slow), "timeout", BOTH),
    "deps of as_tool": (lambda slow: asked(deps=slow), "timeout", BOTH),
    "the scope of a cache": (cached, "timeout", BOTH),
    "when of a fallback": (
        lambda slow: ([], {"model_steps": [Fallback(Scripted(["end"]), when=slow), is_busy]}),
        *(FAILED, BOTH),
    ),
    "enabled": (lambda slow: tool_with(enabled=slow), "disabled", BOTH),
    "approval": (lambda slow: tool_with(approval=slow), "refused", BOTH),
    "one of two approvals": (
        lambda slow: tool_with(approval=join_approvals(lambda given: False, slow)),
        *("refused", BOTH),
    ),
    "a preview": (
        lambda slow: tool_with(approval=True, metadata={PREVIEW: slow}),
        *(RAN, BOTH),
    ),
    "an input guard": (lambda slow: tool_with(steps=[input_guard(slow)]), "refused", BOTH),
    "an output guard": (lambda slow: tool_with(steps=[output_guard(slow)]), "refused", BOTH),
    "on_error": (
        lambda slow: tool_with(lambda: fail(ToolError("no")), on_error=slow),
        *("tool_error", SYNC),
    ),
    "on_crash": (
        lambda slow: tool_with(lambda: fail(OSError("no")), on_crash=slow),
        *("crashed", SYNC),
    ),
    "a step": (lambda slow: (tool_with()[0], {"steps": [step(slow)]}), "timeout", ASYNC),
    "a step of a tool": (lambda slow: tool_with(steps=[step(slow)]), "timeout", ASYNC),
    "a step around requests": (lambda slow: ([], {"model_steps": [step(slow)]}), FAILED, ASYNC),
}
CASES = [(name, kind) for name, (_, _, kinds) in CALLBACKS.items() for kind in kinds]


async def never(*_: object) -> Any:
    await asyncio.Event().wait()


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_a_callback_that_hangs_ends_as_documented(name: str, kind: str) -> None:
    release = threading.Event()
    make, end, _ = CALLBACKS[name]
    tools, options = make(never if kind == "async" else lambda *_: release.wait())
    agent = Agent(Scripted([call("pay"), "end"]), tools, callback_timeout=SHORT, **options)
    try:
        if end == FAILED:
            with pytest.raises(TimeoutError, match=r"did not return within 0\.02 seconds"):
                agent.run_sync("go", approver=lambda ticket: True)
            return
        result = agent.run_sync("go", approver=lambda ticket: True)
    finally:
        release.set()
    [done] = [m for m in result.messages if isinstance(m, ToolMessage)]
    assert (done.kind, result.output) == (end, "end")


OTHER_BOUNDS = {
    "call/body/callback.py": "this is the bound",
    "call/body/run_body.py": "the timeout of the tool",
    "executors/local.py": "the timeout of the tool",
    "call/steps/compose.py": "the deadline of the step",
    "call/steps/guard.py": "await_callback",
    "call/steps/join_approvals.py": "the deadline of the approval around it",
    "mcp/server/prompts_resources.py": "a request of a client, outside of runs",
    "define/tool_mistakes.py": "nothing is awaited",
    "testing/faults.py": "nothing is awaited",
}
"""Files that look for an awaitable result, and what bounds it."""


def test_what_a_callback_returns_is_awaited_under_a_bound() -> None:
    core = ROOT / "packages" / "toolkeel" / "src" / "toolkeel"
    awaits = re.compile(r"isawaitable\b|iscoroutine\(")
    found = {
        path.relative_to(core).as_posix()
        for path in core.rglob("*.py")
        if awaits.search(path.read_text("utf-8"))
    }
    assert found == set(OTHER_BOUNDS)
