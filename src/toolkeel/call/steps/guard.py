"""Guards: what looks at a call before it runs, and at its result before the model reads it.

A guard allows, perhaps with something changed; or it rejects, and says so to the model; or it ends
the run. Whatever else it does, crashing included, counts as a rejection: of its own call alone.
"""

from __future__ import annotations

import inspect
import logging
import traceback
from collections.abc import Awaitable, Callable, Mapping
from time import perf_counter
from typing import Any, Final, TypeAlias

from toolkeel._common.checked_arguments import checked
from toolkeel._common.other_libraries_words import naming
from toolkeel._records.record import record
from toolkeel.call.arguments.edits import note_edit
from toolkeel.call.arguments.validate import revalidate
from toolkeel.call.body.thread_pool import shared_pool
from toolkeel.call.failure_message import crashed, failed
from toolkeel.call.result_message import plain_text, render
from toolkeel.context import ToolContext
from toolkeel.define.tool import Prepared, Proceed
from toolkeel.errors import CallError, InvalidArguments, Refused, RunStopped, ToolkeelError
from toolkeel.messages import ToolMessage, ToolOutput

log = logging.getLogger("toolkeel")

SAME: Final = object()
"""Stands for "as it is"."""
SLOW: Final = 0.05
"""Seconds from which on a guard is not asked on the event loop again, which waits for it."""


@record
class Allow:
    """Let it pass.

    Args:
        modified: From an input guard: the arguments to run with, all of them, by name; they are
            validated again, and the guards outside this one see them too. From an output guard:
            what the model reads instead. `SAME` to change nothing.
    """

    modified: object = SAME


@checked
@record
class Reject:
    """Refuse this call, or withhold its result.

    Args:
        text: For the model.
    """

    text: str


@record
class Stop:
    """End the run.

    Args:
        error: Raised to whoever runs it, once every call of the turn has its result.
    """

    error: Exception


Verdict: TypeAlias = Allow | Reject | Stop


@record
class Outcome:
    """How a call went.

    Args:
        value: What the body returned; None if it failed.
        text: What the model would read: of the result, or of the error.
        error: What went wrong, if something did.
    """

    value: object
    text: str
    error: CallError | None = None


InputCheck: TypeAlias = Callable[[Prepared, ToolContext], "Verdict | Awaitable[Verdict]"]
OutputCheck: TypeAlias = Callable[[Prepared, Outcome, ToolContext], "Verdict | Awaitable[Verdict]"]


class _Guard:
    """What both kinds of guard are.

    Attributes:
        quick: Whether it is asked on the event loop: it is async, or a function that has shown to
            be quick. Any other is asked in a thread, so that nothing waits for it but its call.
    """

    def __init__(self, check: Callable[..., Any], name: str) -> None:
        self.check = check
        self.name = name
        call = check if inspect.isroutine(check) else type(check).__call__
        self.quick = inspect.iscoroutinefunction(call)
        self._slow = 0

    async def ask(self, *about: Any) -> Any:
        """Its answer, wherever it is found."""
        answer = self.check(*about) if self.quick else await self._ask_in_thread(about)
        return await answer if inspect.isawaitable(answer) else answer

    async def _ask_in_thread(self, about: tuple[Any, ...]) -> Any:
        def timed() -> object:
            began = perf_counter()
            try:
                return self.check(*about)
            finally:
                self.took(perf_counter() - began)

        threads = shared_pool()
        job = threads.submit(timed)
        try:
            return await job.future
        finally:
            threads.abandon(job)

    def took(self, seconds: float) -> None:
        """Judge it by how long it took: slow twice is slow for ever."""
        self._slow += seconds >= SLOW
        self.quick = seconds < SLOW and self._slow < 2


@checked
class InputGuard(_Guard):
    """A `Step` made by `input_guard`."""

    async def __call__(self, prepared: Prepared, context: ToolContext, proceed: Proceed) -> object:
        return await proceed(await self.recheck(prepared, context))

    async def recheck(self, prepared: Prepared, context: ToolContext) -> Prepared:
        """Look at the arguments, those that a step further in has changed included.

        Raises:
            Refused: the guard says no, or has no say because it failed.
        """
        tool = prepared.tool.name
        failure = f"The call of {tool!r} was refused, because a check of it failed."
        verdict = await _verdict(self, (prepared, context), failure)
        changed = _modified(
            verdict, self.name, f"The call of {tool!r} was refused, and the run was ended."
        )
        if isinstance(changed, Mapping):  # what it leaves out is as the function has it
            changed = {**prepared.tool.arguments.defaults, **changed}
        if changed is SAME or changed == prepared.arguments:
            return prepared
        try:
            if not isinstance(changed, Mapping):
                raise TypeError(f"arguments must be a mapping, not a {type(changed).__name__}")
            passed = revalidate(
                Prepared(prepared.call, prepared.tool, dict(changed), prepared.changes)
            )
        except (InvalidArguments, TypeError, ValueError) as error:
            raise _broken(self.name, error, failure) from error
        note_edit(prepared, passed, context, f"the guard {self.name}")
        return passed


