"""Answers worded from results."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel.providers.offline.answer import call_text, result_sentence
from toolkeel.providers.offline.lexicon import Language
from toolkeel.providers.offline.read_transcript import FinishedCall

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


def done(text: object, name: str = "tool", **arguments: object) -> FinishedCall:
    shown = text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)
    return FinishedCall(name, arguments, shown, False)


WEATHER = {"city": "Paris", "temperature": 16.5, "unit": "celsius", "condition": "rain", "wind": "9 km/h"}  # fmt: skip
MOMENT = {"date": "2026-01-02", "weekday": "Friday", "time": "08:30:00", "timezone": "UTC"}


@pytest.mark.parametrize(
    ("speech", "result", "expected"),
    [
        ("en", done("12", expression="15% of 80"), "15% of 80 = 12"),
        ("en", done("8", "add", a=3, b=5), "add(a=3, b=5) = 8"),
        ("en", done(WEATHER), "Paris: 16.5 °C, rain, wind 9 km/h."),
        ("zh", done(WEATHER), "Paris：16.5 °C，雨，风速 9 km/h。"),
        ("en", done({**WEATHER, "source": "fixture"}), "Paris: 16.5 °C, rain, wind 9 km/h (source: fixture)."),
        ("en", done({"temperature": "22°C", "description": "晴天"}, city="北京"), "北京: 22°C, 晴天."),
        ("en", done(MOMENT), "It is Friday, 2026-01-02, 08:30 (UTC)."),
        ("zh", done(MOMENT), "现在是 2026-01-02 星期五 08:30（UTC）。"),
        ("en", done({"symbol": "AAPL", "price": 12.5}, symbol="AAPL"), "AAPL: symbol: AAPL, price: 12.5"),
        ("en", done("Hello, Bob!", name="Bob"), "Hello, Bob!"),
        ("en", done("", "save"), "save(): nothing came back."),
        ("en", done([], "search", query="x"), 'search(query="x"): no results.'),
        ("en", done(["a", {"b": 1}], "search"), "search(): 2 results\n- a\n- b: 1"),
        ("zh", done(["a"], "search"), "search(): 1 个结果\n- a"),
    ],
)  # fmt: skip
def test_a_result_becomes_a_statement(
    speech: Language, result: FinishedCall, expected: str
) -> None:
    assert result_sentence(speech, "", result) == expected


@pytest.mark.parametrize(
    ("speech", "prompt", "result", "expected"),
    [
        ("en", "how many lines has a.txt", done("x\n\n[a.txt: 13 lines, 2 B]", path="a.txt"), "a.txt has 13 lines."),
        ("en", "how many lines has a.txt", done("x\n[a.txt: 1 line, 2 B]", path="a.txt"), "a.txt has 1 line."),
        ("en", "how many lines are in a.txt", done("x\ny\nz", path="a.txt"), "a.txt has 3 lines."),
        ("en", "how many words has a.txt", done("x y z", path="a.txt"), "a.txt has 3 words."),
        ("en", "how many users are there", done(["a", "b"], "list_users"), "list_users has 2 users."),
        ("zh", "a.txt有多少行", done("x\n[a.txt: 13 lines, 2 B]", path="a.txt"), "a.txt 共有 13 行。"),
    ],
)  # fmt: skip
def test_how_many_is_answered_with_the_number(
    speech: Language, prompt: str, result: FinishedCall, expected: str
) -> None:
    assert result_sentence(speech, prompt, result) == expected


def test_a_long_text_is_cut_and_its_size_told() -> None:
    text = result_sentence("en", "", done("line\n" * 1000, "read", path="a"))
    assert len(text) < 1500
    assert "5000 characters in all" in text or "4999 characters in all" in text


def test_a_call_is_shown_short_and_unescaped() -> None:
    assert call_text(FinishedCall("f", {"x": "猫", "y": "z" * 100}, "", False)).startswith(
        'f(x="猫", y="zz'
    )
    assert len(call_text(FinishedCall("f", {"y": "z" * 100}, "", False))) < 80


@given(st.text(max_size=100) | json_values, st.sampled_from(["how many lines", "x", "多少行"]))
def test_any_result_can_be_worded(result: object, prompt: str) -> None:
    for speech in ("en", "zh"):
        assert isinstance(result_sentence(speech, prompt, done(result)), str)
