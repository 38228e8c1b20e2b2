"""Messages in the conventions' JSON: text as it is, media by size, calls and results paired."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from toolkeel import (
    AssistantMessage,
    File,
    Image,
    SystemMessage,
    Text,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from toolkeel.messages import Reasoning
from toolkeel.observe.content import message_json, messages_json


@given(st.text())
def test_text_of_any_kind_is_read_back_as_it_was(text: str) -> None:
    for message, role in ((UserMessage(text), "user"), (SystemMessage(text), "system")):
        made = json.loads(message_json(message))
        assert made["role"] == role
        assert "".join(part["content"] for part in made["parts"]) == text


def test_a_reply_has_its_thoughts_text_and_calls_in_order() -> None:
    message = AssistantMessage(
        "so", (ToolCall("1", "add", {"a": 1}),), "tool_calls", reasoning=(Reasoning("hm"),)
    )
    made = json.loads(message_json(message))
    assert [part["type"] for part in made["parts"]] == ["reasoning", "text", "tool_call"]
    assert made["finish_reason"] == "tool_calls"
    assert json.loads(made["parts"][2]["arguments"]) == {"a": 1}


def test_bytes_of_media_stay_out_and_addresses_stand_in() -> None:
    content = (
        Text("see"),
        Image(b"\x89PNG" + b"0" * 50, "image/png"),
        File(url="https://x.test/a.pdf"),
    )
    made = json.loads(message_json(UserMessage(content)))
    assert [part["type"] for part in made["parts"]] == ["text", "blob", "uri"]
    assert made["parts"][1]["size"] == 54


def test_several_messages_are_one_list() -> None:
    rows = [message_json(UserMessage("a")), message_json(ToolMessage("b", "1", "look"))]
    made = json.loads(messages_json(rows))
    assert [row["role"] for row in made] == ["user", "tool"]
    assert made[1]["parts"] == [{"type": "tool_call_response", "id": "1", "result": "b"}]
