"""Requests of AG-UI clients."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel._records.tickets import Ticket
from toolkeel_studio.serve.agui.decode import decode_request, fit_answer
from toolkeel_studio.serve.errors import ChannelError

CALL = Ticket("t1", "c1", "pay", {}, "d" * 64, 0.0)
FORM = Ticket("t2", "c1", "ask", {}, "d" * 64, 0.0, form={"type": "object"})
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


def decode(**body: Any) -> Any:
    return decode_request({"threadId": "t", "runId": "r", "messages": [], **body})


@given(st.dictionaries(st.sampled_from(["threadId", "messages", "resume", "tools"]), JSON))
def test_any_body_is_a_request_or_is_refused(body: dict[str, Any]) -> None:
    with suppress(ChannelError):
        decode(**body)


@given(JSON)
def test_only_the_json_value_true_approves_a_call(value: Any) -> None:
    entry = {"interruptId": "i", "status": "resolved", "payload": {"approved": value}}
    choice = fit_answer(decode(resume=[entry]).asked.answers["i"], CALL)
    assert choice.verdict == ("approve" if value is True else "deny")


def test_a_cancelled_interrupt_denies_a_call_and_cancels_a_question() -> None:
    entry = {"interruptId": "i", "status": "cancelled", "payload": {"approved": True}}
    choice = decode(resume=[entry]).asked.answers["i"]
    assert (fit_answer(choice, CALL).verdict, fit_answer(choice, FORM).verdict) == (
        "deny",
        "cancel",
    )


def test_a_form_is_filled_in_with_the_payload() -> None:
    entry = {"interruptId": "i", "status": "resolved", "payload": {"name": "Ada"}}
    choice = fit_answer(decode(resume=[entry]).asked.answers["i"], FORM)
    assert (choice.verdict, choice.arguments) == ("edit", {"name": "Ada"})
    entry["payload"] = "Ada"
    assert fit_answer(decode(resume=[entry]).asked.answers["i"], FORM).verdict == "deny"


def test_the_version_that_a_client_declares_counts() -> None:
    versions = {"1.0": True, "2.1": True, "0.1.9": False, "": False, None: False}
    assert {v: decode(protocolVersion=v).is_current for v in versions} == versions


def test_what_is_no_request_is_refused_by_its_place_alone() -> None:
    with pytest.raises(ChannelError, match=r"RunAgentInput: threadId$"):
        decode(threadId={"secret": "CANARY"})
