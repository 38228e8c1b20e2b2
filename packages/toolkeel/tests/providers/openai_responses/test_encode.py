"""What of a transcript goes to a Responses server, and in which form."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel.content import Audio, Content, File, Image, Text
from toolkeel.messages import (
    AssistantMessage,
    Message,
    Reasoning,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from toolkeel.providers.openai_responses import decode, encode_messages
from toolkeel.providers.openai_responses.encode import ResponsesEncoder
from toolkeel.providers.wire.reasoning_ownership import ModelProfile
from toolkeel.providers.wire.tools import WireTools

WIRE = "openai-responses"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)
SECRET = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [],
    "encrypted_content": "gA",
    "status": None,
}
SEARCH = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"q": None}}
TEXT = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "phase": "final_answer",
    "content": [
        {"type": "output_text", "text": "Hi", "annotations": [{"url": "u"}], "logprobs": []}
    ],
}
CALL = ToolCall(
    "call_1", "add", '{"a": 1}', provider_options={WIRE: {"id": "fc_1", "namespace": "n"}}
)


def reply(
    *output: object, store: bool = False, model: str = "gpt-5", text: str = "Hi"
) -> AssistantMessage:
    kept: dict[str, object] = {"output": list(output), **({"store": True} if store else {})}
    return AssistantMessage(text, (CALL,), "tool_calls", model=model, provider_options={WIRE: kept})


def encoded(*messages: Message, model: str = "gpt-5") -> list[Any]:
    tools = WireTools(target="openai-responses")
    return ResponsesEncoder(tools, ModelProfile(model)).encode_transcript(messages)


def result_of(content: Content, *, failed: bool = False) -> Any:
    status: Any = "error" if failed else "success"
    call = AssistantMessage(tool_calls=(ToolCall("c", "f", "{}"),))
    return encoded(call, ToolMessage(content, "c", "f", status))[1]["output"]


# — what only its own model gets back —


def test_a_reply_goes_back_to_its_model_as_it_came() -> None:
    items = encoded(reply(SECRET, SEARCH, TEXT, "call"), ToolMessage("1", "call_1"))
    assert items[0] == {key: value for key, value in SECRET.items() if key != "status"}
    assert items[1] == SEARCH
    part = {"type": "output_text", "text": "Hi", "annotations": [{"url": "u"}]}
    assert items[2] == {**TEXT, "content": [part]}
    assert items[3] == {
        "type": "function_call",
        "call_id": "call_1",
        "name": "add",
        "id": "fc_1",
        "namespace": "n",
        "arguments": '{"a":1}',
    }
    assert items[4] == {"type": "function_call_output", "call_id": "call_1", "output": "1"}


def test_a_reply_that_names_no_model_is_known_by_its_ids() -> None:
    called, _ = encoded(AssistantMessage(tool_calls=(CALL,)), ToolMessage("1", "call_1"))
    assert called["id"] == "fc_1"


def test_a_dated_name_is_the_same_model() -> None:
    message = reply(SECRET, TEXT, "call", model="gpt-5-2025-08-07")
    assert [one.get("id") for one in encoded(message)[:3]] == ["rs_1", "msg_1", "fc_1"]


@pytest.mark.parametrize("model", ["gpt-5-mini", "claude-opus-4-1"])
def test_another_model_gets_what_was_said_and_called_and_no_more(model: str) -> None:
    items = encoded(reply(SECRET, SEARCH, TEXT, "call"), model=model)
    assert items[0] == {"role": "assistant", "content": "Hi"}
    assert items[1].keys() == {"type", "call_id", "name", "namespace", "arguments"}


def test_without_its_secret_reasoning_stays_and_so_do_the_ids_that_hang_on_it() -> None:
    bare = {"type": "reasoning", "id": "rs_1", "summary": []}
    items = encoded(reply(bare, TEXT, "call"))
    assert items[0] == {"role": "assistant", "content": "Hi", "phase": "final_answer"}
    assert "id" not in items[1]


def test_a_stored_reply_is_known_by_its_ids() -> None:
    bare = {"type": "reasoning", "id": "rs_1", "summary": []}
    items = encoded(reply(bare, TEXT, "call", store=True))
    assert [one.get("id") for one in items[:3]] == ["rs_1", "msg_1", "fc_1"]


def test_reasoning_in_plain_text_goes_back_to_the_model_that_gave_it() -> None:
    plain = {
        "type": "reasoning",
        "id": "x",
        "summary": [],
        "content": [{"type": "reasoning_text", "text": "t"}],
    }
    assert encoded(reply(plain, TEXT, "call"))[0] == plain


def test_reasoning_of_other_wires_stays() -> None:
    thought = Reasoning("hm", "sig", "claude-opus-4-1")
    message = AssistantMessage("Hi", reasoning=(thought,), model="claude-opus-4-1")
    assert encoded(message) == [{"role": "assistant", "content": "Hi"}]


def test_what_was_changed_since_goes_in_the_plain_order() -> None:
    message = replace(reply(SECRET, TEXT, "call"), content="Hello")
    items = encoded(message)
    assert [one.get("type") for one in items[:3]] == ["reasoning", None, "function_call"]
    assert items[1]["content"] == "Hello"


@pytest.mark.parametrize("id", ["item_1", "fc_" + "x" * 70, "fc_1_", "", "fc é"])
def test_an_item_id_that_the_server_refuses_is_left_out(id: str) -> None:
    call = ToolCall("c", "f", "{}", provider_options={WIRE: {"id": id}})
    assert "id" not in encoded(AssistantMessage(tool_calls=(call,), model="gpt-5"))[0]


# — calls and results —


def test_calls_with_one_id_are_told_apart() -> None:
    calls = tuple(ToolCall("call_0", "f", "{}") for _ in range(2))
    message = AssistantMessage(tool_calls=calls)
    results = [ToolMessage("1", "call_0"), ToolMessage("2", "call_0")]
    items = encoded(message, *results, message, *results)
    ids = [one["call_id"] for one in items]
    assert ids == ["call_0", "call_0_2"] * 2 or ids[:2] == ids[2:4] != ids[4:6] == ids[6:8]
    assert len(set(ids)) == 4


def test_long_and_odd_ids_become_legal_on_both_sides() -> None:
    for id in ("x" * 450, "call_1|fc_1", "functions.f:0", ""):
        message = AssistantMessage(tool_calls=(ToolCall(id, "f", "{}"),))
        called, answered = encoded(message, ToolMessage("1", id))
        assert called["call_id"] == answered["call_id"]
        assert 0 < len(called["call_id"]) <= 64


def test_a_call_nobody_answered_is_answered() -> None:
    message = AssistantMessage(tool_calls=(CALL,))
    for rest in ([], [UserMessage("go on")]):
        items = encoded(message, *rest)
        assert items[1]["type"] == "function_call_output"
        assert "has no result" in items[1]["output"]


def test_a_late_result_stands_behind_its_call() -> None:
    message = AssistantMessage(tool_calls=(CALL,))
    items = encoded(message, UserMessage("?"), ToolMessage("1", "call_1"))
    assert [one.get("output") for one in items] == [None, "1", None]
    encoder = ResponsesEncoder(WireTools(target="openai-responses"), ModelProfile())
    for one in (message, UserMessage("?"), ToolMessage("1", "call_1")):
        encoder.add(one)
    assert encoder.needs_repair


def test_a_result_of_no_call_is_left_out() -> None:
    assert encoded(ToolMessage("1", "gone"), UserMessage("x")) == [{"role": "user", "content": "x"}]


def test_broken_arguments_are_sent_as_an_object() -> None:
    call = ToolCall("c", "f", '{"city": "Par')
    arguments = encoded(AssistantMessage(tool_calls=(call,)))[0]["arguments"]
    assert arguments == '{"malformed_arguments":"{\\"city\\": \\"Par"}'


def test_a_free_text_call_is_answered_in_its_own_form() -> None:
    extra = {WIRE: {"type": "custom_tool_call", "id": "ctc_1"}, "type": "custom"}
    call = ToolCall("c", "sql", "SELECT 1", provider_options=extra)
    called, answered = encoded(
        AssistantMessage(tool_calls=(call,), model="gpt-5"), ToolMessage("1", "c")
    )
    assert called == {
        "type": "custom_tool_call",
        "call_id": "c",
        "name": "sql",
        "id": "ctc_1",
        "input": "SELECT 1",
    }
    assert answered == {"type": "custom_tool_call_output", "call_id": "c", "output": "1"}


def test_a_programs_call_is_answered_to_the_program() -> None:
    caller = {"type": "program", "caller_id": "p"}
    call = ToolCall("c", "f", "{}", provider_options={WIRE: {"caller": caller}})
    called, answered = encoded(
        AssistantMessage(tool_calls=(call,), model="gpt-5"), ToolMessage("1", "c")
    )
    assert called["caller"] == answered["caller"] == caller


# — content —


def test_a_failure_is_said_in_the_text() -> None:
    assert result_of("no such city", failed=True) == "Error: no such city"
    assert result_of("Error: no", failed=True) == "Error: no"
    assert result_of("", failed=True) == "Error: (no tool output)"
    assert result_of(" ") == "(no tool output)"
    parts = result_of((Text("see"), Image(PNG)), failed=True)
    assert parts[0] == {"type": "input_text", "text": "Error:"}


def test_pictures_and_files_are_parts() -> None:
    parts = result_of(
        (
            Image(PNG, "image/jpeg"),
            Image(url="https://example.org/a.png"),
            File(b"%PDF-", "报告.pdf", "application/pdf"),
            File(url="https://example.org/a.pdf"),
        )
    )
    assert parts[0]["image_url"].startswith("data:image/png;base64,")
    assert parts[1] == {
        "type": "input_image",
        "image_url": "https://example.org/a.png",
        "detail": "auto",
    }
    assert (parts[2]["type"], parts[2]["filename"]) == ("input_file", "报告.pdf")
    assert parts[3] == {"type": "input_file", "file_url": "https://example.org/a.pdf"}


def test_what_the_wire_has_no_form_for_is_named() -> None:
    blocks = (
        Audio(b"RIFF"),
        Image(b"tiff", "image/tiff"),
        File(b"\xff", "x.bin"),
        File(url="s3://a"),
    )
    text = result_of(blocks)
    assert text.count("cannot be shown") == 4


def test_text_is_cleaned_and_joined() -> None:
    assert result_of((Text("cat \ud83d"), Text("北京\0"))) == "cat \n北京"
    assert encoded(SystemMessage("Be brief."), SystemMessage(" "), UserMessage("你好")) == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "你好"},
    ]


@given(st.integers(1, 3), st.booleans(), st.sampled_from(["", "said"]))
def test_reasoning_that_nothing_follows_does_not_go_back(
    count: int, stored: bool, text: str
) -> None:
    thoughts = [
        {"type": "reasoning", "id": f"rs_{n}", "summary": [], "encrypted_content": "c2VjcmV0"}
        for n in range(count)
    ]
    part = {"type": "output_text", "text": text, "annotations": []}
    said = {"type": "message", "id": "msg_1", "role": "assistant", "content": [part]}
    response = {"object": "response", "status": "incomplete", "model": "gpt-5", "store": stored}
    reply = decode({**response, "output": [*thoughts[1:], *([said] if text else []), thoughts[0]]})
    sent = encode_messages([UserMessage("q"), reply, UserMessage("go on")], model="gpt-5")
    types = [item.get("type") for item in sent]
    assert types[-2] != "reasoning"
    assert types.count("reasoning") == (count - 1 if text else 0)