@checked
class OutputGuard(_Guard):
    """A `Step` made by `output_guard`."""

    async def __call__(self, prepared: Prepared, context: ToolContext, proceed: Proceed) -> object:
        try:
            value = await proceed(prepared)
            plain = plain_text(prepared, value)
            text = render(prepared, value, 0.0).text if plain is None else plain
            outcome = Outcome(value, text)
        except RunStopped:
            raise
        except Exception as error:
            if isinstance(error, ToolkeelError) and not isinstance(error, CallError):
                raise
            told = error if isinstance(error, CallError) else crashed(error)
            text = failed(prepared.call, prepared.tool, told, 0.0).text
            outcome = Outcome(None, text, told)
        name = prepared.tool.name
        ran = (
            f"The tool {name!r} was run, but"
            if context.body
            else f"The call of {name!r} did not run;"
        )
        ran = f"{ran} its result is withheld"
        verdict = await _verdict(
            self, (prepared, outcome, context), f"{ran}, because a check of it failed."
        )
        changed = _modified(verdict, self.name, f"{ran}, and the run was ended.")
        return _pass_on(prepared, outcome, changed)


@naming
def input_guard(check: InputCheck, name: str = "") -> InputGuard:
    """A step that looks at a call before it runs.

    Args:
        check: ``(prepared, context) -> Verdict``, sync or async; a function, or an object that
            can be called. It sees valid arguments. A function is first asked in a thread, and on
            the event loop only once it has shown to be quick. If it changes them it must leave alone what
            it has changed already: it may be asked again, when another guard changed more.
        name: For people; the check's own name by default.

    >>> from toolkeel import Toolset, ToolCall, tool
    >>> def small(prepared, context):
    ...     fine = prepared.arguments["amount"] <= 100
    ...     return Allow() if fine else Reject("At most 100.")
    >>> @tool(steps=[input_guard(small)])
    ... def pay(amount: int) -> str:
    ...     "Pay."
    ...     return f"paid {amount}"
    >>> [m.content for m in Toolset([pay]).run_sync([ToolCall("1", "pay", '{"amount": 500}')])]
    ['At most 100.']
    """
    return InputGuard(check, name or _name_of(check))


@naming
def output_guard(check: OutputCheck, name: str = "") -> OutputGuard:
    """A step that looks at how a call went before the model does; at errors, too.

    Args:
        check: ``(prepared, outcome, context) -> Verdict``, as for `input_guard`.
        name: For people; the check's own name by default.
    """
    return OutputGuard(check, name or _name_of(check))


def _name_of(check: object) -> str:
    return str(getattr(check, "__name__", None) or type(check).__name__)


async def _verdict(guard: _Guard, about: tuple[Any, ...], failure: str) -> Verdict:
    """Ask a guard; one that fails, or says nothing clear, has refused.

    Args:
        guard: Which one.
        about: What it is asked about.
        failure: For the model, if the guard fails.
    """
    try:
        verdict = await guard.ask(*about)
        if not isinstance(verdict, Allow | Reject | Stop):
            kind = type(verdict).__name__
            raise TypeError(f"a guard must return Allow, Reject or Stop, not {kind}")
    except Exception as error:
        log.warning("guard %s failed; its call is refused", guard.name, exc_info=error)
        raise _broken(guard.name, error, failure) from error
    return verdict


def _broken(name: str, error: Exception, text: str) -> Refused:
    trace = "".join(traceback.format_exception(error))
    return Refused(text, {"guard": name, "exception": type(error).__name__, "traceback": trace})


def _modified(verdict: Verdict, name: str, ending: str) -> object:
    """What the guard changed it to.

    Raises:
        Refused: it said no.
        RunStopped: it said that all shall end.
    """
    if isinstance(verdict, Reject):
        raise Refused(verdict.text, {"guard": name})
    if isinstance(verdict, Stop):
        error = verdict.error
        raise RunStopped(ending, error, {"guard": name, "error": str(error)})
    return verdict.modified


def _pass_on(prepared: Prepared, outcome: Outcome, changed: object) -> object:
    """The value, or the error, with what the model reads of it replaced."""
    error, value = outcome.error, outcome.value
    if changed is SAME:
        if error is not None:
            raise error
        return value
    if error is not None:
        # Of the same kind, but no handler of the tool shall put another text in its place.
        redacted = CallError(str(changed), error.details)
        redacted.kind = error.kind
        raise redacted from error
    if isinstance(value, ToolOutput):
        return ToolOutput(changed, value.artifact, value.details)
    if isinstance(value, ToolMessage):
        call = value.tool_call_id
        return ToolMessage(
            str(changed), call, value.name, value.status, value.kind, value.artifact, value.details
        )
    if prepared.tool.returns == "content_and_artifact" and isinstance(value, tuple):
        return (changed, value[1])
    return changed
