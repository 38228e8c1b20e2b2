"""What replies cite, on every wire, in one form."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel import AssistantMessage
from toolkeel._records.messages_json import dump_message, load_message
from toolkeel._records.reply_sources import _READERS, read_sources
from toolkeel.agent.reply_assembly import assemble
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


D = "https://d.example/"
KEYS: dict[str, tuple[str, dict[str, Any], dict[str, Any], list[Any]]] = {
    # text, keys beside the choices, keys of the message, and what it cites
    "DashScope, by its own numbers": (
        "Cold [ref_2], a[1].",
        {"search_info": {"search_results": [{"index": 2, "title": "B", "url": B}, {"index": 1, "title": "A", "url": A}]}},
        {}, [(B, "B", ["[ref_2]"]), (A, "A", [])],
    ),
    "GLM": (
        "Cold[ref_1]",
        {"web_search": [{"title": "A", "link": A, "refer": "ref_1", "content": "c", "media": "m"}]},
        {}, [(A, "A", ["[ref_1]"])],
    ),
    "Ark": ("Cold", {"references": [{"url": A, "title": "A", "summary": "s"}]}, {}, [(A, "A", [])]),
    "Open WebUI": (
        "Cold [1]",
        {"sources": [{"source": {"id": "i", "name": "f.pdf"}, "document": ["passage"], "metadata": [{"source": A, "name": "N"}]}]},
        {}, [(A, "N", ["[1]"])],
    ),
    "LiteLLM, of Vertex": (
        "Is cold.",
        {"vertex_ai_grounding_metadata": [{
            "groundingChunks": [{"web": {"uri": A, "title": "A"}}],
            "groundingSupports": [{"segment": {"endIndex": 2, "text": "Is"}, "groundingChunkIndices": [0]}]}],
         "vertex_ai_url_context_metadata": [{"urlMetadata": [{"retrievedUrl": B}]}]},
        {}, [(A, "A", ["Is"]), (B, "", [])],
    ),
    "LiteLLM, of Anthropic": (
        "Cold", {},
        {"provider_specific_fields": {"citations": [[{"type": "web_search_result_location", "url": A, "title": "A"}]],
         "web_search_results": [{"type": "web_search_tool_result", "content": [{"url": B, "title": "B"}]}]}},
        [(A, "A", []), (B, "B", [])],
    ),
    "Azure, two passages of one file": (
        "Yes [doc1], no [doc2].", {},
        {"context": {"intent": "[]", "citations": [
            {"content": "c", "title": "T", "url": None, "filepath": "f.pdf", "chunk_id": "0"},
            {"content": "d", "title": "T", "url": None, "filepath": "f.pdf", "chunk_id": "1"}]}},
        [("f.pdf", "T", ["[doc1]"]), ("f.pdf", "T", ["[doc2]"])],
    ),
    "Groq": (
        "Cold", {},
        {"executed_tools": [{"index": 0, "type": "search", "search_results": {"results": [{"title": "A", "url": A, "score": 0.9}]}},
                            {"index": 1, "type": "browser", "browser_results": [{"title": "B", "url": B}]}]},
        [(A, "A", []), (B, "B", [])],
    ),
    "Cohere": (
        "Cold ice", {},
        {"citations": [{"start": 0, "end": 4, "text": "Cold", "sources": [
            {"type": "document", "id": "d0", "document": {"id": "d0", "title": "D", "snippet": "s"}},
            {"type": "tool", "id": "t0", "tool_output": {"url": A}}]},
            {"start": 5, "end": 8, "text": "ice", "document_ids": ["d0"]}]},
        [("d0", "D", ["Cold", "ice"]), (A, "", ["Cold"])],
    ),
    "Exa": ("Cold [1]", {}, {"citations": [{"id": A, "url": A, "title": "A", "text": "t"}]}, [(A, "A", ["[1]"])]),
    "OpenRouter, whose files are no sources": (
        "Cold", {},
        {"annotations": [{"type": "file", "file": {"hash": "h", "name": "a.pdf", "content": []}},
                         {"type": "url_citation", "url_citation": {"url": A, "title": "A", "start_index": 0, "end_index": 4}}]},
        [(A, "A", ["Cold"])],
    ),
}  # fmt: skip


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("server", KEYS)
def test_each_server_of_the_chat_wire_has_its_own_keys(server: str, stream: bool) -> None:
    text, beside, fields, expected = KEYS[server]
    if stream:
        chunks = [
            {"choices": [{"delta": {"content": text[:3]}}], **beside},
            {"choices": [{"delta": {"content": text[3:], **fields}, "finish_reason": "stop"}]},
        ]
        message = assemble(openai_chat.decode_stream(chunks))
    else:
        answer = {"role": "assistant", "content": text, **fields}
        message = openai_chat.decode({"choices": [{"message": answer}], **beside})
    assert cited(message) == expected
    for one in message.sources:
        assert all(message.text[start:end] == one.mark for start, end in one.spans if one.mark)


def test_litellm_streams_each_citation_by_itself() -> None:
    pages = [{"type": "web_search_result_location", "url": url} for url in (A, B)]
    fields = [{"provider_specific_fields": {"citation": one}} for one in pages]
    chunks = [{"choices": [{"delta": {"content": "x", **one}}]} for one in fields]
    message = assemble(
        openai_chat.decode_stream([*chunks, {"choices": [{"finish_reason": "stop"}]}])
    )
    assert [one.url for one in message.sources] == [A, B]


def test_a_page_that_anthropic_fetched_is_a_source() -> None:
    fetched = {
        "type": "web_fetch_result",
        "url": A,
        "content": {"type": "document", "title": "A", "source": {}},
    }
    failed = {"type": "web_fetch_tool_result_error", "error_code": "url_not_accessible"}
    content = [
        {"type": "web_fetch_tool_result", "tool_use_id": "s", "content": one}
        for one in (fetched, failed)
    ]  # fmt: skip
    answer = {"content": [*content, {"type": "text", "text": "Cold"}], "stop_reason": "end_turn"}
    assert cited(anthropic.decode(answer)) == [(A, "A", [])]


def test_pages_that_were_opened_on_the_responses_wire_are_sources() -> None:
    output = [
        {"type": "web_search_call", "id": "w", "action": {"type": "open_page", "url": A}},
        {"type": "search_results", "results": [{"id": 1, "url": B, "title": "B", "snippet": "s"}]},
        {"type": "fetch_url_results", "contents": [{"url": C, "title": "C"}]},
    ]
    answer = {"object": "response", "id": "r", "status": "completed", "output": output}
    assert cited(openai_responses.decode(answer)) == [(A, "", []), (B, "B", []), (C, "C", [])]


@pytest.mark.parametrize(
    ("citation", "expected"),
    [
        ({"location": {"documentPage": {"documentIndex": 0, "start": 1, "end": 1}}}, "0"),
        ({"location": {"searchResultLocation": {"searchResultIndex": 2}}, "source": D}, D),
        ({"location": {"documentChar": {"documentIndex": 1}}, "source": "kb-1"}, "kb-1"),
    ],
)
def test_each_kind_of_place_that_bedrock_cites_is_a_source(citation: Any, expected: str) -> None:
    block = {"citationsContent": {"content": [{"text": "cold"}], "citations": [citation]}}
    message = {"role": "assistant", "content": [block]}
    reply = bedrock.decode({"output": {"message": message}, "stopReason": "end_turn"})
    assert cited(reply) == [(expected, "", ["cold"])]


def test_a_picture_that_gemini_cites_is_a_source() -> None:
    chunk = {"image": {"sourceUri": A, "imageUri": B, "title": "A"}}
    candidate = {"content": {"parts": [{"text": "x"}]}, "finishReason": "STOP"}
    metadata = {"groundingMetadata": {"groundingChunks": [chunk]}}
    assert cited(gemini.decode({"candidates": [{**candidate, **metadata}]})) == [(A, "A", [])]


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
                 "citationsContent", "sourceContent", "citationMetadata", "startIndex", "endIndex",
                 "search_results", "web_search_results", "source", "document", "metadata", "index", "refer", "start", "end",
                 "reference_ids", "documentIndex"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)  # fmt: skip


@pytest.mark.parametrize("key", sorted(_READERS))
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
