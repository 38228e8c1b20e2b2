"""Pinned results stay in view, each key's newest, within a bound."""

from __future__ import annotations

import pytest

from toolkeel import ToolMessage, UserMessage
from toolkeel._records.result_pins import (
    MAX_PINNED_CHARS,
    PINNED,
    PINNED_PREFIX,
    find_pin,
    has_pinned,
    list_pinned,
)


def result(text: str, key: object = "a", **more: object) -> ToolMessage:
    return ToolMessage(text, "c", "load", details={PINNED: key}, **more)  # type: ignore[arg-type]


def test_the_newest_of_each_key_stays_also_when_it_is_left_out_again() -> None:
    first = list_pinned([result("one"), result("b", "b"), result("two")])
    assert first == [f"{PINNED_PREFIX}b]\nb", f"{PINNED_PREFIX}a]\ntwo"]
    notes = [UserMessage(text, "omission") for text in first]
    assert list_pinned(notes) == first
    assert list_pinned([*notes, result("three")])[-1].endswith("three")
    assert has_pinned(notes, "a") and has_pinned([result("one")], "a")
    assert not has_pinned(notes, "c")


def test_the_oldest_go_first_when_they_are_too_long_together() -> None:
    half = "x" * (MAX_PINNED_CHARS // 2 - 100)
    kept = list_pinned([result(half, key) for key in "abc"])
    assert [text[len(PINNED_PREFIX)] for text in kept] == ["b", "c"]


@pytest.mark.parametrize(
    "message",
    [
        UserMessage(f"{PINNED_PREFIX}a]\nsaid by a person"),
        UserMessage("[Left out here]", "omission"),
        result("x", 5),
        result("x" * (MAX_PINNED_CHARS + 1)),
        ToolMessage("x", "c", "load"),
        ToolMessage("x", "c", "load", "error", details={PINNED: "a"}),
    ],
)
def test_nothing_else_is_pinned(message: object) -> None:
    assert find_pin(message) == ""  # type: ignore[arg-type]
