"""The result of a run: its answer, transcript, usage, and end reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Generic, Literal, Protocol, cast

from typing_extensions import TypeVar

from toolkeel._common.other_libraries_words import attribute_hints
from toolkeel._records.record import notebook_html, record
from toolkeel._records.tickets import Ticket
from toolkeel.agent.output import OutputAttempts, OutputPlan
from toolkeel.agent.run_state import RunState
from toolkeel.call.correction_counts import Correction
from toolkeel.errors import InvalidArguments, OutputError
from toolkeel.events import EndReason
from toolkeel.messages import (
    AssistantMessage,
    FinishReason,
    Message,
    ToolMessage,
    Usage,
    unanswered,
)

T = TypeVar("T", default=str)


class _NoOutput:
    """The type of `NO_OUTPUT`, the value of a run that has no answer."""

    def __repr__(self) -> str:
        return "NO_OUTPUT"


NO_OUTPUT: Final = _NoOutput()
"""Stands for the answer of a run that ended without one."""
END_REASONS: Mapping[FinishReason, EndReason] = {
    "refusal": "refused",
    "filtered": "refused",
    "length": "cut_off",
    "incomplete": "cut_off",
}
"""End of a run by the finish reason of its last reply; any other reply has answered."""
_HINTS: Mapping[str, str] = {
    "limit": "; go on from result.state with a higher limit",
    "waiting": "; calls wait in result.pending: run again with result.state and decisions",
    "cancelled": "; go on from result.state",
}


@record
class CallFailure:
    """A call of a run that failed.

    Args:
        tool: Name of the tool.
        call_id: Id of the call.
        kind: Kind of failure, such as ``crashed`` or ``invalid_arguments``.
        text: The result text sent to the model.
        error: The exception with its text, or `text` if there is none.
        exception: Class name of the exception behind it; empty if there is none.
        file: The tool's file in which it was raised, or from which the raising code was called.
        line: The line of that file; 0 if there is none.
        traceback: The traceback; empty if there is none.
    """

    tool: str
    call_id: str
    kind: str
    text: str
    error: str
    exception: str = ""
    file: str = ""
    line: int = 0
    traceback: str = ""


class FinishedRun(Protocol):
    """What a result needs of its run: state and agent."""

    @property
    def state(self) -> RunState:
        """The state of the run."""
        ...

    @property
    def agent(self) -> object:
        """The agent that owns it."""
        ...


@record
class RunResult(Generic[T]):
    """How a run ended.

    Args:
        output_value: See `output`.
        messages: The complete transcript, without the agent's instructions; a prompt that continues
            the conversation.
        reason: Why it ended; see `RunFinished`.
        usage: Tokens and requests, those of the agents it called included.
        corrections: How often the model corrected its calls, by tool.
        run_id: The run's id, as in its events.
        pending: Tickets of calls that wait for a person; resume the run from `state` with decisions.
        finish_reason: Why the model's last reply ended; None if there is none.
        limit: The limit that ended the run; empty for none.
        run: The run.
    """

    output_value: object
    messages: list[Message]
    reason: EndReason
    usage: Usage
    corrections: Mapping[str, Correction]
    run_id: str
    pending: tuple[Ticket, ...]
    finish_reason: FinishReason | None
    limit: str
    run: FinishedRun

    _repr_html_ = notebook_html

    @property
    def has_output(self) -> bool:
        """True if there is an `output`."""
        return self.output_value is not NO_OUTPUT

    @property
    def output(self) -> T:
        """The answer: of the requested type, else the model's last text, or an `ends_run` tool's result.

        A run that stopped before its answer raises; it has no empty answer.

        Raises:
            OutputError: the run ended without an answer; `reason` says why.
        """
        if not self.has_output:
            bound = f" ({self.limit})" if self.limit else ""
            hint = _HINTS.get(self.reason, "")
            said = (m.text for m in reversed(self.messages) if isinstance(m, AssistantMessage))
            raise OutputError(
                f"there is no answer: the run ended with {self.reason!r}{bound}{hint}",
                next(said, ""),
            )
        return cast("T", self.output_value)

    @property
    def errors(self) -> tuple[CallFailure, ...]:
        """The failed calls of the transcript, with exception, file and line where there are any."""
        return tuple(
            _describe_failure(message)
            for message in self.messages
            if isinstance(message, ToolMessage) and message.failed
        )

    if not TYPE_CHECKING:  # there, an unknown attribute stays unknown
        __getattr__ = attribute_hints("RunResult.")

    @property
    def state(self) -> RunState:
        """The run's state, which converts to JSON and resumes in `Agent.run`."""
        return self.run.state

    @property
    def agent(self) -> object:
        """The agent that owned the run at its end, after handoffs."""
        return self.run.agent


