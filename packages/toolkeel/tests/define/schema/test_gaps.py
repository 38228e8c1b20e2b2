"""What is accepted is what is advertised: where pydantic takes more, the difference is refused."""

import dataclasses
import datetime as dt
import decimal
import enum
import functools
import json
import pathlib
import uuid
from collections import OrderedDict
from collections.abc import Callable
from typing import Annotated, Any, Literal, Optional, TypedDict, Union

import jsonschema_rs
import pytest
import typing_extensions
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from toolkeel import Tool, Toolset, tool
from toolkeel.define.schema.gaps import Gaps, check_fillable, find_gaps
from toolkeel.errors import DefinitionError
from toolkeel.messages import ToolCall, ToolMessage


class Number(enum.IntEnum):
    """Numbers."""

    ONE = 1
    TWO = 2


class Mixed(enum.Enum):
    """Of several kinds."""

    A = 1
    B = "x"
    C = None


class Half(enum.Enum):
    """Numbers with a fraction."""

    A = 0.5
    B = 1.0


class Colour(enum.Enum):
    """With an alias."""

    RED = "r"
    ROT = "r"  # noqa: PIE796


class Rights(enum.IntFlag):
    """May be added."""

    READ = 1
    WRITE = 2


class Strict(enum.Flag):
    """May be added, too."""

    A = 1
    B = 4


class Model(BaseModel):
    """Nested."""

    number: Literal[1, 2]
    when: dt.datetime


class Keys(TypedDict):
    """Nested, otherwise."""

    by: dict[int, Number]


@dataclasses.dataclass
class Made:
    """With a field that the constructor does not take."""

    a: int
    b: int = dataclasses.field(init=False, default=3)


SCALARS: list[Any] = [
    *(int, float, str, bool, dt.date, dt.datetime, dt.time, dt.timedelta, uuid.UUID),
    *(decimal.Decimal, Number, Mixed, Half, Colour, Rights, Strict, Model, Keys, Made, None),
    *(
        Literal[1, 2],
        Literal[1, "a", None],
        Literal[True, "x"],
        Literal[0, True],
        Literal["a", "b"],
    ),
]
HASHABLE: list[Any] = [
    str,
    int,
    float,
    bool,
    dt.date,
    dt.datetime,
    Number,
    Literal["a", "b"],
    Literal[1, 2],
    uuid.UUID,
    decimal.Decimal,
]


def _containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        inner.map(lambda a: list[a]),
        inner.map(lambda a: dict[str, a]),
        inner.map(lambda a: Optional[a]),  # noqa: UP045
        st.tuples(inner, inner).map(lambda pair: Union[pair]),  # noqa: UP007
        st.tuples(inner, inner).map(lambda pair: tuple[pair]),
        st.sampled_from(HASHABLE).map(lambda a: set[a]),
        st.tuples(st.sampled_from(HASHABLE), inner).map(lambda pair: dict[pair]),
    )


ANNOTATIONS = st.recursive(st.sampled_from(SCALARS), _containers, max_leaves=4)
TEXTS = st.sampled_from(
    [
        *(
            "2026",
            "1.5",
            "0",
            "01",
            "1",
            "-1",
            "+1",
            "1e3",
            "true",
            "a",
            "x",
            "r",
            "ROT",
            "READ",
            "",
        ),
        *("2026-01-02", "20260102", "2026-01-02T03:04:05Z", "2026-01-02 03:04:05", "10:11:12"),
        *("P1D", "1:02:03", "3600", "12345678-1234-5678-1234-567812345678", "NaN", "1_000"),
    ]
)
NUMBERS = st.sampled_from([0, 1, 2, 3, 4, 5, 8, -1, 0.5, 1.0, 1.5, 2026, 1700000000, 1e300])
VALUES = st.recursive(
    st.one_of(TEXTS, NUMBERS, st.booleans(), st.none()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.one_of(TEXTS, st.sampled_from(["number", "when", "by", "a", "b"])), inner
        ),
    ),
    max_leaves=6,
)


@functools.cache
def _tool(annotation: Any) -> Tool[..., Any] | None:
    def take(x: Any) -> str:
        """Take."""
        return type(x).__name__

    take.__annotations__ = {"x": annotation}
    try:
        return tool(inline=True)(take)
    except DefinitionError:
        return None


def _call(made: Tool[..., Any], text: str) -> ToolMessage:
    [message] = Toolset([made]).run_sync([ToolCall("1", made.name, text)])
    return message


