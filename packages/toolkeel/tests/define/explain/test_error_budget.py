"""What is wrong costs no more than what is right, however deep and however much it is."""

import datetime as dt
import json
import subprocess
import sys
import tracemalloc
from typing import Any, Literal, Union

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from toolkeel import Tool, Toolset, tool
from toolkeel.call.arguments.coerce import MAX_CHANGES
from toolkeel.call.arguments.validate import prepare
from toolkeel.define.explain.error_budget import MAX_ERRORS, BoundedValidator
from toolkeel.errors import CallError, InvalidArguments
from toolkeel.messages import ToolCall, ToolMessage


class Plus(BaseModel):
    """A sum."""

    left: "Expression"
    right: "Expression" = 0


class Minus(BaseModel):
    """A difference, of the same fields."""

    left: "Expression"
    right: "Expression"


Expression = Union[Plus, Minus, int]  # noqa: UP007
Plus.model_rebuild()
Minus.model_rebuild()


@tool(inline=True)
def evaluate(x: Expression) -> str:
    """Evaluate."""
    return "done"


@tool(inline=True)
def add(numbers: list[int], of: list[dict[str, float]] = [], mode: str = "") -> str:  # noqa: B006
    """Add."""
    return "done"


FROM_SCHEMA = Tool.from_schema("from_schema", "", dict(evaluate.parameters), lambda _, a: "done")


def _call(made: Tool[..., Any], arguments: object) -> ToolMessage:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    [message] = Toolset([made]).run_sync([ToolCall("1", made.name, text)])
    return message


def _deep(levels: int, leaf: object, side: str = "left") -> object:
    value = leaf
    for _ in range(levels):
        value = {side: value, ("right" if side == "left" else "left"): 1}
    return value


GROWTH = """
import functools, json, operator, resource
from typing import Literal
from pydantic import create_model
from toolkeel import ToolCall, Toolset, tool

def take(x): "Take."

def grown(annotation, value):
    take.__annotations__ = {"x": annotation}
    tools = Toolset([tool(take)])
    [first] = tools.run_sync([ToolCall("1", "take", '{"x": true}')])  # loads what explains
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    [message] = tools.run_sync([ToolCall("1", "take", json.dumps({"x": value}))])
    assert first.kind == message.kind == "invalid_arguments", message
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024

kinds = [create_model(f"M{n}", k=(Literal[n], ...), v=(list[int], ...)) for n in range(40)]
print(grown(functools.reduce(operator.or_, kinds), {"k": 99, "v": ["x"] * 20_000}))
print(grown(list[int], ["x"] * 500_000))
"""


def test_what_is_wrong_takes_no_more_memory_than_what_is_right() -> None:
    """Alone, pydantic takes 720 and 400 MB for these: half a kilobyte a fault, in each branch."""
    ran = subprocess.run(
        [sys.executable, "-c", GROWTH], capture_output=True, text=True, timeout=120
    )
    assert ran.returncode == 0, ran.stderr
    megabytes = [int(line) for line in ran.stdout.split()]
    assert max(megabytes) < 120, megabytes


@pytest.mark.parametrize("made", [evaluate, FROM_SCHEMA])
@pytest.mark.parametrize("levels", [1, 3, 12, 20])
def test_a_wrong_leaf_of_a_recursive_type_is_told_however_deep_it_lies(
    made: Tool[..., Any], levels: int
) -> None:
    """Twenty levels by way of pydantic alone would take years."""
    message = _call(made, {"x": _deep(levels, "wrong")})
    assert message.kind == "invalid_arguments"
    path = "x" + ".left" * levels
    assert f"- {path}: expected" in message.text and 'got "wrong"' in message.text


@given(st.integers(0, 4), st.sampled_from(["left", "right"]), st.sampled_from([1, "x", None, 1.5]))
def test_both_judges_say_the_same_of_a_recursive_value(levels: int, side: str, leaf: Any) -> None:
    value = {"x": _deep(levels, leaf, side)}
    assert (_call(evaluate, value).kind is None) is (leaf == 1)
    refused = BoundedValidator(evaluate.parameters).refuses(json.dumps(value) + "{" * 9, value)
    assert refused is (leaf != 1)


def test_many_wrong_items_are_told_by_the_first_hundred() -> None:
    for arguments in (
        {"numbers": ["a"] * 5000},
        {"numbers": [1], "of": [{"k": "z"}] * 5000},
        {"numbers": [1] * 300 + ["a"] * 5000},
    ):
        message = _call(add, arguments)
        assert message.kind == "invalid_arguments"
        errors: Any = message.details["errors"]
        assert 1 <= len(errors) <= MAX_ERRORS
        assert len(message.text) < 3000
    assert "numbers[300]" in message.text


def test_explaining_a_hundred_thousand_wrong_items_keeps_little_memory() -> None:
    text = json.dumps({"numbers": ["a"] * 100_000})
    _call(add, text)
    tracemalloc.start()
    try:
        _call(add, text)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 40 * len(text)


