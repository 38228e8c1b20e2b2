"""Results of runs, under the names of Pydantic AI."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from toolkeel._common.other_libraries_words import attribute_hints
from toolkeel._records.record import NOTHING
from toolkeel.agent.result import RunResult
from toolkeel.agent.run import Run
from toolkeel.agent.run_state import RunState
from toolkeel.context import RunContext as CoreRun
from toolkeel.messages import Message
from toolkeel_compat.missing import refuse_attributes
from toolkeel_compat.pydantic_ai.deferred import DeferredToolRequests
from toolkeel_compat.pydantic_ai.exceptions import UnexpectedModelBehavior
from toolkeel_compat.pydantic_ai.history_processors import replace_processed
from toolkeel_compat.pydantic_ai.messages import (
    ModelMessagesTypeAdapter,
    ModelResponse,
    get_values,
    to_model_messages,
)
from toolkeel_compat.pydantic_ai.names import STREAM_HINTS
from toolkeel_compat.pydantic_ai.output.validators import FIRST_TEXT
from toolkeel_compat.pydantic_ai.usage import RunUsage


class MessageHistory(list[Any]):
    """A transcript, with the saved run that it belongs to.

    Args:
        messages: The messages.
        state: The saved run, to continue calls that wait.
    """

    def __init__(self, messages: Sequence[Any], state: RunState | None) -> None:
        super().__init__(messages)
        self.state = state


def leave_out_repeated(messages: Sequence[Message]) -> list[Message]:
    """Return a transcript without the message that repeats a text beside calls as the output."""
    return [one for one in messages if getattr(one, "model", "") != FIRST_TEXT]


def keep_added(made: Sequence[Message], count: int, given: int) -> list[Message]:
    """Return the messages that a run added: the last ones, as many as there are after the given ones.

    Args:
        made: The run's messages, processed.
        count: Their number before a processor changed the history.
        given: Number of messages that the run started with.
    """
    return [*made[max(given - (count - len(made)), 0) :]]


class AgentRunResult:
    """The result of a run.

    Args:
        result: The core's result.
        given: Number of messages that the run started with.
        text: What output validators made of the text; `NOTHING` for the text itself.
        raised: Metadata of the calls that asked for approval while they ran, by call id.
        context: The core's run.
    """

    def __init__(
        self,
        result: RunResult[Any],
        given: int,
        text: Any = NOTHING,
        raised: Mapping[str, Any] = NOTHING,
        context: CoreRun[Any] | None = None,
    ) -> None:
        self._result, self._given = result, given
        self._values = NOTHING if context is None else get_values(context)
        said = list(result.messages)
        self._messages = said if context is None else replace_processed(context, said)
        self.output: Any = None
        if result.reason == "waiting":
            self.output = DeferredToolRequests.from_tickets(result.pending, raised)
        elif not result.has_output:
            raise UnexpectedModelBehavior(f"there is no output: the run ended as {result.reason!r}")
        else:
            self.output = result.output_value if text is NOTHING else text

    __getattr__ = attribute_hints("RunResult.")

    @property
    def usage(self) -> RunUsage:
        """What the run has used."""
        return RunUsage.from_core(self._result.usage, self._result.messages[self._given :])

    @property
    def response(self) -> ModelResponse:
        """The model's last reply."""
        replies = [one for one in self.all_messages() if isinstance(one, ModelResponse)]
        return replies[-1]

    def all_messages(self) -> MessageHistory:
        """Return the transcript, for `message_history` of another run."""
        waits = self._result.reason == "waiting"
        made = to_model_messages(leave_out_repeated(self._messages), self._values)
        return MessageHistory(made, self._result.state if waits else None)

    def new_messages(self) -> list[Any]:
        """Return the messages that the run added, with its prompt."""
        added = keep_added(self._messages, len(self._result.messages), self._given)
        return to_model_messages(leave_out_repeated(added), self._values)

    def all_messages_json(self) -> bytes:
        """Return `all_messages()` as JSON."""
        return ModelMessagesTypeAdapter.dump_json(self.all_messages())

    def new_messages_json(self) -> bytes:
        """Return `new_messages()` as JSON."""
        return ModelMessagesTypeAdapter.dump_json(self.new_messages())


@refuse_attributes(STREAM_HINTS)
class StreamedRunResult:
    """A run whose text is streamed.

    Args:
        run: The core's run.
        finish: Makes the result of the run when it has ended.
        is_typed: The output is of a type, not text.
        given: Number of messages that the run started with.
    """

    def __init__(self, run: Run[Any], finish: Any, is_typed: bool, given: int = 0) -> None:
        self._run, self._finish, self._is_typed, self._given = run, finish, is_typed, given
        self._result: AgentRunResult | None = None

    async def stream_text(
        self, *, delta: bool = False, debounce_by: float | None = None
    ) -> AsyncIterator[str]:
        """Yield the text so far, each time longer.

        Args:
            delta: Yield each piece alone.
            debounce_by: Ignored: each piece is yielded when it arrives.
        """
        text = ""
        async for piece in self._run.stream_text():
            text += piece
            yield piece if delta else text

    async def stream_output(self, *, debounce_by: float | None = None) -> AsyncIterator[Any]:
        """Yield the output while it arrives, and at last the validated one."""
        if self._is_typed:
            async for partial in self._run.stream_outputs():
                yield partial
        yield await self.get_output()

    async def get_output(self) -> Any:
        """Run to the end, and return the output."""
        return (await self.end()).output

    async def end(self) -> AgentRunResult:
        """Run to the end, and return the result."""
        if self._result is None:
            self._result = await self._finish(self._run)
        assert self._result is not None
        return self._result

    @property
    def is_complete(self) -> bool:
        """True once the run has ended."""
        return self._run.reason is not None

    @property
    def usage(self) -> RunUsage:
        """What the run has used so far."""
        return RunUsage.from_core(self._run.context.usage, self._run.context.messages)

    def all_messages(self) -> list[Any]:
        """Return the transcript so far."""
        run = self._run.context
        said = replace_processed(run, run.messages)
        return to_model_messages(leave_out_repeated(said), get_values(run))

    def new_messages(self) -> list[Any]:
        """Return the messages that the run has added so far, with its prompt."""
        run = self._run.context
        made = replace_processed(run, run.messages)
        added = keep_added(made, len(run.messages), self._given)
        return to_model_messages(leave_out_repeated(added), get_values(run))
