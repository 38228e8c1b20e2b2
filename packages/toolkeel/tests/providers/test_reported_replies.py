"""Replies of compatible servers that other libraries read wrong, each by the address of its report."""

from __future__ import annotations

from typing import Any

import pytest

from toolkeel.agent.reply_assembly import assemble
from toolkeel.errors import ModelError
from toolkeel.messages import AssistantMessage
from toolkeel.providers import gemini, openai_chat, openai_responses
from toolkeel.providers.wire.plain_json import arguments_object

Json = dict[str, Any]
GITHUB = "https://github.com/"


def chunk(finish: str | None = None, beside: Json | None = None, **delta: Any) -> Json:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **(beside or {})}


def piece(text: str | None = None, /, **fields: Any) -> Json:
    """A piece of a call: `text` of its arguments, ``name``, and the keys beside the function."""
    function = {"name": fields.pop("name", None), "arguments": text}
    return {**fields, "function": {key: one for key, one in function.items() if one is not None}}


def whole(finish: Any = "tool_calls", *calls: Json, **choice: Any) -> Json:
    message = {"role": "assistant", "content": None, "tool_calls": [*calls]}
    return {"choices": [{"index": 0, "message": message, "finish_reason": finish, **choice}]}


FULL = piece('{"path": "a"}', id="c", type="function", name="read")
STREAMS: dict[str, list[Json]] = {
    "sgl-project/sglang/issues/5661": [  # no index
        chunk(tool_calls=[FULL]), chunk("tool_calls")],
    "EricLBuehler/mistral.rs/pull/1507": [  # null as the index
        chunk(tool_calls=[{**FULL, "index": None}]), chunk("tool_calls")],
    "vercel/ai/pull/15879": [  # no index, and arguments before the name
        chunk(tool_calls=[piece('{"path"', id="c")]),
        chunk(tool_calls=[piece(': "a"}', id="c", name="read")]),
        chunk("tool_calls")],
    "run-llama/llama_index/pull/17927": [  # null in each field that comes later
        chunk(tool_calls=[{"index": 0, "id": "c", "function": {"name": "read", "arguments": None}}]),
        chunk(tool_calls=[{"index": 0, "id": None, "function": {"name": None, "arguments": '{"path": "a"}'}}]),
        chunk("tool_calls")],
    "vercel/ai/issues/3953": [  # an empty piece beside the end, behind complete arguments
        chunk(tool_calls=[piece('{"path": "a"}', index=0, id="c", name="read")]),
        chunk("tool_calls", tool_calls=[piece("", index=0)])],
    "ml-explore/mlx-lm/pull/782": [  # another word for the end
        chunk(tool_calls=[{**FULL, "index": 0}]), chunk("tool_call")],
}  # fmt: skip
ANSWERS: dict[str, Json] = {
    "pydantic/pydantic-ai/pull/2322": whole(None, FULL),  # no reason why it ended
    "BerriAI/litellm/pull/20732": whole("", FULL),  # an empty one
    "pydantic/pydantic-ai/issues/3581": whole("stop", FULL, native_finish_reason=None),
    "SecretiveShell/MCP-Bridge/issues/48": {  # text and call in two choices without index
        "choices": [
            {"finish_reason": "tool_calls", "message": {"role": "assistant", "content": ""}},
            {"finish_reason": "tool_calls", "message": {"role": "assistant", "tool_calls": [FULL]}},
        ]
    },
}


@pytest.mark.parametrize("report", [*STREAMS, *ANSWERS])
def test_the_one_call_of_a_reply_is_read(report: str) -> None:
    stream = STREAMS.get(report)
    reply = (
        assemble(openai_chat.decode_stream(stream))
        if stream
        else openai_chat.decode(ANSWERS[report])
    )
    [call] = reply.tool_calls
    read = (call.id, call.name, arguments_object(call.arguments), call.complete)
    assert read == ("c", "read", {"path": "a"}, True), GITHUB + report
    assert reply.finish_reason == "tool_calls"


def test_calls_without_an_index_are_as_many_as_their_ids() -> None:
    """https://github.com/SamSaffron/term-llm/pull/314: all were joined as the first."""
    first, second = (piece('{"n": 1}', id=id, name="f") for id in "ab")
    for chunks in (
        [chunk(tool_calls=[first, second])],
        [chunk(tool_calls=[one]) for one in (first, second)],
    ):
        reply = assemble(openai_chat.decode_stream([*chunks, chunk("tool_calls")]))  # fmt: skip
        assert [(one.id, one.arguments) for one in reply.tool_calls] == [
            ("a", '{"n": 1}'),
            ("b", '{"n": 1}'),
        ]


