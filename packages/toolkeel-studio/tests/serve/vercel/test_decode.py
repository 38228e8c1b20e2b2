"""Requests are read as what they ask for, and whatever else they hold is no error and no effect."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel_studio.serve.errors import ChannelError
from toolkeel_studio.serve.vercel.decode import VercelRequest, decode_request

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
PARTS = st.lists(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["text", "file", "dynamic-tool"]) | JSON},
        optional=dict.fromkeys(
            ("text", "url", "state", "approval", "toolCallId", "output", "filename"), JSON
        ),
    )
    | JSON,
    max_size=3,
)
MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "assistant", "system"]) | JSON},
        optional={"id": JSON, "parts": PARTS | JSON},
    )
    | JSON,
    max_size=3,
)
BODIES = st.fixed_dictionaries(
    {}, optional={"id": JSON, "messages": MESSAGES | JSON, "trigger": JSON, "messageId": JSON}
)


@given(BODIES)
def test_whatever_is_sent_is_a_request_or_refused(body: dict[str, Any]) -> None:
    try:
        found = decode_request(body)
    except ChannelError:
        return
    assert isinstance(found, VercelRequest)
    assert {each.verdict for each in found.asked.answers.values()} <= {"approve", "deny"}


@given(JSON)
def test_only_the_json_value_true_approves(value: Any) -> None:
    part = {"state": "approval-responded", "approval": {"id": "a", "approved": value}}
    body = {"id": "t", "messages": [{"role": "assistant", "parts": [part]}]}
    choice = decode_request(body).asked.answers["a"]
    assert choice.verdict == ("approve" if value is True else "deny")


def test_only_what_is_decided_is_compared_with_the_call_that_waits() -> None:
    """A page that shows other arguments could else send no message until they are decided."""
    part = {"state": "approval-requested", "approval": {"id": "a"}, "input": {"share": None}}
    said = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "and then?"}]}
    body = {"id": "t", "messages": [{"role": "assistant", "parts": [part]}, said]}
    assert decode_request(body).inputs == {}
    part |= {"state": "approval-responded"}
    assert decode_request(body).inputs == {"a": {"share": None}}


def test_only_the_last_message_of_a_person_is_said() -> None:
    said = [
        {"id": f"u{n}", "role": "user", "parts": [{"type": "text", "text": f"Text {n}"}]}
        for n in range(3)
    ]
    sent = decode_request({"id": "t", "messages": said, "trigger": "submit-message"})
    assert (sent.asked.message_id, sent.asked.content) == ("u2", "Text 2")


@pytest.mark.parametrize(
    "body",
    [
        {"id": "t"},
        {"messages": []},
        {"id": 3, "messages": []},
        {"id": "t", "messages": [{"role": "user", "parts": []}]},
        {"id": "t", "messages": [{"id": "u", "role": "user", "parts": [{}] * 65}]},
    ],
)
def test_what_is_no_request_of_a_page_is_refused(body: dict[str, Any]) -> None:
    with pytest.raises(ChannelError):
        decode_request(body)
