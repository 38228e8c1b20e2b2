"""What replies cite, on every wire, in one form."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel import AssistantMessage
from toolkeel._records.messages_json import dump_message, load_message
from toolkeel._records.reply_sources import read_sources
from toolkeel.messages import Source
from toolkeel.providers import anthropic, bedrock, gemini, openai_chat, openai_responses

A, B, C = "https://a.example/", "https://b.example/", "https://c.example/"


def cited(message: AssistantMessage) -> list[tuple[str, str, list[str]]]:
    """Address or id, title, and the cited places of a reply's text, source by source."""
    return [
        (one.url or one.id, one.title, [message.text[start:end] for start, end in one.spans])
        for one in message.sources
    ]


def chat(**more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": "北京 is cold [2], Rome warm [1][2]."}
    choice = {"finish_reason": "stop", "message": {**message, **more.pop("message", {})}}
    return {"object": "chat.completion", "model": "sonar", "choices": [choice], **more}


def test_marks_of_numbered_sources_are_resolved_in_complete_and_streamed_answers() -> None:
    results = [{"title": "Rome", "url": A, "snippet": "warm"}, {"title": "Beijing", "url": B}]
    answer = chat(citations=[A, B, C], search_results=results)
    whole = openai_chat.decode(answer)
    assert cited(whole) == [
        (A, "Rome", ["[1]"]),
        (B, "Beijing", ["[2]", "[2]"]),
        (C, "", []),
    ]
    assert [one.mark for one in whole.sources] == ["[1]", "[2]", ""]
    assert whole.sources[0].text == "warm"
    text = whole.text
    chunks = [
        {
            "choices": [{"delta": {"content": piece}}],
            "citations": [A, B, C],
            "search_results": results,
        }
        for piece in (text[:9], text[9:])
    ]
    last = {"choices": [{"delta": {}, "finish_reason": "stop"}]}
    decoder = openai_chat.StreamDecoder()
    for chunk in [*chunks, last]:
        decoder.feed(chunk)
    decoder.finish()
    assert read_sources(text, decoder.provider_options()) == whole.sources


def test_annotations_of_chat_servers_are_sources() -> None:
    citation = {"url": B, "title": "B", "content": "x", "start_index": 0, "end_index": 2}
    answer = chat(message={"annotations": [{"type": "url_citation", "url_citation": citation}]})
    assert cited(openai_chat.decode(answer)) == [(B, "B", ["北京"])]


def test_items_of_the_responses_wire_are_sources() -> None:
    answer = {
        "object": "response", "id": "r", "status": "completed", "model": "m",
        "output": [
            {"type": "web_search_call", "id": "w", "status": "completed",
             "action": {"type": "search", "query": "q", "sources": [{"type": "url", "url": A}]}},
            {"type": "file_search_call", "id": "f", "status": "completed", "queries": [],
             "results": [{"file_id": "file-1", "filename": "a.pdf", "text": "passage"}]},
            {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [
                {"type": "output_text", "text": "One. ", "annotations": []},
                {"type": "output_text", "text": "Two.", "annotations": [
                    {"type": "url_citation", "url": B, "title": "B", "start_index": 0, "end_index": 4},
                    {"type": "file_citation", "file_id": "file-1", "filename": "a.pdf", "index": 2},
                ]},
            ]},
        ],
    }  # fmt: skip
    message = openai_responses.decode(answer)
    assert cited(message) == [(A, "", []), ("file-1", "a.pdf", []), (B, "B", ["Two."])]
    assert message.sources[1].text == "passage"


def test_blocks_of_anthropic_are_sources() -> None:
    answer = {
        "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn", "usage": {},
        "content": [
            {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "q"}},
            {"type": "web_search_tool_result", "tool_use_id": "s", "content": [
                {"type": "web_search_result", "url": A, "title": "A", "encrypted_content": "x"},
                {"type": "web_search_result", "url": B, "title": "B", "encrypted_content": "y"}]},
            {"type": "text", "text": "Well, "},
            {"type": "text", "text": "cold", "citations": [
                {"type": "web_search_result_location", "url": A, "title": "A", "cited_text": "1°", "encrypted_index": "e"},
                {"type": "char_location", "document_index": 0, "document_title": "D", "cited_text": "ice"}]},
        ],
    }  # fmt: skip
    message = anthropic.decode(answer)
    assert cited(message) == [(A, "A", ["cold"]), (B, "B", []), ("0", "D", ["cold"])]
    assert [one.text for one in message.sources] == ["1°", "", "ice"]


def test_grounding_of_gemini_counts_bytes() -> None:
    answer = {
        "candidates": [{
            "finishReason": "STOP", "content": {"parts": [{"text": "北京 is cold."}]},
            "groundingMetadata": {
                "groundingChunks": [{"web": {"uri": A, "title": "A"}}, {"retrievedContext": {"uri": B, "title": "B", "text": "t"}}],
                "groundingSupports": [{"segment": {"startIndex": 7, "endIndex": 14, "text": "is cold"}, "groundingChunkIndices": [0]}],
            },
            "urlContextMetadata": {"urlMetadata": [{"retrievedUrl": C}]},
            "citationMetadata": {"citationSources": [{"uri": B, "startIndex": 0, "endIndex": 2}]},
        }],
    }  # fmt: skip
    assert cited(gemini.decode(answer)) == [(A, "A", ["is cold"]), (B, "B", ["北京"]), (C, "", [])]


def test_citations_of_bedrock_are_sources() -> None:
    block = {
        "content": [{"text": "cold"}],
        "citations": [{"title": "D", "sourceContent": [{"text": "ice"}], "location": {"web": {"url": A}}}],
    }  # fmt: skip
    content = [{"text": "Well, "}, {"citationsContent": block}]
    answer = {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": "end_turn",
        "usage": {},
    }
    message = bedrock.decode(answer)
    assert cited(message) == [(A, "D", ["cold"])]


def test_a_stored_reply_has_its_sources() -> None:
    message = openai_chat.decode(chat(citations=[A, B]))
    stored = load_message(json.loads(json.dumps(dump_message(message))))
    assert isinstance(stored, AssistantMessage)
    assert stored.sources == message.sources != ()


def test_what_cites_nothing_has_no_sources() -> None:
    assert AssistantMessage("See [1].").sources == ()
    assert AssistantMessage("x", provider_options={"reasoning_key": "reasoning"}).sources == ()


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 9) | st.sampled_from(["", "a", "text", A]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["url", "uri", "title", "type", "text", "content", "citations", "segment", "location", "web",
                 "start_index", "end_index", "output", "action", "sources", "results", "annotations",
                 "groundingMetadata", "groundingChunks", "groundingSupports", "groundingChunkIndices",
                 "citationsContent", "sourceContent", "citationMetadata", "startIndex", "endIndex"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)  # fmt: skip


@pytest.mark.parametrize(
    "key", ["citations", "search_results", "annotations", "openai-responses", "anthropic", "bedrock", "gemini"]
)  # fmt: skip
@given(wire=_JSON, text=st.sampled_from(["", "a [1] text", "北京 [2][9]"]))
def test_whatever_a_server_sends_sources_are_read_and_their_places_exist(
    key: str, wire: object, text: str
) -> None:
    for source in read_sources(text, {key: wire}):
        assert source.url or source.title or source.text or source.id
        assert all(isinstance(part, str) for part in (source.url, source.title, source.text))
        assert all(0 <= start < end <= len(text) for start, end in source.spans)


def test_a_source_is_a_record() -> None:
    assert Source(A) == Source(url=A, spans=())
