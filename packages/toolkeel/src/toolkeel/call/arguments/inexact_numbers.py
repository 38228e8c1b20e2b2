"""Numbers that a float cannot hold exactly, reported as changes of a call's arguments."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Any

from pydantic import BaseModel, RootModel

from toolkeel._common.redact_secrets import MASK
from toolkeel.define.schema.canonical import aliases_of
from toolkeel.define.secret import Mask
from toolkeel.errors import FieldError

Path = tuple[str | int, ...]
EXACT = 2**53
"""Up to here every integer has a float of its own."""
_LONG_NUMBER = re.compile(r"[0-9]{16}")


def find_inexact_numbers(text: str, values: object, mask: Mask | None = None) -> tuple[str, ...]:
    """Return a phrase for each number whose validated float differs from the one sent; none if `text` is no JSON.

    Args:
        text: The arguments as the model wrote them.
        values: The arguments after validation.
        mask: Masks the numbers of secret arguments.

    >>> find_inexact_numbers('{"id": 9007199254740993}', {"id": 9007199254740992.0})
    ('id: 9007199254740993 was taken as 9007199254740992.0 (inexact_number)',)
    """
    if not _LONG_NUMBER.search(text):
        return ()
    try:
        sent = json.loads(text, parse_float=Decimal)
        return tuple(
            f"{FieldError(path, '').where}: {one} was taken as {other} (inexact_number)"
            for path, *both in _differences(sent, values, ())
            for one, other in [(MASK, MASK) if mask and mask.is_secret(path) else both]
        )
    except (ValueError, InvalidOperation, RecursionError):
        return ()


def _members(value: Any) -> object:
    """Return a record of any class as a dict by JSON names, a plain tuple as a list, other values unchanged."""
    if isinstance(value, RootModel):
        return _members(value.root)
    if isinstance(value, BaseModel):
        fields = type(value).model_fields
        keys = aliases_of({name: [info] for name, info in fields.items()})
        return {keys.get(name, name): item for name, item in value.__dict__.items()}
    if isinstance(value, tuple):
        named = getattr(value, "_asdict", None)
        return list(value) if named is None else named()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: getattr(value, each.name, None) for each in dataclasses.fields(value)}
    return value


def _differences(sent: object, taken: object, path: Path) -> Iterator[tuple[Path, str, str]]:
    """Yield the path of each sent number that a float in `taken` changed, and both numbers."""
    if isinstance(sent, dict | list):
        taken = _members(taken)
    if isinstance(sent, dict) and isinstance(taken, dict):
        for key in sent.keys() & taken.keys():
            yield from _differences(sent[key], taken[key], (*path, key))
    elif isinstance(sent, list) and isinstance(taken, list):
        for number, (one, other) in enumerate(zip(sent, taken, strict=False)):
            yield from _differences(one, other, (*path, number))
    elif isinstance(sent, list) and isinstance(taken, set | frozenset):
        for number, one in enumerate(sent):
            if isinstance(one, int | Decimal) and (held := float(one)) in taken:
                yield from _differences(one, held, (*path, number))
    elif type(taken) is float and abs(taken) >= EXACT and _is_other(sent, taken):
        yield path, str(sent), repr(taken)


def _is_other(sent: object, taken: float) -> bool:
    """Return True if a sent number was changed by its conversion to a float."""
    return isinstance(sent, int | Decimal) and Decimal(taken) != sent
