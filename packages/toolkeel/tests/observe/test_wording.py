"""Words for people: nothing hidden, nothing that a screen obeys."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel.messages import ToolCall
from toolkeel.observe.wording import (
    arguments_of,
    badges,
    change_rows,
    compact,
    count,
    duration,
    escaped,
    one_line,
    table_of,
    visible_json,
    visible_line,
)

TEXT = st.text(max_size=60)
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=60)  # lone surrogates too
WIDE = st.text(alphabet="ab ,.天气很好。，（）x\u0301-", max_size=80)
ANY_JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), ANY_TEXT),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(ANY_TEXT, inner)),
    max_leaves=8,
)
UNSEEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def test_what_a_call_touches_is_told_with_its_arguments() -> None:
    effects = {"open_world": False, "destructive": False, "resources": ["file:{path}", "db:{x}"]}
    told = "writes, touches file:诗\\u202e.txt, touches db:{x}"
    assert badges(effects, {"path": "诗\u202e.txt"}) == told
    assert badges(effects) == "writes, touches file:{path}, touches db:{x}"


def test_a_row_of_a_difference_keeps_its_spaces_and_shows_what_is_unseen() -> None:
    rows = change_rows("why\n-a  b\n+\ta b\u200b\r\n  - 猫\u3000x")
    assert rows == ["-a  b", "+→   a b\\u200b\\u000d", "  - 猫\u3000x"]


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


def test_raw_arguments_that_are_no_object_stay_raw() -> None:
    assert arguments_of(ToolCall("1", "t", "[1]")) == "[1]"
    assert arguments_of(ToolCall("1", "t", '{"a": ')) == '{"a": '
    assert arguments_of(ToolCall("1", "t", "")) == {}


def test_json_keeps_its_characters() -> None:
    assert compact({"猫": "☕"}) == '{"猫": "☕"}'


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


def test_records_with_many_different_keys_are_no_table() -> None:
    wide = {f"k{n}": n for n in range(100)}
    assert (shown := table_of({}, json.dumps([wide]))) is not None and len(shown.columns) == 100
    assert table_of({}, json.dumps([wide, {"more": 1}])) is None


def test_a_cell_that_is_nested_too_deeply_is_cut() -> None:
    deep = '[{"a":' + "[" * 990 + "]" * 990 + "}]"
    shown = table_of({}, deep)
    assert shown is None or shown.rows == [["…"]] or "[[" in shown.rows[0][0]
