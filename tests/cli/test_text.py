"""Wording: nothing a terminal obeys gets through, and widths are what a terminal shows."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from toolwright.cli.text import (
    arguments_of,
    cells,
    chopped,
    compact,
    count,
    duration,
    escaped,
    fit,
    one_line,
    padded,
    signature,
    visible_json,
    visible_line,
    wrapped,
)
from toolwright.messages import ToolCall

TEXT = st.text(max_size=60)
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=60)  # lone surrogates too
WIDE = st.text(alphabet="ab ,.天气很好。，（）x\u0301-", max_size=80)


@given(ANY_TEXT)
def test_nothing_a_terminal_obeys_is_left_after_escaping(text: str) -> None:
    shown = escaped(text)
    controls = [c for c in shown if unicodedata.category(c) in ("Cc", "Cs") and c not in "\t\n"]
    assert controls == []
    assert not set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069") & set(shown)
    assert escaped(shown) == shown


@given(st.text(st.characters(categories=("L", "N", "P", "S", "Zs", "M")), max_size=60))
def test_plain_text_in_any_script_is_not_touched(text: str) -> None:
    assert escaped(text) == text


def test_known_attacks_are_shown_as_text() -> None:
    assert escaped("\x1b[2J\x1b]0;owned\x07") == r"\x1b[2J\x1b]0;owned\x07"
    assert escaped("\x9b31m\x7f\x08") == r"\x9b31m\x7f\x08"
    assert escaped("a\rb") == r"a\x0db"
    assert escaped("if admin\u202e nimda") == r"if admin\u202e nimda"


@given(ANY_TEXT)
def test_one_line_is_one_line(text: str) -> None:
    assert len(one_line(text).splitlines()) <= 1


@given(WIDE)
def test_cells_are_counted_as_rich_counts_them(text: str) -> None:
    assert cells(text) == cell_len(text)


@given(WIDE, st.integers(0, 30))
def test_what_is_fitted_fits_and_begins_like_the_original(text: str, width: int) -> None:
    shown = fit(text, width)
    assert cells(shown) <= width
    assert shown == text or (width == 0 and not shown) or text.startswith(shown.removesuffix("…"))


@given(WIDE, st.integers(2, 30))
def test_wrapped_lines_fit_and_lose_nothing_but_spaces(text: str, width: int) -> None:
    lines = wrapped(text, width)
    assert all(cells(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


def test_wrapping_does_not_part_words_or_begin_with_a_full_stop() -> None:
    assert wrapped("the quick brown fox", 10) == ["the quick", "brown fox"]
    assert wrapped("abcdefgh", 3) == ["abc", "def", "gh"]
    assert wrapped('{"city":"北京","t":22}', 12) == ['{"city":"北', '京","t":22}']
    assert wrapped("", 5) == [""]


def test_padding_brings_wide_text_to_the_same_column() -> None:
    assert [cells(padded(text, 8)) for text in ("猫", "cat", "")] == [8, 8, 8]


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.0000004, "0 µs"),
        (0.00099, "990 µs"),
        (0.001, "1 ms"),
        (0.9994, "999 ms"),
        (1.0, "1.0 s"),
        (59.9, "59.9 s"),
        (59.96, "1 min 0 s"),
        (3599, "59 min 59 s"),
    ],
)
def test_durations_are_said_in_the_unit_people_use(seconds: float, said: str) -> None:
    assert duration(seconds) == said


def test_counts_have_their_noun_in_number() -> None:
    assert [count(n, "call") for n in (0, 1, 2, 1234)] == [
        "0 calls",
        "1 call",
        "2 calls",
        "1,234 calls",
    ]


@given(ANY_TEXT, st.dictionaries(TEXT, st.one_of(TEXT, st.integers(), st.none())))
def test_a_signature_is_one_short_line_whatever_the_model_wrote(
    raw: str, arguments: dict[str, object]
) -> None:
    for given_arguments in (raw, arguments, json.dumps(arguments)):
        line = signature(ToolCall("1", "tool", given_arguments), 40)
        assert "\n" not in line
        assert cells(line) <= 40
        assert escaped(line) == line


def test_raw_arguments_that_are_no_object_stay_raw() -> None:
    assert arguments_of(ToolCall("1", "t", "[1]")) == "[1]"
    assert arguments_of(ToolCall("1", "t", '{"a": ')) == '{"a": '
    assert arguments_of(ToolCall("1", "t", "")) == {}
    assert signature(ToolCall("1", "t", '{"a": ')) == 't({"a":)'


def test_json_keeps_its_characters() -> None:
    assert compact({"猫": "☕"}) == '{"猫": "☕"}'


ANY_JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), ANY_TEXT),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(ANY_TEXT, inner)),
    max_leaves=8,
)
UNSEEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


@given(ANY_JSON)
def test_visible_json_is_json_of_the_same_value(value: object) -> None:
    shown = visible_json(value)
    assert json.loads(shown) == value
    assert [c for c in shown if c != "\n" and unicodedata.category(c) in UNSEEN] == []


@given(ANY_TEXT)
def test_a_visible_line_is_one_line_with_nothing_hidden(text: str) -> None:
    shown = visible_line(text)
    assert len(shown.splitlines()) <= 1
    assert [c for c in shown if unicodedata.category(c) in UNSEEN] == []


@pytest.mark.parametrize(
    "hidden",
    [
        *("\x1b", "\x7f", "\x9b", "\u00a0", "\u00ad", "\u034f", "\u061c", "\u115f", "\u180e"),
        *("\u200b", "\u200d", "\u200f", "\u2028", "\u202e", "\u2060", "\u2066", "\u2800"),
        *("\u3164", "\ufe0f", "\ufeff", "\uffa0", "\ufff9", "\U000e0061", "\U000e0100", "\ue000"),
    ],
)
def test_a_character_that_is_not_seen_is_shown_as_its_escape(hidden: str) -> None:
    shown = visible_json([f"a{hidden}b"])
    assert hidden not in shown
    assert "a\\u" in shown


@pytest.mark.parametrize("seen", ["猫", "한국어", "ё", "é", "🐈", "\u3000", "عربي", "ไทย", "हिन्दी"])
def test_what_is_seen_is_left_alone(seen: str) -> None:
    assert visible_json([seen]) == f'[\n  "{seen}"\n]'


@given(WIDE, st.integers(2, 30))
def test_chopping_loses_nothing_and_keeps_to_the_width(text: str, width: int) -> None:
    pieces = chopped(text, width)
    assert "".join(pieces) == text
    assert max(map(cells, pieces)) <= width
