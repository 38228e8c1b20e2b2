"""The chat wire end to end: recorded answers, and flows with OpenAI's own client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from typing import Any

import openai
import pytest
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import ChatCompletionChunk

from tests import aimock
from tests.providers.judge import check_body
from tests.providers.loopback import answer, saying
from tests.providers.tools import TOOLS
from tests.shared import shared_file
from toolkeel.agent.reply_assembly import ReplyBuilder, assemble
from toolkeel.content import Image
from toolkeel.errors import ModelError, SetupError
from toolkeel.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage
from toolkeel.model_interface import ModelRequest, Settings
from toolkeel.providers import openai_chat
from toolkeel.providers.wire.sse import SSEParser

Json = dict[str, Any]


# — recorded —


def recorded() -> list[Json]:
    path = shared_file("data/exchanges-sample.jsonl")
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [row for row in rows if row["surface"] == "openai-chat"]


def read_by_the_sdk(chunks: Iterable[str]) -> list[tuple[str, str, str]]:
    """Id, name and arguments of the calls as the SDK's own stream helper puts them together."""
    state: Any = ChatCompletionStreamState()
    for text in chunks:
        state.handle_chunk(ChatCompletionChunk.model_validate_json(text))
    message = state.get_final_completion().choices[0].message
    return [(c.id, c.function.name, c.function.arguments) for c in message.tool_calls or ()]


def sdk_client(url: str) -> openai.OpenAI:
    return openai.OpenAI(base_url=url, api_key="test", max_retries=0)


def as_rows(calls: Iterable[ToolCall]) -> list[tuple[str, str, object]]:
    return [(call.id, call.name, call.arguments) for call in calls]


def in_pieces(body: bytes, size: int) -> list[str]:
    parser = SSEParser()
    texts = [
        text for i in range(0, len(body), size) for text in parser.feed(body[i : i + size])
    ] + parser.close()
    assert texts[-1] == "[DONE]"
    return texts


def test_recorded_answers_decode_to_the_calls_that_the_sdk_reads() -> None:
    rows = [row for row in recorded() if not row["stream"]]
    assert rows
    for row in rows:
        body = json.dumps(row["response"])
        with saying(answer(body)) as server, sdk_client(server.url) as client:
            completion = client.chat.completions.create(model="m", messages=[])
        wanted = [
            (call.id, call.function.name, call.function.arguments)  # type: ignore[union-attr]
            for call in completion.choices[0].message.tool_calls or ()
        ]
        forms: list[object] = [row["response"], completion, body, body.encode()]
        for form in [*forms, completion.choices[0], completion.choices[0].message]:
            assert as_rows(openai_chat.decode_calls(form)) == wanted, row["id"]
        assert openai_chat.decode(completion).finish_reason == "tool_calls"
        assert openai_chat.decode(completion).usage.output_tokens > 0


def test_recorded_streams_decode_to_the_calls_that_the_sdk_reads_however_they_are_cut() -> None:
    rows = [row for row in recorded() if row["stream"]]
    assert rows
    for row in rows:
        body = row["response"].encode()
        whole = in_pieces(body, len(body))
        wanted = read_by_the_sdk(whole[:-1])
        assert wanted
        for size in (1, 3, 1024):
            texts = in_pieces(body, size)
            assert texts == whole
            reply = assemble(openai_chat.decode_stream(texts))
            assert as_rows(reply.tool_calls) == wanted, row["id"]
            assert reply.finish_reason == "tool_calls"
            assert reply.usage.input_tokens > 0
        objects = [ChatCompletionChunk.model_validate_json(text) for text in whole[:-1]]
        assert as_rows(assemble(openai_chat.decode_stream(objects)).tool_calls) == wanted


def test_recorded_answers_go_back_as_the_sdks_types_allow() -> None:
    for row in recorded():
        request = row["request"]
        response = row["response"]
        if row["stream"]:
            texts = in_pieces(response.encode(), len(response))
            reply: object = assemble(openai_chat.decode_stream(texts))
        else:
            reply = response
        calls = openai_chat.decode_calls(reply)
        results = [ToolMessage("ok", call.id, call.name) for call in calls]
        turn = openai_chat.encode_turn(reply, results)
        assert [wire["role"] for wire in turn] == ["assistant", *["tool"] * len(calls)]
        check_body({"model": "m", "messages": [*request["messages"], *turn]})


# — requests —


