"""A reply that is no answer: the model learns what was wrong with it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel import Agent
from toolkeel.agent.turn.reply_checks import after_empty_reply, is_empty, raise_if_nothing_arrived
from toolkeel.errors import ModelError
from toolkeel.messages import AssistantMessage, Reasoning, ToolCall, UserMessage
from toolkeel.model_interface import ModelRequest
from toolkeel.testing import Scripted

ENDS = ["stop", "tool_calls", "length", "error", "filtered", "refusal", "incomplete"]


@pytest.mark.parametrize("times", [1, 2])
def test_the_request_after_an_empty_reply_says_so_and_the_transcript_does_not(times: int) -> None:
    thought = AssistantMessage("", reasoning=(Reasoning("hm"),))
    model = Scripted([*[thought] * times, "here", "again"])
    result = Agent(model).run_sync("go")
    assert [message.text for message in result.messages] == ["go", "here"]
    first, *others = [[each.text for each in one.messages] for one in model.requests]
    assert first == ["go"]
    assert all(one[0] == "go" and len(one) == 2 and "was empty" in one[1] for one in others)
    assert len(others) == times


@given(
    st.lists(st.text(min_size=1, max_size=5), max_size=4),
    st.sampled_from(["", "x"]),
    st.booleans(),
    st.sampled_from(ENDS),
)
def test_a_reply_without_content_that_ended_well_is_empty(
    texts: list[str], said: str, has_call: bool, end: str
) -> None:
    reply = AssistantMessage(said, (ToolCall("c", "f", {}),) * has_call, finish_reason=end)  # type: ignore[arg-type]
    assert is_empty(reply) == (not said and not has_call and end in ("stop", "tool_calls"))
    messages = list(map(UserMessage, texts))
    request = ModelRequest(messages)
    again = after_empty_reply(request)
    assert again.messages[:-1] == messages == request.messages
    assert again.messages[-1].origin == "correction"  # type: ignore[union-attr]


@pytest.mark.parametrize("said", ["", "I will"])
def test_a_reply_that_broke_off_is_an_error_with_its_text_and_the_providers_words(
    said: str,
) -> None:
    options = {"gemini": {"finish_reason": "OTHER"}}
    reply = AssistantMessage(said, finish_reason="error", provider_options=options)
    with pytest.raises(ModelError, match="OTHER") as raised:
        raise_if_nothing_arrived(reply)
    assert raised.value.text == said
    raise_if_nothing_arrived(AssistantMessage("I will", finish_reason="incomplete"))
