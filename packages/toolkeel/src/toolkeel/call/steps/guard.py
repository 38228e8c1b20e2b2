"""Guards: checks of a call before it runs, and of its result before the model reads it.

A guard allows, possibly with a change; or it rejects, with a text for the model; or it ends the run.
Anything else it does, crashing included, rejects its own call alone.
"""

from __future__ import annotations

import inspect
import logging
import traceback
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias

from toolkeel._common.checked_arguments import checked
from toolkeel._records.record import record
from toolkeel.call.arguments.canonical_arguments import revalidate
from toolkeel.call.arguments.edits import record_edit
from toolkeel.call.body.callback import await_callback, run_callback
from toolkeel.call.failure_message import call_handler, crash_error, failure_message
from toolkeel.call.result_message import plain_text, render
from toolkeel.context import ToolContext
from toolkeel.define.tool import Prepared, Proceed
from toolkeel.errors import CallError, InvalidArguments, Refused, RunStopped, ToolkeelError
from toolkeel.messages import ToolMessage, ToolOutput

log = logging.getLogger("toolkeel")

UNCHANGED: Final = object()
"""The value of `Allow.modified` that changes nothing."""


@record
class Allow:
    """Verdict: allow the call or its result.

    Args:
        modified: From an input guard: the arguments to run with, all of them, by name; they are
            validated again, and the guards outside this one see them too. From an output guard: the
            content that the model reads instead. `UNCHANGED` to change nothing.
    """

    modified: object = UNCHANGED


@checked
@record
class Reject:
    """Verdict: refuse this call, or withhold its result.

    Args:
        text: For the model.
    """

    text: str


@record
class Stop:
    """Verdict: end the run.

    Args:
        error: Raised to the caller of the run, once every call of the turn has its result.
    """

    error: Exception


Verdict: TypeAlias = Allow | Reject | Stop
_VERDICTS = (Allow, Reject, Stop)


@record
class Outcome:
    """The result of a call, as an output guard sees it.

    Args:
        value: The value of the body; None if it failed.
        text: The text of the result or the error, as the model would read it.
        error: The error; None for a success.
    """

    value: object
    text: str
    error: CallError | None = None


InputCheck: TypeAlias = Callable[[Prepared, ToolContext], "Verdict | Awaitable[Verdict]"]
OutputCheck: TypeAlias = Callable[[Prepared, Outcome, ToolContext], "Verdict | Awaitable[Verdict]"]


class _Guard:
    """Base of both kinds of guard.

    Args:
        check: The function that returns a verdict.
        name: The guard's name in logs and details.
        inline: True to call a sync check on the event loop, not in a thread.
    """

    step_timeout = None  # the check has a deadline

    def __init__(self, check: Callable[..., Any], name: str, inline: bool) -> None:
        self.check = check
        self.name = name
        self._is_inline = inline

    def refusal(self, prepared: Prepared, context: ToolContext, why: str) -> str:
        """Return the sentence the model reads when this guard refuses a call or ends the run.

        Each kind of guard implements it. An output guard says whether the tool has run.

        Args:
            prepared: The call, which gives the tool's name.
            context: The running call; tells whether the body has run.
            why: The end of the sentence, with its punctuation: ``", because ..."``.
        """
        raise NotImplementedError

    async def ask(self, prepared: Prepared, context: ToolContext, *about: Any) -> object:
        """Run the check. Return the replacement that it wants, or `UNCHANGED`.

        A check that raises, takes too long or returns no verdict refuses; a warning is logged.

        Args:
            prepared: The call.
            context: The context of the call.
            about: Arguments of the check.

        Raises:
            Refused: the check refuses or failed.
            RunStopped: the check ends the run.
        """
        try:
            limit, name = context.run.scope.callback_timeout, f"the guard {self.name!r}"
            if self._is_inline:
                verdict = self.check(*about)
                if inspect.isawaitable(verdict):
                    verdict = await await_callback(verdict, limit, name)
            else:
                verdict = await run_callback(self.check, *about, seconds=limit, name=name)
            if not isinstance(verdict, _VERDICTS):
                kind = type(verdict).__name__
                raise TypeError(f"a guard must return Allow, Reject or Stop, not {kind}")
        except Exception as error:
            log.warning("guard %s failed; its call is refused", self.name, exc_info=error)
            text = self.refusal(prepared, context, ", because a check of it failed.")
            raise _guard_failure(self.name, error, text) from error
        if isinstance(verdict, Reject):
            raise Refused(verdict.text, {"guard": self.name})
        if isinstance(verdict, Stop):
            text = self.refusal(prepared, context, ", and the run was ended.")
            details = {"guard": self.name, "error": str(verdict.error)}
            raise RunStopped(text, verdict.error, details)
        return verdict.modified


