"""Results that stay in view when a history policy leaves out the turn that they are in.

What stays is a message of the policy with the result's text: a result itself cannot be without its call.
"""

from __future__ import annotations

from collections.abc import Sequence

from toolkeel.messages import Message, ToolMessage, UserMessage

PINNED = "pinned"
"""Key of a result's details: a text, under which the newest such result stays in view."""
MAX_PINNED_CHARS = 20_000
"""Characters of pinned results that stay in view, the newest first; a longer one is like any other."""
PINNED_PREFIX = "[From an earlier result, kept: "


def has_pinned(messages: Sequence[Message], key: str) -> bool:
    """Return True if a pinned result is in these messages, as a result or as what stayed of it."""
    return any(
        message.details.get(PINNED) == key
        if isinstance(message, ToolMessage)
        else message.text.startswith(f"{PINNED_PREFIX}{key}]\n") and _is_note(message)
        for message in messages
    )


def list_pinned(messages: Sequence[Message]) -> list[str]:
    """Return what stays of pinned results, each key's newest, as texts of one message each."""
    found: dict[str, str] = {}
    for message in messages:
        if key := find_pin(message):
            found.pop(key, None)
            whole = _is_note(message)
            found[key] = message.text if whole else f"{PINNED_PREFIX}{key}]\n{message.text}"
    room, kept = MAX_PINNED_CHARS, list[str]()
    for text in reversed(found.values()):
        room -= len(text)
        if room < 0:
            break
        kept.insert(0, text)
    return kept


def find_pin(message: Message) -> str:
    """Return the key of a pinned result, or of what stayed of one; empty for another message."""
    if isinstance(message, ToolMessage):
        key = message.details.get(PINNED)
        is_pinned = isinstance(key, str) and not message.failed
        return str(key) if is_pinned and len(message.text) <= MAX_PINNED_CHARS else ""
    if _is_note(message) and message.text.startswith(PINNED_PREFIX):
        return message.text.removeprefix(PINNED_PREFIX).partition("]\n")[0]
    return ""


def _is_note(message: Message) -> bool:
    return isinstance(message, UserMessage) and message.origin == "omission"
