"""Pinned results: they stay in requests when a history policy omits their turn.

A message of the policy with the result's text stays: a result itself cannot be sent without its call.
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
    """Return True if these messages have a result pinned under a key, or the note that replaced one."""
    return any(
        message.details.get(PINNED) == key
        if isinstance(message, ToolMessage)
        else message.text.startswith(f"{PINNED_PREFIX}{key}]\n") and _is_note(message)
        for message in messages
    )


def list_pinned(messages: Sequence[Message]) -> list[str]:
    """Return the notes that replace pinned results, the newest of each key, up to `MAX_PINNED_CHARS`."""
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
    """Return the key under which a result, or the note that replaced it, is pinned; "" if it is not.

    Failed and very long results are never pinned.
    """
    if isinstance(message, ToolMessage):
        key = message.details.get(PINNED)
        is_pinned = isinstance(key, str) and not message.failed
        return str(key) if is_pinned and len(message.text) <= MAX_PINNED_CHARS else ""
    if _is_note(message) and message.text.startswith(PINNED_PREFIX):
        return message.text.removeprefix(PINNED_PREFIX).partition("]\n")[0]
    return ""


def _is_note(message: Message) -> bool:
    """Return True if a policy inserted the message."""
    return isinstance(message, UserMessage) and message.origin == "omission"