def _describe_failure(message: ToolMessage) -> CallFailure:
    """Convert a failed result message to a `CallFailure`."""
    told = message.details
    last = str(told.get("traceback", "")).rstrip().rpartition("\n")[2]
    line = told.get("line", 0)
    return CallFailure(
        message.name,
        message.tool_call_id,
        message.kind or "",
        message.text,
        str(told.get("error") or last or message.text),
        str(told.get("exception", "")),
        str(told.get("file", "")),
        line if isinstance(line, int) else 0,
        str(told.get("traceback", "")),
    )


def output_of(
    transcript: list[Message],
    reason: EndReason,
    attempts: OutputAttempts | None,
    on_refusal: Literal["return", "raise"],
) -> object:
    """Return the answer of a run that has ended, or `NO_OUTPUT`.

    Args:
        transcript: The run's transcript.
        reason: Why it ended.
        attempts: The model's answers, if the run has an output type.
        on_refusal: See `Agent`.

    Raises:
        OutputError: the reply was refused or cut off, and `on_refusal` is ``raise``.
    """
    output: object = NO_OUTPUT
    if attempts is not None:
        output = attempts.value if attempts.has_value else NO_OUTPUT
    elif reason in ("answered", "returned", "refused", "cut_off"):
        output = _last_text(transcript, reason)
    if reason in ("refused", "cut_off") and on_refusal == "raise":
        raise OutputError(f"there is no answer: the model's reply was {reason}", str(output))
    return output


def repeat_output(transcript: list[Message], reason: EndReason, plan: OutputPlan | None) -> object:
    """Read the answer of a run that ended earlier from its transcript, or return `NO_OUTPUT`.

    Args:
        transcript: The run's transcript.
        reason: Why it ended.
        plan: How the model returns answers of a type; None for plain text.
    """
    attempts = None if plan is None else OutputAttempts(plan, are_saved=True)
    is_text = isinstance(transcript[-1], AssistantMessage)
    if attempts is not None and reason in ("answered", "refused", "cut_off"):
        with suppress(OutputError, InvalidArguments):  # of another form: it had another output type
            if is_text:
                attempts.check_reply(cast("AssistantMessage", transcript[-1]))
            else:
                attempts.take_results(transcript)
    elif reason == "answered" and not is_text:  # by a tool: it had an output type
        return NO_OUTPUT
    return output_of(transcript, reason, attempts, "return")


def _last_text(messages: list[Message], reason: EndReason) -> str:
    """Return the text of the last message if it is a reply, else an empty text.

    For ``returned``, return the texts of the results at the transcript's end, one to a line.
    """
    if reason == "returned":
        texts = []
        for message in reversed(messages):
            if not isinstance(message, ToolMessage):
                break
            texts.append(message.text)
        return "\n".join(reversed(texts))
    last = messages[-1]
    return last.text if isinstance(last, AssistantMessage) else ""


def find_end(
    transcript: list[Message],
    attempts: OutputAttempts | None,
    is_final: tuple[Callable[[AssistantMessage], bool], Callable[[Sequence[ToolMessage]], bool]],
    *,
    was_killed: bool,
) -> EndReason | None:
    """Return why a resumed run had already ended, by its transcript alone, or None if it goes on.

    The transcript may have an answer that was never returned: the program was killed, or a guardrail
    was late. An answer by the output tool is stored in `attempts`.

    Args:
        transcript: The run's transcript.
        attempts: The model's answers, if the run has an output type.
        is_final: Functions that return True for a reply, and for results, that answer the person.
        was_killed: True for a run that is continued from its journal: then a refused or cut-off reply
            ends it, too.
    """
    results: list[ToolMessage] = []
    for message in () if unanswered(transcript) else reversed(transcript):
        if isinstance(message, ToolMessage):
            results.append(message)
            continue
        if not isinstance(message, AssistantMessage):
            return None
        reason = END_REASONS.get(message.finish_reason, "answered")
        if not message.tool_calls and (was_killed or reason == "answered") and is_final[0](message):
            return reason
        if results and attempts is not None:
            attempts.take_results(transcript)
            return "answered" if attempts.has_value else None
        return "returned" if results and is_final[1](results) else None
    return None
