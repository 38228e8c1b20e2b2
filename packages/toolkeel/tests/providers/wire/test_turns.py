"""Any transcript as turns: user and assistant by turns, results together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given

from tests.providers.transcripts import transcripts
from tests.providers.vendors import check_turns
from toolkeel.errors import SetupError
from toolkeel.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from toolkeel.providers.wire.decoder import Decoder
from toolkeel.providers.wire.plain_json import Json
from toolkeel.providers.wire.reasoning_ownership import ModelProfile
from toolkeel.providers.wire.request import Encoder, WireResults
from toolkeel.providers.wire.tools import WireTools
from toolkeel.providers.wire.turns import TurnEncoder


class Plain(TurnEncoder[ModelProfile]):
    """A wire of which every block says what it is made of."""

    decoder = Decoder

    def encode_prompt(self, message: UserMessage) -> list[Json]:
        return [{"text": message.content}] if message.content else []

    def encode_reply(self, message: AssistantMessage, ids: Sequence[str]) -> list[Json]:
        return [{"text": message.content}] * bool(message.content) + [{"call": id} for id in ids]

    def encode_result(self, result: ToolMessage, call: ToolCall, wire_id: str) -> WireResults:
        after: list[Json] = [{"after": wire_id}] if result.failed else []
        return WireResults([{"result": wire_id, "content": result.text}], after)


class OneByOne(Encoder[ModelProfile]):
    """A wire whose results stand for themselves."""

    decoder = Decoder

    def encode_message(self, message: AssistantMessage | SystemMessage | UserMessage) -> list[Json]:
        over = self.encode_tail()
        self.close_turn()
        calls = message.tool_calls if isinstance(message, AssistantMessage) else ()
        return [*over, {"said": message.text}, *({"call": self._open.add(one)} for one in calls)]

    def encode_result(self, result: ToolMessage, call: ToolCall, wire_id: str) -> WireResults:
        return WireResults([{"result": wire_id, "content": result.text}], [{"after": wire_id}])

    def encode_tail(self) -> list[Json]:
        rest = self.open_results()
        return rest.blocks + rest.trailing


def plain() -> Plain:
    return Plain(WireTools(), ModelProfile())


def encode(*messages: Message) -> list[Any]:
    return plain().encode_transcript(messages)


def calling(*ids: str, text: str = "") -> AssistantMessage:
    return AssistantMessage(text, tuple(ToolCall(id, "f") for id in ids))


def user(*blocks: Json) -> Json:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Json) -> Json:
    return {"role": "assistant", "content": list(blocks)}


def test_a_conversation_is_turns() -> None:
    said = encode(
        UserMessage("go"),
        calling("a", "b"),
        ToolMessage("2", "b"),
        ToolMessage("1", "a", status="error"),
        AssistantMessage("done"),
    )
    results = user({"result": "a", "content": "1"}, {"result": "b", "content": "2"}, {"after": "a"})
    assert said == [
        user({"text": "go"}),
        assistant({"call": "a"}, {"call": "b"}),
        results,
        assistant({"text": "done"}),
    ]


def test_messages_of_one_role_become_one() -> None:
    said = encode(UserMessage("a"), UserMessage("b"), AssistantMessage("c"), calling("d"))
    assert said[:2] == [user({"text": "a"}, {"text": "b"}), assistant({"text": "c"}, {"call": "d"})]


def test_the_person_is_first() -> None:
    assert encode(AssistantMessage("hi"))[0] == user({"text": "(no text)"})
    assert encode(UserMessage(""))[0] == user({"text": "(no text)"})


def test_calls_without_results_at_the_end_are_answered_with_a_sentence() -> None:
    encoder = plain()
    for message in (UserMessage("go"), calling("a", "b"), ToolMessage("1", "a")):
        encoder.add(message)
    tail: Any = encoder.encode_tail()
    assert [block.get("result") for block in tail[1]["content"]] == ["a", "b", None]
    assert "has no result" in str(tail)
    encoder.add(ToolMessage("2", "b"))
    assert "has no result" not in str(encoder.encode_tail())


def test_instructions_stand_apart_wherever_they_come() -> None:
    encoder = plain()
    messages = [SystemMessage("a"), calling("x"), SystemMessage("b"), ToolMessage("1", "x")]
    said = encoder.encode_transcript(messages)
    assert encoder.system == [{"text": "a"}, {"text": "b"}]
    assert said[-1] == user({"result": "x", "content": "1"})


def test_a_result_that_came_late_is_reported() -> None:
    encoder = plain()
    for message in (calling("a"), UserMessage("u"), ToolMessage("?", "z")):
        encoder.add(message)
    assert not encoder.needs_repair
    encoder.add(ToolMessage("1", "a"))
    assert encoder.needs_repair


def test_results_stand_in_the_order_of_their_calls_whenever_they_come() -> None:
    encoder = OneByOne(WireTools(), ModelProfile())
    encoder.add(calling("a", "b", "c", "d"))
    assert encoder.add(ToolMessage("3", "c")) == []
    assert encoder.add(ToolMessage("1", "a")) == [{"result": "a", "content": "1"}]
    last: Any = encoder.encode_end()
    assert [one.get("result") for one in last] == ["b", "c", "d", None, None, None, None]
    assert [one["after"] for one in last[3:]] == ["a", "b", "c", "d"]
    assert [one["result"] for one in encoder.add(ToolMessage("2", "b"))] == ["b", "c"]
    ended: Any = encoder.add(UserMessage("go on"))
    assert [one.get("result") for one in ended] == ["d", None, None, None, None, None]
    assert encoder.encode_end() == []


def test_a_reply_and_its_results_stand_for_themselves() -> None:
    def turn(*results: ToolMessage) -> list[Json]:
        return Plain.encode_turn(calling("a", "b"), results, WireTools(), ModelProfile())

    assert turn(ToolMessage("2", "b"), ToolMessage("1")) == [
        assistant({"call": "a"}, {"call": "b"}),
        user({"result": "a", "content": "1"}, {"result": "b", "content": "2"}),
    ]
    with pytest.raises(SetupError, match="2 calls and there are 0 results"):
        turn()


def test_a_wire_may_have_its_own_words() -> None:
    class Parts(Plain):
        content_key, assistant_role = "parts", "model"

    said = Parts(WireTools(), ModelProfile()).encode_transcript(
        [UserMessage("a"), AssistantMessage("b")]
    )
    assert said == [
        {"role": "user", "parts": [{"text": "a"}]},
        {"role": "model", "parts": [{"text": "b"}]},
    ]


@given(transcripts)
def test_any_transcript_obeys_the_rules(messages: list[Message]):
    encoder = plain()
    said: Any = encoder.encode_transcript(messages)
    check_turns(said, lambda block: block.get("call", ""), lambda block: block.get("result", ""))
    assert not encoder.needs_repair


@given(transcripts)
def test_what_is_over_never_changes(messages: list[Message]):
    encoder = plain()
    over: list[Any] = []
    for message in messages:
        over += encoder.add(message)
        before = repr([over, encoder.encode_tail()])
        assert repr([over, encoder.encode_tail()]) == before
        assert repr(over + encoder.encode_tail()).startswith(repr(over)[:-1])
