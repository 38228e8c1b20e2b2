"""Messages are trimmed whole, and removed all or not at all."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel import SetupError
from toolkeel_compat.langchain import (
    REMOVE_ALL_MESSAGES,
    AIMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    count_tokens_approximately,
    trim_messages,
)
from toolkeel_compat.langchain.history import apply_update

messages = st.lists(st.sampled_from([HumanMessage("h"), AIMessage("a"), AIMessage("long" * 9)]))


@given(messages, st.integers(0, 12), st.booleans(), st.sampled_from(["first", "last"]))
def test_what_is_left_fits_and_stands_at_one_end(
    given: list[object], room: int, system: bool, strategy: str
) -> None:
    told = [SystemMessage("s"), *given] if system else given
    left = trim_messages(
        told, max_tokens=room, token_counter=len, include_system=True, strategy=strategy
    )
    rest = left[1:] if system and left else left
    assert len(left) <= max(room, int(system))
    assert rest == (given[: len(rest)] if strategy == "first" else given[len(given) - len(rest) :])
    assert len(left) == min(len(told), room) or (system and room == 0)


@given(messages, st.integers(0, 12))
def test_it_begins_and_ends_on_what_is_asked_for(given: list[object], room: int) -> None:
    left = trim_messages(
        given, max_tokens=room, token_counter=len, start_on="human", end_on=(AIMessage, "tool")
    )
    assert not left or (left[0].type, left[-1].type) == ("human", "ai")  # type: ignore[union-attr]


def test_an_option_that_would_be_dropped_is_refused() -> None:
    with pytest.raises(SetupError, match=r"allow_partial=\.\.\.\): messages stay whole"):
        trim_messages(["a"], max_tokens=1, token_counter=len, allow_partial=True)  # type: ignore[call-arg]
    options: dict[str, Any] = {"allow_partial": False, "text_splitter": None}
    assert trim_messages(["a"], max_tokens=1, token_counter=len, **options) == [HumanMessage("a")]
    with pytest.raises(TypeError, match="partial"):
        trim_messages(["a"], max_tokens=1, token_counter=len, partial=True)  # type: ignore[call-arg]
    with pytest.raises(SetupError, match="token_counter"):
        trim_messages(["a"], max_tokens=1, token_counter=object())  # type: ignore[arg-type]


def test_all_messages_are_removed_or_none() -> None:
    old, new = [HumanMessage("a")], HumanMessage("b", id="2")
    assert apply_update(old, new) == [*old, new]
    assert apply_update(old, [RemoveMessage(REMOVE_ALL_MESSAGES), new]) == [new]
    with pytest.raises(SetupError, match="no message has this id"):
        apply_update(old, [RemoveMessage("7")])


def test_a_message_with_an_id_is_removed_or_replaced() -> None:
    one, two = HumanMessage("a", id="1"), HumanMessage("b", id="2")
    assert apply_update([one, two], [RemoveMessage("1")]) == [two]
    newer = HumanMessage("c", id="1")
    assert apply_update([one, two], newer) == [newer, two]
    [kept, added] = apply_update([one], [HumanMessage("a")])
    assert kept is one
    assert added.id not in (None, "1")


def test_characters_stand_for_tokens_about() -> None:
    given = [HumanMessage("x" * 400), HumanMessage("short")]
    for counter in ("approximate", count_tokens_approximately):
        assert trim_messages(given, max_tokens=20, token_counter=counter) == given[1:]
