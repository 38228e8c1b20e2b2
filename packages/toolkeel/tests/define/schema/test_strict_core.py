"""Unions take the branch that admits a value as it is, and no leaf takes more than is advertised."""

from __future__ import annotations

import collections
import datetime as dt
import enum
import json
import re
from collections.abc import Iterable
from dataclasses import make_dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Literal, NamedTuple
from uuid import UUID

import jsonschema_rs
import pydantic.dataclasses
import pytest
from pydantic import (
    AliasChoices,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    NaiveDatetime,
    PastDate,
    StringConstraints,
    TypeAdapter,
    create_model,
)
from typing_extensions import TypedDict

from tests.define.calling import answered, taking
from toolkeel import ToolCall, Toolset
from toolkeel.define.schema.strict_core import strict_validator


class Level(enum.IntEnum):
    LOW = 1


class Colour(enum.Enum):
    RED = "red"


def _two(first: Any, second: Any) -> Any:
    one: Any = create_model("One", v=(first, ...))
    other: Any = create_model("Other", v=(second, ...))
    return one | other


def _plainly(annotation: Any) -> Any:
    return create_model("Plain", v=(annotation, ...))


def _checked_before(annotation: Any) -> Any:
    return create_model(
        "Before", v=(Annotated[annotation, BeforeValidator(lambda sent: sent)], ...)
    )


def _named_tuple(annotation: Any) -> Any:
    make: Any = NamedTuple
    return make("Named", [("v", annotation)])


@pytest.mark.parametrize(
    ("guesses", "admits", "sent", "received"),
    [
        (dt.datetime, str, "2026", "2026"),
        (dt.date, str, "0", "0"),
        (dt.timedelta, str, "3600", "3600"),
        (dt.time, str, "3600", "3600"),
        (Literal[1, 2], bool, True, True),
        (Level, bool, True, True),
        (Decimal, str, "1_000", "1_000"),
        (Decimal, str, " 1 ", " 1 "),
        (dict[int, int], dict[str, int], {"01": 1}, {"01": 1}),
        (dict[bool, int], dict[str, int], {"yes": 1}, {"yes": 1}),
        (set[int], list[int], [1, 1], [1, 1]),
        (frozenset[str], list[str], ["a", "a"], ["a", "a"]),
    ],
)
def test_a_union_of_objects_takes_the_branch_that_admits_the_value(
    guesses: Any, admits: Any, sent: object, received: object
) -> None:
    either = _two(guesses, admits)
    for annotation, value in ((either, {"v": sent}), (list[either], [{"v": sent}])):
        made, seen = taking(annotation)
        text = json.dumps({"x": value})
        [message] = Toolset([made]).run_sync([ToolCall("1", made.name, text)])
        assert message.kind is None, message.text
        got = seen[0][0].v if isinstance(seen[0], list) else seen[0].v
        assert got == received
        assert type(got) is type(received)


@pytest.mark.parametrize(
    ("guesses", "sent"),
    [
        (dt.datetime, "2026"),
        (Literal[1, 2], True),
        (Decimal, "1_000"),
        (set[int], [1, 1]),
        (dict[int, int], {"01": 1}),
    ],
)
def test_a_union_of_objects_without_such_a_branch_refuses(guesses: Any, sent: object) -> None:
    made, seen = taking(_two(guesses, Literal["nothing"]))
    text = json.dumps({"x": {"v": sent}})
    [message] = Toolset([made]).run_sync([ToolCall("1", made.name, text)])
    assert message.kind == "invalid_arguments"
    assert seen == []


@pytest.mark.parametrize(
    ("annotation", "sent", "received"),
    [
        (tuple[int, str], [1, "a"], (1, "a")),
        (list[tuple[int, ...]], [[1, 2]], [(1, 2)]),
        (bytes, "ab", b"ab"),
        (collections.deque[int], [1], collections.deque([1])),
        (collections.OrderedDict[str, int], {"a": 1}, collections.OrderedDict(a=1)),
        (collections.Counter[str], {"a": 1}, collections.Counter(a=1)),
        (Literal[Colour.RED, "x"], "red", Colour.RED),
        (Literal[Level.LOW, 2], 1, Level.LOW),
        (Iterable[int], [1, 2], [1, 2]),
        (Fraction, 0.1, Fraction(1, 10)),
    ],
)
@pytest.mark.parametrize("wrap", [_named_tuple, _checked_before, _plainly])
def test_a_value_that_is_read_after_code_of_a_type_is_the_one_advertised(
    wrap: Any, annotation: Any, sent: object, received: object
) -> None:
    made, seen = taking(wrap(annotation))
    message = answered(made, {"x": {"v": sent}})
    assert message.kind is None, message.text
    assert seen[0].v == received
    assert type(seen[0].v) is type(received)


