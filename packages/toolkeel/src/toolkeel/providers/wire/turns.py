"""Transcripts as alternating turns: user and assistant, all results of a reply in one message.

Anthropic, Bedrock and Gemini require what a transcript need not have: alternating roles, the user
first, and after each reply one message with all its results. `TurnEncoder` builds that from any
transcript, message by message; subclasses define the blocks.

Complete messages never change: `add` returns them as soon as they are complete. `encode_tail` is the
last message, which may still grow, with the results received so far (provider quirk Q1).
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
from toolkeel.providers.wire.media import NO_OUTPUT, NO_TEXT, RESULT_FOLLOWS
from toolkeel.providers.wire.part_order import arrange_blocks
from toolkeel.providers.wire.plain_json import Json, as_dict, as_list, as_text, clean_text
from toolkeel.providers.wire.reasoning_ownership import is_own, is_own_thought
from toolkeel.providers.wire.request import Encoder, P, WireResults, encode_block
from toolkeel.providers.wire.tools import WireTools


class TurnEncoder(Encoder[P]):
    """Encodes a transcript as alternating turns.

    Args:
        tools: The request's tools.
        profile: What the model and its server accept.

    Attributes:
        content_key: Key of a wire message that holds its blocks.
        assistant_role: Role of the model on the wire.
        system: Blocks of all instructions so far, which are separate on these wires.
        called_tools: Names of all tools called so far.
    """

    content_key: ClassVar[str] = "content"
    assistant_role: ClassVar[str] = "assistant"

    def __init__(self, tools: WireTools, profile: P) -> None:
        super().__init__(tools, profile)
        self._last_message: Json | None = None
        self.system: list[Json] = []
        self.called_tools: dict[str, None] = {}

    # — defined by each wire —

    def encode_reply(self, message: AssistantMessage, ids: Sequence[str]) -> list[Json]:
        """Encode a reply's reasoning, text and calls; `ids` are the wire ids of its calls."""
        raise NotImplementedError

    def media_blocks(self, block: Image | Audio | File) -> list[Json]:
        """Return the wire's blocks for a picture, a sound or a file; none if it has no form for it."""
        raise NotImplementedError

    # — the same for most wires —

    def text_block(self, text: str) -> Json:
        """Return a block of text."""
        return {"text": text}

    def encode_prompt(self, message: UserMessage) -> list[Json]:
        """Encode a user message; no blocks if it is blank."""
        return self.encode_content(message.content)

    def encode_block(self, block: Block) -> list[Json]:
        """Encode a content block."""
        return encode_block(self.wire, block, self.text_block, self.media_blocks)

    def encode_content(self, content: Content) -> list[Json]:
        """Encode content as blocks, without blank texts."""
        if isinstance(content, str):
            return self.encode_text(content)[1]
        made = [wire for block in content for wire in self.encode_block(block)]
        return [wire for wire in made if not is_blank_text(wire)]

    def encode_text(self, text: str) -> tuple[str, list[Json]]:
        """Return a clean text, and its blocks; none if it is blank."""
        text = clean_text(text)
        return text, [self.text_block(text)] if text.strip() else []

    # — turns —

    def encode_message(self, message: AssistantMessage | SystemMessage | UserMessage) -> list[Json]:
        """Encode a message, record its calls, and return the wire messages that are complete now.

        A system message is added to `system`; an empty reply adds nothing; a blank prompt becomes a placeholder.
        """
        if isinstance(message, SystemMessage):
            self.system += self.encode_text(message.text)[1]
            return []
        over = self._end_turn()
        if isinstance(message, UserMessage):
            return over + self._extend(
                "user", self.encode_prompt(message) or [self.text_block(NO_TEXT)]
            )
        if not (message.tool_calls or message.content or message.provider_options):
            return over  # it is empty
        ids = [self._open.add(call) for call in message.tool_calls]
        self.called_tools |= dict.fromkeys(call.name for call in message.tool_calls)
        return over + self._extend(self.assistant_role, self.encode_reply(message, ids))

    def take_ready_results(self) -> list[Json]:
        """Return nothing: the results of a turn are one message, complete with the turn."""
        return []

    def encode_tail(self) -> list[Json]:
        """Return copies of the wire messages that may still change: the last, and open results or placeholders."""
        tail = []
        if self._last_message is not None:
            tail.append(
                {
                    **self._last_message,
                    self.content_key: [*as_list(self._last_message[self.content_key])],
                }
            )
        if self._open.calls:
            tail.append(self._make_message("user", self._collect_results()))
        return tail

    def _end_turn(self) -> list[Json]:
        """End the turn and append its results as the user's; return the message that this completes, if any."""
        if not self._open.calls:
            return []
        blocks = self._collect_results()
        self.close_turn()
        return self._extend("user", blocks)

    def _collect_results(self) -> list[Json]:
        """Return all results of the open calls in call order, then their trailing content."""
        rest = self.open_results()
        return rest.blocks + rest.trailing

    def _extend(self, role: str, blocks: list[Json]) -> list[Json]:
        """Append `blocks`, if any, to the open message; open a new one if that has another role.

        Return the message that this completes, or a placeholder of the user before a first reply, if any.
        """
        if not blocks:
            return []
        if self._last_message is not None and self._last_message["role"] == role:
            as_list(self._last_message[self.content_key]).extend(blocks)
            return []
        over = [] if self._last_message is None else [self._last_message]
        if role != "user" and not self.has_messages:
            over.append(self._make_message("user", [self.text_block(NO_TEXT)]))
        self.has_messages = True
        self._last_message = self._make_message(role, blocks)
        return over

    def _make_message(self, role: str, blocks: Sequence[object]) -> Json:
        """Return a wire message with a role and a copy of blocks."""
        return {"role": role, self.content_key: list(blocks)}


