"""Call ids on the wire: legal, used once, and turned back."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel.errors import SetupError
from toolkeel.messages import ToolCall, ToolMessage
from toolkeel.providers.wire.call_ids import Waiting, WireIds, common_id, paired

LEGAL = re.compile(r"[A-Za-z0-9_-]{1,64}")
ids = st.lists(st.text(max_size=80) | st.sampled_from(["", "a", "a_2", "a_3", "x" * 64, "é"]))


@given(ids)
def test_any_ids_become_legal_ones_one_each_that_can_be_turned_back(given_ids: list[str]):
    wire = WireIds()
    made = [wire.new(id) for id in given_ids]
    assert all(LEGAL.fullmatch(id) for id in made)
    assert len(set(made)) == len(made)
    assert [wire.own[id] for id in made] == given_ids


@given(ids)
def test_the_same_transcript_gives_the_same_ids(given_ids: list[str]):
    first, second = WireIds(), WireIds()
    assert [first.new(id) for id in given_ids] == [second.new(id) for id in given_ids]


def test_a_legal_id_stays() -> None:
    wire = WireIds()
    assert [wire.new(id) for id in ("toolu_01", "call-2", "toolu_01")] == [
        "toolu_01",
        "call-2",
        "toolu_01_2",
    ]


def test_long_ids_that_begin_alike_stay_apart() -> None:
    one, two = (common_id("x" * 400 + end) for end in "ab")
    assert one != two
    assert len(one) == len(two) == 64


def test_the_calls_of_a_turn_are_answered_by_id_and_equal_ids_by_position() -> None:
    waiting = Waiting()
    for call, wire in (("a", "1"), ("b", "2"), ("a", "3")):
        waiting.add(call, wire)
    assert waiting.take("a") == "1"
    assert list(waiting) == ["2", "3"]
    assert waiting.take("z") == ""
    assert waiting.take_first() == "2"
    assert waiting.take("a") == "3"
    assert waiting.take("a") == waiting.take_first() == ""


CALLS = [ToolCall("a", "f"), ToolCall("b", "g"), ToolCall("c", "h")]


def texts(results: list[ToolMessage]) -> list[object]:
    return [result.content for result in results]


def test_results_come_in_the_order_of_their_calls() -> None:
    results = [ToolMessage("3", "c"), ToolMessage("2"), ToolMessage("1", "a")]
    assert texts(paired(CALLS, results)) == ["1", "2", "3"]


def test_results_with_one_id_count_by_their_order() -> None:
    results = [ToolMessage("1", "b"), ToolMessage("2", "b"), ToolMessage("3", "a")]
    assert texts(paired(CALLS, results)) == ["1", "2", "3"]


def test_there_must_be_as_many_results_as_calls() -> None:
    with pytest.raises(SetupError, match="3 calls and there are 1 results"):
        paired(CALLS, [ToolMessage("1")])
