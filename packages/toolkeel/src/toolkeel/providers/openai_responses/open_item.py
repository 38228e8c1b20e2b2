"""An output item of a streamed answer: its latest form, and the pieces that have arrived."""

from __future__ import annotations

from toolkeel.providers.openai_responses.profile import CALLS, message_text, part_text
from toolkeel.providers.wire.decoder import BREAK, Block
from toolkeel.providers.wire.plain_json import Json, as_list, as_text, complete_arguments_text


class OpenItem(Block):
    """An output item that is still arriving.

    Args:
        wire: Its latest form.
        number: Index of the call in the reply, if it is one.
    """

    __slots__ = ("place", "reasoning_part")

    def __init__(self, wire: Json, number: int) -> None:
        super().__init__(wire)
        self.call_index, self.place = number, 0
        self.reasoning_part: object = None
        """The part of the reasoning that is arriving."""

    @property
    def type(self) -> str:
        return as_text(self.wire.get("type"))

    def full_text(self) -> str:
        """Return the text, reasoning or arguments in the item's own form."""
        if self.type in CALLS:
            value = self.wire.get(CALLS[self.type])
            return complete_arguments_text(value) if value else ""
        if self.type == "reasoning":
            parts = [*as_list(self.wire.get("summary")), *as_list(self.wire.get("content"))]
            return BREAK.join(text for part in parts if (text := part_text(part)))
        return message_text(self.wire)

    def complete_wire(self) -> None:
        """Put content that arrived in pieces only into the item's own form."""
        received = "".join(self.pieces)
        if received and not self.full_text():
            if self.type in CALLS:
                self.wire = {**self.wire, CALLS[self.type]: received}
            elif self.type == "message":
                part = {"type": "output_text", "text": received, "annotations": []}
                self.wire = {**self.wire, "role": "assistant", "content": [part]}

    def separator(self, section: object) -> str:
        """Return the separator before a piece of reasoning: a blank line if another part starts."""
        begins = (
            self.reasoning_part is not None and self.reasoning_part != section and bool(self.pieces)
        )
        self.reasoning_part = section
        return BREAK if begins else ""
