"""What is promised of runs holds under other libraries' names: good and failing.

``ROUTES`` also makes the second table of ``docs/project/promises.md``; see `tests.test_promises`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import pytest

import toolkeel
from toolkeel.testing import Scripted, call
from toolkeel_compat import langchain, openai_agents
from toolkeel_compat.bridges.run import CoreToolRunner

TYPED, PAID, DENIED = (
    "State comes back with its types",
    "An approved call runs once",
    "A denied tool never runs",
)
USED = "A used decision approves nothing, nor does one for another copy"
COUNTED = "Each request counts once, and within the bound"
PAIRED = "Each call has one result, in its place"
WAITS = "At the end nothing waits unseen"
HUNG = "A step that hangs ends at its deadline, and its call does not run"
RUNNER, GRAPH = "`Runner` with a session", "`create_agent` with a checkpointer"
BRIDGE = "a tool in their loop (`to_...`)"
SECRET = "An injected value is in no event, journal, export or saved run, unless a body returns or stores it"
NO_SECRET = "there is no `Injected` there"
THEIRS = "their loop does this"
CORE_STEP = "hooks, guardrails and middleware are steps of the core, with 30 seconds"
ROUTES: dict[str, dict[str, str]] = {
    TYPED: {RUNNER: "a session there holds items, no state", GRAPH: "yes", BRIDGE: THEIRS},
    PAID: {RUNNER: "yes", GRAPH: "yes", BRIDGE: "yes"},
    USED: {RUNNER: "yes", GRAPH: "yes", BRIDGE: THEIRS},
    DENIED: {RUNNER: "yes", GRAPH: "yes", BRIDGE: "yes"},
    SECRET: {RUNNER: NO_SECRET, GRAPH: NO_SECRET, BRIDGE: "yes, in results and events"},
    COUNTED: {
        RUNNER: "yes",
        GRAPH: "the bound alone: there is no count of requests",
        BRIDGE: THEIRS,
    },
    PAIRED: {RUNNER: "yes", GRAPH: "yes", BRIDGE: "yes"},
    WAITS: {RUNNER: "yes", GRAPH: "yes", BRIDGE: THEIRS},
    HUNG: {RUNNER: CORE_STEP, GRAPH: CORE_STEP, BRIDGE: "yes"},
}
"""What holds there, by promise and route; other words say why a promise is not made."""
NOTED = {"when": datetime(2026, 11, 27, tzinfo=UTC), "sum": Decimal("5.10"), "raw": b"\x00\xff"}
ADA = {"configurable": {"thread_id": "ada"}}
Found = dict[str, Any]


def plan() -> Scripted:
    """A model that notes, asks for two payments at once, and is done."""
    both = [call("pay", {"amount": 5}, "c1"), call("erase", {}, "c2")]
    return Scripted([call("note", {}, "c0"), both, "done", *["more"] * 9])


def run_by_runner(folder: Path, paid: list[str], *, fails: bool) -> Found:
    """Pay once by the names of the OpenAI Agents SDK, then use the decisions again."""

    @openai_agents.function_tool
    def note() -> str:
        """Note."""
        return "noted"

    @openai_agents.function_tool(needs_approval=True)
    def pay(amount: int) -> str:
        """Pay."""
        paid.append("paid")
        if fails:
            raise ConnectionError("no bank")
        return f"paid {amount}"

    @openai_agents.function_tool(needs_approval=True)
    def erase() -> str:
        """Erase."""
        paid.append("erased")
        return "erased"

    run, model = openai_agents.Runner.run_sync, plan()
    agent = openai_agents.Agent("clerk", tools=[note, pay, erase], model=model)
    session = openai_agents.SQLiteSession("ada", folder / "talk.db")
    first = run(agent, "go", session=session, max_turns=3)
    state = first.to_state()
    for each in first.interruptions:
        (state.approve if each.name == "pay" else state.reject)(each)
    saved = state.to_json()
    last = run(agent, state, session=session, max_turns=3)
    requests = last.context_wrapper.usage.requests, len(model.requests)
    items: list[Any] = asyncio.run(session.get_items())
    again = asyncio.run(openai_agents.RunState.from_json(agent, saved))
    with suppress(toolkeel.ToolkeelError):
        run(agent, again, session=session)
    return {
        COUNTED: requests == (3, 3),
        PAIRED: [
            (each["type"], each["call_id"]) for each in items if each.get("call_id") is not None
        ] == [
            ("function_call", "c0"), ("function_call_output", "c0"),
            ("function_call", "c1"), ("function_call", "c2"),
            ("function_call_output", "c1"), ("function_call_output", "c2"),
        ],
        WAITS: len(first.interruptions) == 2 and last.interruptions == [],
    }  # fmt: skip


class Noted(langchain.AgentState):
    """What is noted."""

    when: datetime
    sum: Decimal
    raw: bytes


def run_by_graph(folder: Path, paid: list[str], *, fails: bool) -> Found:
    """Pay once by LangChain's names, then use the decisions again."""

    @langchain.tool
    def note(runtime: langchain.ToolRuntime) -> Any:
        """Note."""
        told = langchain.ToolMessage("noted", tool_call_id=runtime.tool_call_id)
        return langchain.Command(update={**NOTED, "messages": [told]})

    @langchain.tool
    def pay(amount: int) -> str:
        """Pay."""
        paid.append("paid")
        if fails:
            raise langchain.ToolException("no bank")
        return f"paid {amount}"

    pay.handle_tool_error = True

    @langchain.tool
    def erase() -> str:
        """Erase."""
        paid.append("erased")
        return "erased"

    model = plan()

    def opened() -> Any:
        return langchain.create_agent(
            model,
            [note, pay, erase],
            state_schema=Noted,
            middleware=[langchain.HumanInTheLoopMiddleware({"pay": True, "erase": True})],
            checkpointer=langchain.InMemorySaver(folder / "threads.db"),
        )

    waits = opened().invoke({"messages": "go"}, ADA)["__interrupt__"]
    decided = langchain.Command(resume={"decisions": [{"type": "approve"}, {"type": "reject"}]})
    state = opened().invoke(decided, ADA)
    with suppress(toolkeel.ToolkeelError):
        opened().invoke(decided, ADA)
    kept = opened().get_state(ADA)
    said = [each.tool_call_id for each in state["messages"] if each.type == "tool"]
    return {
        TYPED: all(kept.values[key] == value for key, value in NOTED.items()),
        COUNTED: len(model.requests) == 3,
        PAIRED: said == ["c0", "c1", "c2"],
        WAITS: len(waits) > 0 and kept.interrupts == (),
    }


