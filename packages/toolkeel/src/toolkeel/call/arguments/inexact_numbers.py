"""Numbers that a float cannot hold exactly, reported as changes of a call's arguments."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation

EXACT = 2**53
"""Up to here every integer has a float of its own."""
_LONG_NUMBER = re.compile(r"[0-9]{16}")


def find_inexact_numbers(text: str, values: object) -> tuple[str, ...]:
    """Return a phrase for each number whose validated float differs from the number in the text.

    Args:
        text: The arguments as the model wrote them.
        values: The arguments after validation.

    >>> find_inexact_numbers('{"id": 9007199254740993}', {"id": 9007199254740992.0})
    ('id: 9007199254740993 was taken as 9007199254740992.0 (inexact_number)',)
    """
    if not _LONG_NUMBER.search(text):
        return ()
    try:
        sent = json.loads(text, parse_float=Decimal)
    except (ValueError, InvalidOperation, RecursionError):
        return ()
    return tuple(_differences(sent, values, ""))


def _differences(sent: object, taken: object, path: str) -> Iterator[str]:
    if isinstance(sent, dict) and isinstance(taken, dict):
        for key in sent.keys() & taken.keys():
            yield from _differences(sent[key], taken[key], f"{path}.{key}" if path else str(key))
    elif isinstance(sent, list) and isinstance(taken, list):
        for number, (one, other) in enumerate(zip(sent, taken, strict=False)):
            yield from _differences(one, other, f"{path}[{number}]")
    elif type(taken) is float and abs(taken) >= EXACT and _is_other(sent, taken):
        yield f"{path}: {sent} was taken as {taken!r} (inexact_number)"


def _is_other(sent: object, taken: float) -> bool:
    return isinstance(sent, int | Decimal) and Decimal(taken) != sent
