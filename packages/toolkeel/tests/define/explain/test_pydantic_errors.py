"""What a model is told of arguments that pydantic refused."""

from __future__ import annotations

import datetime as dt
import enum
import functools
import json
import operator
import re
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import (
    UUID4,
    AfterValidator,
    AnyUrl,
    AwareDatetime,
    BaseModel,
    ByteSize,
    ConfigDict,
    Discriminator,
    Field,
    HttpUrl,
    Json,
    Tag,
    TypeAdapter,
    ValidationError,
    create_model,
)

from tests.call.arguments.test_parse import JSON
from tests.define.calling import answered, taking
from toolkeel.define.explain.pydantic_errors import pydantic_errors
from toolkeel.define.explain.validation_errors import invalid_arguments
from toolkeel.errors import FieldError


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Color(enum.Enum):
    RED = "red"
    CRIMSON = "red"  # noqa: PIE796 - an alias
    GREEN = "green"


class First(BaseModel):
    t: str = "a"
    x: int


class Second(BaseModel):
    t: str
    y: str


TAGGED = Annotated[
    Annotated[First, Tag("a")] | Annotated[Second, Tag("b")],
    Discriminator(lambda value: value.get("t", "a")),
]


class Cat(Closed):
    kind: Literal["cat"]
    name: str
    lives: int


class Dog(Closed):
    kind: Literal["dog"]
    name: str
    bark: bool


def _even(value: int) -> int:
    if value % 2:
        raise ValueError("must be even")
    return value


class Arguments(Closed):
    city: str
    limit: int = Field(1, ge=1, le=10)
    unit: Literal["celsius", "fahrenheit"] = "celsius"
    pet: Cat | Dog | None = None
    tagged: Annotated[Cat | Dog, Field(discriminator="kind")] | None = None
    picked: Annotated[Cat | Dog, Field(discriminator="kind")] | list[int] = []
    words: list[int] | str | None = None
    table: dict[str, int] = {}
    pair: tuple[int, str] | None = None
    even: Annotated[int, AfterValidator(_even)] = 0
    evens: Annotated[int, AfterValidator(_even)] | list[int] = 0


SCHEMA = Arguments.model_json_schema()
TWO_PETS = 'an object with "kind": "cat", "name", "lives", or an object with "kind": "dog", "name", "bark", or null'


def lines(sent: dict[str, Any]) -> list[str]:
    """The errors of these arguments beside a right city."""
    sent = {"city": "Paris", **sent}
    with pytest.raises(ValidationError) as caught:
        Arguments.model_validate_json(json.dumps(sent), strict=True)
    return [str(error) for error in pydantic_errors(caught.value, SCHEMA, sent)]


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ({"limit": "twelve"}, ['limit: expected an integer from 1 to 10, got "twelve" (a string)']),
        ({"limit": 50}, ["limit: expected an integer from 1 to 10, got 50 (an integer)"]),
        ({"limit": True}, ["limit: expected an integer from 1 to 10, got true (a boolean)"]),
        ({"city": None}, ["city: expected a string, got null"]),
        ({"unit": "celcius"}, ['unit: expected one of "celsius", "fahrenheit" (did you mean "celsius"?), got "celcius" (a string)']),
        ({"even": 3}, ["even: expected an integer: must be even, got 3 (an integer)"]),
        ({"evens": 3}, ["evens: expected an integer, or a list of integers: must be even, got 3 (an integer)"]),
        ({"evens": ["x"]}, ['evens[0]: expected an integer, got "x" (a string)']),
        ({"table": {"a": "x"}}, ['table.a: expected an integer, got "x" (a string)']),
        ({"pair": ["x", 1]}, ['pair[0]: expected an integer, got "x" (a string)', "pair[1]: expected a string, got 1 (an integer)"]),
        ({"words": [1, "x"]}, ['words[1]: expected an integer, got "x" (a string)']),
        ({"words": 5}, ["words: expected a list of integers, or a string, or null, got 5 (an integer)"]),
        ({"pet": {"kind": "cat", "name": 1}}, ["pet.name: expected a string, got 1 (an integer)", "pet.lives: expected an integer (required)"]),
        ({"pet": {"kind": "bird"}}, ['pet.kind: expected "cat" or "dog", got "bird" (a string)']),
        ({"pet": 5}, [f"pet: expected {TWO_PETS}, got 5 (an integer)"]),
        ({"pet": {"kind": "dog", "lives": 1, "name": "y", "bark": True}}, ['pet.lives: expected one of the keys "kind", "name", "bark", got an unknown key']),
        ({"tagged": {"kind": "catt"}}, ['tagged.kind: expected "cat" or "dog" (did you mean "cat"?), got "catt" (a string)']),
        ({"tagged": {"name": "x"}}, ['tagged.kind: expected "cat" or "dog" (required)']),
        ({"tagged": {"kind": "dog", "name": "x", "bark": 1}}, ["tagged.bark: expected true or false, got 1 (an integer)"]),
        ({"picked": {"kind": "dog", "name": "x", "bark": 1}}, ["picked.bark: expected true or false, got 1 (an integer)"]),
        ({"picked": ["x"]}, ['picked[0]: expected an integer, got "x" (a string)']),
    ],
)  # fmt: skip
def test_each_field_is_told_with_path_expected_and_got(
    sent: dict[str, Any], told: list[str]
) -> None:
    assert lines(sent) == told


