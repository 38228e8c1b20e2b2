"""Numbers and approval ids as clients send them back."""

from __future__ import annotations

from time import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel import events
from toolkeel._records.tickets import Ticket, new_id
from toolkeel.model_interface import ReasoningDelta, TextDelta
from toolkeel_studio.serve.errors import ChannelError, UnknownApproval
from toolkeel_studio.serve.items import (
    Item,
    Position,
    Problem,
    approval_id_of,
    join_pieces,
    split_approval_id,
)

NUMBERS = st.integers(0, 10**12)


@given(NUMBERS, NUMBERS, NUMBERS, NUMBERS)
def test_numbers_come_back_from_their_text_in_their_order(a: int, b: int, c: int, d: int) -> None:
    one, other = Position(a, b), Position(c, d)
    assert Position.parse(str(one)) == one and Position.parse(str(a)) == Position(a)
    assert (one < other) == (Position.parse(str(one)) < Position.parse(str(other)))


@given(st.text())
def test_any_other_text_is_refused(text: str) -> None:
    try:
        found = Position.parse(text)
    except ChannelError:
        return
    assert text.strip() in (str(found), str(found.entry)) or {*text.strip()} <= {*"0123456789."}


@given(st.text() | st.none() | st.integers())
def test_what_is_no_approval_id_is_refused(text: object) -> None:
    if isinstance(text, str) and all(text.partition(".")):
        assert ".".join(split_approval_id(text)) == text
        return
    with pytest.raises(UnknownApproval):
        split_approval_id(text)


def test_an_approval_id_names_the_ticket_and_all_that_was_shown_of_it() -> None:
    ticket = Ticket(new_id(), "c1", "pay", {"amount": 5}, "d", time() + 60)
    other = Ticket(ticket.id, "c1", "pay", {"amount": 500}, "d", ticket.expires)
    assert split_approval_id(approval_id_of(ticket)) == (ticket.id, ticket.seal)
    assert approval_id_of(ticket) != approval_id_of(other)


@given(st.lists(st.tuples(st.sampled_from("tre"), st.sampled_from("mn"), st.text(max_size=2))))
def test_joined_pieces_are_the_same_texts_in_the_same_order(
    made: list[tuple[str, str, str]],
) -> None:
    kinds: dict[str, Any] = {"t": TextDelta, "r": ReasoningDelta}
    items = [
        Item(
            f"1.{n}",
            "streamed",
            events.Streamed("r", 1, 0.0, delta=kinds[kind](text)),
            0.0,
            "r",
            id,
        )
        if kind in kinds
        else Item(f"1.{n}", "problem", Problem(text))
        for n, (kind, id, text) in enumerate(made)
    ]

    def texts(items: list[Item]) -> list[tuple[str, str, str]]:
        found: list[tuple[str, str, str]] = []
        for item in items:
            body = item.body
            is_text = isinstance(body, events.Streamed)
            text = body.delta.text if is_text else body.error  # type: ignore[union-attr]
            key = (type(body.delta).__name__ if is_text else "problem", item.message_id)  # type: ignore[union-attr]
            if is_text and found and found[-1][:2] == key:
                text = found.pop()[2] + text
            found.append((*key, text))
        return found

    joined = join_pieces(items)
    assert texts(joined) == texts(items)
    assert len(joined) == len(texts(items))
    assert [each.number for each in joined[-1:]] == [each.number for each in items[-1:]]