@settings(max_examples=400)
@given(ANNOTATIONS, VALUES)
def test_whatever_is_taken_without_a_coercion_fits_what_is_advertised(
    annotation: Any, value: Any
) -> None:
    """The schema is asked by a validator of its own, formats left to the next test."""
    made = _tool(annotation)
    if made is None:
        return
    text = json.dumps({"x": value})
    message = _call(made, text)
    assert message.kind in (None, "invalid_arguments"), message.content
    if message.kind is None and "coerced" not in message.details:
        advertised = jsonschema_rs.validator_for(dict(made.parameters))
        assert advertised.is_valid(json.loads(text)), (annotation, value, made.parameters)


@settings(max_examples=400)
@given(ANNOTATIONS, VALUES)
def test_whatever_fits_what_is_advertised_is_taken(annotation: Any, value: Any) -> None:
    """But for what only a format says, and numbers beyond a float."""
    made = _tool(annotation)
    if made is None or "format" in json.dumps(dict(made.parameters)):
        return
    text = json.dumps({"x": value})
    advertised = jsonschema_rs.validator_for(dict(made.parameters))
    if advertised.is_valid(json.loads(text)):
        assert _call(made, text).kind is None, (annotation, value, made.parameters)


@pytest.mark.parametrize(
    ("annotation", "refused", "taken"),
    [
        (dt.datetime, ["2026", "1700000000", "2026-01-02"], ["2026-01-02T03:04:05Z", "2026-01-02 03:04"]),
        (dt.date, ["2026", "0", "20260102"], ["2026-01-02"]),
        (dt.time, ["10", "3600"], ["10:11", "10:11:12Z"]),
        (dt.timedelta, ["5", "3600.5", "-1", "1 day", "1:02:03"], ["P1D", "-PT1H"]),
        (uuid.UUID, ["12345678123456781234567812345678", "urn:uuid:12345678-1234-5678-1234-567812345678", "{12345678-1234-5678-1234-567812345678}"], ["12345678-1234-5678-1234-567812345678", "12345678-1234-5678-1234-56781234567A"]),
        (uuid.UUID | int, ["12345678123456781234567812345678"], [5]),
        (list[dt.timedelta] | dict[str, int], [["1 day"]], [["PT5S"], {"a": 1}]),
        (Literal[1, 2], [True, False, 3], [1, 2.0]),
        (Literal[0, True], [False, 1], [0, True]),
        (Literal[1, "a", None], [True], [1, "a", None]),
        (Number, [True, 3], [1]),
        (list[Number], [[1, True]], [[1, 2]]),
        (Mixed, [True, "y"], [1, "x", None]),
        (Rights, [True, 4, -1], [0, 1, 3]),
        (Strict, [2, 3], [0, 1, 4, 5]),
        (dict[int, str], [{"1": "a", "01": "b"}, {"+1": "a"}, {"1.0": "a"}, {"x": "a"}], [{"1": "a", "-2": "b"}]),
        (dict[float, str], [{"1": "a", "1.0": "b"}, {"x": "a"}], [{"1": "a", "1.5": "b"}]),
        (dict[bool, str], [{"1": "a"}, {"yes": "a"}], [{"true": "a", "false": "b"}]),
        (dict[dt.date, str], [{"0": "a"}], [{"2026-01-02": "a"}]),
        (dict[uuid.UUID, str], [{"12345678-1234-5678-1234-56781234567A": "a", "12345678-1234-5678-1234-56781234567a": "b"}], [{}]),
        (set[int], [[1, 1], [1, 1.0]], [[1, 2]]),
        (dict[decimal.Decimal, str], [{"1": "a", "1.0": "b"}, {"1_0": "a"}, {" 1": "a"}], [{"1": "a", "1.5": "b"}]),
        (OrderedDict[int, str], [{"1": "a", "01": "b"}], [{"1": "a"}]),
        (dict[int | float, str], [{"1": "a", "1.0": "b"}], [{"1": "a", "1.5": "b"}]),
        (dict[pathlib.Path, str], [{"a": "b", "./a": "c"}], [{"a": "b", "a/b": "c"}]),
        (dict[Annotated[str, Field(pattern="^a", max_length=3)], int], [{"b": 1}, {"abcd": 1}], [{"ab": 1}]),
        (decimal.Decimal, ["NaN", "x", "", True, "1_000", " 1 ", "１"], ["1.50", 1.5, 10**30, "-.5"]),
        (decimal.Decimal | str, [True], ["1.50", "1_000"]),
        (Model, [{"number": True, "when": "2026-01-02T03:04:05"}, {"number": 1, "when": "2026"}], [{"number": 1, "when": "2026-01-02T03:04:05"}]),
        (Made, [{"a": 1, "b": 2}], [{"a": 1}]),
    ],
)  # fmt: skip
def test_each_known_difference_is_closed(
    annotation: Any, refused: list[Any], taken: list[Any]
) -> None:
    made = _tool(annotation)
    assert made is not None
    kinds = [_call(made, json.dumps({"x": value})).kind for value in refused]
    assert kinds == ["invalid_arguments"] * len(refused)
    messages = [_call(made, json.dumps({"x": value})) for value in taken]
    assert [message.kind for message in messages] == [None] * len(taken), messages


