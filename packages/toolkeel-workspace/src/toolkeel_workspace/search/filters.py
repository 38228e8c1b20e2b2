"""Filters on file attributes: comparisons joined by and / or.

The language is that of OpenAI's file search: ``{"type": "eq", "key": "lang", "value": "zh"}``,
with ``ne``, ``gt``, ``gte``, ``lt``, ``lte``, ``in`` and ``nin`` likewise, and
``{"type": "and", "filters": [...]}`` with ``or`` likewise, nested up to `MAX_DEPTH`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar

from toolkeel.errors import SetupError

T = TypeVar("T")
Attributes: TypeAlias = Mapping[str, Any]
FileTest: TypeAlias = Callable[[Attributes], bool]

MAX_DEPTH = 20
FILE_ID = "file_id"
"""The key under which a file's own id is compared."""

_ORDER_OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = MappingProxyType(
    {"gt": operator.gt, "gte": operator.ge, "lt": operator.lt, "lte": operator.le}
)
FILTER_KINDS = ("eq", "ne", "in", "nin", *_ORDER_OPERATORS, "and", "or")


def compile_filter(filter_: object) -> FileTest:
    """Compile a filter to a test of a file's attributes.

    A file without the attribute passes only ``ne`` and ``nin``. Numbers compare with numbers and text with
    text; for different types only ``ne`` and ``nin`` are true.

    Args:
        filter_: A filter as above; ``{"metadata": {...}, "file_ids": [...]}`` or an object with
            these attributes, which means that all metadata are equal and the file is one of these;
            or None, for all files.

    Raises:
        SetupError: naming the invalid place in the filter.

    >>> recent = compile_filter({"type": "gte", "key": "year", "value": 2024})
    >>> recent({"year": 2025}), recent({"year": 2020}), recent({})
    (True, False, False)
    """
    return translate_filter(
        {"type": "and", "filters": []} if filter_ is None else filter_,
        _make_comparison,
        _make_compound,
    )


def translate_filter(
    filter_: object,
    make_comparison: Callable[[str, str, Any], T],
    make_compound: Callable[[str, list[T]], T],
) -> T:
    """Translate a filter into another form, such as SQL.

    Args:
        filter_: A filter as above.
        make_comparison: Builds a comparison from kind, key and value.
        make_compound: Joins comparisons with ``and`` or ``or``; there may be none.

    Raises:
        SetupError: naming the invalid place in the filter.
    """

    def compiled(filter_: object, where: str, depth: int) -> T:
        kind, checked = _check_filter(filter_, where)
        if kind not in ("and", "or"):
            return make_comparison(kind, *_parse_comparison(kind, checked, where))
        inner = _get_inner(checked, where, depth)
        return make_compound(
            kind, [compiled(o, f"{where}.filters[{n}]", depth + 1) for n, o in enumerate(inner)]
        )

    return compiled(normalize_filter(filter_), "filters", 0)


def normalize_filter(filter_: object) -> Mapping[str, Any]:
    """Convert a filter to OpenAI's form.

    Raises:
        SetupError: if it is no filter.
    """
    if not isinstance(filter_, Mapping):
        filter_ = {name: getattr(filter_, name, None) for name in ("metadata", "file_ids")}
    if "type" in filter_ or not {"metadata", "file_ids"} & set(filter_):
        return filter_
    metadata, ids = filter_.get("metadata") or {}, filter_.get("file_ids")
    tests = [{"type": "eq", "key": key, "value": value} for key, value in metadata.items()]
    if ids is not None:
        tests.append({"type": "in", "key": FILE_ID, "value": list(ids)})
    return {"type": "and", "filters": tests}


def _check_filter(filter_: object, path: str) -> tuple[str, Mapping[str, Any]]:
    if not isinstance(filter_, Mapping):
        raise SetupError(f"{path}: a filter is a dict, not {type(filter_).__name__}")
    kind = filter_.get("type")
    if kind not in FILTER_KINDS:
        raise SetupError(f"{path}.type: {kind!r} is none of {', '.join(FILTER_KINDS)}")
    allowed = {"type", "filters"} if kind in ("and", "or") else {"type", "key", "value"}
    if unknown := set(filter_) - allowed:
        raise SetupError(f"{path}: no key {min(map(str, unknown))!r} in {kind!r}")
    return kind, filter_


def _get_inner(filter_: Mapping[str, Any], path: str, depth: int) -> Sequence[object]:
    inner = filter_.get("filters")
    if not isinstance(inner, Sequence) or isinstance(inner, str):
        raise SetupError(f"{path}.filters: a list of filters is missing")
    if depth == MAX_DEPTH:
        raise SetupError(f"{path}: filters are nested deeper than {MAX_DEPTH}")
    return inner


def _parse_comparison(kind: str, filter_: Mapping[str, Any], path: str) -> tuple[str, Any]:
    """Return the key, and the value to compare with: a list for ``in`` and ``nin``."""
    key, value = filter_.get("key"), filter_.get("value")
    if not isinstance(key, str) or not key:
        raise SetupError(f"{path}.key: the name of an attribute is missing")
    values = _check_values(kind, value, path)
    return key, values if kind in ("in", "nin") else value


def _make_compound(kind: str, tests: list[FileTest]) -> FileTest:
    if kind == "and":
        return lambda attributes: all(test(attributes) for test in tests)
    return lambda attributes: any(test(attributes) for test in tests)


def _make_comparison(kind: str, key: str, value: Any) -> FileTest:
    if kind in _ORDER_OPERATORS:
        compare = _ORDER_OPERATORS[kind]
        return lambda attributes: _is_ordered(attributes.get(key), value, compare)
    positive, values = kind in ("eq", "in"), value if kind in ("in", "nin") else [value]
    return lambda attributes: positive is any(_is_equal(attributes.get(key), one) for one in values)


def _check_values(kind: str, value: object, path: str) -> Sequence[object]:
    """Check the compared values and return them as a list.

    Raises:
        SetupError: if one cannot be compared.
    """
    values: Sequence[object] = [value]
    if kind in ("in", "nin"):
        if not isinstance(value, Sequence) or isinstance(value, str):
            raise SetupError(f"{path}.value: {kind!r} takes a list")
        values = list(value)
    for one in values:
        if not isinstance(one, str | int | float | bool):
            raise SetupError(f"{path}.value: text, a number or a truth value, not {one!r}")
        if kind in _ORDER_OPERATORS and isinstance(one, bool):
            raise SetupError(f"{path}.value: {kind!r} compares numbers or text, not {one!r}")
    return values


def _get_value_kind(value: object) -> str:
    if isinstance(value, bool):
        return "bool"
    return "number" if isinstance(value, int | float) else type(value).__name__


def _is_equal(actual: object, value: object) -> bool:
    return _get_value_kind(actual) == _get_value_kind(value) and actual == value


def _is_ordered(actual: Any, value: Any, compare: Callable[[Any, Any], bool]) -> bool:
    return _get_value_kind(actual) == _get_value_kind(value) and compare(actual, value)
