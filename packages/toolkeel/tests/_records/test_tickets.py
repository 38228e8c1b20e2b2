"""A ticket names exactly one call, a decision exactly one ticket; both travel as JSON."""

from __future__ import annotations

import copy
import dataclasses
import json
import math
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel._records.tickets import (
    CLOCK_TOLERANCE,
    LIFETIME,
    VERDICTS,
    Decision,
    Edit,
    Ticket,
    call_digest,
    new_id,
)
from toolkeel.content import Image

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(), JSON, max_size=4)


def ticket(expires: float | None = None, **arguments: object) -> Ticket:
    until = time.time() + LIFETIME if expires is None else expires
    return Ticket(new_id(), "c1", "rm", arguments, call_digest("rm", {}, arguments), until, "why")


def test_a_ticket_and_its_decisions_come_back_from_json_as_they_were() -> None:
    asked = ticket(path="/etc/主机", force=True)
    assert Ticket.from_dict(json.loads(json.dumps(asked.to_dict()))) == asked
    answers = (
        asked.approve(),
        asked.deny("不行"),
        asked.edit({"path": "/tmp"}),
        asked.answer(["好"]),
    )
    assert [a.verdict for a in answers] == list(VERDICTS)
    for answer in answers:
        assert (answer.ticket, answer.seal) == (asked.id, asked.seal)
        assert Decision.from_dict(json.loads(json.dumps(answer.to_dict()))) == answer


def test_ids_of_tickets_are_random_and_long() -> None:
    ids = {new_id() for _ in range(1000)}
    assert len(ids) == 1000
    assert {len(id) for id in ids} == {32}


FAR = time.time() + 2 * LIFETIME + CLOCK_TOLERANCE  # also hours after all tests were read


@pytest.mark.parametrize(
    "expires", [0.0, -math.inf, math.inf, math.nan, pytest.param(FAR, id="too far ahead")]
)
def test_a_ticket_that_is_late_or_claims_to_live_too_long_has_expired(expires: float) -> None:
    assert ticket(expires).expired
    assert not ticket().expired


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("id", 5),
        ("call_id", None),
        ("tool", ["rm"]),
        ("arguments", [1]),
        ("arguments", "{}"),
        ("digest", True),
        ("expires", "tomorrow"),
        ("expires", True),
        ("reason", {}),
        ("effects", "none"),
        ("origin", 1),
        ("more", 1),
    ],
)
def test_a_field_of_a_wrong_type_is_no_ticket(field: str, value: object) -> None:
    data = {**ticket().to_dict(), field: value}
    with pytest.raises(ValueError, match=field):
        Ticket.from_dict(data)


def test_a_missing_field_is_no_ticket_and_no_decision() -> None:
    data = ticket().to_dict()
    del data["digest"]
    with pytest.raises(ValueError, match="'digest' is missing"):
        Ticket.from_dict(data)
    with pytest.raises(ValueError, match="'verdict' is missing"):
        Decision.from_dict({"ticket": "t", "seal": "d"})


@pytest.mark.parametrize("verdict", ["APPROVE", "yes", "", "allow", True])
def test_a_verdict_that_is_none_of_the_three_is_no_decision(verdict: object) -> None:
    with pytest.raises(ValueError, match="verdict"):
        Decision.from_dict({"ticket": "t", "seal": "d", "verdict": verdict})


@given(OBJECTS)
def test_a_digest_does_not_depend_on_the_order_of_keys(arguments: dict[str, object]) -> None:
    turned = dict(reversed(list(arguments.items())))
    assert call_digest("t", {"a": 1}, arguments) == call_digest("t", {"a": 1}, turned)


@given(OBJECTS, OBJECTS)
def test_a_digest_tells_apart_whatever_json_tells_apart(
    one: dict[str, object], other: dict[str, object]
) -> None:
    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert (call_digest("t", {}, one) == call_digest("t", {}, other)) == same
    assert call_digest("t", one, {}) != call_digest("u", one, {})
    assert (call_digest("t", one, {}) == call_digest("t", other, {})) == same


def test_a_digest_is_not_fooled_by_text_that_looks_like_structure() -> None:
    assert call_digest("t", {}, {"a": "1"}) != call_digest("t", {}, {"a": 1})
    assert call_digest('t", {}', {}, {}) != call_digest("t", {}, {})
    assert call_digest("t", {}, {"a": "\ud800"}) != call_digest("t", {}, {"a": "?"})


def test_a_decision_by_hand_is_as_bound_as_one_by_its_ticket() -> None:
    asked = ticket(path="a")
    made = Decision(asked.id, asked.seal, "approve")
    assert made == asked.approve()
    assert dataclasses.replace(made, seal="") != asked.approve()


def test_the_model_is_told_of_an_edit_unless_it_is_a_steps() -> None:
    edit = Edit("a person", {"n": 5}, ("n from 500 to 5",))
    assert edit.told and copy.copy(edit) == edit


@pytest.mark.parametrize(
    "value", [Image(b"png", "image/png"), [b"bytes"], {"at": {1, 2}}, math.nan]
)
def test_an_answer_that_is_no_json_is_told_with_what_to_give_instead(value: object) -> None:
    with pytest.raises((TypeError, ValueError), match="give text, numbers, and lists and dicts"):
        ticket().answer(value)


def test_a_comment_is_no_reach_of_an_approval_and_a_text_no_edit() -> None:
    anybody: Any = ticket()
    with pytest.raises(ValueError, match="give one of 'call', 'target', 'session', 'server'"):
        anybody.approve("looks fine")
    with pytest.raises(TypeError, match="all of the call's arguments as a dict"):
        anybody.edit("/safe/path")