@given(st.integers(-(10**9), 10**9), st.integers(0, 10**40), st.integers(1, 40))
def test_a_decimal_keeps_its_digits_or_is_refused(whole: int, part: int, places: int) -> None:
    made = tool(inline=True)(_keep)
    written = f"{whole}.{str(part)[:places]}"
    message = _call(made, f'{{"x": {written}}}')
    if message.kind is None:
        assert decimal.Decimal(str(message.content)) == decimal.Decimal(written)
    else:
        assert "decimal number as a string" in str(message.content)
        assert len(written) > 15
    assert _call(made, f'{{"x": "{written}"}}').content == written


def _keep(x: decimal.Decimal, n: int = 1) -> str:
    """Keep."""
    return str(x)


def test_digits_are_not_lost_either_where_something_else_had_to_be_mended() -> None:
    message = _call(tool(_keep), '{"x": 1.00000000000000000001, "n": "5"}')
    assert message.kind == "invalid_arguments"


def test_the_model_is_told_where_and_what_is_expected() -> None:
    made = _tool(list[Number])
    assert made is not None
    assert (
        "- x[1]: expected one of 1, 2, got true (a boolean)" in _call(made, '{"x": [1, true]}').text
    )
    made = _tool(dict[int, str])
    assert made is not None
    assert 'another key than "1"' not in _call(made, '{"x": {"1": "a", "01": "b"}}').text
    assert "a key that is an integer" in _call(made, '{"x": {"1": "a", "01": "b"}}').text


def test_an_alias_of_an_enum_is_told_once() -> None:
    made = _tool(Colour)
    assert made is not None
    assert json.dumps(made.parameters).count('"r"') == 1


def test_what_only_gaps_find_is_told_by_the_first_hundred() -> None:
    message = _call(_tool(dict[int, int]), json.dumps({"x": {f"0{n}": n for n in range(5000)}}))  # type: ignore[arg-type]
    assert message.kind == "invalid_arguments"
    assert len(message.details["errors"]) == 100  # type: ignore[arg-type]


def test_keys_are_told_in_words() -> None:
    for annotation, sent, wanted in (
        (dict[dt.datetime, int], "2026", "a date and time (ISO 8601)"),
        (dict[decimal.Decimal, int], "1_0", "a decimal number"),
        (
            dict[Annotated[str, Field(pattern="^a", min_length=2)], int],
            "b",
            "a string of at least 2 characters",
        ),
    ):
        made = _tool(annotation)
        assert made is not None
        text = _call(made, json.dumps({"x": {sent: 1}})).text
        assert f": expected a key that is {wanted}\n" in text, text


def test_a_union_without_a_branch_that_has_a_form_is_refused_by_name() -> None:
    def take(x: dict[Number, int] | Callable[[], int]) -> None:
        """Take."""

    with pytest.raises(DefinitionError, match="take: parameter 'x' has no JSON form"):
        tool(take)


@pytest.mark.parametrize("keys", [Number, Half, Literal[1, 2], Literal[True], tuple[int, int]])
def test_keys_that_no_text_becomes_are_refused_by_name(keys: Any) -> None:
    def take(x: Any) -> None:
        """Take."""

    take.__annotations__ = {"x": dict[keys, str]}
    with pytest.raises(DefinitionError, match=r"take: parameter 'x' .*take str or int as keys"):
        tool(take)


