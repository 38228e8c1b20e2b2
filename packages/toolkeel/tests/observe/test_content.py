"""Messages in the conventions' JSON: text as it is, media by size, calls and results paired."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.util.genai import types as official

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
from toolkeel.observe.attribute_names import INPUT, INSTRUCTIONS, LEFT_OUT
from toolkeel.observe.content import message_json, messages_json, request_attributes


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
    assert [part.get("modality") for part in made["parts"]] == [None, "image", "document"]


def test_several_messages_are_one_list() -> None:
    rows = [message_json(UserMessage("a")), message_json(ToolMessage("b", "1", "look"))]
    made = json.loads(messages_json(rows))
    assert [row["role"] for row in made] == ["user", "tool"]
    assert made[1]["parts"] == [{"type": "tool_call_response", "id": "1", "response": "b"}]


def test_parts_have_the_fields_of_the_official_producer() -> None:
    reply = AssistantMessage(
        "so", (ToolCall("1", "add", {"a": 1}),), "tool_calls", reasoning=(Reasoning("hm"),)
    )
    linked = UserMessage((Image(url="https://x.test/a.png"),))
    rows = [json.loads(message_json(m)) for m in (reply, ToolMessage("b", "1", "add"), linked)]
    for part in (part for row in rows for part in row["parts"]):
        kind = {
            "text": official.TextPart,
            "reasoning": official.ReasoningPart,
            "tool_call": official.ToolCallRequestPart,
            "tool_call_response": official.ToolCallResponsePart,
            "uri": official.UriPart,
        }[part["type"]]
        assert set(part) == set(kind.__dataclass_fields__)


@given(st.lists(st.text(max_size=20), max_size=8), st.integers(0, 400))
def test_of_a_long_request_the_newest_messages_stay_whole(texts: list[str], most: int) -> None:
    system, said = SystemMessage("你是船长"), [UserMessage(text) for text in texts]
    made = request_attributes([system, *said], most)
    messages, left_out = str(made[INPUT]), int(made.get(LEFT_OUT, 0))
    assert json.loads(str(made[INSTRUCTIONS])) == [{"type": "text", "content": "你是船长"}]
    assert INSTRUCTIONS not in request_attributes(said, most)
    assert len(messages) <= max(most, 2)
    kept = ["".join(part["content"] for part in row["parts"]) for row in json.loads(messages)]
    assert kept == texts[left_out:]
    if left_out:
        assert len(messages) + len(message_json(said[left_out - 1])) + 2 > most