def test_the_items_of_a_generator_are_judged_before_the_body_runs() -> None:
    made, _ = taking(_plainly(Iterable[int]))
    assert "x.v[0]: expected an integer" in answered(made, {"x": {"v": ["a"]}}).text


@pytest.mark.parametrize(
    ("either", "sent", "received"),
    [
        (dt.date | str, "2026-01-02", dt.date(2026, 1, 2)),
        (str | dt.date, "2026-01-02", "2026-01-02"),
        (dt.date | str, "2026", "2026"),
        (dt.timedelta | bytes, "PT5S", dt.timedelta(seconds=5)),
        (UUID | str, "12345678-1234-5678-1234-567812345678", UUID(int=0x12345678123456781234567812345678)),
    ],
)  # fmt: skip
def test_the_first_type_of_a_union_that_reads_a_text_takes_it(
    either: Any, sent: str, received: object
) -> None:
    made, seen = taking(either)
    assert answered(made, {"x": sent}).kind is None
    assert seen == [received]


def test_an_object_stays_closed_beside_one_that_allows_other_keys() -> None:
    extras: Any = create_model("Open", __config__=ConfigDict(extra="allow"), a=(int, ...))
    closed: Any = make_dataclass("Closed", [("w", int)])
    made, seen = taking(extras | closed | _plainly(int))
    for sent in ({"v": 1, "more": 2}, {"w": 1, "more": 2}):
        assert answered(made, {"x": sent}).kind == "invalid_arguments"
    for sent in ({"v": 1}, {"w": 1}, {"a": 1, "more": 2}):
        assert answered(made, {"x": sent}).kind is None
    assert seen[-1].model_extra == {"more": 2}


@pytest.mark.parametrize(
    ("bounds", "taken", "refused"),
    [
        ({"ge": 0}, ["0", "0.5", "-0", "1e3"], ["-1", "-0.5", "1_0"]),
        ({"gt": 0}, ["0.5", ".01", "00.10"], ["0", "0.00", "-1"]),
        ({"ge": 1}, ["1", "12"], ["0", "-1"]),
        ({"le": 0}, ["0", "-1", "0.0"], ["1", "0.5"]),
        ({"lt": 0}, ["-1", "-.5"], ["0", "-0", "1"]),
        ({"le": 5}, ["-1", "5"], ["+-1"]),
    ],
)
def test_the_sign_of_a_decimal_as_text_is_advertised(
    bounds: dict[str, int], taken: list[str], refused: list[str]
) -> None:
    made, _ = taking(Annotated[Decimal, Field(**bounds)])  # type: ignore[call-overload]
    advertised = jsonschema_rs.Draft202012Validator(made.parameters)
    for text in (*taken, *refused):
        assert advertised.is_valid({"x": text}) == (text in taken), text
        assert (answered(made, {"x": text}).kind is None) == (text in taken), text


class Tree(BaseModel):
    """Holds itself, and what has a gap."""

    when: dt.datetime
    inner: list[Tree] = []


def test_a_recursive_model_is_closed_at_every_depth() -> None:
    made, seen = taking(Tree)
    good = {"when": "2026-01-02T03:04:05", "inner": [{"when": "2026-01-02T03:04:05"}]}
    bad = {**good, "inner": [{"when": "2026"}]}
    for value in (good, bad):
        [message] = Toolset([made]).run_sync([ToolCall("1", made.name, json.dumps({"x": value}))])
        assert (message.kind is None) == (value is good), message.text
    assert type(seen[0]) is Tree


def test_what_an_authors_own_validator_returns_is_taken_as_it_is() -> None:
    parsed = Annotated[dt.datetime, BeforeValidator(lambda text: dt.datetime(2026, 1, int(text)))]
    made, seen = taking(parsed)
    [message] = Toolset([made]).run_sync([ToolCall("1", made.name, '{"x": "5"}')])
    assert message.kind is None, message.text
    assert seen == [dt.datetime(2026, 1, 5)]


def test_a_type_without_gaps_has_pydantics_own_validator() -> None:
    for annotation in (
        int,
        list[str],
        dict[str, bool],
        Literal["a", "b"],
        create_model("M", a=(int, ...)),
    ):
        assert strict_validator(TypeAdapter(annotation).core_schema) is None  # type: ignore[arg-type]