def test_a_missing_field_and_an_unknown_key_are_told_with_the_nearest_name() -> None:
    with pytest.raises(ValidationError) as caught:
        Arguments.model_validate_json('{"cty": "Paris"}', strict=True)
    missing, unknown = pydantic_errors(caught.value, SCHEMA, {"cty": "Paris"})
    assert missing == FieldError(("city",), "a string (required)")
    assert unknown.path == ("cty",)
    assert unknown.expected.startswith('one of the keys "city", "limit",')
    assert unknown.expected.endswith('(did you mean "city"?)')


def test_a_root_that_is_no_object_is_told_as_such() -> None:
    with pytest.raises(ValidationError) as caught:
        Arguments.model_validate_json("[1]", strict=True)
    assert [str(e) for e in pydantic_errors(caught.value, SCHEMA, [1])] == [
        'arguments: expected an object with "city", got a list of 1 item'
    ]


def test_what_the_schema_does_not_say_is_told_in_pydantics_words() -> None:
    adapter = TypeAdapter(dict[Literal["a"], Annotated[list[int], Field(max_length=1)]])
    with pytest.raises(ValidationError) as caught:
        adapter.validate_json('{"b": []}')
    [error] = pydantic_errors(caught.value, {}, {"b": []})
    assert (error.path, error.expected) == (("b",), "a key that is 'a'")


@pytest.mark.parametrize("length", [200, 201])
def test_a_long_message_of_a_validator_is_cut(length: int) -> None:
    def refuse(value: int) -> int:
        raise ValueError("x" * length)

    with pytest.raises(ValidationError) as caught:
        TypeAdapter(dict[str, Annotated[int, AfterValidator(refuse)]]).validate_json('{"b": 1}')
    schema = {"additionalProperties": {"type": "integer"}}
    [error] = pydantic_errors(caught.value, schema, {"b": 1})
    shown = "x" * length if length == 200 else "x" * 199 + "…"
    assert error.expected == f"an integer: {shown}"


def test_tags_within_tags_lead_to_the_branch_that_they_name() -> None:
    class Kitten(Closed):
        kind: Literal["cat"]
        size: Literal["small"]
        age: int

    class Lion(Closed):
        kind: Literal["cat"]
        size: Literal["large"]
        age: str

    cats = Annotated[Kitten | Lion, Field(discriminator="size")]
    adapter = TypeAdapter(dict[str, Annotated[cats | Dog, Field(discriminator="kind")]])
    for sent, told in (
        ({"kind": "cat", "size": "small"}, "a.age: expected an integer (required)"),
        (
            {"kind": "cat", "size": "large", "age": 1},
            "a.age: expected a string, got 1 (an integer)",
        ),
    ):
        with pytest.raises(ValidationError) as caught:
            adapter.validate_python({"a": sent}, strict=True)
        [error] = pydantic_errors(caught.value, adapter.json_schema(), {"a": sent})
        assert str(error) == told


def test_a_phrase_that_the_value_satisfies_has_the_reason_with_it() -> None:
    adapter = TypeAdapter(dict[str, Fraction])
    with pytest.raises(ValidationError) as caught:
        adapter.validate_json('{"a": "half"}')
    [error] = pydantic_errors(caught.value, adapter.json_schema(), {"a": "half"})
    assert error.expected.endswith(": Input is not a valid fraction")


def test_large_values_are_not_echoed() -> None:
    [line] = lines({"limit": "y" * 100_000})
    assert len(line) < 150
    assert "100,000 characters" in line


@given(
    st.dictionaries(
        st.sampled_from([*Arguments.model_fields, "x"]), JSON | st.just({"kind": "cat"})
    )
)
def test_any_refused_object_gives_bounded_errors_of_paths_that_exist(sent: dict[str, Any]) -> None:
    try:
        Arguments.model_validate_json(json.dumps(sent), strict=True)
    except ValidationError as error:
        errors = pydantic_errors(error, SCHEMA, sent)
        assert errors
        assert len({e.path for e in errors}) == len(errors)
        for each in errors:
            assert len(str(each)) < 600
            assert each.path == () or each.path[0] in sent or each.expected.endswith("(required)")
        text = invalid_arguments("weather", errors).text
        shown = [(f"- {e.where}: expected ", e.expected[:300]) for e in errors[:20]]
        assert all(place in text and phrase in text for place, phrase in shown)


