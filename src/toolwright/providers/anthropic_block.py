"""The parts of Anthropic's answers: content blocks that are still coming, and usage."""

from __future__ import annotations

from toolwright.messages import Usage
from toolwright.providers.layout import Kind
from toolwright.providers.wire import Json, TextPieces, as_count, as_dict, parsed_input


class Block:
    """A content block whose pieces are still coming.

    Args:
        wire: As it started.
        number: Of a call, which one of the reply it is.
    """

    __slots__ = ("arguments", "name", "number", "open", "pieces", "wire")

    def __init__(self, wire: Json, number: int) -> None:
        self.wire = wire
        self.number = number
        self.name = ""
        self.pieces: list[str] = []
        """Of what is said, thought or argued."""
        self.arguments = TextPieces(keep_lone=True)
        self.open = True

    @property
    def type(self) -> object:
        return self.wire.get("type")

    @property
    def kind(self) -> Kind | None:
        """What it is in a layout; None if there is nothing in it."""
        if self.type == "text":
            told = "".join(self.pieces)
            return None if not told else "other" if self.wire.get("citations") else "text"
        if self.type == "thinking":
            return "reasoning" if self.wire.get("signature") or "".join(self.pieces) else None
        return "call" if self.type == "tool_use" else "other"

    def back(self) -> Json:
        """The block as it goes back."""
        text = "".join(self.pieces)
        match self.type:
            case "text":
                cited = self.wire.get("citations")
                return {"type": "text", "text": text, **({"citations": cited} if cited else {})}
            case "thinking":
                return {**self.wire, "thinking": text}
            case _ if text:
                return {**self.wire, "input": parsed_input(text)}
        return self.wire


def grow(wire: Json, delta: Json) -> None:
    """Add a piece of a kind nobody knows to its block: text to text, list to list."""
    for key, value in delta.items():
        before = wire.get(key)
        if key == "type":
            continue
        if isinstance(before, str) and isinstance(value, str):
            wire[key] = before + value
        elif isinstance(before, list) and isinstance(value, list):
            wire[key] = [*before, *value]
        elif value is not None:
            wire[key] = value


def usage_of(usage: Json) -> Usage:
    """One request's tokens. The wire counts cached ones beside ``input_tokens``; we count all."""
    if not usage:
        return Usage(1)
    read = as_count(usage.get("cache_read_input_tokens"))
    written = as_count(usage.get("cache_creation_input_tokens"))
    details = as_dict(usage.get("output_tokens_details"))
    return Usage(
        1,
        as_count(usage.get("input_tokens")) + read + written,
        as_count(usage.get("output_tokens")),
        read,
        as_count(details.get("thinking_tokens")),
    )
