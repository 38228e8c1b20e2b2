"""The transcript's records, and which of its calls still wait for a result."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from toolkeel.content import Image, Text
from toolkeel.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    Usage,
    UserMessage,
    unanswered,
)

# Few ids, so that empty and repeated ones are common.
ids = st.sampled_from(["", "a", "b", "c"])
calls = st.lists(st.builds(ToolCall, ids, st.sampled_from(["add", "猫"])), max_size=6)
usages = st.builds(Usage, *[st.integers(0, 1000)] * 5)


@given(calls)
def test_every_call_waits_before_the_first_result_and_none_after_the_last(
    made: list[ToolCall],
) -> None:
    asked: list[Message] = [UserMessage("hi"), AssistantMessage(tool_calls=tuple(made))]
    assert unanswered(asked) == tuple(made)
    results = [ToolMessage("done", call.id, call.name) for call in made]
    assert unanswered([*asked, *results]) == ()


@given(calls, st.data())
def test_the_calls_that_wait_are_those_without_a_result_in_their_order(
    made: list[ToolCall], data: st.DataObject
) -> None:
    order = data.draw(st.permutations(made))
    some = order[: data.draw(st.integers(0, len(order)))]
    results = [ToolMessage("done", call.id, call.name) for call in some]
    waiting = unanswered([AssistantMessage(tool_calls=tuple(made)), *results])
    left = [call.id for call in made]
    for call in some:
        left.remove(call.id)
    assert sorted(call.id for call in waiting) == sorted(left)
    assert list(waiting) == [call for call in made if any(call is each for each in waiting)]


def test_calls_of_an_earlier_turn_do_not_wait_once_something_was_said() -> None:
    call = ToolCall("1", "add")
    asked = AssistantMessage(tool_calls=(call,))
    assert unanswered([asked, UserMessage("never mind")]) == ()
    assert unanswered([asked, ToolMessage("3", "1"), AssistantMessage("It is 3.")]) == ()
    assert unanswered([SystemMessage("be brief")]) == ()
    assert unanswered([]) == ()


def test_a_result_that_answers_no_call_leaves_all_of_them_waiting() -> None:
    call = ToolCall("1", "add")
    assert unanswered([AssistantMessage(tool_calls=(call,)), ToolMessage("?", "9")]) == (call,)


def test_a_message_gives_its_content_as_text() -> None:
    content = (Text("看"), Image(b"12"))
    assert ToolMessage(content).text == "看\n[image/png, 2 bytes]"
    assert AssistantMessage(content).text == "看\n[image/png, 2 bytes]"


def test_a_result_has_failed_when_its_status_says_so() -> None:
    assert ToolMessage("no", status="error", kind="timeout").failed
    assert not ToolMessage("yes").failed


@given(usages, usages, usages)
def test_usage_adds_up_in_any_order_and_counts_every_token_once(
    a: Usage, b: Usage, c: Usage
) -> None:
    assert a + Usage() == a
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert (a + b).total_tokens == a.total_tokens + b.total_tokens
    assert (a + b).requests == a.requests + b.requests
    assert (a + b).cached_tokens == a.cached_tokens + b.cached_tokens
    assert (a + b).reasoning_tokens == a.reasoning_tokens + b.reasoning_tokens
