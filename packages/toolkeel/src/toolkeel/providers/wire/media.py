"""Content blocks on the wire: blocks that become text, notes for others, and media by their bytes."""

from __future__ import annotations

from collections.abc import Iterable
from mimetypes import guess_type

from toolkeel._records.messages_json import inline as inline
from toolkeel._records.messages_json import is_text_type
from toolkeel.content import (
    Audio,
    Block,
    Content,
    Data,
    File,
    Image,
    Text,
    content_text,
    detect_media_type,
)
from toolkeel.messages import AssistantMessage
from toolkeel.providers.wire.plain_json import (
    Json,
    as_dict,
    as_text,
    clean_text,
    decode_base64,
    dumps,
)

NO_OUTPUT = "(no tool output)"
"""Stands for an empty result: models make one up where they see nothing."""

ERROR_PREFIXES = ("error", "an error")
"""How a text begins, in small letters, that says by itself that it tells of a failure."""

RESULT_FOLLOWS = "(the result follows)"
"""Stands before pictures and files of a result without words."""

NO_TEXT = "(no text)"
"""Stands for an empty prompt, which some providers refuse."""


def block_text(block: Block) -> str | None:
    r"""Return the text of text, JSON or a UTF-8 text file; None for any other block.

    >>> block_text(File("a,b".encode(), "t.csv", "text/csv"))
    't.csv:\na,b'
    """
    if isinstance(block, Text | Data):
        return block.text
    if isinstance(block, File) and block.data and is_text_type(block.media_type):
        try:
            return f"{block.name}:\n{block.data.decode()}"
        except UnicodeDecodeError:
            return None
    return None


def omission_note(block: Block, where: str) -> str:
    """Return a note that takes the place of a block.

    >>> from toolkeel.content import Image
    >>> omission_note(Image(b"1234"), "cannot be shown")
    '[image/png, 4 bytes, cannot be shown]'
    """
    return clean_text(f"{content_text((block,))[:-1]}, {where}]")


def describe_false_picture(block: Block) -> str:
    """Return a note for a picture whose bytes are not an image; empty for anything else.

    Providers refuse the whole request for it, and each later one of the conversation.

    >>> from toolkeel.content import Image
    >>> describe_false_picture(Image(b"<html>", "image/png"))
    '[image/png, 6 bytes, not shown: it is no picture]'
    """
    is_false = (
        isinstance(block, Image)
        and bool(block.data)
        and block.media_type in _PICTURES
        and not detect_media_type(block.data).startswith("image/")
    )
    return omission_note(block, "not shown: it is no picture") if is_false else ""


_PICTURES = frozenset({"image/png", "image/jpeg", "image/jpg", "image/gif", "image/webp"})
"""Media types whose bytes are known by how they begin."""


def text_without_media(message: AssistantMessage) -> str:
    """Return the text of a reply without notes for media, which are sent back separately."""
    if isinstance(message.content, str):
        return message.content
    return content_text(tuple(block for block in message.content if isinstance(block, Text | Data)))


def is_blank(content: Content) -> bool:
    r"""Return True if content has nothing but blank text.

    >>> from toolkeel.content import Image
    >>> is_blank(" \0\n"), is_blank((Text(""), Image(b"1")))
    (True, False)
    """
    if isinstance(content, str):
        return not clean_text(content).strip()
    return all(isinstance(block, Text) and is_blank(block.text) for block in content)


def to_content(blocks: Iterable[Block]) -> Content:
    """Return blocks as content; a single plain text becomes a string."""
    made = tuple(blocks)
    if len(made) == 1 and isinstance(made[0], Text) and not made[0].extra:
        return made[0].text
    return made


def unknown_block(wire: str, block: Json) -> Text:
    """Wrap a block that only its wire knows: it is sent back there, other wires get text.

    That is the block's own text, behind its title and its source, or a note if it has none.

    >>> result = {"type": "search_result", "source": "https://a.example", "title": "A"}
    >>> unknown_block("anthropic", {**result, "content": [{"type": "text", "text": "cold"}]}).text
    'A, https://a.example:\\ncold'
    >>> unknown_block("bedrock", {"video": {}}).text
    '[video, which only bedrock knows]'
    """
    return Text(_describe_block(wire, block), {wire: block})


def _describe_block(wire: str, block: Json, depth: int = 4) -> str:
    """Return a wire-only block as text: its own text, or a note with its kind."""
    kind = as_text(block.get("type")) or next(iter(block), "block")
    fields = as_dict(block.get(kind)) or block  # Bedrock names the kind by the key
    places = (fields, as_dict(fields.get("source")), as_dict(fields.get("text")))
    found = (place.get(key) for place in places for key in ("text", "content"))
    body = next((one for one in found if one and isinstance(one, str | list)), "")
    if isinstance(body, list):
        parts = map(as_dict, body if depth else ())
        body = "\n".join(_describe_block(wire, one, depth - 1) for one in parts)
    if not body:
        return f"[{kind}, which only {wire} knows]"
    named = (fields.get("title") or fields.get("name"), fields.get("source"))
    heading = ", ".join(filter(None, map(as_text, named)))
    return f"{heading}:\n{body}" if heading else body


def original_block(wire: str, block: Block) -> Json:
    """Return the wire's own block that `unknown_block` wrapped, or empty if there is none."""
    return as_dict(block.extra.get(wire)) if isinstance(block, Text) and block.extra else {}


def data_block(value: object) -> Data:
    """Wrap a JSON value as a `Data` block, with its JSON text."""
    return Data(value, dumps(value))


def media_block(data: bytes, media_type: str, url: str = "", name: str = "file") -> Block:
    """Return a picture, a sound or a file, by its media type; a sound without bytes is a file."""
    kind = media_type.partition("/")[0]
    if kind == "image":
        return inline(Image(data, media_type, url))
    if kind == "audio" and data:
        return Audio(data, media_type)
    return inline(File(data, name, media_type, url))


def base64_block(text: object, media_type: object, name: str = "file") -> Block:
    """Return a picture, a sound or a file from base64 text, empty if that is invalid, by its media type."""
    kind = as_text(media_type) or "application/octet-stream"
    return media_block(decode_base64(as_text(text)), kind, "", name)


def file_block(address: str, name: object) -> Block:
    """Return a file from its address, or from bare base64, which some clients store in its place.

    >>> file_block("JVBERi0=", "a.pdf")
    File(data=b'%PDF-', name='a.pdf', media_type='application/pdf', url='', extra={})
    """
    named = as_text(name) or "file"
    data = b"" if ":" in address else decode_base64(address)
    return (
        base64_block(address, guess_type(named)[0], named)
        if data
        else inline(File(url=address, name=named))
    )