def test_pydantic_core_builds_a_model_anew_if_it_is_asked_to() -> None:
    """`_use_prebuilt` is no public name: this fails first if another version goes by another."""
    validator = strict_validator(TypeAdapter(Tree).core_schema)  # type: ignore[arg-type]
    assert validator is not None
    with pytest.raises(ValueError, match="valid datetime"):
        validator.validate_json('{"when": "2026"}')


def test_sizes_and_items_of_a_set_stay_checked() -> None:
    made, seen = taking(Annotated[set[Annotated[int, Field(ge=1)]], Field(min_length=2)])
    for value in ([1], [1, 0], [1, 2]):
        Toolset([made]).run_sync([ToolCall("1", made.name, json.dumps({"x": value}))])
    assert seen == [{1, 2}]


class Point(NamedTuple):
    """A place."""

    x: int
    y: int = 0


class Line(BaseModel):
    """Two places."""

    ends: list[Point]


@pytest.mark.parametrize(
    ("annotation", "sent", "wrong"),
    [
        (Point, {"x": 1}, [1, 2]),
        (Line, {"ends": [{"x": 1}, {"x": 1, "y": 2}]}, {"ends": [[1, 2]]}),
        (dict[str, Point], {"a": {"x": 1}}, {"a": []}),
    ],
)
def test_a_named_tuple_takes_an_object_and_no_list(
    annotation: Any, sent: object, wrong: object
) -> None:
    made, seen = taking(annotation)
    right, refused = Toolset([made]).run_sync(
        [ToolCall("1", made.name, {"x": sent}), ToolCall("2", made.name, {"x": wrong})]
    )
    assert right.kind is None, right.text
    assert len(seen) == 1
    assert 'expected an object with "x", got a' in refused.text


@pytest.mark.parametrize(
    ("annotation", "sent", "said"),
    [
        (AwareDatetime, "2026-01-02T03:04:05", "with a time zone"),
        (NaiveDatetime, "2026-01-02T03:04:05Z", "without a time zone"),
        (PastDate, "9999-01-02", "in the past"),
        (Annotated[dt.date, Field(ge=dt.date(2020, 1, 1))], "2019-01-02", "equal to 2020-01-01"),
    ],
)
def test_what_breaks_a_limit_of_dates_is_reported_as_that(
    annotation: Any, sent: str, said: str
) -> None:
    made, _ = taking(annotation)
    [message] = Toolset([made]).run_sync([ToolCall("1", made.name, {"x": sent})])
    assert message.kind == "invalid_arguments"
    assert said in message.text
    assert f'got "{sent}" (a string)' in message.text


def test_a_date_and_time_is_advertised_with_the_zone_that_it_needs_or_must_not_have() -> None:
    for annotation, right, wrong in (
        (AwareDatetime, "2026-01-02T03:04:05.5+02:00", "2026-01-02T03:04:05"),
        (NaiveDatetime, "2026-01-02T03:04:05.5", "2026-01-02T03:04:05-02:00"),
    ):
        made, seen = taking(annotation)
        properties: Any = made.parameters["properties"]
        pattern = properties["x"]["pattern"]
        assert re.search(pattern, right)
        assert not re.search(pattern, wrong)
        [message] = Toolset([made]).run_sync([ToolCall("1", made.name, {"x": right})])
        assert (message.kind, len(seen)) == (None, 1)


@pytest.mark.parametrize(
    ("sent", "received"), [(1, 1), (1.0, 1), ("1", "1"), (True, True), (2.0, None), (False, None)]
)
def test_a_choice_between_equal_values_of_several_types_is_the_one_of_the_sent_type(
    sent: object, received: object
) -> None:
    made, seen = taking(Literal[1, "1", True])
    Toolset([made]).run_sync([ToolCall("1", made.name, {"x": sent})])
    assert [(each, type(each)) for each in seen] == (
        [] if received is None else [(received, type(received))]
    )


class ByEither(BaseModel):
    model_config = ConfigDict(populate_by_name=True)

    name: str = Field(alias="fullName")


class Renamed(BaseModel):
    name: str = Field(validation_alias=AliasChoices("fullName", "name"))


@pydantic.dataclasses.dataclass
class RenamedToo:
    name: str = Field(validation_alias=AliasChoices("fullName", "name"))


