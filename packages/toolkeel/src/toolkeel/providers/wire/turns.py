"""A transcript as turns: user and assistant by turns, all results of a reply in one message.

Anthropic, Bedrock and Gemini want what the transcript need not have: roles that alternate, the
person first, and behind each reply one message that answers all its calls at once. `TurnEncoder`
makes that of any transcript, message by message; what a block looks like, each wire says.

What is over never changes: `add` gives messages as soon as they are. The rest, `tail`, is the
message that may still grow, with the results that are there so far (provider quirk Q1).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from toolkeel.content import Audio, Block, Content, File, Image
from toolkeel.messages import (
    AssistantMessage,
    Reasoning,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from toolkeel.providers.wire.media import BELOW, NO_OUTPUT, NO_TEXT
from toolkeel.providers.wire.part_order import arrange
from toolkeel.providers.wire.plain_json import Json, as_dict, as_list, as_text, clean_text
from toolkeel.providers.wire.reasoning_ownership import is_own, owns_thought
from toolkeel.providers.wire.request import Encoder, P, WireResults, encode_block
from toolkeel.providers.wire.tools import WireTools


class TurnEncoder(Encoder[P]):
    """Encodes a transcript message by message.

    Args:
        tools: The request's.
        profile: What the model and its server take.

    Attributes:
        inside: Under which key a wire message has its blocks.
        assistant: What the wire calls the model.
        system: The blocks of all instructions so far; they stand apart on these wires.
        called: Names of all tools called so far.
    """

    inside: ClassVar[str] = "content"
    assistant: ClassVar[str] = "assistant"

    def __init__(self, tools: WireTools, profile: P) -> None:
        super().__init__(tools, profile)
        self._growing: Json | None = None
        self.system: list[Json] = []
        self.called: dict[str, None] = {}

    # — what each wire says itself —

    def reply(self, message: AssistantMessage, ids: Sequence[str]) -> list[Json]:
        """What the model said and called; `ids` are those of its calls on the wire."""
        raise NotImplementedError

    def media_blocks(self, block: Image | Audio | File) -> list[Json]:
        """The wire's blocks for a picture, a sound or a file; none if it has no form for it."""
        raise NotImplementedError

    # — what most say the same way —

    def text(self, text: str) -> Json:
        """A block of text."""
        return {"text": text}

    def prompt(self, message: UserMessage) -> list[Json]:
        """What the person said; none if it is blank."""
        return self.blocks(message.content)

    def block(self, block: Block) -> list[Json]:
        """The wire's blocks for one of ours."""
        return encode_block(self.wire, block, self.text, self.media_blocks)

    def blocks(self, content: Content) -> list[Json]:
        """Content as blocks, without blank texts."""
        if isinstance(content, str):
            return self.words(content)[1]
        made = [wire for block in content for wire in self.block(block)]
        return [wire for wire in made if not is_blank_text(wire)]

    def words(self, text: str) -> tuple[str, list[Json]]:
        """A text, and the blocks that say it; none if it is blank."""
        text = clean_text(text)
        return text, [self.text(text)] if text.strip() else []

    # — turns —

    def said(self, message: AssistantMessage | SystemMessage | UserMessage) -> list[Json]:
        """The wire messages that are over with this one."""
        if isinstance(message, SystemMessage):
            self.system += self.words(message.text)[1]
            return []
        over = self._end_turn()
        if isinstance(message, UserMessage):
            return over + self._extend("user", self.prompt(message) or [self.text(NO_TEXT)])
        if not (message.tool_calls or message.content or message.provider_options):
            return over  # it said nothing
        ids = [self._open.add(call) for call in message.tool_calls]
        self.called |= dict.fromkeys(call.name for call in message.tool_calls)
        return over + self._extend(self.assistant, self.reply(message, ids))

    def due(self) -> list[Json]:
        """All results of a turn are one message, which is over with the turn."""
        return []

    def tail(self) -> list[Json]:
        """The wire messages that the next message may change. Yours to change, blocks aside."""
        tail = []
        if self._growing is not None:
            tail.append({**self._growing, self.inside: [*as_list(self._growing[self.inside])]})
        if self._open.calls:
            tail.append(self._message("user", self._results()))
        return tail

    def _end_turn(self) -> list[Json]:
        """End the turn whose calls are open."""
        if not self._open.calls:
            return []
        blocks = self._results()
        self.close()
        return self._extend("user", blocks)

    def _results(self) -> list[Json]:
        """All results of the open calls in call order, then what must stand behind them."""
        rest = self.rest()
        return rest.blocks + rest.after

    def _extend(self, role: str, blocks: list[Json]) -> list[Json]:
        """Put `blocks` into a message of `role`; the one that ends with that, if any."""
        if not blocks:
            return []
        if self._growing is not None and self._growing["role"] == role:
            as_list(self._growing[self.inside]).extend(blocks)
            return []
        over = [] if self._growing is None else [self._growing]
        if role != "user" and not self.begun:
            over.append(self._message("user", [self.text(NO_TEXT)]))
        self.begun = True
        self._growing = self._message(role, blocks)
        return over

    def _message(self, role: str, blocks: Sequence[object]) -> Json:
        return {"role": role, self.inside: list(blocks)}


class ClaudeEncoder(TurnEncoder[P]):
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
        text, plain = self.words(thought.text)
        signed = self.signed(text, thought.signature) if own else {}
        return [signed] if signed else plain

    def encode_result(self, result: ToolMessage, call: ToolCall, wire_id: str) -> WireResults:
        """A result, in which some text must stand, and what does not fit in it."""
        blocks = self.blocks(result.content)
        inside = [block for block in blocks if self.fits(block, result.failed)]
        after = [block for block in blocks if not self.fits(block, result.failed)]
        if not any("text" in block for block in inside):
            inside = [self.text(BELOW if blocks else NO_OUTPUT), *inside]
        return WireResults([self.result(call, wire_id, inside, result.failed)], after)

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
        arranged = arrange(layout, thoughts, calls, self.words(message.text), self.spoken)
        blocks = [block for block in arranged if not is_blank_text(block)]
        return [] if all(map(self.is_hidden, blocks)) else blocks

    def end(self) -> list[Json]:
        """The messages that may still change, marked for the cache if that is wanted."""
        tail = self.tail()
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
