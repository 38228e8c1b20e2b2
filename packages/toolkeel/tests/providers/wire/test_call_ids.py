"""Call ids on the wire: legal, used once, and turned back."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel.errors import SetupError
from toolkeel.messages import ToolCall, ToolMessage
from toolkeel.providers.wire.call_ids import OpenCalls, make_legal_id, pair_results

LEGAL = re.compile(r"[A-Za-z0-9_-]{1,64}")
ids = st.lists(st.text(max_size=80) | st.sampled_from(["", "a", "a_2", "a_3", "x" * 64, "é"]))


def opened(*given_ids: str) -> tuple[OpenCalls, list[str]]:
    calls = OpenCalls()
    return calls, [calls.add(ToolCall(id, "f")) for id in given_ids]


@given(ids)
def test_any_ids_become_legal_ones_one_each_that_can_be_turned_back(given_ids: list[str]):
    calls, made = opened(*given_ids)
    assert all(LEGAL.fullmatch(id) for id in made)
    assert len(set(made)) == len(made)
    assert [calls.calls[id].id for id in made] == given_ids


@given(ids)
def test_the_same_transcript_gives_the_same_ids(given_ids: list[str]):
    assert opened(*given_ids)[1] == opened(*given_ids)[1]


def test_a_legal_id_stays() -> None:
    _, made = opened("toolu_01", "call-2", "toolu_01")
    assert made == ["toolu_01", "call-2", "toolu_01_2"]


def test_long_ids_that_begin_alike_stay_apart() -> None:
    one, two = (make_legal_id("x" * 400 + end) for end in "ab")
    assert one != two
    assert len(one) == len(two) == 64


def test_the_calls_of_a_turn_are_answered_by_id_and_equal_ids_by_position() -> None:
    calls, _ = opened("a", "b", "a")
    given = [calls.match_result(ToolMessage("", id)) for id in ("a", "z", "", "a", "a", "")]
    assert given == ["a", "", "b", "a_2", "", ""]
    assert not calls.has_late_result


def test_a_result_is_late_once_its_call_was_answered_with_a_sentence() -> None:
    calls, _ = opened("a", "b")
    calls.match_result(ToolMessage("", "a"))
    calls.close_turn()
    assert calls.match_result(ToolMessage("", "a")) == ""
    assert not calls.has_late_result
    calls.match_result(ToolMessage("", "b"))
    assert calls.has_late_result


CALLS = [ToolCall("a", "f"), ToolCall("b", "g"), ToolCall("c", "h")]


def texts(results: list[ToolMessage]) -> list[object]:
    return [result.content for result in results]


def test_results_come_in_the_order_of_their_calls() -> None:
    results = [ToolMessage("3", "c"), ToolMessage("2"), ToolMessage("1", "a")]
    assert texts(pair_results(CALLS, results)) == ["1", "2", "3"]


def test_results_with_one_id_count_by_their_order() -> None:
    results = [ToolMessage("1", "b"), ToolMessage("2", "b"), ToolMessage("3", "a")]
    assert texts(pair_results(CALLS, results)) == ["1", "2", "3"]


def test_there_must_be_as_many_results_as_calls() -> None:
    with pytest.raises(SetupError, match="3 calls and there are 1 results"):
        pair_results(CALLS, [ToolMessage("1")])
