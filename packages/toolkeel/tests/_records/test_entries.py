"""Entries are frozen, each kind has a name of its own, and a call's key tells it from all others."""

from __future__ import annotations

import dataclasses
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from toolkeel._records.entries import CallEnded, CallIntended, Entry, call_key, call_key_of
from toolkeel.messages import ToolMessage


def test_no_two_kinds_of_entries_have_one_name() -> None:
    kinds = [entry.kind for entry in get_args(Entry)]
    assert len(set(kinds)) == len(kinds) == 26


def test_what_is_fixed_by_its_kind_is_no_field() -> None:
    for entry in get_args(Entry):
        assert "kind" not in {field.name for field in dataclasses.fields(entry)}


PLACE = st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 20), st.integers(0, 20))


@given(PLACE, PLACE)
def test_two_calls_have_one_key_only_if_they_are_one(
    one: tuple[str, int, int], other: tuple[str, int, int]
) -> None:
    assert (call_key(*one) == call_key(*other)) == (one == other)


def test_an_outcome_has_the_key_of_its_intent() -> None:
    intended = CallIntended("run", 2, 1, "1", "add")
    ended = CallEnded("run", 2, 1, ToolMessage("3"))
    assert call_key_of(intended) == call_key_of(ended) == "run-2-1"
    within = CallIntended("run", 2, 0, within=call_key_of(intended))
    assert call_key_of(within) == "run-2-1-2-0"