def test_a_whole_request_is_what_the_sdks_types_allow() -> None:
    settings = Settings(
        tool_choice="clock.now",
        parallel_tool_calls=False,
        strict=True,
        temperature=0.1,
        max_tokens=99,
        extra_body={"seed": 7},
    )
    request = ModelRequest([UserMessage("几点了?")], tuple(TOOLS), settings)
    for stream in (False, True):
        body = openai_chat.encode(request, "gpt-5", stream=stream)
        check_body(body)
        assert body["tool_choice"] == {"type": "function", "function": {"name": "clock_now"}}
        assert body["parallel_tool_calls"] is False
        assert (body["seed"], body["max_completion_tokens"]) == (7, 99)
        assert ("stream_options" in body) == stream
    functions = [wire["function"] for wire in openai_chat.encode_tools(TOOLS, strict=True)]
    assert [function["name"] for function in functions] == ["get_weather", "add", "clock_now"]
    assert all(function["strict"] is True for function in functions)


def test_a_request_without_tools_says_nothing_about_them() -> None:
    settings = Settings(tool_choice="auto", parallel_tool_calls=True)
    body = openai_chat.encode(ModelRequest([UserMessage("hi")], (), settings), "m")
    assert body.keys() == {"messages", "model"}


def test_choosing_a_tool_that_is_not_there_is_a_mistake_of_the_program() -> None:
    request = ModelRequest([], tuple(TOOLS), Settings(tool_choice="fly"))
    with pytest.raises(SetupError, match=r"'fly'.*get_weather, add, clock\.now"):
        openai_chat.encode(request, "m")


def test_an_imitator_gets_its_own_keys_and_no_strict_flag() -> None:
    request = ModelRequest([], tuple(TOOLS), Settings(max_tokens=9, strict=True))
    body = openai_chat.encode(request, "m", profile=openai_chat.COMPATIBLE)
    assert body["max_tokens"] == 9
    assert all("strict" not in wire["function"] for wire in body["tools"])  # type: ignore[attr-defined]


def test_a_toolset_is_encoded_once_and_a_list_of_tools_to_the_same() -> None:
    first, second = openai_chat.encode_tools(TOOLS), openai_chat.encode_tools(TOOLS)
    assert first == second == openai_chat.encode_tools(list(TOOLS))
    assert first is not second
    assert first[0] is second[0]
    assert openai_chat.encode_tools(TOOLS, strict=False) != first


# — turns —


def completion(*calls: Json, content: str | None = None, finish: str = "tool_calls") -> Json:
    message = {"role": "assistant", "content": content, "tool_calls": list(calls)}
    return {"choices": [{"message": message, "finish_reason": finish}]}


def called(id: str | None, name: str, arguments: Any = "{}") -> Json:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def test_ids_that_the_server_repeats_or_leaves_out_are_made_unique_on_both_sides() -> None:
    reply = completion(called("x", "f"), called("x", "g"), called(None, "h"), called("", "i"))
    calls = openai_chat.decode_calls(reply)
    assert len({call.id for call in calls}) == 4
    results = [ToolMessage(call.name, call.id, call.name) for call in calls]
    assistant, *tools = openai_chat.encode_turn(reply, results)
    sent = [call["id"] for call in assistant["tool_calls"]]  # type: ignore[attr-defined]
    assert sent == [wire["tool_call_id"] for wire in tools]
    assert len(set(sent)) == 4
    assert [wire["content"] for wire in tools] == ["f", "g", "h", "i"]


def test_results_are_sent_in_the_order_of_their_calls() -> None:
    reply = completion(called("a", "f"), called("b", "g"), called("c", "h"))
    results = [ToolMessage(id, id) for id in ("c", "a", "b")]
    turn = openai_chat.encode_turn(reply, results)
    assert [wire["content"] for wire in turn[1:]] == ["a", "b", "c"]


def test_a_turn_without_a_result_for_each_call_is_refused() -> None:
    reply = completion(called("a", "f"), called("b", "g"))
    with pytest.raises(SetupError, match=r"2 calls and there are 1 results"):
        openai_chat.encode_turn(reply, [ToolMessage("1", "a")])


def test_a_reply_without_calls_is_a_turn_of_its_own() -> None:
    reply = completion(content="done", finish="stop")
    assert openai_chat.encode_turn(reply, []) == [{"role": "assistant", "content": "done"}]
    assert openai_chat.decode_calls(reply) == []


def test_pictures_of_all_results_come_in_one_message_after_them() -> None:
    reply = completion(called("a", "shot"), called("b", "shot"))
    results = [ToolMessage((Image(b"\xff\xd8\xff"),), id) for id in ("a", "b")]
    turn = openai_chat.encode_turn(reply, results)
    assert [wire["role"] for wire in turn] == ["assistant", "tool", "tool", "user"]
    check_body({"model": "m", "messages": turn})


