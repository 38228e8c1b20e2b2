"""A request that exceeds the model's context is shortened; a turn that no request can contain is not sent again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from toolkeel import Agent, tool
from toolkeel.agent.history import HistoryView
from toolkeel.agent.turn.context_overflow import (
    can_fit,
    leave_out_turn,
    overflow_ratio,
    shortening_ratio,
    small_context_policy,
)
from toolkeel.agent.turn.model_fallback import Fallback
from toolkeel.errors import RequestTooLarge
from toolkeel.messages import AssistantMessage, Message, ToolCall, UserMessage
from toolkeel.model_interface import ModelRequest
from toolkeel.sessions import Sessions
from toolkeel.sessions.history_policies import KeepTokens, KeepTurns, Summarize


def too_large(tokens: int | None, limit: int | None, status: int = 400) -> RequestTooLarge:
    error = RequestTooLarge("too long", status=status)
    error.tokens, error.token_limit = tokens, limit
    return error


class Small:
    """A model whose context has room for some characters.

    Args:
        limit: Most characters of a request.
        replies: Its replies, then ``ok`` for ever.
    """

    name = "small"

    def __init__(self, limit: int, *replies: AssistantMessage) -> None:
        self.limit = limit
        self.replies = list(replies)
        self.sent: list[list[Message]] = []

    async def stream(self, request: ModelRequest) -> AsyncIterator[AssistantMessage]:
        size = sum(len(message.text) for message in request.messages)
        self.sent.append(list(request.messages))
        if size > self.limit:
            raise too_large(size, self.limit)
        yield self.replies.pop(0) if self.replies else AssistantMessage("ok")

    def sizes(self) -> list[int]:
        return [sum(len(one.text) for one in messages) for messages in self.sent]


def talk(turns: int, size: int = 300) -> list[Message]:
    return [
        one
        for turn in range(turns)
        for one in (UserMessage(f"{turn} " + "x" * size), AssistantMessage("y" * size))
    ]


@pytest.mark.parametrize(
    "policy", [None, KeepTurns(9), KeepTokens(10**6), Summarize("offline", 10**6)]
)
def test_a_request_that_is_too_large_is_shortened_and_sent_again(
    policy: KeepTurns | KeepTokens | Summarize | None,
) -> None:
    model = Small(1500)
    agent = Agent(model, history=policy)
    result = agent.run_sync([*talk(6), UserMessage("and now?")])
    assert result.output == "ok"
    assert model.sizes()[0] > 1500 >= model.sizes()[-1]
    assert model.sent[-1][-1].text == "and now?"
    assert len(result.messages) == 14


def test_a_policy_that_cuts_nothing_is_helped_out() -> None:
    class Never:
        async def cuts(self, view: HistoryView) -> tuple[()]:
            return ()

    assert (
        Agent(Small(1500), history=Never()).run_sync([*talk(6), UserMessage("now")]).output == "ok"
    )


def test_old_steps_of_one_long_turn_are_left_out() -> None:
    @tool
    def read(page: int) -> str:
        """Read a page."""
        return f"page {page} " + "z" * 400

    calls = [
        AssistantMessage(tool_calls=(ToolCall(f"c{n}", "read", f'{{"page": {n}}}'),))
        for n in range(6)
    ]
    model = Small(1500, *calls)
    result = Agent(model, [read]).run_sync("Read all pages.")
    assert result.output == "ok"
    assert max(size for size in model.sizes() if size <= 1500) > 400
    assert all(messages[0].text == "Read all pages." for messages in model.sent)


def test_a_prompt_that_is_too_large_alone_is_an_error_with_both_numbers() -> None:
    model = Small(1500)
    with pytest.raises(RequestTooLarge) as raised:
        Agent(model).run_sync("x" * 2000)
    assert (raised.value.tokens, raised.value.token_limit) == (2000, 1500)
    assert len(model.sent) == 1


def test_a_session_goes_on_after_a_prompt_that_was_too_large(tmp_path: Path) -> None:
    model = Small(1500)
    session = Sessions(tmp_path / "s.db")["a"]
    agent = Agent(model)
    assert agent.run_sync("hello", session=session).output == "ok"
    with pytest.raises(RequestTooLarge):
        agent.run_sync("x" * 2000, session=session)
    before = len(model.sent)
    assert agent.run_sync("again", session=session).output == "ok"
    assert len(model.sent) == before + 1  # the failed prompt is not sent again
    texts = [message.text for message in model.sent[-1]]
    assert texts[:2] == ["hello", "ok"]
    assert "a message of 2,000 characters, which exceeds the model's context" in texts[2]
    assert any("x" * 2000 in repr(entry.entry) for entry in session.entries())


def test_a_fallback_comes_before_a_cut() -> None:
    large = Small(10**6)
    agent = Agent(Small(1500), model_steps=[Fallback(large)])
    assert agent.run_sync([*talk(6), UserMessage("now")]).output == "ok"
    assert len(large.sent[0]) == 13


def test_too_many_bytes_are_not_too_many_tokens() -> None:
    assert overflow_ratio(too_large(None, None, 413)) is None
    assert overflow_ratio(too_large(None, None)) == 0.0
    assert overflow_ratio(too_large(3000, 1000)) == 3.0
    assert [shortening_ratio(ratio) for ratio in (0.0, 1.001, 3.0)] == [2.0, 1.25, 3.0]
    assert not can_fit(HistoryView([UserMessage("a")]), 0.0)
    assert can_fit(HistoryView([*talk(2), UserMessage("a")]), 0.0)


def test_a_small_context_that_is_known_has_a_policy() -> None:
    model = Small(1)
    assert small_context_policy(model) is None
    for length, expected in ((1000, 600), (200_000, None), (None, None), (0, None)):
        model.context_length = length  # pyright: ignore[reportAttributeAccessIssue]
        policy = small_context_policy(model)
        assert getattr(policy, "high", None) == expected


def test_only_a_turn_can_be_left_out() -> None:
    assert leave_out_turn(HistoryView()) is None
    cut = leave_out_turn(HistoryView([*talk(1), UserMessage("long")]))
    assert cut is not None
    assert (cut.start, cut.stop) == (2, 3)
