"""The parts of Converse answers: content blocks that are still coming, and bytes in JSON."""

from __future__ import annotations

import base64

from toolwright.providers.layout import Kind
from toolwright.providers.wire import Json, TextPieces, as_text, parsed_input

BYTES = "$bytes"
"""The key under which bytes stand in a layout, so that it is JSON."""


class Block:
    """A content block whose pieces are still coming.

    Args:
        kind: What it is in a layout.
        key: Its key on the wire.
        body: What stands under that key so far.
    """

    __slots__ = ("arguments", "body", "key", "kind", "name", "number", "open", "pieces")

    def __init__(self, kind: Kind, key: str, body: Json) -> None:
        self.kind: Kind = kind
        self.key = key
        self.body = body
        self.name = ""
        self.number = -1
        self.pieces: list[str] = []
        """Of what is said, thought or argued."""
        self.arguments = TextPieces(keep_lone=True)
        self.open = True

    @property
    def empty(self) -> bool:
        """Whether there is nothing in it."""
        return self.kind in ("text", "reasoning") and not (any(self.pieces) or self.body)

    def back(self) -> Json:
        """The block as it goes back, its bytes as text."""
        text = "".join(self.pieces)
        match self.key:
            case "text":
                return {"text": text}
            case "citationsContent":
                return {self.key: {"content": [{"text": text}], **self.body}}
            case "toolUse":
                input = parsed_input(text) if text else self.body.get("input") or {}
                return {self.key: {**self.body, "input": input}}
        return {self.key: packed(self.body)}


def packed(value: object) -> object:
    """`value` with its bytes as JSON.

    >>> packed({"redactedContent": b"ab"})
    {'redactedContent': {'$bytes': 'YWI='}}
    """
    if isinstance(value, bytes):
        return {BYTES: base64.b64encode(value).decode()}
    if isinstance(value, dict):
        return {key: packed(item) for key, item in value.items()}
    return [packed(item) for item in value] if isinstance(value, list) else value


def unpacked(value: object) -> object:
    """`packed`, turned round.

    >>> unpacked({"redactedContent": {"$bytes": "YWI="}})
    {'redactedContent': b'ab'}
    """
    if isinstance(value, dict):
        if value.keys() == {BYTES}:
            return base64.b64decode(as_text(value[BYTES]))
        return {key: unpacked(item) for key, item in value.items()}
    return [unpacked(item) for item in value] if isinstance(value, list) else value


def joined(before: object, piece: object) -> bytes:
    """Bytes and a piece of them, which is base64 if it did not come through boto3."""
    more = piece if isinstance(piece, bytes) else base64.b64decode(as_text(piece))
    return (before if isinstance(before, bytes) else b"") + more
