"""Content blocks as providers can take them: which are text, and the bytes of the others."""

from __future__ import annotations

from toolkeel._records.data_urls import inline as inline
from toolkeel._records.data_urls import is_text_type
from toolkeel.content import (
    Block,
    Content,
    Data,
    File,
    Text,
    text_of,
)
from toolkeel.messages import AssistantMessage
from toolkeel.providers.wire.plain_json import clean_text

NO_OUTPUT = "(no tool output)"
"""Stands for an empty result: models make one up where they see nothing."""

BELOW = "(the result follows)"
"""Stands before pictures and files of a result without words."""

NO_TEXT = "(no text)"
"""Stands for an empty prompt, which some providers refuse."""


def readable(block: Block) -> str | None:
    """The text of a block that is text: said, JSON, or a file of text.

    >>> readable(File("a,b".encode(), "t.csv", "text/csv"))
    't.csv:\\na,b'
    """
    if isinstance(block, Text | Data):
        return block.text
    if isinstance(block, File) and block.data and is_text_type(block.media_type):
        try:
            return f"{block.name}:\n{block.data.decode()}"
        except UnicodeDecodeError:
            return None
    return None


def note(block: Block, where: str) -> str:
    """What stands in place of a block that is not text.

    >>> from toolkeel.content import Image
    >>> note(Image(b"1234"), "cannot be shown")
    '[image/png, 4 bytes, cannot be shown]'
    """
    return clean_text(f"{text_of((block,))[:-1]}, {where}]")


def words_alone(message: AssistantMessage) -> str:
    """What a reply says in words, where the pictures and sounds in it go back by themselves."""
    if isinstance(message.content, str):
        return message.content
    return text_of(tuple(block for block in message.content if isinstance(block, Text | Data)))


def is_blank(content: Content) -> bool:
    """Whether there is nothing but blank text in `content`.

    >>> from toolkeel.content import Image
    >>> is_blank(" \\n"), is_blank((Text(""), Image(b"1")))
    (True, False)
    """
    if isinstance(content, str):
        return not content.strip()
    return all(isinstance(block, Text) and not block.text.strip() for block in content)