def run_in_their_loop(folder: Path, paid: list[str], *, fails: bool) -> Found:
    """Call tools as the three bridges do for another library's loop."""
    token, seen = "s3cr3t/токен+1", list[str]()

    @toolkeel.tool(approval=True)
    def pay(amount: int, token: Annotated[str, toolkeel.Injected]) -> str:
        """Pay."""
        paid.append("paid")
        if fails:
            raise toolkeel.ToolError(f"GET https://api/?key={quote(token)}")
        return f"paid {amount}"

    @toolkeel.tool(approval=True)
    def erase() -> str:
        """Erase."""
        paid.append("erased")
        return "erased"

    run = toolkeel.RunContext[Any](
        inject={"token": token}, listeners=(lambda event: seen.append(repr(event)),)
    )

    def called(tool: Any, arguments: dict[str, object], *, approves: bool) -> toolkeel.ToolMessage:
        bridge = CoreToolRunner(tool, run)
        return asyncio.run(bridge.run_call(arguments, call_id="c1", approver=lambda _: approves))

    results = [called(pay, {"amount": 5}, approves=yes) for yes in (False, True)]
    results.append(called(erase, {}, approves=False))

    async def hang(prepared: Any, context: Any, proceed: Any) -> object:
        await asyncio.Event().wait()

    hang.step_timeout = 0.02  # type: ignore[attr-defined]

    @toolkeel.tool(steps=[hang])
    def stall() -> str:
        """Stall."""
        paid.append("stalled")
        return "stalled"

    stopped = called(stall, {}, approves=True).kind
    text = repr(results) + "".join(seen)
    return {
        SECRET: bool(seen) and not any(form in text for form in (token, quote(token))),
        PAIRED: [(each.tool_call_id, each.failed) for each in results]
        == [("c1", True), ("c1", fails), ("c1", True)],
        HUNG: stopped == "timeout" and "stalled" not in paid,
    }


RUNS: dict[str, Callable[..., Found]] = {
    RUNNER: run_by_runner,
    GRAPH: run_by_graph,
    BRIDGE: run_in_their_loop,
}


@pytest.fixture(scope="module", params=["good", "failing"])
def found(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Found]]:
    """What is there after each route."""
    results = {}
    for route, run in RUNS.items():
        paid: list[str] = []
        folder = tmp_path_factory.mktemp("route")
        results[route] = run(folder, paid, fails=request.param == "failing")
        once = paid.count("paid") == 1
        results[route] |= {PAID: once, USED: once, DENIED: "erased" not in paid}
    yield results


@pytest.mark.parametrize("promise", ROUTES)
@pytest.mark.parametrize("route", RUNS)
def test_a_promise_holds_under_another_librarys_names(
    found: dict[str, Found], promise: str, route: str
) -> None:
    holds = found[route].get(promise, not ROUTES[promise][route].startswith("yes"))
    assert holds, (promise, route)


def table() -> str:
    """The table of the promises under other libraries' names."""
    lines = [f"| promise | {' | '.join(RUNS)} |", f"|---|{'---|' * len(RUNS)}"]
    lines += [f"| {name} | {' | '.join(ROUTES[name][r] for r in RUNS)} |" for name in ROUTES]
    return "\n".join(lines) + "\n"
