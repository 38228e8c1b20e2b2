"""Arguments of a call that Gemini streams in pieces (``partialArgs``), each with its place.

A call begins with its name and ``willContinue``. Each later part adds values at JSON paths (RFC 9535:
``$.city``, ``$.days[0]``, ``$['a b']``); a text may come in several pieces. The call ends with a part
that does not say ``willContinue``, or with the name of the next one; pieces with an id belong to the
call with that id.
"""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Any

from toolkeel.errors import ModelError
from toolkeel.providers.wire.plain_json import Json, as_dict, as_list, as_text

_STEP = re.compile(
    r"""\.(?P<name>[^.\[\]]+)|\[(?P<index>\d{1,6})\]|\[(?P<quoted>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\]"""
)
_VALUES = ("stringValue", "numberValue", "boolValue")


class PartialCall:
    """A call whose arguments are still arriving.

    Args:
        part: The first part of it.
    """

    def __init__(self, part: Json) -> None:
        self._part = part
        self._call = as_dict(part.get("functionCall"))
        self._args: Json = dict(as_dict(self._call.get("args")))
        self._open = ""
        """Path of a text that continues."""

    def feed(self, part: Json) -> None:
        """Add the values of a part. Its signature replaces that of the first part, in place.

        Raises:
            ModelError: a path does not fit what came before.
        """
        call = as_dict(part.get("functionCall"))
        for piece in map(as_dict, as_list(call.get("partialArgs"))):
            path = as_text(piece.get("jsonPath"))
            key = next((one for one in _VALUES if one in piece), "")
            try:
                _put(
                    self._args,
                    _parse_path(path),
                    piece.get(key) if key else None,
                    path == self._open,
                )
            except (LookupError, TypeError, ValueError) as error:
                raise ModelError(f"a piece of a call's arguments has no place: {path!r}") from error
            self._open = path if piece.get("willContinue") else ""
        known = ("args", "partialArgs", "willContinue")
        self._call |= {name: one for name, one in call.items() if one and name not in known}
        if signature := part.get("thoughtSignature"):
            self._part["thoughtSignature"] = signature

    @property
    def is_cut_off(self) -> bool:
        """True while the last text value is incomplete."""
        return bool(self._open)

    def takes(self, part: Json) -> bool:
        """Return True if a part belongs to this call, False if it starts another one.

        A part with the same name and no id continues the call, unless it has nothing else or brings
        arguments of its own.
        """
        call = as_dict(part.get("functionCall"))
        id, name = call.get("id"), call.get("name")
        if id and self._call.get("id"):
            return bool(id == self._call["id"])
        if not name:
            return True
        starts = "args" in call or not call.get("partialArgs")
        return name == self._call.get("name") and not starts

    def complete(self) -> Json:
        """Return the call as one part with all arguments received so far."""
        unknown = {k: v for k, v in self._call.items() if k not in ("partialArgs", "willContinue")}
        return {**self._part, "functionCall": {**unknown, "args": self._args}}


def is_partial(part: Json) -> bool:
    """Return True if a part has a call whose arguments come in pieces."""
    call = as_dict(part.get("functionCall"))
    return bool(call.get("partialArgs") or call.get("willContinue"))


def _parse_path(path: str) -> list[str | int]:
    """Return the keys and indexes of a JSON path, or raise `ValueError` if it is malformed.

    >>> _parse_path("$.days[0]['a b']")
    ['days', 0, 'a b']
    """
    if path[:1] != "$":
        raise ValueError(path)
    found: list[str | int] = []
    end = 1
    for match in _STEP.finditer(path, 1):
        if match.start() != end:
            break
        end = match.end()
        quoted = match["quoted"]
        if quoted:
            text = quoted[1:-1].replace("\\'", "'") if quoted[0] == "'" else json.loads(quoted)
            found.append(text)
        else:
            found.append(int(match["index"]) if match["index"] else match["name"])
    if end != len(path) or not found:
        raise ValueError(path)
    return found


def _put(holder: Any, steps: list[str | int], value: object, is_rest: bool) -> None:
    """Set the value at a path in `holder`, creating containers.

    `is_rest` appends it to the text already there.

    Raises `TypeError` or `IndexError` for a path that does not fit its containers.
    """
    for step, following in pairwise(steps):
        holder = _get_or_add(holder, step, [] if isinstance(following, int) else {})
    last = steps[-1]
    if is_rest:
        holder[last] = holder[last] + value
    elif isinstance(holder, list) and isinstance(last, int):
        _get_or_add(holder, last, value)
        holder[last] = value
    elif isinstance(holder, dict) and isinstance(last, str):
        holder[last] = value
    else:
        raise TypeError(last)


def _get_or_add(holder: Any, step: str | int, empty: object) -> Any:
    """Return the value at a key or index, storing `empty` there first if it is missing.

    Raises `TypeError` for a key of a list, or an index of a dict; `IndexError` for an index after
    the next free one, since a list gets no gaps.
    """
    if isinstance(holder, dict) and isinstance(step, str):
        return holder.setdefault(step, empty)
    if not isinstance(holder, list) or not isinstance(step, int):
        raise TypeError(step)
    if step == len(holder):
        holder.append(empty)
    return holder[step]
