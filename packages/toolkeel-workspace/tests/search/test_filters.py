"""The filter language of file search."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.responses.file_search_tool_param import Filters
from pydantic import TypeAdapter

from toolkeel.errors import SetupError
from toolkeel_workspace.search.filters import MAX_DEPTH, compile_filter, normalize_filter

FILE = {"lang": "zh", "year": 2024, "draft": False, "score": 1.5, "file_id": "file-1"}


def passes(kind: str, key: str, value: Any) -> bool:
    return compile_filter({"type": kind, "key": key, "value": value})(FILE)


@pytest.mark.parametrize(
    ("kind", "key", "value", "result"),
    [
        ("eq", "lang", "zh", True),
        ("eq", "lang", "en", False),
        ("eq", "year", 2024.0, True),
        ("eq", "year", "2024", False),
        ("eq", "draft", False, True),
        ("eq", "draft", 0, False),
        ("eq", "missing", "x", False),
        ("ne", "lang", "en", True),
        ("ne", "lang", "zh", False),
        ("ne", "missing", "x", True),
        ("gt", "year", 2023, True),
        ("gt", "year", 2024, False),
        ("gte", "year", 2024, True),
        ("lt", "score", 2, True),
        ("lte", "score", 1.5, True),
        ("lt", "lang", "zz", True),
        ("lt", "lang", 5, False),
        ("gt", "missing", 0, False),
        ("gt", "draft", 0, False),
        ("in", "lang", ["en", "zh"], True),
        ("in", "year", [1, 2], False),
        ("in", "year", [], False),
        ("nin", "lang", ["en"], True),
        ("nin", "lang", ["zh"], False),
        ("nin", "missing", ["x"], True),
        ("in", "file_id", ["file-1", "file-2"], True),
    ],
)
def test_an_attribute_is_compared_by_kind_and_value(
    kind: str, key: str, value: Any, result: bool
) -> None:
    assert passes(kind, key, value) is result


def test_filters_are_joined_and_nested() -> None:
    zh = {"type": "eq", "key": "lang", "value": "zh"}
    old = {"type": "lt", "key": "year", "value": 2000}
    assert compile_filter({"type": "and", "filters": [zh, old]})(FILE) is False
    assert compile_filter({"type": "or", "filters": [zh, old]})(FILE) is True
    inner = {"type": "or", "filters": [old, {"type": "and", "filters": [zh]}]}
    assert compile_filter({"type": "and", "filters": [inner, zh]})(FILE) is True
    assert compile_filter({"type": "and", "filters": []})(FILE) is True
    assert compile_filter({"type": "or", "filters": []})(FILE) is False


def test_the_seeds_form_means_all_equal_and_one_of_these_files() -> None:
    seed = SimpleNamespace(metadata={"lang": "zh"}, file_ids=["file-1"])
    assert compile_filter(seed)(FILE)
    assert not compile_filter({"metadata": {"lang": "zh"}, "file_ids": []})(FILE)
    assert compile_filter({"metadata": {"year": 2024}})(FILE)
    assert compile_filter(None)({})
    TypeAdapter(Filters).validate_python(normalize_filter(seed))


@pytest.mark.parametrize(
    ("given_", "told"),
    [
        ({}, r"filters\.type: None is none of"),
        ({"type": "like", "key": "a", "value": "b"}, "'like' is none of eq, ne"),
        ({"type": "eq", "value": 1}, r"filters\.key: the name"),
        ({"type": "eq", "key": "a"}, r"filters\.value: text, a number"),
        ({"type": "eq", "key": "a", "value": [1]}, "text, a number"),
        ({"type": "in", "key": "a", "value": "abc"}, "takes a list"),
        ({"type": "gt", "key": "a", "value": True}, "compares numbers or text"),
        ({"type": "eq", "key": "a", "value": 1, "or": 1}, "no key 'or'"),
        ({"type": "and", "filters": {}}, "a list of filters"),
        (
            {"type": "and", "filters": [{"type": "or", "filters": [5]}]},
            r"filters\[0\]\.filters\[0\]",
        ),
    ],
)
def test_a_mistake_is_told_with_its_place(given_: Any, told: str) -> None:
    with pytest.raises(SetupError, match=told):
        compile_filter(given_)


def test_a_filter_cannot_be_nested_without_end() -> None:
    deep: dict[str, Any] = {"type": "eq", "key": "a", "value": 1}
    for _ in range(MAX_DEPTH + 1):
        deep = {"type": "and", "filters": [deep]}
    with pytest.raises(SetupError, match="nested deeper"):
        compile_filter(deep)


def test_a_key_is_never_a_query() -> None:
    """T45: whatever a key holds, it only names an attribute."""
    assert passes("eq", "x') OR 1=1 --", "zh") is False


VALUES = st.one_of(st.text(max_size=3), st.integers(-3, 3), st.booleans(), st.floats(-3, 3))
KEYS = st.sampled_from(["a", "b"])
COMPARISONS = st.builds(
    lambda kind, key, value: {"type": kind, "key": key, "value": value},
    st.sampled_from(["eq", "ne"]),
    KEYS,
    VALUES,
)
FILTERS = st.recursive(
    COMPARISONS,
    lambda inner: st.builds(
        lambda kind, filters: {"type": kind, "filters": filters},
        st.sampled_from(["and", "or"]),
        st.lists(inner, max_size=3),
    ),
    max_leaves=8,
)


def opposite(given_: dict[str, Any]) -> dict[str, Any]:
    """The filter that passes what this one does not (De Morgan)."""
    swapped = {"eq": "ne", "ne": "eq", "and": "or", "or": "and"}[given_["type"]]
    if "filters" in given_:
        return {"type": swapped, "filters": [opposite(one) for one in given_["filters"]]}
    return {**given_, "type": swapped}


@given(FILTERS, st.dictionaries(KEYS, VALUES))
def test_a_file_passes_a_filter_or_its_opposite(
    given_: dict[str, Any], attributes: dict[str, Any]
) -> None:
    assert compile_filter(given_)(attributes) is not compile_filter(opposite(given_))(attributes)
