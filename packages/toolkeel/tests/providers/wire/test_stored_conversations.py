"""What was sent can be read again, and goes on over every wire: any transcript, all five wires."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest
from anthropic.types import TextBlock, ToolUseBlock
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionMessage
from openai.types.responses import ResponseFunctionToolCall
from pydantic import TypeAdapter

from tests.providers.judge import check_body
from tests.providers.transcripts import transcripts
from tests.providers.vendors import check_anthropic, check_bedrock
from toolkeel.agent.transcript import repair
from toolkeel.content import Image, Text
from toolkeel.errors import ModelError
from toolkeel.messages import (
    AssistantMessage,
    Message,
    Reasoning,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from toolkeel.model_interface import ModelRequest
from toolkeel.providers.wire.media import original_block, to_content, unknown_block
from toolkeel.providers.wire.stored_conversations import StoredCalls

MODELS = {
    "anthropic": "claude-sonnet-4-5",
    "bedrock": "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "gemini": "gemini-3-pro",
    "openai_chat": "gpt-5",
    "openai_responses": "gpt-5",
}
KEYS = {"gemini": "contents", "openai_responses": "input"}
ACCEPTS: dict[str, Callable[[Any], None]] = {
    "anthropic": check_anthropic,
    "bedrock": check_bedrock,
    "openai_chat": check_body,
}


def door(wire: str) -> Any:
    return import_module(f"toolkeel.providers.{wire}")


def body(wire: str, messages: list[Message]) -> Any:
    return door(wire).encode(ModelRequest(messages), MODELS[wire])


def settled(value: Any) -> str:
    """A body as text, for comparison; bytes have one."""
    return json.dumps(value, ensure_ascii=True, sort_keys=True, default=repr)


@given(messages=transcripts)
def test_what_was_sent_is_read_and_sent_again_as_it_was(messages: list[Message]) -> None:
    asked = repair([*messages, UserMessage("go on")])[:-1]  # no model is while its calls wait
    for wire in MODELS:
        sent = body(wire, asked)
        again = body(wire, door(wire).decode_messages(sent))
        key = KEYS.get(wire, "messages")
        assert settled(again[key]) == settled(sent[key]), wire
        assert settled(again) == settled(sent), wire


@given(messages=transcripts)
def test_what_was_sent_over_one_wire_goes_on_over_every_other(messages: list[Message]) -> None:
    for source in MODELS:
        read = door(source).decode_messages(body(source, messages))
        for wire in MODELS:
            ACCEPTS.get(wire, lambda _: None)(body(wire, read))


CALL = ToolCall("call_1", "weather", '{"city":"北京"}')
STORY: list[Message] = [
    SystemMessage("Be brief."),
    UserMessage((Text("几点?"), Image(b"\x89PNG\r\n\x1a\n1234"))),
    AssistantMessage("Let me see.", (CALL,), "tool_calls"),
    ToolMessage("晴", "call_1", "weather"),
    AssistantMessage("晴。"),
    UserMessage("谢谢"),
]


@pytest.mark.parametrize("wire", MODELS)
def test_a_stored_conversation_says_what_was_said(wire: str) -> None:
    read = door(wire).decode_messages(body(wire, STORY))
    assert [type(one) for one in read] == [type(one) for one in STORY]
    for was, now in zip(STORY, read, strict=True):
        assert now.text == was.text
    call, result = read[2].tool_calls[0], read[3]
    assert (call.name, json.loads(call.arguments)) == ("weather", {"city": "北京"})
    assert (result.tool_call_id, result.name, result.status) == (call.id, "weather", "success")


@pytest.mark.parametrize("wire", MODELS)
def test_a_transcript_alone_is_read_as_a_body_is(wire: str) -> None:
    sent = body(wire, STORY[1:])
    alone = door(wire).decode_messages(sent[KEYS.get(wire, "messages")])
    assert [one.text for one in alone] == [one.text for one in STORY[1:]]


def _sdk_objects(wire: str, sent: dict[str, Any]) -> dict[str, Any]:
    """The conversation as programs keep it: the model's turns are the SDK's objects."""
    items = sent[KEYS.get(wire, "messages")]
    match wire:
        case "openai_chat":
            made = [
                ChatCompletionMessage.model_validate(one) if one["role"] == "assistant" else one
                for one in items
            ]
        case "openai_responses":
            call = TypeAdapter(ResponseFunctionToolCall)
            made = [
                call.validate_python(one) if one.get("type") == "function_call" else one
                for one in items
            ]
        case "anthropic":
            use = TypeAdapter(list[TextBlock | ToolUseBlock])
            made = [
                {**one, "content": use.validate_python(one["content"])}
                if one["role"] == "assistant"
                else one
                for one in items
            ]
        case _:
            made = [types.Content.model_validate(one) for one in items]
    return {**sent, KEYS.get(wire, "messages"): made}


@pytest.mark.parametrize("wire", ["openai_chat", "openai_responses", "anthropic", "gemini"])
def test_objects_of_an_sdk_are_read_wherever_they_stand(wire: str) -> None:
    sent = body(wire, STORY)
    read = door(wire).decode_messages(_sdk_objects(wire, sent))
    assert settled(body(wire, read)) == settled(sent)
    assert [call.name for call in read[2].tool_calls] == ["weather"]


@pytest.mark.parametrize("none", [{}, {"exclude_none": True}, {"mode": "json"}])
def test_what_googles_objects_are_dumped_to_has_pythons_names_and_is_read(
    none: dict[str, Any],
) -> None:
    sent = body("gemini", STORY)
    dumped = [types.Content.model_validate(one).model_dump(**none) for one in sent["contents"]]
    system = types.Content.model_validate(sent["systemInstruction"]).model_dump(**none)
    for stored in (
        {"contents": dumped, "system_instruction": system},
        {"contents": dumped, "config": {"system_instruction": "Be brief."}},
    ):
        read = door("gemini").decode_messages(stored)
        assert [one.text for one in read] == [one.text for one in STORY]
        assert settled(body("gemini", read)["contents"]) == settled(sent["contents"])


@pytest.mark.parametrize("wire", MODELS)
@pytest.mark.parametrize("source", MODELS)
def test_a_conversation_of_another_wire_is_refused_by_the_name_of_who_reads_it(
    source: str, wire: str
) -> None:
    sent = body(source, STORY)
    for stored in (sent, sent[KEYS.get(source, "messages")]):
        if source == wire:
            assert len(door(wire).decode_messages(stored)) >= 5
            continue
        with pytest.raises(ModelError, match=rf"toolkeel\.providers|{wire}") as refused:
            door(wire).decode_messages(stored)
        assert source in str(refused.value)


@pytest.mark.parametrize("wire", MODELS)
@pytest.mark.parametrize(
    "none", [None, 5, "hello", "{", {"a": 1}, [1], ["hi"], [{}], {"role": "user"}]
)
def test_what_is_no_conversation_is_refused_and_never_an_empty_one(wire: str, none: Any) -> None:
    with pytest.raises(ModelError, match=r"conversation|no message"):
        door(wire).decode_messages(none)
    assert door(wire).decode_messages([]) == []


@pytest.mark.parametrize("wire", MODELS)
def test_what_is_too_deep_to_be_read_is_refused(wire: str) -> None:
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(ModelError, match="deep"):
        door(wire).decode_messages([{"role": "user", "content": deep}])
    if wire == "gemini":
        with pytest.raises(ModelError, match="deep"):
            door(wire).decode({"candidates": [], "unknown": deep})


@pytest.mark.parametrize("wire", ["anthropic", "gemini", "openai_chat", "openai_responses"])
def test_the_json_text_of_a_conversation_is_read_as_the_conversation(wire: str) -> None:
    sent = body(wire, STORY)
    read = door(wire).decode_messages(json.dumps(sent))
    assert settled(body(wire, read)) == settled(sent)


def test_signed_reasoning_goes_back_to_its_own_wire_and_is_text_elsewhere() -> None:
    thought = Reasoning("I think", "c2ln", MODELS["anthropic"])
    told = AssistantMessage("Hm.", (CALL,), reasoning=(thought,), model=MODELS["anthropic"])
    sent = body("anthropic", [UserMessage("go"), told, ToolMessage("1", "call_1")])
    read = door("anthropic").decode_messages(sent)
    assert "c2ln" in settled(body("anthropic", read))
    assert "c2ln" in settled(body("bedrock", read))  # the same model elsewhere
    for wire in ("openai_chat", "openai_responses", "gemini"):
        assert "c2ln" not in settled(body(wire, read))


def test_reasoning_of_an_unknown_model_goes_back_to_its_wire_alone() -> None:
    items = [
        {"role": "user", "content": "go"},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2VjcmV0"},
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "1"},
    ]
    read = door("openai_responses").decode_messages(items)
    assert "c2VjcmV0" in settled(body("openai_responses", read))
    for wire in ("anthropic", "bedrock", "gemini", "openai_chat"):
        assert "c2VjcmV0" not in settled(body(wire, read))


def test_what_only_one_wire_knows_goes_back_to_it_and_is_told_elsewhere() -> None:
    block = {"type": "container_upload", "file_id": "file_1"}
    read = door("anthropic").decode_messages([{"role": "user", "content": [block]}])
    assert block in body("anthropic", read)["messages"][0]["content"]
    assert "container_upload" in settled(body("openai_chat", read))
    kept = unknown_block("anthropic", block)
    assert original_block("anthropic", kept) == block and original_block("gemini", kept) == {}


def test_results_find_their_calls_by_id_then_by_name_then_by_place() -> None:
    calls = StoredCalls()
    calls.add(AssistantMessage("", (ToolCall("a", "f"), ToolCall("b", "g"), ToolCall("c", "f"))))
    assert calls.make_result("1", "b").name == "g"
    assert calls.make_result("2", "", name="f").tool_call_id == "a"
    assert calls.make_result("3", "").tool_call_id == "c"
    assert calls.make_result("4", "x", name="h") == ToolMessage("4", "x", "h")


def test_one_plain_text_is_text_and_anything_else_is_blocks() -> None:
    assert to_content([Text("a")]) == "a"
    assert to_content([Text("a"), Text("b")]) == (Text("a"), Text("b"))


@pytest.mark.parametrize("wire", MODELS)
@pytest.mark.parametrize("nothing", ["", " \n", "\0", "\ud800", (Text("\0"), Text(" "))])
def test_a_result_of_what_no_request_can_hold_says_that_there_is_none(
    wire: str, nothing: Any
) -> None:
    """Anthropic and Bedrock refuse blank texts, and models make results up where they see none."""
    sent = body(
        wire, [UserMessage("go"), AssistantMessage("", (CALL,)), ToolMessage(nothing, CALL.id)]
    )
    assert "(no tool output)" in settled(sent)


def stored_turn(wire: str, calls: list[tuple[str, str]]) -> tuple[list[dict[str, Any]], Any]:
    """A reply with calls of these ids and names as a wire stores it, and its way to store a result."""
    body: list[dict[str, Any]] = []
    if wire == "openai_responses":
        body = [
            {"type": "function_call", "call_id": id, "name": name, "arguments": "{}"}
            for id, name in calls
        ]
        return body, lambda id, text: [
            {"type": "function_call_output", "call_id": id, "output": text}
        ]
    if wire == "openai_chat":
        listed = [
            {"id": id, "type": "function", "function": {"name": name, "arguments": "{}"}}
            for id, name in calls
        ]
        body = [{"role": "assistant", "content": None, "tool_calls": listed}]
        return body, lambda id, text: [{"role": "tool", "tool_call_id": id, "content": text}]
    if wire == "anthropic":
        used = [{"type": "tool_use", "id": id, "name": name, "input": {}} for id, name in calls]
        block = {"type": "tool_result"}
        return [{"role": "assistant", "content": used}], lambda id, text: [
            {"role": "user", "content": [{**block, "tool_use_id": id, "content": text}]}
        ]
    used = [{"toolUse": {"toolUseId": id, "name": name, "input": {}}} for id, name in calls]
    return [{"role": "assistant", "content": used}], lambda id, text: [
        {
            "role": "user",
            "content": [{"toolResult": {"toolUseId": id, "content": [{"text": text}]}}],
        }
    ]


@pytest.mark.parametrize("wire", ["openai_responses", "openai_chat", "anthropic", "bedrock"])
@given(
    ids=st.lists(st.lists(st.sampled_from(["a", "a_2", "b"]), min_size=1, max_size=4), max_size=3)
)
def test_results_of_repeated_ids_answer_their_calls_one_by_one(
    wire: str, ids: list[list[str]]
) -> None:
    messages: list[dict[str, Any]] = []
    for turn, some in enumerate(ids):
        calls = [(id, f"f{turn}_{number}") for number, id in enumerate(some)]
        stored, store_result = stored_turn(wire, calls)
        messages += stored
        for id, name in calls:
            messages += store_result(id, name)
    for reply in (read := door(wire).decode_messages(messages)):
        if isinstance(reply, AssistantMessage):
            answered = {call.id: call.name for call in reply.tool_calls}
        else:
            assert reply.name == reply.text == answered[reply.tool_call_id]
    assert len(read) == len(ids) + sum(map(len, ids))
