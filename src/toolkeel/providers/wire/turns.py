"""A transcript as turns: user and assistant by turns, all results of a reply in one message.

Anthropic, Bedrock and Gemini want what the transcript need not have: roles that alternate, the
person first, and behind each reply one message that answers all its calls at once. `TurnEncoder`
makes that of any transcript, message by message; what a block looks like, it asks the wire's
`Blocks`.

What is over never changes: `add` gives messages as soon as they are. The rest, `tail`, is the
message that may still grow, with the results that are there so far; a call that has none by then
is answered with a sentence that says so (provider quirk Q1). A result that does not stand behind
its call is left out, and if its call was answered that way, `late` says so: then the transcript
must be put in order first (`toolkeel.agent.transcript.repair`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Generic, TypeVar

from toolkeel._records.record import record
from toolkeel.agent.transcript import no_result
from toolkeel.content import Audio, Block, Content, File, Image
from toolkeel.messages import (
    AssistantMessage,
    Message,
    Reasoning,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from toolkeel.providers.wire.call_ids import paired
from toolkeel.providers.wire.media import BELOW, NO_OUTPUT, NO_TEXT
from toolkeel.providers.wire.part_order import arrange
from toolkeel.providers.wire.plain_json import Json, as_dict, as_list, as_text, clean_text
from toolkeel.providers.wire.reasoning_ownership import Asked, is_own, owns_thought
from toolkeel.providers.wire.request import Encoder, Prepared, encode_block
from toolkeel.providers.wire.tools import WireTools

P = TypeVar("P", bound=Asked)


@record
class Answer:
    """A result on the wire.

    Args:
        blocks: The result itself.
        after: What it holds that must stand behind all results of its turn.
    """

    blocks: list[Json]
    after: list[Json]


class Blocks(Generic[P]):
    """What the parts of a transcript look like on one wire.

    Args:
        tools: The request's.
        profile: What the model and its server take.
    """

    wire: ClassVar[str]

    def __init__(self, tools: WireTools, profile: P) -> None:
        self._tools = tools
        self._profile = profile

    # — what each wire says itself —

    def reply(self, message: AssistantMessage, ids: Sequence[str]) -> list[Json]:
        """What the model said and called; `ids` are those of its calls on the wire."""
        raise NotImplementedError

    def answer(self, result: ToolMessage, call: ToolCall, wire_id: str) -> Answer:
        """The result of the call that has `wire_id`."""
        raise NotImplementedError

    def shown(self, block: Image | Audio | File) -> list[Json]:
        """The wire's blocks for a picture, a sound or a file; none if it has no form for it."""
        raise NotImplementedError

    def head(self, transcript: TurnEncoder, prepared: Prepared) -> Json:
        """The keys of the body, beside the messages, that depend on them."""
        raise NotImplementedError

    # — what most say the same way —

    def text(self, text: str) -> Json:
        """A block of text."""
        return {"text": text}

    def system(self, message: SystemMessage) -> list[Json]:
        """Instructions; none if they are blank."""
        return self.said(message)[1]

    def prompt(self, message: UserMessage) -> list[Json]:
        """What the person said; none if it is blank."""
        return self.blocks(message.content)

    def end(self, tail: list[Json]) -> list[Json]:
        """The messages that may still change, as the end of a request."""
        return tail

    def block(self, block: Block) -> list[Json]:
        """The wire's blocks for one of ours."""
        return encode_block(self.wire, block, self.text, self.shown)

    def blocks(self, content: Content) -> list[Json]:
        """Content as blocks, without blank texts."""
        if isinstance(content, str):
            text = clean_text(content)
            return [self.text(text)] if text.strip() else []
        made = [wire for block in content for wire in self.block(block)]
        return [wire for wire in made if not is_blank_text(wire)]

    def said(self, message: AssistantMessage | SystemMessage) -> tuple[str, list[Json]]:
        """The text of a message, and the blocks that say it."""
        text = clean_text(message.text)
        return text, [self.text(text)] if text.strip() else []