@checked
class InputGuard(_Guard):
    """A `Step` made by `input_guard`: its check sees a call before it runs, and passes, changes or refuses it.

    It also checks every change that inner steps make to the arguments.
    """

    guards_arguments = True

    async def __call__(self, prepared: Prepared, context: ToolContext, proceed: Proceed) -> object:
        changed = await self.ask(prepared, context, prepared, context)
        if changed is not UNCHANGED:
            prepared = self._change(prepared, changed, context)
        return await proceed(prepared)

    def refusal(self, prepared: Prepared, context: ToolContext, why: str) -> str:
        """Return the text for the model: the call was refused, followed by `why`."""
        return f"The call of {prepared.tool.name!r} was refused{why}"

    def _change(self, prepared: Prepared, changed: object, context: ToolContext) -> Prepared:
        """Return the call with the arguments the check wants, validated, and record the edit in the context.

        Arguments that are the same return the call unchanged.

        Raises:
            Refused: the arguments are not valid.
        """
        if isinstance(changed, Mapping):  # what it leaves out is as the function has it
            changed = {**prepared.tool.arguments.defaults, **changed}
        if changed == prepared.arguments:
            return prepared
        try:
            if not isinstance(changed, Mapping):
                raise TypeError(f"arguments must be a mapping, not a {type(changed).__name__}")
            passed = revalidate(
                Prepared(prepared.call, prepared.tool, dict(changed), prepared.changes)
            )
        except (InvalidArguments, TypeError, ValueError) as error:
            text = self.refusal(prepared, context, ", because a check of it failed.")
            raise _guard_failure(self.name, error, text) from error
        record_edit(prepared, passed, context, f"the guard {self.name}")
        return passed


@checked
class OutputGuard(_Guard):
    """A `Step` made by `output_guard`: its check sees a call's result or error before the model does."""

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
            failure = error if isinstance(error, CallError) else crash_error(error)
            handled = await call_handler(prepared.tool, failure, context.run)
            about = prepared.call, prepared.tool, failure, 0.0, None, handled
            text = failure_message(*about).text
            outcome = Outcome(None, text, failure)
        changed = await self.ask(prepared, context, prepared, outcome, context)
        return _with_content(prepared, outcome, changed)

    def refusal(self, prepared: Prepared, context: ToolContext, why: str) -> str:
        """Return the text for the model: its result is withheld, and if the tool ran."""
        name = prepared.tool.name
        ran = (
            f"The tool {name!r} was run, but"
            if context.body_state
            else f"The call of {name!r} did not run;"
        )
        return f"{ran} its result is withheld{why}"


@checked
def input_guard(check: InputCheck, name: str = "", *, inline: bool = False) -> InputGuard:
    """Make a step that checks a call before it runs.

    Args:
        check: ``(prepared, context) -> Verdict``, sync or async; a function, or an object that
            can be called. It sees valid arguments. A sync check runs in a thread, as a sync tool
            does. If it changes them it must leave alone what it has changed already: it may be
            asked again, when another guard changed more.
        name: For people; the check's own name by default.
        inline: Run a sync check on the event loop itself: only for checks that never wait.

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
    return InputGuard(check, name or _name_of(check), inline)


@checked
def output_guard(check: OutputCheck, name: str = "", *, inline: bool = False) -> OutputGuard:
    """Make a step that checks the result of a call, errors included, before the model reads it.

    Args:
        check: ``(prepared, outcome, context) -> Verdict``, as for `input_guard`.
        name: For people; the check's own name by default.
        inline: As for `input_guard`.
    """
    return OutputGuard(check, name or _name_of(check), inline)


def _name_of(check: object) -> str:
    """Return a guard's name: its function's, or its class's."""
    return str(getattr(check, "__name__", None) or type(check).__name__)


def _guard_failure(name: str, error: Exception, text: str) -> Refused:
    """Build the refusal for a guard that raised; its traceback is for the program alone."""
    trace = "".join(traceback.format_exception(error))
    return Refused(text, {"guard": name, "exception": type(error).__name__, "traceback": trace})


def _with_content(prepared: Prepared, outcome: Outcome, changed: object) -> object:
    """Return the value, or raise the error, with the content for the model that the check wants.

    Both stay as they are for `UNCHANGED`. A changed error is a `CallError` of the same kind.
    """
    error, value = outcome.error, outcome.value
    if changed is UNCHANGED:
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
