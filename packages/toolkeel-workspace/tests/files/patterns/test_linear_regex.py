"""Regular expressions in linear time."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel_workspace.files.patterns.linear_regex import compile_regex, escape_regex


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        (r"^\w+$", ["猫", "cat_1", "é"], ["-", ""]),
        (r"^[\w-]+$", ["猫-1"], [" "]),
        (r"^\W$", ["-", "。"], ["猫"]),
        (r"^\d$", ["1", "٣"], ["a"]),
        (r"^[\D]$", ["a"], ["٣"]),
        (r"^\s$", [" ", "\u3000"], ["a"]),
        (r"^\\w$", ["\\w"], ["a"]),
        ("^[[:alpha:]]+$", ["foo"], ["1", "é"]),
        ("^[^[:space:]x]$", ["a", "["], ["x", " ", "\t"]),
        ("^[[:digit:]_[:punct:]]+$", ["1_-[]\\`"], ["a"]),
        (r"^\p{Han}$", ["猫"], ["a"]),
        ("(?i)^CAT|é$", ["cats", "É"], ["a cat"]),
    ],
)
def test_classes_are_those_of_unicode(pattern: str, yes: list[str], no: list[str]) -> None:
    found = compile_regex(pattern)
    assert [text for text in yes if not found(text)] == []
    assert [text for text in no if found(text)] == []


def test_a_class_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="foo"):
        compile_regex("[[:foo:]]")


@given(st.text(max_size=12), st.text(max_size=12))
def test_an_escaped_text_is_found_where_it_stands_and_nowhere_else(text: str, around: str) -> None:
    assert compile_regex(escape_regex(text))(around + text + around)
    assert compile_regex(escape_regex(text))(around) is (text in around)


def test_a_pattern_that_hangs_other_engines_is_decided_at_once() -> None:
    start = time.perf_counter()
    assert not compile_regex("^(a+)+$")("a" * 100_000 + "!")
    assert time.perf_counter() - start < 10


@given(st.text(st.sampled_from("ab|*+?()[]{}^$\\.wd-"), max_size=8))
def test_whatever_is_given_is_a_pattern_or_told_to_be_none(pattern: str) -> None:
    try:
        compile_regex(pattern)("a\udcffb")
    except ValueError as error:
        assert not isinstance(error, re.error)