class ClaudeBlocks(Blocks[P]):
    """Blocks as Anthropic's Messages and Bedrock's Converse have them: signed reasoning stands
    among them, a cache mark behind them, and a reply that shall go on may not end in white space.
    """

    def call(self, call: ToolCall, wire_id: str) -> Json:
        """A call that has `wire_id`."""
        raise NotImplementedError

    def result(self, call: ToolCall, wire_id: str, blocks: list[Json], failed: bool) -> Json:
        """The result of a call."""
        raise NotImplementedError

    def fits(self, block: Json, failed: bool) -> bool:
        """Whether a result may hold a block, and not only be followed by it."""
        raise NotImplementedError

    def signed(self, text: str, signature: str) -> Json:
        """Reasoning of the asked model's own; empty if it does not go back as such."""
        raise NotImplementedError

    def spoken(self, block: Json) -> str:
        """The text that a block says."""
        raise NotImplementedError

    def is_hidden(self, entry: object) -> bool:
        """Whether a block is reasoning."""
        raise NotImplementedError

    def marked(self, blocks: Sequence[Json]) -> list[Json]:
        """`blocks`, marked for the cache if that is wanted; they are not changed."""
        raise NotImplementedError

    def unpacked(self, block: Json) -> Json:
        """A block that was kept, as it came."""
        return block

    def block(self, block: Block) -> list[Json]:
        """The wire's blocks for one of ours."""
        return [self.unpacked(one) for one in super().block(block)]

    def thought(self, thought: Reasoning, own: bool) -> list[Json]:
        """Reasoning: signed if it is the asked model's own, else as text."""
        text = clean_text(thought.text)
        if own and (signed := self.signed(text, thought.signature)):
            return [signed]
        return [self.text(text)] if text.strip() else []

    def answer(self, result: ToolMessage, call: ToolCall, wire_id: str) -> Answer:
        """A result, in which some text must stand, and what does not fit in it."""
        blocks = self.blocks(self._tools.told(result).content)
        inside = [block for block in blocks if self.fits(block, result.failed)]
        after = [block for block in blocks if not self.fits(block, result.failed)]
        if not any("text" in block for block in inside):
            inside = [self.text(BELOW if blocks else NO_OUTPUT), *inside]
        return Answer([self.result(call, wire_id, inside, result.failed)], after)

    def reply(self, message: AssistantMessage, ids: Sequence[str]) -> list[Json]:
        """What the model thought, said and called, in the order it came in; not thoughts alone."""
        ours = is_own(message, self.wire, self._profile)
        kept = as_list(as_dict(message.provider_options.get(self.wire)).get("content"))
        layout = [
            self.unpacked(entry) if isinstance(entry, dict) else entry
            for entry in kept
            if ours or not self.is_hidden(entry)
        ]
        thoughts = [
            self.thought(one, owns_thought(one, message, ours, self._profile))
            for one in message.reasoning
        ]
        calls = [self.call(call, id) for call, id in zip(message.tool_calls, ids, strict=True)]
        arranged = arrange(layout, thoughts, calls, self.said(message), self.spoken)
        blocks = [block for block in arranged if not is_blank_text(block)]
        return [] if all(map(self.is_hidden, blocks)) else blocks

    def end(self, tail: list[Json]) -> list[Json]:
        """The messages that may still change, marked for the cache if that is wanted."""
        for message in tail[-1:]:
            blocks = [as_dict(block) for block in as_list(message["content"])]
            last = blocks[-1]
            if message["role"] == "user":
                blocks = self.marked(blocks)
            elif last.get("type", "text") == "text" and "text" in last:
                blocks[-1] = {**last, "text": as_text(last["text"]).rstrip()}
            message["content"] = blocks
        return tail


def is_blank_text(block: Json) -> bool:
    """Whether a block is text and says nothing."""
    return isinstance(block.get("text"), str) and not as_text(block["text"]).strip()


