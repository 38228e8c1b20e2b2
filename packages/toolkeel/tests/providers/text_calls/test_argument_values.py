"""Values written as text mean what the schema says, and numbers stay as they were written."""

from __future__ import annotations

import pytest

from toolkeel.providers.text_calls.argument_values import (
    convert_arguments,
    make_object,
    parse_values,
    read_value,
    write_arguments,
)


@pytest.mark.parametrize(
    ("text", "schema", "value"),
    [
        ("12", {"type": "string"}, "12"),
        ("12", {"type": "integer"}, 12),
        ("12", {"type": ["integer", "string"]}, "12"),
        ("12", {"anyOf": [{"type": "integer"}, {"type": "null"}]}, 12),
        ("12", {}, "12"),
        ("12", {"enum": [1, 12]}, 12),
        ("half", {"type": "integer"}, "half"),
    ],
)
def test_a_value_is_read_by_the_types_of_its_schema(
    text: str, schema: dict[str, object], value: object
) -> None:
    assert read_value(text, schema) == value


@pytest.mark.parametrize("number", ["7786572e5565681", "-0", "1.10", "9" * 5000, "3"])
def test_a_number_is_written_as_it_was_read(number: str) -> None:
    [value] = parse_values(f'{{"n":{number}}}')
    assert isinstance(value, dict) and write_arguments(value) == f'{{"n":{number}}}'


def test_values_are_separated_by_blanks_commas_and_semicolons() -> None:
    assert parse_values('{"a":"x"}; [true],\n"b"') == [{"a": "x"}, [True], "b"]
    with pytest.raises(ValueError, match="Expecting"):
        parse_values('{"a":"x"} and')


def test_a_key_comes_once() -> None:
    with pytest.raises(ValueError, match="repeated"):
        make_object([("a", 1), ("a", 1)])
    with pytest.raises(ValueError, match="repeated"):
        convert_arguments({}, [("a", "1"), (" a ", "1")])
