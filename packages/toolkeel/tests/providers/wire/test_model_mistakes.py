"""A mistake of the model that its provider reports goes back to the model, once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.providers.loopback import Loopback, answer, chunk, events, saying
from tests.providers.models import anthropic, chat, gemini, responses
from toolkeel import Agent
from toolkeel.errors import ModelError, ModelUnavailable
from toolkeel.events import Event, Retrying
from toolkeel.messages import AssistantMessage, UserMessage
from toolkeel.model_interface import Delta, Finish, ModelRequest, RetryDelta, TextDelta
from toolkeel.providers.openai_chat import StreamDecoder, decode
from toolkeel.providers.wire.plain_json import clean_text
from toolkeel.providers.wire.retry import Deltas, Retries
from toolkeel.providers.wire.server_errors import (
    model_mistake,
    nested_error_text,
    reported_error,
    response_error,
)

pytestmark = pytest.mark.usefixtures("quick")
words = st.text(st.characters(blacklist_categories=("Cs", "Cc")), min_size=1, max_size=20).filter(
    lambda text: text.strip() == text and clean_text(text) == text
)


def gemini_reply(reason: str, message: str = "", text: str = "") -> dict[str, Any]:
    parts = [{"text": text}] if text else []
    said = {"finishMessage": message} if message else {}
    candidate = {"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": reason}
    usage = {"promptTokenCount": 5, "candidatesTokenCount": 2}
    return {"candidates": [{**candidate, **said}], "usageMetadata": usage, "modelVersion": "m"}


def groq_error(message: str, generation: str) -> dict[str, Any]:
    error = {"message": message, "type": "invalid_request_error", "code": "tool_use_failed"}
    return {"error": {**error, "failed_generation": generation}}


def gemini_answer(stream: bool, *args: str) -> bytes:
    reply = gemini_reply(*args)
    return events(reply, done=False) if stream else answer(json.dumps(reply))


def chat_answer(stream: bool, text: str) -> bytes:
    if stream:
        return events(chunk("stop", content=text))
    message = {"role": "assistant", "content": text}
    return answer(json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}))


def run(model: Any) -> tuple[Any, list[Event]]:
    heard: list[Event] = []
    return Agent(model).run_sync("6 times 7?", listeners=[heard.append]), heard


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    "reason", ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE"]
)
def test_geminis_message_about_a_call_is_in_the_next_request(reason: str, stream: bool) -> None:
    wrong = gemini_answer(stream, reason, "Malformed call: print(东京")
    with saying(wrong, gemini_answer(stream, "STOP", "", "42")) as server:
        result, heard = run(gemini(server, stream=stream))
    assert result.output == "42"
    assert [type(one) for one in heard if isinstance(one, Retrying)] == [Retrying]
    assert result.usage.requests == 2
    first, second = (request["contents"] for request in server.requests)
    assert second[: len(first) - 1] == first[:-1]
    assert f"{reason}: Malformed call: print(东京" in json.dumps(second, ensure_ascii=False)
    assert all("Malformed" not in str(message) for message in result.messages)


@pytest.mark.parametrize("stream", [True, False])
def test_the_call_that_groq_could_not_read_is_in_the_next_request(stream: bool) -> None:
    wrong = json.dumps(groq_error("Failed to call a function.", '<function=add {"a": 1'))
    for bad in (answer(wrong, status=400), answer(wrong), *([events(wrong)] if stream else [])):
        with saying(bad, chat_answer(stream, "42")) as server:
            result, heard = run(chat(server, stream=stream))
        assert result.output == "42"
        assert len([one for one in heard if isinstance(one, Retrying)]) == 1
        said = server.requests[1]["messages"][-1]
        assert said["role"] == "user"
        assert 'Failed to call a function. <function=add {"a": 1' in said["content"]


def test_a_mistake_that_is_repeated_is_an_error_in_the_providers_words() -> None:
    wrong = gemini_answer(True, "UNEXPECTED_TOOL_CALL", "no tool 'x'")
    told = pytest.raises(ModelError, match="UNEXPECTED_TOOL_CALL: no tool 'x'")
    with saying(wrong) as server, told:
        run(gemini(server))
    assert len(server.requests) == 2


@pytest.mark.parametrize("choices", [[], None])
def test_an_answer_without_choices_is_asked_for_again(choices: Any) -> None:
    empty = answer(json.dumps({"id": "1", "object": "chat.completion", "choices": choices}))
    with saying(empty, chat_answer(False, "42")) as server:
        result, heard = run(chat(server, stream=False))
    assert result.output == "42"
    assert len([one for one in heard if isinstance(one, Retrying)]) == 1


@given(st.lists(st.booleans(), max_size=5), st.integers(0, 3))
def test_one_mistake_is_forgiven_within_the_limit_of_retries(
    mistakes: list[bool], limit: int
) -> None:
    left = [model_mistake("m") if wrong else ModelUnavailable("busy") for wrong in mistakes]
    sent = 0

    async def attempt() -> AsyncGenerator[Deltas]:
        nonlocal sent
        sent += 1
        if left:
            raise left.pop(0)
        done: list[Delta] = [TextDelta("ok"), Finish("stop")]
        yield done

    async def read() -> list[object]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("toolkeel.providers.wire.retry.FIRST_BACKOFF", 0.0)
            return [one async for some in Retries("m", limit).run(attempt) for one in some]

    second = [at for at, wrong in enumerate(mistakes) if wrong][1:2]
    fails_at = min([*second, limit if limit < len(mistakes) else 99])
    if fails_at < len(mistakes):
        with pytest.raises(ModelError):
            asyncio.run(read())
        assert sent == fails_at + 1
    else:
        deltas = asyncio.run(read())
        assert sum(isinstance(one, RetryDelta) for one in deltas) == len(mistakes)


@given(words, words)
def test_a_rejected_call_is_described_by_status_code_and_never_by_text(
    message: str, generation: str
) -> None:
    body = groq_error(message, generation)
    for error in (
        response_error(400, body, {}),
        response_error(400, json.dumps(body), {}),
        reported_error(body),
    ):
        assert error.mistake == f"{message} {generation}"
        assert error.with_model_name("m").mistake == error.mistake
    other: dict[str, Any] = {"error": {**body["error"], "code": "other"}}
    assert response_error(400, other, {}).mistake == reported_error(other).mistake == ""


@given(
    words,
    st.sampled_from(
        ["message", "status_msg", "errorMessage", "msg", "reason", "error_description"]
    ),
    st.lists(st.sampled_from(["base_resp", "status", "result", "error", "outcome"]), max_size=2),
)
def test_an_error_inside_a_success_shows_its_message(text: str, key: str, path: list[str]) -> None:
    inner: Any = {"status_code": 1008, key: text}
    for name in path:
        inner = {"id": "1", name: inner}
    assert nested_error_text(inner) == text
    with pytest.raises(ModelError) as raised:
        decode({"id": "1", "choices": None, "wrapper": inner})
    assert text in str(raised.value)
    assert "{" not in str(raised.value).replace(text, "")


def test_a_request_is_never_changed_by_a_correction() -> None:
    request = ModelRequest([UserMessage("6 times 7?")])
    wrong = gemini_answer(True, "MALFORMED_FUNCTION_CALL")
    with saying(wrong, gemini_answer(True, "STOP", "", "42")) as server:

        async def ask() -> list[object]:
            model = gemini(server)
            deltas: list[object] = [delta async for delta in model.stream(request)]
            await model.close()
            return deltas

        retry, text, _ = asyncio.run(ask())
    assert isinstance(retry, RetryDelta)
    assert text == TextDelta("42")
    assert request.messages == [UserMessage("6 times 7?")]


IN_A_SUCCESS: list[Any] = [
    lambda text: {"error_code": 336003, "error_msg": text},
    lambda text: {"success": False, "errors": [{"code": 7003, "message": text}], "result": None},
    lambda text: {"object": "error", "message": text, "code": 400},
    lambda text: {"code": "InvalidParameter", "message": text, "request_id": "r"},
    lambda text: {"detail": [{"loc": ["body"], "msg": text}]},
    lambda text: {"choices": None, "base_resp": {"status_code": 1008, "status_msg": text}},
    lambda text: {"error": text},
    lambda text: [{"error": {"code": 400, "message": text}}],
]
"""Errors of Baidu, Cloudflare, vLLM, DashScope, FastAPI, MiniMax, LM Studio and Google."""


@given(words, st.sampled_from(IN_A_SUCCESS), st.booleans())
def test_each_vendors_error_inside_a_success_is_raised_in_its_words(
    text: str, make: Any, stream: bool
) -> None:
    sent = make(text)
    with pytest.raises(ModelError) as raised:
        if stream:
            decoder = StreamDecoder()
            for one in sent if isinstance(sent, list) else [sent]:
                decoder.feed(one)
        else:
            decode(sent)
    assert text in str(raised.value)
    assert not raised.value.mistake


EMPTY_MESSAGE = {"choices": [{"index": 0, "message": None, "finish_reason": "stop"}]}


def test_an_answer_whose_message_is_null_is_asked_for_again() -> None:
    with saying(answer(json.dumps(EMPTY_MESSAGE)), chat_answer(False, "42")) as server:
        result, heard = run(chat(server, stream=False))
    assert result.output == "42"
    assert len([one for one in heard if isinstance(one, Retrying)]) == 1


@pytest.mark.parametrize("text", ["", "I will"])
@pytest.mark.parametrize(
    "reason", ["OTHER", "TOO_MANY_TOOL_CALLS", "MISSING_THOUGHT_SIGNATURE", "NEW_REASON_OF_2027"]
)
def test_any_end_that_is_no_end_has_geminis_words_in_its_error(reason: str, text: str) -> None:
    said = pytest.raises(ModelError, match=f"{reason}: 说明.*{text}")
    with saying(gemini_answer(True, reason, "说明", text)) as server, said:
        run(gemini(server))
    assert len(server.requests) == 1


def test_a_malformed_call_behind_a_text_that_was_shown_is_an_error_with_both() -> None:
    wrong = gemini_answer(True, "MALFORMED_FUNCTION_CALL", "print(x", "I will")
    with saying(wrong) as server, pytest.raises(ModelError, match=r"print\(x; I will"):
        run(gemini(server))


def thinking(text: str, mistake: str) -> list[Any]:
    """Streams, on each wire and with tags, that think, and then end with a text or with a mistake."""
    part = {"text": "Hm, " + text, "thought": True}
    said = {"text": "42"}
    reason = {"finishReason": mistake, "finishMessage": "print(x"} if mistake else {}
    native = {"candidates": [{"content": {"parts": [part]}}]}
    end = {"content": {"parts": [] if mistake else [said]}, "finishReason": "STOP", **reason}
    thought = chunk(reasoning="Hm, " + text)
    closed = groq_error("Failed: print(x", "") if mistake else chunk("stop", content="42")
    routed = chunk("error") if mistake else chunk("stop", content="42")
    routed["choices"][0] |= {"native_finish_reason": mistake} if mistake else {}
    closing = "" if mistake else "</think>42"
    tagged = chunk(mistake or "stop", content=closing)
    return [
        (gemini, events(native, {"candidates": [end]}, done=False)),
        (chat, events(thought, closed)),
        (chat, events(thought, routed)),
        (chat, events(chunk(content="<think>Hm, " + text), tagged)),
    ]


@pytest.mark.parametrize("wire", [0, 1, 2, 3])
def test_a_mistake_behind_reasoning_is_corrected_and_its_reasoning_withdrawn(wire: int) -> None:
    make, wrong = thinking("wrong", "MALFORMED_FUNCTION_CALL")[wire]
    _, right = thinking("right", "")[wire]
    with saying(wrong, right) as server:
        result, heard = run(make(server))
    assert (result.output, len(server.requests)) == ("42", 2)
    [reply] = (one for one in result.messages if isinstance(one, AssistantMessage))
    assert "".join(one.text for one in reply.reasoning) == "Hm, right"
    shown = [str(one) for one in heard]
    at = [type(one) for one in heard].index(Retrying)
    assert any("Hm, wrong" in one for one in shown[:at])
    assert not any("Hm, wrong" in one for one in shown[at + 1 :])


GENERATIONS: list[Any] = [
    '[{"name": "add", "parameters": {"a": 1}}, {"name": "nope", "parameters": {}}]',
    "I should add them",
    {"name": "add", "arguments": {"a": 1}},
    [{"name": "add", "arguments": {"a": 1}}, {"name": "add", "arguments": "{"}],
]
ROUTES: dict[str, Any] = {
    "itself": lambda error: {"error": error},
    "an event without a wrapper": lambda error: error,
    "OpenRouter": lambda error: {"error": {
        "message": "Provider returned error", "code": 400,
        "metadata": {"provider_name": "Groq", "raw": json.dumps({"error": error})}}},
    "OpenRouter, as an object": lambda error: {"error": {
        "message": "Provider returned error", "code": 400, "metadata": {"raw": {"error": error}}}},
    "LiteLLM": lambda error: {"error": {
        "message": f"litellm.BadRequestError: GroqException - {json.dumps({'error': error})}\nModel: m",
        "type": None, "param": None, "code": "400"}},
}  # fmt: skip


@pytest.mark.parametrize("route", ROUTES)
@given(words, st.sampled_from(GENERATIONS) | words)
def test_a_rejected_call_is_the_models_mistake_by_whichever_router_it_comes(
    route: str, message: str, generation: Any
) -> None:
    body = ROUTES[route](groq_error(message, generation)["error"])
    shown = generation if isinstance(generation, str) else '"name":"add"'
    decoder = StreamDecoder()
    with pytest.raises(ModelError) as in_a_stream:
        decoder.feed(json.dumps(body))
    for error in (response_error(400, json.dumps(body), {}), in_a_stream.value):
        assert error.mistake.startswith(message)
        assert shown in error.mistake


@pytest.mark.parametrize("route", ["OpenRouter", "LiteLLM"])
def test_a_rejected_call_behind_a_router_goes_back_to_the_model(route: str) -> None:
    wrong = ROUTES[route](groq_error("Failed to call.", '<function=add {"a": 1')["error"])
    bad = [answer(json.dumps(wrong), status=400), events(chunk(role="assistant"), wrong)]
    for one in bad:
        with saying(one, chat_answer(True, "42")) as server:
            result, heard = run(chat(server))
        assert result.output == "42"
        assert len([one for one in heard if isinstance(one, Retrying)]) == 1
        assert "<function=add" in server.requests[1]["messages"][-1]["content"]


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    "end",
    [
        {"finish_reason": "function_call_filter: MALFORMED_FUNCTION_CALL"},
        {"finish_reason": "malformed_function_call"},
        {"finish_reason": "error", "native_finish_reason": "MALFORMED_FUNCTION_CALL"},
        {"finish_reason": "stop", "native_finish_reason": "UNEXPECTED_TOOL_CALL"},
    ],
)
def test_geminis_reasons_on_the_chat_wire_go_back_to_the_model(
    end: dict[str, str], stream: bool
) -> None:
    part = {"role": "assistant", "content": ""}
    choice = {"index": 0, "delta" if stream else "message": part, **end}
    wrong = events({"choices": [choice]}) if stream else answer(json.dumps({"choices": [choice]}))
    with saying(wrong, chat_answer(stream, "42")) as server:
        result, heard = run(chat(server, stream=stream))
    assert result.output == "42"
    assert len([one for one in heard if isinstance(one, Retrying)]) == 1
    assert list(end.values())[-1] in server.requests[1]["messages"][-1]["content"]
    with saying(wrong) as server, pytest.raises(ModelError, match=list(end.values())[-1]):
        run(chat(server, stream=stream))
    assert len(server.requests) == 2


@given(words, st.sampled_from([400, 429, 503]), st.integers(1, 3))
def test_an_error_inside_a_text_has_its_own_words_and_status(
    text: str, status: int, depth: int
) -> None:
    error: Any = {"message": text, "code": status}
    for _ in range(depth):
        error = {"message": json.dumps({"error": error})}
    for made in (reported_error({"error": error}), response_error(status, {"error": error}, {})):
        assert (str(made), made.status) == (text, status)


def test_a_message_that_only_quotes_json_stays_as_it_is() -> None:
    text = 'The arguments {"a": 1, "message": "x"} do not fit.'
    assert str(reported_error({"error": {"message": text}})) == text


def test_an_error_in_a_list_is_the_same_complete_and_streamed() -> None:
    sent = [{"error": {"code": 429, "message": "busy", "status": "RESOURCE_EXHAUSTED"}}]
    with pytest.raises(ModelError) as complete:
        decode(sent)
    with pytest.raises(ModelError) as streamed:
        StreamDecoder().feed(json.dumps(sent))
    assert (str(complete.value), complete.value.status) == ("busy", 429)
    assert (str(streamed.value), streamed.value.status) == ("busy", 429)


def test_groqs_word_for_why_a_stream_was_stopped_is_its_error() -> None:
    decoder = StreamDecoder()
    with pytest.raises(ModelError, match="over_capacity"):
        decoder.feed({"choices": [{"delta": {}}], "x_groq": {"error": "over_capacity"}})


# — every wire —


def anthropic_reply(text: str = "", reason: str = "end_turn") -> dict[str, Any]:
    content = [{"type": "text", "text": text}] if text else []
    head = {"id": "1", "type": "message", "role": "assistant", "model": "m"}
    usage = {"input_tokens": 5, "output_tokens": 2}
    return {**head, "content": content, "stop_reason": reason, "usage": usage}


def responses_reply(text: str = "", reason: str = "") -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    item = {"type": "message", "id": "1", "role": "assistant", "content": [part]}
    status = "incomplete" if reason else "completed"
    head = {"id": "r", "object": "response", "model": "m", "status": status, "created_at": 1}
    end = {"incomplete_details": {"reason": reason} if reason else None, "error": None}
    return {**head, **end, "output": [item] * bool(text)}


def anthropic_answer(stream: bool, **reply: str) -> bytes:
    made = anthropic_reply(**reply)
    if not stream:
        return answer(json.dumps(made))
    end = {"delta": {"stop_reason": made["stop_reason"]}, "usage": {"output_tokens": 2}}
    blocks = [
        {"type": "content_block_start", "index": at, "content_block": block}
        for at, block in enumerate(made["content"])
    ]
    start = {"type": "message_start", "message": {**made, "content": [], "stop_reason": None}}
    return named(start, *blocks, {"type": "message_delta", **end}, {"type": "message_stop"})


def responses_answer(stream: bool, **reply: str) -> bytes:
    made = responses_reply(**reply)
    kind = f"response.{made['status']}"
    return (
        named({"type": kind, "response": made, "sequence_number": 1})
        if stream
        else answer(json.dumps(made))
    )


def named(*sent: dict[str, Any]) -> bytes:
    lines = (f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in sent)
    return answer("".join(lines), kind="text/event-stream")


def asked_last(server: Loopback) -> str:
    body = server.requests[-1]
    key = next(one for one in ("messages", "input", "contents") if one in body)
    return json.dumps(body[key], ensure_ascii=False)


GOOD: dict[Any, Any] = {
    anthropic: lambda stream: anthropic_answer(stream, text="42"),
    responses: lambda stream: responses_answer(stream, text="42"),
    chat: lambda stream: chat_answer(stream, "42"),
    gemini: lambda stream: gemini_answer(stream, "STOP", "", "42"),
}
EMPTY: list[tuple[Any, Any]] = [
    (anthropic, anthropic_answer),
    (responses, responses_answer),
    (chat, lambda stream: chat_answer(stream, "")),
    (gemini, lambda stream: gemini_answer(stream, "STOP")),
    (chat, lambda stream: bare({"id": "1", "choices": []}, stream)),
    (gemini, lambda stream: bare({"candidates": []}, stream)),
]


def bare(reply: dict[str, Any], stream: bool) -> bytes:
    return events(reply) if stream else answer(json.dumps(reply))


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("make, wrong", EMPTY)
def test_on_each_wire_the_model_learns_that_its_reply_was_empty(
    make: Any, wrong: Any, stream: bool
) -> None:
    with saying(wrong(stream), GOOD[make](stream)) as server:
        result, heard = run(make(server, stream=stream))
    assert result.output == "42"
    assert len([one for one in heard if isinstance(one, Retrying)]) == 1
    assert "empty" in asked_last(server)
    assert [message.text for message in result.messages] == ["6 times 7?", "42"]


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    "make, wrong", [(anthropic, anthropic_answer), (responses, responses_answer)]
)
@pytest.mark.parametrize("reason", ["MALFORMED_FUNCTION_CALL", "malformed_tool_use"])
def test_a_proxys_reason_of_another_wire_goes_back_to_the_model(
    make: Any, wrong: Any, reason: str, stream: bool
) -> None:
    with saying(wrong(stream, reason=reason), GOOD[make](stream)) as server:
        result, heard = run(make(server, stream=stream))
    assert result.output == "42"
    assert len([one for one in heard if isinstance(one, Retrying)]) == 1
    assert reason in asked_last(server)


@pytest.mark.parametrize("make", [anthropic, responses])
@pytest.mark.parametrize("code", ["tool_use_failed", "MALFORMED_FUNCTION_CALL"])
def test_a_rejected_call_in_an_event_is_the_models_mistake_on_each_wire(
    make: Any, code: str
) -> None:
    error = {"type": "error", "error": {"code": code, "message": "No call.", "type": "x"}}
    failed = {**responses_reply(), "status": "failed", "error": error["error"]}
    bad = [error, *([{"type": "response.failed", "response": failed}] if make is responses else [])]
    for one in bad:
        with saying(named(one), GOOD[make](True)) as server:
            result, _ = run(make(server))
        assert (result.output, len(server.requests)) == ("42", 2)
        assert "No call." in asked_last(server)


@pytest.mark.parametrize("stream", [True, False])
def test_minimaxs_status_beside_an_anthropic_answer_is_an_error_in_its_words(stream: bool) -> None:
    status = {"base_resp": {"status_code": 1008, "status_msg": "no balance"}}
    begun = {"type": "message_start", "message": {}, **status}
    bad = [named(begun)] if stream else [answer(json.dumps({**anthropic_reply(), **status}))]
    for one in [*bad, events(status) if stream else answer(json.dumps({"content": [], **status}))]:
        with saying(one) as server, pytest.raises(ModelError, match="no balance"):
            run(anthropic(server, stream=stream))
        assert len(server.requests) == 1


def test_why_a_reply_ended_is_never_the_text_of_an_error() -> None:
    inner = {"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}
    with pytest.raises(ModelError, match=r"no choices: \{") as raised:
        decode({"parts": inner})
    assert "hi" in str(raised.value)