class TurnEncoder(Encoder):
    """Encodes a transcript message by message.

    Args:
        blocks: The wire's.
        content: Under which key a wire message has its blocks.
        assistant: What the wire calls the model.

    Attributes:
        system: The blocks of all instructions so far; they stand apart on these wires.
        called: Names of all tools called so far.
    """

    def __init__(
        self, blocks: Blocks[Any], *, content: str = "content", assistant: str = "assistant"
    ) -> None:
        super().__init__()
        self._blocks = blocks
        self._content = content
        self._assistant = assistant
        self._begun = False
        """Whether anything stands there: else the person must be first."""
        self._growing: Json | None = None
        self._answers: dict[str, Answer] = {}
        self.system: list[Json] = []
        self.called: dict[str, None] = {}

    def add(self, message: Message) -> list[Json]:
        """The wire messages that are over with this one."""
        if isinstance(message, SystemMessage):
            self.system += self._blocks.system(message)
            return []
        if isinstance(message, ToolMessage):
            self._take(message)
            return []
        over = self._end_turn()
        if isinstance(message, UserMessage):
            blocks = self._blocks.prompt(message) or [self._blocks.text(NO_TEXT)]
            return over + self._extend("user", blocks)
        return over + self._reply(message)

    def tail(self) -> list[Json]:
        """The wire messages that the next message may change. Yours to change, blocks aside."""
        tail = []
        if self._growing is not None:
            tail.append(
                self._message(str(self._growing["role"]), as_list(self._growing[self._content]))
            )
        if self._open.calls:
            tail.append(self._message("user", self._results()))
        return tail

    def end(self) -> list[Json]:
        """The wire messages that the next message may change, as the end of a request."""
        return self._blocks.end(self.tail())

    def head(self, prepared: Prepared) -> Json:
        """The keys of the body, beside the messages, that depend on them."""
        return self._blocks.head(self, prepared)

    def _reply(self, message: AssistantMessage) -> list[Json]:
        if not (
            message.tool_calls or message.content or message.provider_options
        ):  # it said nothing
            return []
        ids = [self._open.new_id(call) for call in message.tool_calls]
        over = self._extend(self._assistant, self._blocks.reply(message, ids))
        for call, wire_id in zip(message.tool_calls, ids, strict=True):
            self._open.add(call, wire_id)
            self.called[call.name] = None
        return over

    def _take(self, result: ToolMessage) -> None:
        wire_id = self._open.take(result)
        if wire_id:
            call = self._open.calls[wire_id]
            self._answers[wire_id] = self._blocks.answer(result, call, wire_id)

    def _end_turn(self) -> list[Json]:
        """End the turn whose calls are open."""
        if not self._open.calls:
            return []
        blocks = self._results()
        self._open.close()
        self._answers = {}
        return self._extend("user", blocks)

    def _results(self) -> list[Json]:
        """All results of the open calls in call order, then what must stand behind them."""
        blocks: list[Json] = []
        after: list[Json] = []
        for wire_id, call in self._open.calls.items():
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
        if self._growing is not None and self._growing["role"] == role:
            as_list(self._growing[self._content]).extend(blocks)
            return []
        over = [] if self._growing is None else [self._growing]
        if role != "user" and not self._begun:
            over.append(self._message("user", [self._blocks.text(NO_TEXT)]))
        self._begun = True
        self._growing = self._message(role, blocks)
        return over

    def _message(self, role: str, blocks: Sequence[object]) -> Json:
        return {"role": role, self._content: list(blocks)}

    def turn(self, reply: AssistantMessage, results: Iterable[ToolMessage]) -> list[Json]:
        """A reply and the results of its calls alone, to stand behind what was said before.

        Raises:
            SetupError: if there is not one result for each call.
        """
        self._begun = True
        ordered = paired(reply.tool_calls, list(results))
        self.add(reply)
        for result, call in zip(ordered, reply.tool_calls, strict=True):
            self.add(replace(result, tool_call_id=call.id))
        return self.tail()