def test_so_many_values_are_mended_and_no_more() -> None:
    fine = _call(add, {"numbers": ["1"] * MAX_CHANGES})
    assert fine.kind is None
    assert _call(add, {"numbers": ["1"] * (MAX_CHANGES + 2)}).kind == "invalid_arguments"
    assert _call(add, {"numbers": [1] * 50_000 + ["1"]}).kind is None


def test_size_is_asked_before_anything_else_also_of_what_would_be_right() -> None:
    text = json.dumps({"numbers": [1], "mode": "a" * 10_000_001})
    message = _call(add, text)
    assert message.kind == "malformed_arguments" and "too large" in message.text


def test_a_type_that_leads_nowhere_back_is_not_recursive() -> None:
    class Leaf(BaseModel):
        kind: Literal["leaf"]

    def take(x: Leaf, y: list[Leaf]) -> None:
        """Take."""

    assert not BoundedValidator(tool(take).parameters).is_recursive
    assert BoundedValidator(evaluate.parameters).is_recursive


class Row(BaseModel):
    """A row."""

    n: int
    tag: Literal["a", "b"] = "a"


@tool
def rows(
    numbers: list[int] = [],  # noqa: B006
    by_key: dict[str, int] = {},  # noqa: B006
    models: list[Row] = [],  # noqa: B006
    either: list[int | Row | None] = [],  # noqa: B006
    nested: dict[str, list[Row]] = {},  # noqa: B006
) -> int:
    """Take rows."""
    return 1


ROWS_FROM_SCHEMA = Tool.from_schema("rows", "", dict(rows.parameters), lambda _, a: "done")
ITEMS = st.recursive(
    st.sampled_from(["1", "x", 1.5, None, True, {"n": "1"}, {"n": "x"}, {"n": 1, "tag": "c"}, {}]),
    lambda item: st.lists(item, max_size=2) | st.dictionaries(st.sampled_from("nx"), item),
    max_leaves=3,
)


def _steps(made: Tool[..., Any], arguments: object) -> tuple[int, int]:
    """How many functions are entered to say what is wrong: to put it into words, and in all."""
    call = ToolCall("1", made.name, json.dumps(arguments))
    words = every = 0

    def entered(frame: Any, event: str, of: object) -> None:
        nonlocal words, every
        file = frame.f_code.co_filename
        every += event == "call"
        words += event == "call" and ("jsonschema_rs" in file or "explain" in file)

    sys.setprofile(entered)
    try:
        prepare(call, made)
    except CallError:
        pass
    finally:
        sys.setprofile(None)
    return words, every


@pytest.mark.parametrize("made", [rows, ROWS_FROM_SCHEMA])
@settings(max_examples=3)
@given(place=st.sampled_from(["numbers", "by_key", "models", "either", "nested", ""]), item=ITEMS)
def test_what_is_wrong_is_told_in_as_many_words_however_much_it_is(
    made: Tool[..., Any], place: str, item: object
) -> None:
    """And looking for it takes a bounded number of steps for each item."""
    count = 5_000
    few, many = (_steps(made, _arguments(place, item, number)) for number in (count, 2 * count))
    assert many[0] <= few[0] + 100
    assert many[1] - many[0] < 100 * 2 * count


def _arguments(place: str, item: object, count: int) -> object:
    """Arguments with one item many times at a place, or as unknown keys."""
    by_key = {f"k{n}": item for n in range(count)}
    rows: object = by_key if place == "by_key" else [item] * count
    return {place: {"k": rows} if place == "nested" else rows} if place else by_key


class Walk(BaseModel):
    kind: Literal["walk"]
    n: int


class Ride(BaseModel):
    kind: Literal["ride"]
    n: int


@tool
def trips(
    days: list[dt.date] = [],  # noqa: B006
    by_day: dict[str, dt.datetime] = {},  # noqa: B006
    legs: list[Walk | Ride] = [],  # noqa: B006
    rests: list[set[int]] = [],  # noqa: B006
) -> int:
    """Plan trips."""
    return 1


@pytest.mark.parametrize(
    ("place", "item"),
    [
        ("days", "2026-13-01"),
        ("days", "2026"),
        ("by_day", "2026"),
        ("legs", {"kind": "swim", "n": 1}),
        ("legs", {"n": 1}),
        ("legs", {"kind": "walk", "n": "x"}),
        ("rests", [1, "x"]),
    ],
)
def test_what_only_pydantic_refuses_is_told_in_as_many_words_however_much_it_is(
    place: str, item: object
) -> None:
    def steps(count: int) -> tuple[int, int]:
        keys = {f"k{n}": item for n in range(count)}
        return _steps(trips, {place: keys if place == "by_day" else [item] * count})

    few, _ = steps(4_000)
    words, every = steps(20_000)
    assert 100 < words < few + 300
    assert every - words < 10 * 20_000


def test_the_first_of_many_errors_are_told_where_they_are() -> None:
    for wrong_from in (0, 5000):  # among the first items, and behind them
        days = ["2026-01-02"] * wrong_from + ["2026-13-01"] * 300
        with pytest.raises(InvalidArguments) as caught:
            prepare(ToolCall("1", "trips", json.dumps({"days": days})), trips)
        assert caught.value.errors[0].path == ("days", wrong_from)
        assert len(caught.value.errors) >= 100