def test_broken_arguments_go_back_inside_an_object() -> None:
    reply = completion(called("a", "f", '{"city": "Par'))
    [call] = openai_chat.decode_calls(reply)
    assert call.arguments == '{"city": "Par'
    [assistant, _] = openai_chat.encode_turn(reply, [ToolMessage("no", "a", "f", "error")])
    [sent] = assistant["tool_calls"]  # type: ignore[misc]
    assert json.loads(sent["function"]["arguments"]) == {"malformed_arguments": '{"city": "Par'}


def test_a_reply_by_the_tools_own_names_goes_back_by_their_aliases() -> None:
    reply = AssistantMessage(tool_calls=(ToolCall("a", "clock.now"),))
    turn = openai_chat.encode_turn(reply, TOOLS.run_sync(reply.tool_calls), tools=TOOLS)
    assert turn[0]["tool_calls"][0]["function"]["name"] == "clock_now"  # type: ignore[index]
    assert turn[1]["content"] == "noon"


def test_an_answer_that_is_an_error_or_nothing_is_the_models_failure() -> None:
    for reply in ({"error": {"message": "boom", "code": 500}}, {"choices": []}, {}, "<html>", "[]"):
        with pytest.raises(ModelError):
            openai_chat.decode(reply)


def test_a_whole_answer_is_whole_though_it_gives_no_reason() -> None:
    reply = completion(called("a", "f"))
    del reply["choices"][0]["finish_reason"]
    message = openai_chat.decode(reply)
    assert message.finish_reason == "tool_calls"
    assert [call.complete for call in message.tool_calls] == [True]


# — flows, as in the README —

PROMPTS = {
    "one-call": (1, "It is sunny in Paris."),
    "parallel": (1, "巴黎和東京都是晴天,2+40=42。"),
    "three-rounds": (3, "Rome, 3, 7."),
    "text-and-call": (1, "Snow no more."),
    "alias": (1, "Noon."),
    "bad-json": (1, "Sorry about that."),
}


@pytest.mark.parametrize("prompt", PROMPTS)
def test_your_own_client_and_our_runtime_make_a_flow(flows: aimock.Server, prompt: str) -> None:
    messages: list[Any] = [{"role": "user", "content": prompt}]
    rounds = 0
    with sdk_client(f"{flows.url}/v1") as client:
        while True:
            tools: Any = openai_chat.encode_tools(TOOLS)
            check_body({"model": "gpt-5", "messages": messages, "tools": tools})
            reply = client.chat.completions.create(model="gpt-5", messages=messages, tools=tools)
            calls = openai_chat.decode_calls(reply)
            messages += openai_chat.encode_turn(reply, TOOLS.run_sync(calls))
            if not calls:
                break
            rounds += 1
    assert (rounds, messages[-1]["content"]) == PROMPTS[prompt]
    check_parallel_flow(prompt, messages)


@pytest.mark.parametrize("prompt", PROMPTS)
def test_the_same_flow_works_streamed(flows: aimock.Server, prompt: str) -> None:
    messages: list[Any] = [{"role": "user", "content": prompt}]
    rounds = 0
    with sdk_client(f"{flows.url}/v1") as client:
        while True:
            tools: Any = openai_chat.encode_tools(TOOLS)
            stream = client.chat.completions.create(
                model="gpt-5", messages=messages, tools=tools, stream=True
            )
            reply = assemble(openai_chat.decode_stream(stream))
            messages += openai_chat.encode_turn(reply, TOOLS.run_sync(reply.tool_calls))
            if not reply.tool_calls:
                break
            rounds += 1
    assert (rounds, messages[-1]["content"]) == PROMPTS[prompt]
    check_parallel_flow(prompt, messages)


def check_parallel_flow(prompt: str, messages: list[Any]) -> None:
    if prompt == "parallel":
        assert [m["content"] for m in messages[2:5]] == ["Paris: sunny", "東京: sunny", "42"]
    if prompt == "three-rounds":
        [first, second] = messages[5]["tool_calls"]
        assert first["id"] != second["id"]
        assert [m["tool_call_id"] for m in messages[6:8]] == [first["id"], second["id"]]


def test_an_asynchronous_stream_decodes_like_any_other() -> None:
    body = b'data: {"choices":[{"delta":{"content":"\xe6\x9d\xb1"},"finish_reason":"stop"}]}\n\n'
    texts = [*SSEParser().feed(body), "[DONE]"]

    async def arriving() -> AsyncIterator[str]:
        for text in texts:
            yield text

    async def read() -> AssistantMessage:
        assembly = ReplyBuilder()
        async for delta in openai_chat.adecode_stream(arriving()):
            assembly.add(delta)
        return assembly.build()

    assert asyncio.run(read()) == assemble(openai_chat.decode_stream(texts))
    assert asyncio.run(read()).content == "東"