@pytest.mark.parametrize(
    "report",
    ["QwenLM/qwen-code/issues/6249", "vercel/ai/issues/6687", "vercel/ai/issues/5658"],
)
@pytest.mark.parametrize("end", [[], [piece("", index=0)], [piece("{}", index=0)]])
def test_a_streamed_call_without_arguments_is_a_call(report: str, end: list[Json]) -> None:
    start = piece("", index=0, id="c", name="now")
    chunks = [chunk(tool_calls=[start]), *([chunk(tool_calls=end)] if end else ())]
    reply = assemble(openai_chat.decode_stream([*chunks, chunk("tool_calls")]))
    [call] = reply.tool_calls
    assert (call.name, arguments_object(call.arguments), call.complete) == ("now", {}, True), report


def test_an_end_with_an_error_is_no_answer() -> None:
    """https://github.com/pydantic/pydantic-ai/issues/2844: OpenRouter's word ``error``."""
    reply = openai_chat.decode(whole("error", FULL))
    assert (reply.finish_reason, reply.tool_calls[0].complete) == ("error", False)


def test_an_answer_whose_choices_are_null_says_what_it_has() -> None:
    """https://github.com/langchain-ai/langchain/pull/35236: the error did not help."""
    with pytest.raises(ModelError, match=r"no choices: .*chatcmpl-7.*kv_transfer"):
        openai_chat.decode({"id": "chatcmpl-7", "choices": None, "kv_transfer_params": {}})


URLS = ["https://a.example/", "https://b.example/"]
CITING: dict[str, list[Json]] = {
    "BerriAI/litellm/issues/5535": [  # the message so far beside each delta, citations in each chunk
        {"choices": [{"index": 0, "finish_reason": end, "message": {"content": so_far}, "delta": {"content": new}}],
         "citations": URLS}
        for so_far, new, end in (("A [1]", "A [1]", None), ("A [1] [2]", " [2]", None), ("A [1] [2]", "", "stop"))],
    "BerriAI/litellm/issues/9358": [  # OpenRouter has them in the last chunk
        chunk(content="A [1]"), chunk(content=" [2]"), chunk("stop", {"citations": URLS}, content="")],
}  # fmt: skip


@pytest.mark.parametrize("report", CITING)
def test_what_a_stream_cites_is_there(report: str) -> None:
    reply = assemble(openai_chat.decode_stream(CITING[report]))
    assert reply.text == "A [1] [2]", GITHUB + report
    assert [(one.url, one.mark) for one in reply.sources] == list(
        zip(URLS, ("[1]", "[2]"), strict=True)
    )


def test_citations_that_only_the_last_form_of_an_item_has_are_sources() -> None:
    """https://github.com/BerriAI/litellm/issues/20002: two are streamed, the others come at the end."""
    marks = [
        {"type": "url_citation", "url": f"https://{n}.example/", "title": str(n), "start_index": 0, "end_index": 1}
        for n in range(5)
    ]  # fmt: skip
    place = {"output_index": 0, "item_id": "m", "content_index": 0}
    text = {"type": "message", "id": "m", "role": "assistant"}
    item = {**text, "content": [{"type": "output_text", "text": "Yes.", "annotations": marks}]}
    added = "response.output_text.annotation.added"
    events = [
        {"type": "response.output_item.added", "output_index": 0, "item": {**text, "content": []}},
        {"type": "response.output_text.delta", **place, "delta": "Yes."},
        *({"type": added, **place, "annotation_index": n, "annotation": marks[n]} for n in (0, 1)),
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"status": "completed", "output": [item]}},
    ]
    reply = assemble(openai_responses.decode_stream(events))
    assert [one.title for one in reply.sources] == list("01234")


@pytest.mark.parametrize("position", [0, 1, 2])
def test_grounding_in_any_chunk_of_a_stream_is_there(position: int) -> None:
    """https://github.com/BerriAI/litellm/issues/41492: it was read of one chunk only."""
    parts = [{"parts": [{"text": text}]} for text in ("It ", "is ", "cold.")]
    candidates: list[Json] = [{"index": 0, "content": one} for one in parts]
    candidates[2]["finishReason"] = "STOP"
    chunks = [{"web": {"uri": URLS[0], "title": "A"}}]
    candidates[position]["groundingMetadata"] = {"groundingChunks": chunks}
    reply = assemble(gemini.decode_stream([{"candidates": [one]} for one in candidates]))
    assert [(one.url, one.title) for one in reply.sources] == [(URLS[0], "A")]


NOTHING: Json = dict.fromkeys(
    ["provider_specific_fields", "refusal", "function_call", "audio", "tool_calls"]
)


