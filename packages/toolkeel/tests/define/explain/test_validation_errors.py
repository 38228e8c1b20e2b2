"""The words for one field, and for all of a call's, whichever validator speaks."""

from __future__ import annotations

import pytest

from toolkeel.define.explain.validation_errors import (
    UNSENT,
    describe_expected,
    invalid_arguments,
    known_keys,
    missing_field,
    unknown_key,
    value_at,
)
from toolkeel.errors import FieldError


def test_the_whole_text_lists_twenty_fields_and_counts_the_rest() -> None:
    errors = [FieldError(("items", i), "an integer", '"x" (a string)') for i in range(50)]
    failure = invalid_arguments("count", errors)
    assert failure.kind == "invalid_arguments"
    assert failure.errors == tuple(errors)
    rows = failure.text.splitlines()
    assert rows[0] == "The arguments of count are invalid, and it did not run:"
    assert rows[1] == '- items[0]: expected an integer, got "x" (a string)'
    assert rows[20:] == [
        '- items[19]: expected an integer, got "x" (a string)',
        "- and at least 30 more",
        "Correct these and call count again.",
    ]


def test_a_long_phrase_is_written_for_its_first_field_alone() -> None:
    phrase = "an object with " + ", ".join(f'"key{n}"' for n in range(20))
    errors = [FieldError(("items", i), phrase, "an empty object") for i in range(30)]
    rows = invalid_arguments("count", errors).text.splitlines()
    assert rows[1] == f"- items[0]: expected {phrase}, got an empty object"
    assert rows[2] == "- items[1]: expected the same as items[0], got an empty object"
    assert rows[21] == "- and at least 10 more"


def test_one_field_of_enormous_name_and_phrase_makes_one_bounded_line() -> None:
    error = FieldError(("k" * 10_000,), "x" * 10_000)
    assert len(invalid_arguments("n" * 10_000, [error]).text) < 800


def test_the_words_for_one_field_serve_every_validator() -> None:
    root = {"properties": {"unit": {"enum": ["c", "f"]}, "n": {"type": "integer"}}}
    unit, number = root["properties"]["unit"], root["properties"]["n"]
    assert describe_expected([unit], root, "F") == 'one of "c", "f" (did you mean "f"?)'
    assert describe_expected([unit, number], root) == 'one of "c", "f", or an integer'
    assert describe_expected([], root) == "any value"
    assert known_keys([root], root) == ["unit", "n"]
    assert str(missing_field(("n",), [number], root)) == "n: expected an integer (required)"
    assert str(unknown_key(("m",), [])) == "m: expected no keys at all, got an unknown key"
    assert str(unknown_key(("m",), ["n"])) == 'm: expected the key "n", got an unknown key'


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ((), {"a": ["x", {"0": 1}]}), (("a", 1, "0"), 1), (("a", 0), "x"), (("a", 0, 0), UNSENT),
        (("a", 2), UNSENT), (("a", 1, 0), UNSENT), (("b",), UNSENT), (("a", "b"), UNSENT),
    ],
)  # fmt: skip
def test_the_value_at_a_path_is_the_one_that_was_sent_there(
    path: tuple[str | int, ...], found: object
) -> None:
    assert value_at({"a": ["x", {"0": 1}]}, path) == found