@pytest.mark.parametrize("annotation", [ByEither, Renamed, RenamedToo])
def test_a_field_is_taken_by_its_advertised_name_alone(annotation: Any) -> None:
    made, seen = taking(annotation | None)
    right, wrong = Toolset([made]).run_sync(
        [
            ToolCall("1", made.name, {"x": {"fullName": "Ada"}}),
            ToolCall("2", made.name, {"x": {"name": "Ada"}}),
        ]
    )
    assert (right.kind, seen[0].name) == (None, "Ada")
    assert wrong.kind == "invalid_arguments"
    assert "x.fullName: expected a string (required)" in wrong.text
    assert 'x.name: expected the key "fullName", got an unknown key' in wrong.text


class Count(TypedDict):
    n: int


class Counted(BaseModel):
    count: Count


class Priced(BaseModel):
    price: Decimal


@pytest.mark.parametrize("annotation", [Counted | Priced, list[Counted | Priced]])
@pytest.mark.parametrize("sent", [True, "5", 5.5])
def test_a_typed_dict_within_a_model_is_as_strict_beside_a_closed_gap(
    annotation: Any, sent: object
) -> None:
    made, _ = taking(annotation)
    value = {"count": {"n": sent}}
    call = {"x": [value] if annotation == list[Counted | Priced] else value}
    [message] = Toolset([made]).run_sync([ToolCall("1", made.name, call)])
    if sent == "5":
        assert message.details["coerced"], "it is mended, and that is reported"
    else:
        assert "count.n: expected an integer, got" in message.text


class Plain(BaseModel):
    model_config = ConfigDict(
        str_strip_whitespace=True, str_max_length=4, str_min_length=2, str_to_lower=True
    )

    text: str = "ab"
    day: dt.date | None = None
    at: dt.datetime | None = None
    key: UUID | None = None


Stripped = Annotated[
    str, StringConstraints(strip_whitespace=True, pattern="^[a-z ]+$", max_length=3)
]


@pytest.mark.parametrize(
    ("annotation", "sent", "used"),
    [
        (Plain, {"text": " AB "}, "ab"),
        (Plain, {"text": " abcd"}, None),
        (Plain, {"day": "2026-01-02", "at": "2026-01-02T03:04:05Z"}, "ab"),
        (Plain, {"key": "12345678-1234-5678-1234-567812345678"}, "ab"),
        (Stripped, " a ", "a"),
        (Stripped, "  a ", None),
        (Stripped, "a\n", None),
    ],
)
def test_limits_of_a_text_hold_for_what_was_sent_and_for_no_dates(
    annotation: Any, sent: object, used: str | None
) -> None:
    take, received = taking(annotation)
    result = answered(take, {"x": sent})
    valid = jsonschema_rs.is_valid(dict(take.parameters), {"x": sent})
    assert (result.kind is None) == valid == (used is not None), result.text
    assert used in [None, *(getattr(each, "text", each) for each in received)]


def _kilo(value: object) -> object:
    return int(value.removesuffix("k")) * 1000 if isinstance(value, str) else value


@pytest.mark.parametrize(
    ("validator", "advertised"),
    [
        (BeforeValidator(_kilo), {"type": "integer"}),
        (
            BeforeValidator(_kilo, json_schema_input_type=int | str),
            {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        ),
    ],
)
def test_an_authors_own_validator_decides_what_is_accepted_before_a_type(
    validator: BeforeValidator, advertised: dict[str, Any]
) -> None:
    made, seen = taking(Annotated[int, validator])
    assert made.parameters["properties"]["x"] == advertised  # type: ignore[index]
    assert [answered(made, {"x": sent}).kind for sent in ("5k", 5, 5.5)] == [
        None,
        None,
        "invalid_arguments",
    ]
    assert seen == [5000, 5]


@pytest.mark.parametrize(
    ("annotation", "sent", "received"),
    [
        (set[int | bool], [1, True], {1}),
        (set[int | bool], [1, 1], None),
        (list[Decimal], [5, 0.5, "1.5"], [Decimal(5), Decimal("0.5"), Decimal("1.5")]),
        (Decimal, [], None), (Decimal, {}, None), (Decimal, None, None), (Decimal, True, None),
    ],
)  # fmt: skip
def test_true_is_no_number_and_a_decimal_is_one(
    annotation: Any, sent: object, received: object
) -> None:
    made, seen = taking(annotation)
    assert (answered(made, {"x": sent}).kind is None) is (received is not None)
    assert seen == ([] if received is None else [received])


class Mixed(enum.Enum):
    LIST = [1]
    TEXT = "c"


def test_a_literal_of_a_member_that_no_call_can_send_takes_its_other_options() -> None:
    take, seen = taking(Literal[Mixed.LIST, "c"])
    assert not answered(take, {"x": "c"}).failed and seen == ["c"]
    assert answered(take, {"x": "d"}).failed