@pytest.mark.parametrize(
    ("report", "key"),
    [
        ("BerriAI/litellm/issues/9100", "reasoning"),
        ("BerriAI/litellm/issues/8799", "reasoning_content"),
        ("BerriAI/litellm/issues/8939", "reasoning_content"),
    ],
)
def test_streamed_reasoning_is_there_between_fields_that_are_null(report: str, key: str) -> None:
    fields: list[Json] = [
        {key: "Ok", "content": ""},
        {key: "ay", "content": None},
        {"content": "Hi"},
    ]
    end = chunk("stop", {"citations": None}, **NOTHING, content=None)
    chunks = [chunk(None, {"citations": None}, **{**NOTHING, **one}) for one in fields]
    reply: AssistantMessage = assemble(openai_chat.decode_stream([*chunks, end]))
    read = ("".join(one.text for one in reply.reasoning), reply.text)
    assert read == ("Okay", "Hi"), GITHUB + report


MISTRAL: dict[str, tuple[list[Json], list[tuple[str, str]]]] = {
    "langchain-ai/langchain/pull/37008": (  # the reference has the cited words itself
        [{"type": "text", "text": "The answer is "}, {"type": "reference", "reference_ids": [0], "text": "42"},
         {"type": "text", "text": "."}],
        [("0", "42")]),
    "mistralai/client-python/issues/325": (  # ids that are words
        [{"type": "text", "text": "The answer is 42"}, {"type": "reference", "reference_ids": ["doc-a", "doc-b"]},
         {"type": "text", "text": "."}],
        [("doc-a", "The answer is 42"), ("doc-b", "The answer is 42")]),
    "vercel/ai/pull/4747": (  # a piece of a stream that is a reference alone
        [{"type": "text", "text": "The answer is 42."}, {"type": "reference", "reference_ids": [3]}],
        [("3", "The answer is 42.")]),
}  # fmt: skip


@pytest.mark.parametrize("report", MISTRAL)
def test_references_of_mistral_are_sources_of_the_words_they_are_about(report: str) -> None:
    parts, expected = MISTRAL[report]
    message = {"role": "assistant", "content": parts}
    chunks = [chunk(content=[one]) for one in parts]
    for reply in (
        openai_chat.decode({"choices": [{"message": message, "finish_reason": "stop"}]}),
        assemble(openai_chat.decode_stream([*chunks, chunk("stop")])),
    ):
        assert reply.text == "The answer is 42.", GITHUB + report
        assert [(one.id, reply.text[slice(*one.spans[0])]) for one in reply.sources] == expected


def test_a_chunk_without_choices_is_no_end() -> None:
    """https://github.com/langchain-ai/langchain/issues/27886: Mistral's models on Vertex."""
    usage = {"prompt_tokens": 3, "completion_tokens": 2}
    chunks = [{"id": "x", "object": "chat.completion.chunk"}, chunk(content="Hi"), {"id": "x"}]
    reply = assemble(openai_chat.decode_stream([*chunks, chunk("stop", {"usage": usage})]))
    assert (reply.text, reply.usage.output_tokens) == ("Hi", 2)


def test_what_azure_found_in_data_is_in_the_first_chunk_of_a_stream() -> None:
    """https://github.com/openai/openai-dotnet/issues/179: context was missing."""
    found = {"content": "c", "title": "T", "url": URLS[0], "filepath": "t.md", "chunk_id": "0"}
    first = chunk(role="assistant", content="", context={"citations": [found], "intent": "[]"})
    chunks = [first, chunk(content="Cold [doc1]."), chunk("stop", end_turn=True)]
    [source] = assemble(openai_chat.decode_stream(chunks)).sources
    assert (source.url, source.title, source.mark) == (URLS[0], "T", "[doc1]")


@pytest.mark.parametrize(
    "candidate",
    [
        {"finishReason": "MALFORMED_FUNCTION_CALL"},  # pydantic-ai/pull/3300: no content
        {"content": {}, "finish_reason": "MALFORMED_FUNCTION_CALL"},  # adk-python/issues/1521
        {  # NousResearch/hermes-agent/pull/83886: a call that the server calls malformed
            "content": {"parts": [{"functionCall": {"name": "read", "args": {}}}]},
            "finishReason": "MALFORMED_FUNCTION_CALL",
        },
    ],
)
def test_a_malformed_call_of_gemini_is_no_answer_and_never_runs(candidate: Json) -> None:
    """https://github.com/langchain-ai/langgraph/issues/6574: the run ended as if it were done."""
    decoder = gemini.StreamDecoder()
    deltas: list[Any] = [*decoder.feed({"candidates": [candidate]}), *decoder.finish()]
    reply = assemble(deltas)
    assert decoder.mistake() == "MALFORMED_FUNCTION_CALL"
    assert reply.finish_reason == "error"
    assert not any(call.complete for call in reply.tool_calls)