class ClaudeEncoder(TurnEncoder[P]):
    """Encodes blocks as Anthropic's Messages and Bedrock's Converse have them.

    Signed reasoning is among the blocks, a cache mark after them, and a reply that the model is to
    continue may not end in white space.
    """

    def encode_call(self, call: ToolCall, wire_id: str) -> Json:
        """Encode a call that has `wire_id`."""
        raise NotImplementedError

    def result_block(self, call: ToolCall, wire_id: str, blocks: list[Json], failed: bool) -> Json:
        """Build the block of a result."""
        raise NotImplementedError

    def fits_in_result(self, block: Json, failed: bool) -> bool:
        """Return True if a result may contain a block; else the block follows it."""
        raise NotImplementedError

    def signed_reasoning(self, text: str, signature: str) -> Json:
        """Build a block of the model's own signed reasoning, or empty if it is not sent back so."""
        raise NotImplementedError

    def text_of_block(self, block: Json) -> str:
        """Return the text in a block."""
        raise NotImplementedError

    def is_reasoning(self, entry: object) -> bool:
        """Return True if a block is reasoning."""
        raise NotImplementedError

    def mark_for_cache(self, blocks: Sequence[Json]) -> list[Json]:
        """Return blocks with a cache mark, if the profile wants one. The argument is not changed."""
        raise NotImplementedError

    def restore_block(self, block: Json) -> Json:
        """Return a saved block in the wire's own form."""
        return block

    def encode_block(self, block: Block) -> list[Json]:
        """Encode a content block."""
        return [self.restore_block(one) for one in super().encode_block(block)]

    def encode_reasoning(self, thought: Reasoning, own: bool) -> list[Json]:
        """Encode reasoning: signed if it is the model's own, else as text."""
        text, plain = self.encode_text(thought.text)
        signed = self.signed_reasoning(text, thought.signature) if own else {}
        return [signed] if signed else plain

    def encode_result(self, result: ToolMessage, call: ToolCall, wire_id: str) -> WireResults:
        """Encode a result, which must contain text, and the blocks that must follow it."""
        blocks = self.encode_content(result.content)
        inside = [block for block in blocks if self.fits_in_result(block, result.failed)]
        after = [block for block in blocks if not self.fits_in_result(block, result.failed)]
        if not any("text" in block for block in inside):
            inside = [self.text_block(RESULT_FOLLOWS if blocks else NO_OUTPUT), *inside]
        return WireResults([self.result_block(call, wire_id, inside, result.failed)], after)

    def encode_reply(self, message: AssistantMessage, ids: Sequence[str]) -> list[Json]:
        """Encode reasoning, text and calls in their original order, without reasoning at the end.

        Servers refuse a reply that ends with reasoning, as one that was cut off does.
        """
        ours = is_own(message, self.wire, self._profile)
        saved = as_list(as_dict(message.provider_options.get(self.wire)).get("content"))
        layout = [
            self.restore_block(entry) if isinstance(entry, dict) else entry
            for entry in saved
            if ours or not self.is_reasoning(entry)
        ]
        thoughts = [
            self.encode_reasoning(one, is_own_thought(one, message, ours, self._profile))
            for one in message.reasoning
        ]
        calls = [
            self.encode_call(call, id) for call, id in zip(message.tool_calls, ids, strict=True)
        ]
        arranged = arrange_blocks(
            layout, thoughts, calls, self.encode_text(message.text), self.text_of_block
        )
        blocks = [block for block in arranged if not is_blank_text(block)]
        thought_blocks = [one for made in thoughts for one in made] if layout else []
        while blocks and (
            self.is_reasoning(blocks[-1]) or any(blocks[-1] is one for one in thought_blocks)
        ):
            blocks.pop()
        return blocks

    def encode_end(self) -> list[Json]:
        """Return the last messages: a user's with a cache mark if the profile wants one, a reply's text stripped."""
        tail = self.encode_tail()
        for message in tail[-1:]:
            blocks = [as_dict(block) for block in as_list(message["content"])]
            last = blocks[-1]
            if message["role"] == "user":
                blocks = self.mark_for_cache(blocks)
            elif last.get("type", "text") == "text" and "text" in last:
                blocks[-1] = {**last, "text": as_text(last["text"]).rstrip()}
            message["content"] = blocks
        return tail


def is_blank_text(block: Json) -> bool:
    """Return True if a block is blank text."""
    return isinstance(block.get("text"), str) and not as_text(block["text"]).strip()
