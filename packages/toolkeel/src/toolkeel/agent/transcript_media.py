"""Pictures, sounds and files of a transcript that exceed what a model or its server accepts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from toolkeel.content import Audio, Block, File, Image, Text, content_text
from toolkeel.messages import AssistantMessage, Message

MEDIA_LIMIT = 18_000_000
"""Most bytes of media in a request, as base64; servers refuse bodies of 20 to 50 MB with 413."""

_LEFT_OUT = "left out: the conversation holds too many bytes; ask for it again if it is needed"
_UNSEEN = "not shown: this model takes text only"


def media_size(message: Message) -> int:
    """Return the bytes that a message's pictures, sounds and files take in a request: base64, or a URL."""
    if isinstance(message.content, str):
        return 0
    return sum(map(_size, message.content))


def without_media(message: Message) -> Message:
    """Return a message with text in place of media, for a model that accepts text only.

    An assistant's message, or one without media, is returned itself.

    >>> from toolkeel.messages import UserMessage
    >>> without_media(UserMessage((Text("see"), Image(b"1234")))).content[1].text
    '[image/png, 4 bytes, not shown: this model takes text only]'
    """
    content = message.content
    if isinstance(content, str) or isinstance(message, AssistantMessage) or not media_size(message):
        return message
    return replace(message, content=_describe_hidden(content, {}, _UNSEEN))


def within_limit(messages: Sequence[Message], limit: int = MEDIA_LIMIT) -> list[Message]:
    """Return a transcript with at most `limit` bytes of media; texts that name them replace the oldest.

    Many screenshots make a request too large for servers, though they are few tokens (provider quirk
    Q54). The newest block stays, however large.

    Args:
        messages: The transcript; unchanged messages, and all of the assistant, are returned as the
            same objects.
        limit: In bytes of base64.
    """
    kept = 0
    fitted: list[Message] = []
    for message in reversed(messages):
        content = message.content
        if isinstance(content, str) or isinstance(message, AssistantMessage):
            fitted.append(message)
            continue
        shown: dict[int, None] = {}
        for place in reversed(range(len(content))):
            weight = _size(content[place])
            if weight and (not kept or kept + weight <= limit):
                shown[place] = None
                kept += weight
            elif weight:
                kept = max(kept, limit)  # nothing older is shown: what is seen has no gaps
        told = _describe_hidden(content, shown, _LEFT_OUT)
        fitted.append(message if told is content else replace(message, content=told))
    return fitted[::-1]


def _size(block: Block) -> int:
    """Return the bytes of a media block in a request: its data as base64, or its URL; 0 for other blocks."""
    if not isinstance(block, Image | Audio | File):
        return 0
    return -(-len(block.data) // 3) * 4 + len(getattr(block, "url", ""))


def _describe_hidden(
    content: tuple[Block, ...], shown: dict[int, None], why: str
) -> tuple[Block, ...]:
    """Return the blocks with each that is not `shown` replaced by a text: its name and the reason `why`."""
    blocks = tuple(
        Text(f"{content_text((block,))[:-1]}, {why}]")
        if _size(block) and place not in shown
        else block
        for place, block in enumerate(content)
    )
    return content if blocks == content else blocks
