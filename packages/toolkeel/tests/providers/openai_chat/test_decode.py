"""Stored conversations of this wire as messages; what holds for all wires stands in
`packages/toolkeel/tests/providers/wire/test_stored_conversations.py`."""

from __future__ import annotations

from toolkeel.content import Audio, Image
from toolkeel.messages import SystemMessage, ToolMessage, UserMessage
from toolkeel.model_interface import ModelRequest
from toolkeel.providers.openai_chat import COMPATIBLE, decode_messages, encode


def test_a_developer_instructs_as_a_system_does() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    wires = [{"role": "developer", "content": parts}, {"role": "system", "content": "c"}]
    assert decode_messages(wires) == [SystemMessage("a\nb"), SystemMessage("c")]


def test_the_old_form_of_a_call_is_paired_with_its_result() -> None:
    wires = [
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "1"},
    ]
    reply, result = decode_messages(wires)
    assert isinstance(result, ToolMessage) and result.name == "f"
    assert result.tool_call_id == reply.tool_calls[0].id  # type: ignore[union-attr]


def test_two_calls_of_one_id_have_a_result_each() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    wires = [{"role": "assistant", "tool_calls": [call, call]}]
    wires += [{"role": "tool", "tool_call_id": "c", "content": text} for text in ("1", "2")]
    reply, *results = decode_messages(wires)
    ids = [one.id for one in reply.tool_calls]  # type: ignore[union-attr]
    assert [one.tool_call_id for one in results] == ids  # type: ignore[union-attr]
    assert len(set(ids)) == 2


def test_pictures_and_sounds_are_blocks_of_ours() -> None:
    parts = [
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
        {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "mp3"}},
    ]
    assert decode_messages([{"role": "user", "content": parts}]) == [
        UserMessage((Image(url="https://example.org/a.png"), Audio(b"RIFF", "audio/mpeg")))
    ]


def test_reasoning_goes_back_under_the_name_it_came_by() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    wires = [
        {"role": "assistant", "content": None, "reasoning": "Hm.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "1"},
    ]
    read = decode_messages({"model": "kimi-k2", "messages": wires})
    assert encode(ModelRequest(read), "kimi-k2", profile=COMPATIBLE)["messages"] == wires
    assert "Hm." not in str(encode(ModelRequest(read), "other", profile=COMPATIBLE))
