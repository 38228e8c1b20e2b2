"""A transcript as turns: user and assistant by turns, all results of a reply in one message.

Anthropic, Bedrock and Gemini want what the transcript need not have: roles that alternate, the
person first, and behind each reply one message that answers all its calls at once. `TurnEncoder`
makes that of any transcript, message by message; what a block looks like, it asks the wire's
`Blocks`.

What is over never changes: `add` gives messages as soon as they are. The rest, `tail`, is the
message that may still grow, with the results that are there so far; a call that has none by then
is answered with a sentence that says so (provider quirk Q1). A result that does not stand behind
its call is left out, and if its call was answered that way, `late` says so: then the transcript
must be put in order first (`toolwright.agent.transcript.repair`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Protocol

from toolwright.agent.transcript import no_result, repair
from toolwright.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from toolwright.providers.ids import Waiting, WireIds, paired
from toolwright.providers.media import NO_TEXT
from toolwright.providers.wire import Json, as_list
from toolwright.record import record


@record
class Answer:
    """A result on the wire.

    Args:
        blocks: The result itself.
        after: What it holds that must stand behind all results of its turn.
    """

    blocks: list[Json]
    after: list[Json]


class Blocks(Protocol):
    """What the parts of a transcript look like on one wire."""

    def system(self, message: SystemMessage) -> list[Json]:
        """Instructions; none if they are blank."""
        ...

    def prompt(self, message: UserMessage) -> list[Json]:
        """What the person said; none if it is blank."""
        ...

    def reply(self, message: AssistantMessage, ids: Sequence[str]) -> list[Json]:
        """What the model said and called; `ids` are those of its calls on the wire."""
        ...

    def answer(self, result: ToolMessage, call: ToolCall, wire_id: str) -> Answer:
        """The result of the call that has `wire_id`."""
        ...

    def text(self, text: str) -> Json:
        """A text that stands in a place which must not be empty."""
        ...


class TurnEncoder:
    """Encodes a transcript message by message.

    Args:
        blocks: The wire's.
        content: Under which key a wire message has its blocks.
        assistant: What the wire calls the model.
        begun: Whether something stands before: else the person must be first.

    Attributes:
        system: The blocks of all instructions so far; they stand apart on these wires.
        called: Names of all tools called so far.
        late: Whether a result stood elsewhere than behind its call.
    """

    __slots__ = (
        "_answers",
        "_assistant",
        "_begun",
        "_blocks",
        "_calls",
        "_content",
        "_ids",
        "_made_up",
        "_open",
        "_waiting",
        "called",
        "late",
        "system",
    )

    def __init__(
        self,
        blocks: Blocks,
        *,
        content: str = "content",
        assistant: str = "assistant",
        begun: bool = False,
    ) -> None:
        self._blocks = blocks
        self._content = content
        self._assistant = assistant
        self._begun = begun
        self._ids = WireIds()
        self._open: Json | None = None
        self._calls: dict[str, ToolCall] = {}
        self._waiting = Waiting()
        self._answers: dict[str, Answer] = {}
        self._made_up: set[str] = set()
        self.system: list[Json] = []
        self.called: dict[str, None] = {}
        self.late = False

    def add(self, message: Message) -> list[Json]:
        """The wire messages that are over with this one."""
        if isinstance(message, SystemMessage):
            self.system += self._blocks.system(message)
            return []
        if isinstance(message, ToolMessage):
            self._take(message)
            return []
        over = self._settle()
        if isinstance(message, UserMessage):
            blocks = self._blocks.prompt(message) or [self._blocks.text(NO_TEXT)]
            return over + self._extend("user", blocks)
        return over + self._reply(message)

    def tail(self) -> list[Json]:
        """The wire messages that the next message may change. Yours to change, blocks aside."""
        tail = []
        if self._open is not None:
            tail.append(self._message(str(self._open["role"]), as_list(self._open[self._content])))
        if self._calls:
            tail.append(self._message("user", self._results()))
        return tail

    def _reply(self, message: AssistantMessage) -> list[Json]:
        if not (message.tool_calls or message.content or message.extra):  # it said nothing
            return []
        ids = [self._ids.new(call.id) for call in message.tool_calls]
        over = self._extend(self._assistant, self._blocks.reply(message, ids))
        for call, wire_id in zip(message.tool_calls, ids, strict=True):
            self._calls[wire_id] = call
            self._waiting.add(call.id, wire_id)
            self.called[call.name] = None
        return over

    def _take(self, result: ToolMessage) -> None:
        id = result.tool_call_id
        wire_id = self._waiting.take(id) if id else self._waiting.take_first()
        if wire_id:
            self._answers[wire_id] = self._blocks.answer(result, self._calls[wire_id], wire_id)
            return
        self.late = self.late or id in self._made_up

    def _settle(self) -> list[Json]:
        """End the turn whose calls are open."""
        if not self._calls:
            return []
        self._made_up.update(self._ids.own[wire_id] for wire_id in self._waiting)
        blocks = self._results()
        self._calls, self._answers, self._waiting = {}, {}, Waiting()
        return self._extend("user", blocks)

    def _results(self) -> list[Json]:
        """All results of the open calls in call order, then what must stand behind them."""
        blocks: list[Json] = []
        after: list[Json] = []
        for wire_id, call in self._calls.items():
            answer = self._answers.get(wire_id)
            if answer is None:
                answer = self._blocks.answer(no_result(call), call, wire_id)
            blocks += answer.blocks
            after += answer.after
        return blocks + after

    def _extend(self, role: str, blocks: list[Json]) -> list[Json]:
        """Put `blocks` into a message of `role`; the one that ends with that, if any."""
        if not blocks:
            return []
        if self._open is not None and self._open["role"] == role:
            as_list(self._open[self._content]).extend(blocks)
            return []
        over = [] if self._open is None else [self._open]
        if role != "user" and not self._begun:
            over.append(self._message("user", [self._blocks.text(NO_TEXT)]))
        self._begun = True
        self._open = self._message(role, blocks)
        return over

    def _message(self, role: str, blocks: Sequence[object]) -> Json:
        return {"role": role, self._content: list(blocks)}


def encode_transcript(
    encoder: TurnEncoder,
    messages: Iterable[Message],
    end: Callable[[TurnEncoder], list[Json]] = TurnEncoder.tail,
) -> list[Json]:
    """All of `messages`, put in order if they are not, as wire messages.

    Args:
        encoder: A new one.
        messages: The transcript.
        end: Gives the messages that may still change, as the end of a request.
    """
    wires = [wire for message in repair(messages) for wire in encoder.add(message)]
    return wires + end(encoder)


def encode_results(
    encoder: TurnEncoder, reply: AssistantMessage, results: Sequence[ToolMessage]
) -> list[Json]:
    """A reply and the results of its calls as wire messages.

    Raises:
        SetupError: if there is not one result for each call.
    """
    ordered = paired(reply.tool_calls, results)
    encoder.add(reply)
    for result, call in zip(ordered, reply.tool_calls, strict=True):
        encoder.add(replace(result, tool_call_id=call.id))
    return encoder.tail()
