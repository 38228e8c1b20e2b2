"""Every way in which a call and a run can end, made to happen: the table of "What happens when".

``python -m tests.ends`` writes the table into the page.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tests.waiting import until
from toolkeel import Agent, ModelError, Rules, RunContext, ToolCall, ToolError, Toolset, tool
from toolkeel.agent.transcript import repair
from toolkeel.call.body import task_cancels
from toolkeel.call.failure_message import unknown_outcome_message
from toolkeel.errors import RequestRejected, SetupError
from toolkeel.executors.process import Process
from toolkeel.messages import AssistantMessage, ToolMessage, UserMessage
from toolkeel.steps import CallLimit, Reject, Stop, input_guard, output_guard
from toolkeel.testing.scripted import Scripted, call

PAGE = Path(__file__).parents[1] / "docs" / "what-happens-when.md"
BEGIN, END = "<!-- ends: begin -->\n", "<!-- ends: end -->\n"

RAN = threading.Event()
"""Whether a body has begun."""
FREE = threading.Event()
"""Lets go of bodies that resist."""


class Ended(NamedTuple):
    """How a call or a run ended.

    Args:
        kind: Of the result; of a run, its reason.
        text: What the model reads; of a run, why it ended.
        raised: What the program gets raised; empty if nothing.
        ran: Whether the body has begun.
        may_run: Whether it may still be at work.
    """

    kind: str
    text: str
    raised: str
    ran: bool
    may_run: bool

    @property
    def done(self) -> str:
        """Whether the work may have been done, in a word."""
        if self.kind in ("unknown_outcome", "skipped"):
            return "perhaps"
        if self.may_run:
            return "perhaps, and may go on"
        return "yes" if self.ran else "no"


# — tools —


async def work(n: int = 0) -> str:
    """Work."""
    RAN.set()
    return "done"


async def says_no() -> str:
    """Refuse."""
    RAN.set()
    raise ToolError("No such city; ask for the full name.")


async def breaks() -> str:
    """Break."""
    RAN.set()
    raise RuntimeError("password=123")


async def strange() -> object:
    """Return what has no form."""
    RAN.set()
    return object()


async def waits() -> str:
    """Wait."""
    RAN.set()
    await asyncio.Event().wait()
    return "done"


def waits_in_a_thread() -> str:
    """Wait in a thread."""
    RAN.set()
    FREE.wait()
    return "done"


async def resists() -> str:
    """Ignore that it is stopped."""
    RAN.set()
    while not FREE.is_set():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(0.01)
    return "done"


async def wired_wrongly() -> str:
    """Find a mistake of the program."""
    RAN.set()
    raise SetupError("no key")


@tool(executor=Process(), timeout=60)
def dies() -> str:
    """Take its process down."""
    os._exit(1)


# — calls —


def called(
    body: Any = work,
    arguments: str = "{}",
    *,
    name: str = "",
    times: int = 1,
    ends: str = "",
    complete: bool = True,
    rules: Rules | None = None,
    run: RunContext[Any] | None = None,
    **options: Any,
) -> Callable[[], Ended]:
    """A call of a tool; what is told is how the last of `times` ended.

    Args:
        ends: "before" or "during" the call its run is cancelled; "outside": its task is.
    """

    def happen() -> Ended:
        made = tool(**options)(body)
        calls = [ToolCall("c", name or made.name, arguments, complete=complete)]
        context = run or RunContext[Any]()
        if ends == "before":
            context.cancel.cancel("enough")
        tools = Toolset([made], rules=rules)

        async def main() -> tuple[list[ToolMessage], str]:
            for _ in range(times - 1):
                await tools.run(calls, context)
            RAN.clear()
            batch = tools.batch(calls, context)
            task = asyncio.ensure_future(batch.run())
            if ends in ("during", "outside"):
                await until(RAN.is_set)
                context.cancel.cancel("enough") if ends == "during" else task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                try:
                    await task
                except Exception as error:
                    return batch.results, type(error).__name__
                return batch.results, ""
            return batch.results, "CancelledError"

        try:
            [message], raised = asyncio.run(main())
        finally:
            FREE.set()
        may_run = bool(message.details.get("may_still_be_running"))
        return Ended(message.kind or "", message.text, raised, RAN.is_set(), may_run)

    return happen


def in_process() -> Ended:
    [message] = Toolset([dies]).run_sync([ToolCall("c", "dies", "{}")])
    return Ended(message.kind or "", message.text, "", True, False)


def never_answered() -> Ended:
    asked = AssistantMessage("", (ToolCall("c", "work", "{}"),), "tool_calls")
    message = repair([UserMessage("go"), asked, UserMessage("well?")])[2]
    assert isinstance(message, ToolMessage)
    return Ended(message.kind or "", message.text, "", False, False)


def after_a_crash() -> Ended:
    message = unknown_outcome_message(ToolCall("c", "work", "{}"))
    return Ended(message.kind or "", message.text, "", True, False)


def guarded(answer: object, side: Any = input_guard) -> Callable[[], Ended]:
    def check(*about: Any) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    return called(steps=[side(check)])


CALLS: Mapping[str, Callable[[], Ended]] = {
    "all goes well": called(),
    "no tool has the name": called(name="wrok"),
    "the arguments are not one JSON object": called(arguments='{"n": 1'),
    "the reply was cut off": called(complete=False),
    "a value does not fit": called(arguments='{"n": "x"}'),
    "the tool is switched off": called(enabled=False),
    "a rule forbids it": called(rules=Rules(deny=["work"])),
    "nobody is there to approve it": called(approval=True),
    "a person says no": called(
        approval=True, run=RunContext(approver=lambda ticket: ticket.deny("not today"))
    ),
    "a guard refuses it": guarded(Reject("At most 99.")),
    "a guard breaks": guarded(RuntimeError("x")),
    "a guard ends the run": guarded(Stop(LookupError("over"))),
    "a guard withholds the result": guarded(Reject("It names a customer."), output_guard),
    "a budget is used up": called(steps=[CallLimit(1)], times=2),
    "it failed three times in the same way": called(arguments='{"n": "x"}', times=4),
    "the tool raises `ToolError`": called(says_no),
    "the tool raises anything else": called(breaks),
    "the result has no form": called(strange),
    "its deadline passes": called(waits, timeout=0.05),
    "its deadline passes, in a thread": called(waits_in_a_thread, timeout=0.05),
    "its deadline passes, and it resists": called(resists, timeout=0.05),
    "the run is cancelled before it": called(ends="before"),
    "the run is cancelled while it runs": called(waits, ends="during"),
    "the run is cancelled while it runs, in a thread": called(waits_in_a_thread, ends="during"),
    "its task is cancelled from outside": called(waits, ends="outside"),
    "the program is wired up wrongly": called(wired_wrongly),
    "the process that runs it dies": in_process,
    "the program died while it ran": after_a_crash,
    "the conversation went on without it": never_answered,
}
"""By cause: how a call ends."""


# — runs —


def ran(*lines: Any, body: Any = work, cancel: bool = False, **options: Any) -> Callable[[], Ended]:
    """A run of an agent whose model says these lines."""

    def happen() -> Ended:
        RAN.clear()
        agent = Agent(Scripted(lines), [body], **options)

        async def main() -> Ended:
            handle = agent.start("go")
            if cancel:
                await until(RAN.is_set)
                handle.cancel()
            try:
                result = await handle
            except Exception as error:
                return Ended("failed", str(error), type(error).__name__, RAN.is_set(), False)
            return Ended(result.reason, result.limit, "", RAN.is_set(), False)

        return asyncio.run(main())

    return happen


RUNS: Mapping[str, Callable[[], Ended]] = {
    "the model answers": ran(call("work"), "done"),
    "a tool answers the person itself": ran(call("work"), body=tool(ends_run=True)(work)),
    "a call waits for a person": ran(call("work"), body=tool(approval=True)(work)),
    "the model was asked as often as it may be": ran(call("work"), call("work"), max_turns=1),
    "the reply was cut off": ran(AssistantMessage("half", (), "length")),
    "the model refuses": ran(AssistantMessage("", (), "refusal")),
    "the run is cancelled": ran(call("waits"), body=waits, cancel=True),
    "the model's server fails": ran(ModelError("no connection")),
    "the model's server rejects the request": ran(RequestRejected("unknown model")),
    "a guard ends the run": ran(
        call("work"), body=tool(steps=[input_guard(lambda *_: Stop(LookupError("over")))])(work)
    ),
}
"""By cause: how a run ends."""


# — the page —


def _line(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |\n"


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    usual, task_cancels.GRACE = task_cancels.GRACE, 0.05
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)
        task_cancels.GRACE = usual


def happens(how: Callable[[], Ended]) -> Ended:
    """Let it happen."""
    RAN.clear()
    FREE.clear()
    with _quietly():
        return how()


def table() -> str:
    """What stands in the page between the marks."""
    text = _line("when", "kind", "what the model reads", "raised", "did it run?")
    text += _line(*["---"] * 5)
    for cause, how in CALLS.items():
        end = happens(how)
        kind = f"`{end.kind}`" if end.kind else "success"
        raised = f"`{end.raised}`" if end.raised else ""
        text += _line(cause, kind, end.text, raised, end.done)
    text += "\n" + _line("a run, when", "`reason`", "raised") + _line(*["---"] * 3)
    for cause, how in RUNS.items():
        end = happens(how)
        text += _line(cause, f"`{end.kind}`", f"`{end.raised}`" if end.raised else "")
    return text


def written(page: str, made: str) -> str:
    """The page with this table."""
    head, _, rest = page.partition(BEGIN)
    return f"{head}{BEGIN}{made}{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text("utf-8"), table()), "utf-8")
