"""Stored conversations of this wire as messages; what holds for all wires stands in
`packages/toolkeel/tests/providers/wire/test_stored_conversations.py`."""

from __future__ import annotations

import pytest

from tests.providers.vendors import check_anthropic
from toolkeel.content import File, Image, Text
from toolkeel.messages import AssistantMessage, SystemMessage, ToolMessage, UserMessage
from toolkeel.model_interface import ModelRequest
from toolkeel.providers import openai_chat
from toolkeel.providers.anthropic import decode_messages, encode, encode_messages


def test_instructions_are_texts_or_blocks() -> None:
    assert decode_messages({"system": "a", "messages": []}) == [SystemMessage("a")]
    marked = [{"type": "text", "text": "b", "cache_control": {"type": "ephemeral"}}]
    assert decode_messages({"system": marked, "messages": []}) == [SystemMessage("b")]


def test_pictures_and_documents_are_blocks_of_ours() -> None:
    content = [
        {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
        {"type": "document", "source": {"type": "url", "url": "https://example.org/a.pdf"}},
        {
            "type": "document",
            "title": "报告.pdf",
            "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="},
        },
    ]
    [message] = decode_messages([{"role": "user", "content": content}])
    assert message.content == (
        Image(url="https://example.org/a.png"),
        File(url="https://example.org/a.pdf", media_type="application/pdf"),
        File(b"%PDF-", "报告.pdf", "application/pdf"),
    )


PAPER = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}
NOTE = {"type": "text", "media_type": "text/plain", "data": "第一行"}


@pytest.mark.parametrize("source", [PAPER, NOTE, {"type": "url", "url": "https://a.example/b.pdf"}])
def test_a_document_keeps_its_citations_and_its_context(source: dict[str, str]) -> None:
    more = {"citations": {"enabled": True}, "context": "of 2026"}
    block = {"type": "document", "source": source, "title": "a", **more}
    messages = decode_messages([{"role": "user", "content": [block]}])
    assert encode_messages(messages) == [{"role": "user", "content": [block]}]


def test_a_document_of_text_is_text_on_other_wires() -> None:
    block = {"type": "document", "source": NOTE, "title": "报告"}
    messages = decode_messages([{"role": "user", "content": [block]}])
    assert encode_messages(messages) == [{"role": "user", "content": [block]}]
    [sent] = openai_chat.encode_messages(messages)
    assert sent["content"] == "报告:\n第一行"


def test_a_turn_of_the_servers_own_tools_goes_back_unchanged() -> None:
    content = [
        {"type": "text", "text": "I search."},
        {
            "type": "server_tool_use",
            "id": "srvtoolu_1",
            "name": "web_search",
            "input": {"query": "x"},
        },
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
        {"type": "redacted_thinking", "data": "c2VjcmV0"},
        {"type": "text", "text": "Found."},
    ]
    stored = [{"role": "user", "content": "x?"}, {"role": "assistant", "content": content}]
    stored.append({"role": "user", "content": "more"})
    read = decode_messages(stored, model="claude-opus-5")
    assert isinstance(read[1], AssistantMessage) and read[1].model == "claude-opus-5"
    body = encode(ModelRequest(read), "claude-opus-5")
    check_anthropic(body)
    assert body["messages"][1]["content"] == content
    elsewhere = encode(ModelRequest(read), "claude-sonnet-4-5")
    assert "c2VjcmV0" not in str(elsewhere)


def test_results_come_before_what_the_person_says_with_them() -> None:
    use = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "no", "is_error": True}
    said = {"type": "text", "text": "Go on."}
    read = decode_messages(
        [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result, said]}]
    )
    assert read[1:] == [ToolMessage("no", "t1", "f", "error"), UserMessage("Go on.")]


def test_a_block_nobody_knows_is_kept_for_this_wire() -> None:
    block = {"type": "search_result", "title": "a"}
    [message] = decode_messages([{"role": "user", "content": [block]}])
    [kept] = message.content
    assert isinstance(kept, Text) and kept.extra == {"anthropic": block}