@pytest.mark.parametrize(
    ("type_", "sent", "told"),
    [
        (Json[list[int]], [1], "x: expected a string with the JSON text of a list of integers, got a list of 1 item"),
        (Json[list[int]], '["a", 2, "c"]', 'of a list of integers: in it, [0]: Input should be a valid integer; in it, [2]: Input should be a valid integer, got "[\\"a\\", 2, \\"c\\"]" (a string)'),
        (Json[dict[str, int]], "[1]", 'whose values are integers: in it: Input should be an object, got "[1]" (a string)'),
        (Json[Any], "{", "x: expected a string with JSON text: Invalid JSON: "),
        (complex, "ab", 'x: expected a complex number as a string (1+2j), got "ab" (a string)'),
        (re.Pattern, "(", 'x: expected a regular expression, got "(" (a string)'),
        (HttpUrl, "a.b", "x: expected a URL (http://… or https://…) of at most 2083 characters, got"),
        (HttpUrl, "http://a.b/ c", "of at most 2083 characters: non-URL code point, got"),
        (AnyUrl, "a", 'x: expected a URL: relative URL without a base, got "a" (a string)'),
        (dt.date, "2026-02-30", "x: expected a date (YYYY-MM-DD): day value is outside expected range, got"),
        (dt.date, "20260230", 'x: expected a date (YYYY-MM-DD), got "20260230" (a string)'),
        (dt.datetime, "2026-01-02T25:00:00Z", "a date and time (ISO 8601): no valid time after the date, got"),
        (dt.time, "25:00", "x: expected a time (HH:MM:SS): hour value is outside expected range of 0-23, got"),
        (AwareDatetime, "2026-01-02T03:04:05", "x: expected a date and time (ISO 8601) with a time zone (Z or +02:00), got"),
        (UUID4, "12345678-1234-1678-9234-567812345678", "x: expected a UUID of version 4, got"),
        (ByteSize, 5.5, "x: expected a size as a string (10 MB), or an integer of at least 0, got 5.5 (a number)"),
        (set[str], ["a", "b", "a"], "a list of strings, none twice: [0] and [2] are the same, got a list of 3 items"),
        (Annotated[dict[str, int], Field(min_length=1)], {}, "an object whose values are integers, with at least 1 key, got an empty object"),
        (dict[Color, int], {"RED": 1}, 'x.RED: expected a key that is one of "red", "green" (did you mean "red"?)'),
        (TAGGED, {"t": "c"}, """'c' is none of 'a', 'b', got an object with "t\""""),
        (TAGGED, {"t": "b", "x": 1}, 'x.x: expected one of the keys "t", "y", got an unknown key'),
        (Decimal, "1_0", 'x: expected a number or a decimal number as a string, got "1_0" (a string)'),
        (UUID, "ab", 'x: expected a UUID: hexadecimal digits in groups of 8-4-4-4-12, got "ab" (a string)'),
    ],
)  # fmt: skip
def test_a_text_of_a_wrong_form_is_reported_as_it_was_sent_with_what_is_wrong_in_it(
    type_: Any, sent: object, told: str
) -> None:
    take, _ = taking(type_)
    assert told in answered(take, {"x": sent}).text


def test_a_missing_tag_of_many_branches_lists_their_values() -> None:
    models = [create_model(f"M{n}", kind=(Literal[f"k{n}"], ...)) for n in range(40)]
    pet = Annotated[functools.reduce(operator.or_, models), Field(discriminator="kind")]
    text = answered(taking(pet)[0], {"x": {}}).text
    assert 'x.kind: expected one of "k0", ' in text
    assert '"k19", … (40 in all) (required)' in text


@pytest.mark.parametrize(
    ("tag", "got"), [(None, "null"), (3, "3 (an integer)"), ("x", '"x" (a string)')]
)
def test_the_tag_of_no_branch_is_shown_as_it_was_sent(tag: object, got: str) -> None:
    one: Any = create_model("One", kind=(Literal["one"], ...))
    other: Any = create_model("Other", kind=(Literal["other"], ...))
    made, _ = taking(Annotated[one | other, Field(discriminator="kind")])
    text = answered(made, {"x": {"kind": tag}}).text
    assert f'x.kind: expected "one" or "other", got {got}' in text


def test_a_whole_float_is_no_mistake_where_an_integer_is_wanted() -> None:
    one: Any = create_model("One", b=(Literal["x"], ...), a=(Literal[0], ...))
    other: Any = create_model("Other", id=(int, ...), a=(int | None, ...))
    made, _ = taking(one | other)
    text = answered(made, {"x": {"b": "x", "a": 1.0}}).text
    assert "invalid" in text and "valid integer" not in text