@settings(max_examples=400)
@given(ANNOTATIONS, VALUES)
def test_whatever_is_wrong_is_told_at_a_place_that_was_sent(annotation: Any, value: Any) -> None:
    """Or at a key that is missing in a place that was."""
    made = _tool(annotation)
    if made is None:
        return
    message = _call(made, json.dumps({"x": value}))
    for error in message.details.get("errors", ()) if message.kind else ():
        *above, last = error.path
        there: Any = {"x": value}
        for part in above:
            there = there[part]
        if not error.expected.endswith("(required)"):
            there[last]


def test_plain_schemas_have_no_gaps_so_their_calls_are_not_looked_at() -> None:
    def plain(a: int, b: str, c: list[float], d: Literal["x", "y"], e: bool | None = None) -> None:
        """Plain."""

    assert find_gaps(tool(plain).parameters) is None
    assert isinstance(find_gaps({"properties": {"x": {"enum": [1, 2]}}}), Gaps)


class Tuples(enum.Enum):
    """Of what no JSON is."""

    A = (1, 2)


class Empty(enum.Enum):
    """Without members."""


class Endless(BaseModel):
    """Needs itself."""

    inner: "Endless"


class Ended(BaseModel):
    """May end."""

    inner: Optional["Ended"]
    more: list["Ended"]


@pytest.mark.parametrize("annotation", [Tuples, Empty, Endless, list[Endless] | Tuples | None])
def test_a_parameter_that_nothing_fits_is_refused_by_name(annotation: Any) -> None:
    def take(x: Any) -> None:
        """Take."""

    take.__annotations__ = {"x": annotation}
    if annotation in (Tuples, Empty, Endless):
        with pytest.raises(DefinitionError, match="take: parameter 'x' has no value"):
            tool(take)
    else:
        tool(take)  # null and the empty list are left


def test_a_type_that_can_end_is_no_endless_one() -> None:
    assert _tool(Ended) is not None
    check_fillable("x", {"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {}}})


@pytest.mark.parametrize("self_type", [typing_extensions.Self, list[typing_extensions.Self]])
def test_self_is_refused_with_the_fix(self_type: Any) -> None:
    def take(x: Any) -> None:
        """Take."""

    take.__annotations__ = {"x": self_type}
    with pytest.raises(DefinitionError, match=r"parameter 'x' is annotated with Self.*by its name"):
        tool(take)


def test_a_wrapper_that_hides_its_function_is_refused_with_the_fix() -> None:
    def logged(function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return wrapper

    @logged
    def add(a: int) -> int:
        """Add."""
        return a

    with pytest.raises(DefinitionError, match=r"wrapper: .*@functools.wraps"):
        tool(add)


@pytest.mark.parametrize(
    ("items", "differ"),
    [
        ([1, 1.0], False),
        ([[1], [1.0]], False),
        ([{"a": 1, "b": [2]}, {"b": [2.0], "a": 1.0}], False),
        ([True, 1], True),
        ([[True], [1]], True),
        ([{"a": False}, {"a": 0}], True),
        (["1", 1], True),
        ([[], {}], True),
    ],
)
def test_what_differs_is_what_json_schema_calls_different(items: list[Any], differ: bool) -> None:
    schema = {"type": "array", "uniqueItems": True}
    assert (Gaps(schema).errors(items) == []) is differ
    assert jsonschema_rs.Draft202012Validator(schema).is_valid(items) is differ


def test_digits_elsewhere_are_no_reason_to_refuse_a_decimal() -> None:
    @tool(inline=True)
    def pay(amount: decimal.Decimal, card: str) -> str:
        """Pay."""
        return f"{amount} {card}"

    message = _call(pay, '{"amount": 19.99, "card": "4111111111111111"}')
    assert message.text == "19.99 4111111111111111"
    assert _call(pay, '{"amount": 0.1234567890123456789, "card": "x"}').kind == "invalid_arguments"
    assert _call(pay, '{"amount": 1.5000000000000000000, "card": "x"}').text == "1.5 x"


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("a", 0), (1, 0), (True, 1), (1.5, 1), (None, 0), ({"a": 1}, 0), ([1], 0),
    ],
)  # fmt: skip
def test_in_a_union_only_numbers_that_no_branch_lists_are_refused(value: object, told: int) -> None:
    """What else pydantic accepted, an author's validator has."""
    schema = {
        "properties": {"x": {"anyOf": [{"enum": [1, 2]}, {"type": "string"}, {"type": "null"}]}}
    }
    assert len(Gaps(schema).errors({"x": value})) == told
