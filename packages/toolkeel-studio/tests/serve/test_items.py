"""Numbers and approval ids as clients send them back."""

from __future__ import annotations

from time import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel._records.tickets import Ticket, new_id
from toolkeel_studio.serve.errors import ChannelError, UnknownApproval
from toolkeel_studio.serve.items import Position, approval_id_of, split_approval_id

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
