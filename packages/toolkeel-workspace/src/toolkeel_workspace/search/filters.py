"""Which files are searched: comparisons of their attributes, joined by and / or.

The language is that of OpenAI's file search: ``{"type": "eq", "key": "lang", "value": "zh"}``,
with ``ne``, ``gt``, ``gte``, ``lt``, ``lte``, ``in`` and ``nin`` likewise, and
``{"type": "and", "filters": [...]}`` with ``or`` likewise, nested as deep as `MAX_DEPTH`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar

from toolkeel.errors import SetupError

T = TypeVar("T")
Attributes: TypeAlias = Mapping[str, Any]
Test: TypeAlias = Callable[[Attributes], bool]

MAX_DEPTH = 20
FILE_ID = "file_id"
"""The key under which a file's own id is compared."""

_ORDERS: Mapping[str, Callable[[Any, Any], bool]] = MappingProxyType(
    {"gt": operator.gt, "gte": operator.ge, "lt": operator.lt, "lte": operator.le}
)
KINDS = ("eq", "ne", "in", "nin", *_ORDERS, "and", "or")


def compile_filter(given: object) -> Test:
    """A test of a file's attributes.

    A file without the attribute passes ``ne`` and ``nin`` alone. Numbers compare with numbers and
    text with text; where the kinds differ, nothing but ``ne`` and ``nin`` is true.

    Args:
        given: A filter as above; ``{"metadata": {...}, "file_ids": [...]}`` or an object with
            these attributes, which means that all must be equal and the file one of these; or
            None, for all files.

    Raises:
        SetupError: saying where in the filter what is wrong.

    >>> recent = compile_filter({"type": "gte", "key": "year", "value": 2024})
    >>> recent({"year": 2025}), recent({"year": 2020}), recent({})
    (True, False, False)
    """
    return build({"type": "and", "filters": []} if given is None else given, _comparison, _compound)


def build(
    given: object, compare: Callable[[str, str, Any], T], join: Callable[[str, list[T]], T]
) -> T:
    """A filter in the words of whoever applies it.

    Args:
        given: A filter as above.
        compare: Makes one of a comparison's kind, key and value.
        join: Makes one of ``and`` or ``or``, and what these join: nothing, too.

    Raises:
        SetupError: saying where in the filter what is wrong.
    """

    def compiled(given: object, where: str, depth: int) -> T:
        kind, checked = _checked(given, where)
        if kind not in ("and", "or"):
            return compare(kind, *_compared(kind, checked, where))
        inner = _inner(checked, where, depth)
        return join(
            kind, [compiled(o, f"{where}.filters[{n}]", depth + 1) for n, o in enumerate(inner)]
        )

    return compiled(as_filter(given), "filters", 0)


def as_filter(given: object) -> Mapping[str, Any]:
    """A filter in OpenAI's form, whatever form it came in.

    Raises:
        SetupError: if it is none.
    """
    if not isinstance(given, Mapping):
        given = {name: getattr(given, name, None) for name in ("metadata", "file_ids")}
    if "type" in given or not {"metadata", "file_ids"} & set(given):
        return given
    metadata, ids = given.get("metadata") or {}, given.get("file_ids")
    tests = [{"type": "eq", "key": key, "value": value} for key, value in metadata.items()]
    if ids is not None:
        tests.append({"type": "in", "key": FILE_ID, "value": list(ids)})
    return {"type": "and", "filters": tests}


def _checked(given: object, where: str) -> tuple[str, Mapping[str, Any]]:
    if not isinstance(given, Mapping):
        raise SetupError(f"{where}: a filter is a dict, not {type(given).__name__}")
    kind = given.get("type")
    if kind not in KINDS:
        raise SetupError(f"{where}.type: {kind!r} is none of {', '.join(KINDS)}")
    allowed = {"type", "filters"} if kind in ("and", "or") else {"type", "key", "value"}
    if unknown := set(given) - allowed:
        raise SetupError(f"{where}: no key {min(map(str, unknown))!r} in {kind!r}")
    return kind, given


def _inner(given: Mapping[str, Any], where: str, depth: int) -> Sequence[object]:
    inner = given.get("filters")
    if not isinstance(inner, Sequence) or isinstance(inner, str):
        raise SetupError(f"{where}.filters: a list of filters is missing")
    if depth == MAX_DEPTH:
        raise SetupError(f"{where}: filters are nested deeper than {MAX_DEPTH}")
    return inner


def _compared(kind: str, given: Mapping[str, Any], where: str) -> tuple[str, Any]:
    """The key, and the value it is compared with: a list of them for ``in`` and ``nin``."""
    key, value = given.get("key"), given.get("value")
    if not isinstance(key, str) or not key:
        raise SetupError(f"{where}.key: the name of an attribute is missing")
    values = _values(kind, value, where)
    return key, values if kind in ("in", "nin") else value


def _compound(kind: str, tests: list[Test]) -> Test:
    if kind == "and":
        return lambda attributes: all(test(attributes) for test in tests)
    return lambda attributes: any(test(attributes) for test in tests)


def _comparison(kind: str, key: str, value: Any) -> Test:
    if kind in _ORDERS:
        compare = _ORDERS[kind]
        return lambda attributes: _ordered(attributes.get(key), value, compare)
    positive, values = kind in ("eq", "in"), value if kind in ("in", "nin") else [value]
    return lambda attributes: positive is any(_equal(attributes.get(key), one) for one in values)


def _values(kind: str, value: object, where: str) -> Sequence[object]:
    """What is compared with.

    Raises:
        SetupError: if it cannot be.
    """
    values: Sequence[object] = [value]
    if kind in ("in", "nin"):
        if not isinstance(value, Sequence) or isinstance(value, str):
            raise SetupError(f"{where}.value: {kind!r} takes a list")
        values = list(value)
    for one in values:
        if not isinstance(one, str | int | float | bool):
            raise SetupError(f"{where}.value: text, a number or a truth value, not {one!r}")
        if kind in _ORDERS and isinstance(one, bool):
            raise SetupError(f"{where}.value: {kind!r} compares numbers or text, not {one!r}")
    return values


def _kind(value: object) -> str:
    if isinstance(value, bool):
        return "bool"
    return "number" if isinstance(value, int | float) else type(value).__name__


def _equal(held: object, value: object) -> bool:
    return _kind(held) == _kind(value) and held == value


def _ordered(held: Any, value: Any, compare: Callable[[Any, Any], bool]) -> bool:
    return _kind(held) == _kind(value) and compare(held, value)
