"""An output item of a streamed answer: its latest form, and the pieces that have arrived."""

from __future__ import annotations

from collections.abc import Iterable

from toolkeel.providers.openai_responses.profile import CALLS, message_text, part_text
from toolkeel.providers.wire.decoder import BREAK, Block
from toolkeel.providers.wire.plain_json import (
    Json,
    as_dict,
    as_key,
    as_list,
    as_parts,
    as_text,
    complete_arguments_text,
)


class OpenItem(Block):
    """An output item that is still arriving.

    Args:
        wire: Its latest form.
        number: Index of the call in the reply, if it is one.
    """

    __slots__ = ("_parts", "citations", "place", "reasoning_part")

    def __init__(self, wire: Json, number: int) -> None:
        super().__init__(wire)
        self.call_index, self.place = number, 0
        self.citations: list[tuple[object, object]] = []
        """Citations that arrived alone, each with the index of its text."""
        self._parts: dict[tuple[str, object], list[str]] = {}
        self.reasoning_part: list[str] | None = None
        """The part of the reasoning that is arriving."""

    @property
    def type(self) -> str:
        """The item's ``type`` on the wire."""
        return as_text(self.wire.get("type"))

    def part(self, event: Json) -> list[str]:
        """Return the pieces of the part an event is about, adding an empty list at first."""
        key = "summary_index" if "summary_index" in event else "content_index"
        return self._parts.setdefault((key, as_key(event.get(key))), [])

    def full_text(self) -> str:
        """Return the text, reasoning or arguments in the item's own form, not its pieces."""
        if self.type in CALLS:
            value = self.wire.get(CALLS[self.type])
            if self.type == "custom_tool_call" and isinstance(value, str):
                return value  # any text, even a blank one
            return complete_arguments_text(value) if value else ""
        if self.type == "reasoning":
            parts = [*as_parts(self.wire.get("summary")), *as_parts(self.wire.get("content"))]
            return BREAK.join(text for part in parts if (text := part_text(part)))
        return message_text(self.wire)

    def complete_wire(self) -> None:
        """Set `wire` to the item's complete form.

        The arguments or text of the pieces are added if the form has none, and citations that arrived
        alone are added to each text without its own.
        """
        received = "".join(self.pieces)
        if received and not self.full_text():
            if self.type in CALLS:
                self.wire = {**self.wire, CALLS[self.type]: received}
            elif self.type == "message":
                part = {"type": "output_text", "text": received, "annotations": []}
                self.wire = {**self.wire, "role": "assistant", "content": [part]}
        if self.citations:
            parts = [self._cite(index, as_dict(part)) for index, part in self._content()]
            self.wire = {**self.wire, "content": parts}

    def _content(self) -> Iterable[tuple[int, object]]:
        """Return the item's content parts with their indexes; none if it has no content."""
        return enumerate(as_list(self.wire.get("content")))

    def _cite(self, index: int, part: Json) -> Json:
        """Return a part with the citations that arrived for it, unless it has some."""
        found = [one for place, one in self.citations if place == index]
        return part if part.get("annotations") or not found else {**part, "annotations": found}

    def separator(self, part: list[str]) -> str:
        """Record the part that is arriving; return what separates it: a blank line if another part came before it."""
        last, self.reasoning_part = self.reasoning_part, part
        return BREAK if last is not None and last is not part and self.pieces else ""
