"""Ids of responses and calls: each names a session of the user and a place in it, and permits nothing."""

from __future__ import annotations

import base64
import binascii
from typing import NamedTuple

from toolkeel_studio.serve.errors import UnknownSession


class ResponseId(NamedTuple):
    """A response: all that a session does after one journal entry, until its run ends or waits."""

    session: str
    after: int

    def __str__(self) -> str:
        return f"resp_{_pack(self.session)}.{self.after}"


def parse_response_id(text: object) -> ResponseId:
    """Return what a response's id names.

    Raises:
        UnknownSession: it is no id of a response.
    """
    name, _, after = _head(text, "resp_").partition(".")
    if not (after.isascii() and after.isdecimal() and len(after) < 19):
        raise UnknownSession("there is no such response")
    return ResponseId(_unpack(name), int(after))


def pack_call_id(session: str, call_id: str) -> str:
    """Return the id of a call in a completion, by which its result finds its session."""
    return f"call_{_pack(session)}.{_pack(call_id)}"


def parse_call_id(text: object) -> tuple[str, str]:
    """Return the session and the call that an id of `pack_call_id` names.

    Raises:
        UnknownSession: it is no such id.
    """
    name, _, call = _head(text, "call_").partition(".")
    return _unpack(name), _unpack(call)


def _head(text: object, prefix: str) -> str:
    if not (isinstance(text, str) and text.startswith(prefix) and len(text) < 1000):
        raise UnknownSession("there is no such response or call")
    return text.removeprefix(prefix)


def _pack(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode("ascii").rstrip("=")


def _unpack(text: str) -> str:
    try:
        name = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
    except (binascii.Error, ValueError):
        name = ""
    if not name or _pack(name) != text:
        raise UnknownSession("there is no such response or call")
    return name
