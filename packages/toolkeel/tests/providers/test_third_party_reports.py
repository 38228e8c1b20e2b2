"""Replies of public reports about other libraries, gateways and servers, each by its address on GitHub."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.providers import models
from tests.providers.loopback import answer, chunk, saying
from toolkeel import Agent
from toolkeel.agent.reply_assembly import assemble
from toolkeel.errors import ModelError
from toolkeel.messages import AssistantMessage, UserMessage
from toolkeel.providers import anthropic, bedrock, gemini, openai_chat, openai_responses
from toolkeel.providers.wire.plain_json import arguments_object
from toolkeel.providers.wire.sse import SSEParser

Json = dict[str, Any]
WIRES: Json = {
    "chat": openai_chat,
    "Messages": anthropic,
    "Gemini": gemini,
    "Bedrock": bedrock,
    "Responses": openai_responses,
}


def piece(id: str | None, name: str | None, text: str | None, **more: Any) -> Json:
    return {"index": 0, "id": id, "function": {"name": name, "arguments": text}, **more}


def whole(finish: str | None, **message: Any) -> Json:
    return {"choices": [{"index": 0, "message": message, "finish_reason": finish}]}


def block(index: int, kind: str, **fields: Any) -> Json:
    content = {"type": kind, **fields}
    return {"type": "content_block_start", "index": index, "content_block": content}


def add(index: int, kind: str, **fields: Any) -> Json:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def end(reason: str, **usage: int) -> list[Json]:
    last = {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}
    return [last, {"type": "message_stop"}]


def part(*parts: Json, finish: str | None = None) -> Json:
    content = {"role": "model", **({"parts": [*parts]} if parts else {})}
    return {"candidates": [{"content": content, **({"finishReason": finish} if finish else {})}]}


def event(kind: str, **fields: Any) -> Json:
    return {"type": f"response.{kind}", **fields}


START = {"type": "message_start", "message": {"model": "m", "usage": {"output_tokens": 1}}}
TOOL = {"id": "c", "name": "f", "input": {}}
GEMINI_CALL = {"functionCall": {"name": "f", "args": {"a": "b"}}}
CALL = {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"a": "b"}'}
ARGUMENTS = '{"a": "b"}'
DONE = event("completed", response={"status": "completed"})
SO_FAR = ["The cat", "The cat sat", "The cat sat down."]

TEXTS: dict[str, tuple[str, list[Json], str]] = {
    "posit-dev/chatlas/issues/435": (  # a delta that repeats all before it is the model's own
        "chat",
        [*(chunk(content=one) for one in ("\n", "\n", "Hi")), chunk("stop")],
        "\n\nHi",
    ),
    "QwenLM/qwen-code/pull/3896": (  # each delta has the text so far
        "chat",
        [*(chunk(content=one, reasoning_content="") for one in SO_FAR), chunk("stop")],
        SO_FAR[-1],
    ),
    "swuecho/chat/issues/687": (
        "chat",
        [*(chunk(content=one) for one in SO_FAR), chunk("stop", content=SO_FAR[-1])],
        SO_FAR[-1],
    ),
    "tashfeenahmed/freellmapi/pull/1007": (
        "Gemini",
        [*(part({"text": one}) for one in SO_FAR), part({"text": SO_FAR[-1]}, finish="STOP")],
        SO_FAR[-1],
    ),
    "abundantbeing/hermes-browser-extension/issues/11": (  # the last chunk is the message
        "chat",
        [*(chunk(content=one) for one in ("The cat", " sat", " down.")),
         whole("stop", role="assistant", content=SO_FAR[-1])],
        SO_FAR[-1],
    ),
    "agentscope-ai/agentscope/issues/1003": (  # a delta that is null
        "chat",
        [{"choices": [{"index": 0, "delta": None}]}, chunk("stop", content="Hi")],
        "Hi",
    ),
    "DataDog/dd-trace-py/pull/14046": (
        "chat",
        [chunk(content="Hi"), {"choices": [{"delta": None, "finish_reason": "stop"}]}],
        "Hi",
    ),
    "anthropics/anthropic-sdk-typescript/issues/792": (  # thinking that is empty
        "Messages",
        [START, block(0, "thinking", thinking="", signature=""), block(1, "text", text=""),
         add(1, "text_delta", text="Hi"), *end("end_turn")],
        "Hi",
    ),
    "maximhq/bifrost/pull/3188": (  # only the deltas have the text
        "Responses",
        [event("output_text.delta", output_index=0, item_id="m", delta="Hi"),
         event("output_text.done", output_index=0, item_id="m", text=""),
         event("output_item.done", output_index=0, item={"type": "message", "id": "m", "content": []}),
         event("completed", response={"status": "completed", "output": None})],
        "Hi",
    ),
}  # fmt: skip


@pytest.mark.parametrize("report", TEXTS)
def test_the_text_of_a_reported_stream_is_read(report: str) -> None:
    wire, events, text = TEXTS[report]
    reply = assemble(WIRES[wire].decode_stream(events))
    assert (reply.text, reply.finish_reason, reply.tool_calls) == (text, "stop", ())


CALLS: dict[str, tuple[str, list[Json], int]] = {
    "Alishahryar1/free-claude-code/pull/588": (  # pieces without a function
        "chat",
        [chunk(tool_calls=[piece("c", "f", ARGUMENTS)]), chunk(tool_calls=[{"index": 0}]),
         chunk(tool_calls=[{"index": 0, "id": "c", "function": None}]), chunk("tool_calls")],
        1,
    ),
    "vercel/ai/issues/3953": (
        "chat",
        [chunk(tool_calls=[piece("c", "f", ARGUMENTS)]),
         chunk("tool_calls", tool_calls=[{"index": 0, "function": {"arguments": ""}}])],
        1,
    ),
    "oracle/langchain-oracle/pull/108": (  # two calls at one index
        "chat",
        [chunk(tool_calls=[piece("c", "f", ARGUMENTS)]),
         chunk(tool_calls=[piece("d", "f", '{"a": ')]), chunk(tool_calls=[piece(None, None, '"b"}')]),
         chunk("tool_calls")],
        2,
    ),
    "langchain4j/langchain4j-community/issues/392": (  # name and arguments beside the id
        "chat",
        [chunk(tool_calls=[{"type": "FUNCTION", "id": id, "name": "f", "arguments": ARGUMENTS}])
         for id in "cd"] + [chunk("tool_calls")],
        2,
    ),
    "QuantumNous/new-api/issues/6278": (  # the call again at another index
        "chat",
        [chunk(tool_calls=[piece("c", "f", "")]), chunk(tool_calls=[piece(None, None, ARGUMENTS)]),
         chunk(tool_calls=[piece("c", "f", ARGUMENTS, index=1)]), chunk("tool_calls")],
        1,
    ),
    "agno-agi/agno/issues/2336": (  # every call twice
        "chat", [whole("tool_calls", tool_calls=[piece("c", "f", ARGUMENTS)] * 2)], 1),
    "can1357/oh-my-pi/issues/2055": (  # one id for two calls
        "chat",
        [whole("tool_calls", tool_calls=[piece("functions.f:1", "f", text) for text in
                                         (ARGUMENTS, '{"a":"b","c":null}')])],
        2,
    ),
    "envoyproxy/ai-gateway/pull/2399": (  # the end comes behind the call, with an empty text
        "Gemini", [part(GEMINI_CALL), part({"text": ""}, finish="STOP")], 1),
    "pydantic/pydantic-ai/pull/2631": ("Gemini", [part(GEMINI_CALL), part(finish="STOP")], 1),
    "BerriAI/litellm/pull/31634": (  # each chunk says that the reply has ended
        "Gemini", [part(GEMINI_CALL, finish="STOP"), part(GEMINI_CALL, finish="STOP")], 2),
    "BerriAI/litellm/issues/36262": (  # thinking, text, call
        "Messages",
        [START, block(0, "thinking", thinking="hm", signature="c2ln"), block(1, "text", text="I read."),
         block(2, "tool_use", **TOOL), add(2, "input_json_delta", partial_json=ARGUMENTS), *end("tool_use")],
        1,
    ),
    "NousResearch/hermes-agent/pull/94961": (  # the call ends under another item's id
        "Responses",
        [event("output_item.added", output_index=0, item={**CALL, "id": "fc_1", "arguments": ""}),
         event("output_item.done", output_index=0, item={**CALL, "id": "fc_2"}),
         event("completed", response={"status": "completed", "output": [{**CALL, "id": "fc_2"}]})],
        1,
    ),
    "earendil-works/pi/issues/9057": (  # calls without an item's id
        "Responses",
        [event("output_item.done", output_index=n, item={**CALL, "call_id": id})
         for n, id in enumerate("cd")] + [DONE],
        2,
    ),
    "langchain-ai/langchainjs/pull/9868": (  # pieces without the call's id, behind reasoning
        "Responses",
        [event("output_item.added", output_index=0, item={"type": "reasoning", "summary": []}),
         event("output_item.added", output_index=1, item={**CALL, "arguments": ""}),
         *(event("function_call_arguments.delta", output_index=1, delta=one) for one in ARGUMENTS),
         DONE],
        1,
    ),
    "NousResearch/hermes-agent/pull/108209": (  # text has no start, and no block of its own
        "Bedrock",
        [{"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "I "}}},
         {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "read."}}},
         {"contentBlockStart": {"contentBlockIndex": 1, "start": {"toolUse": {"toolUseId": "c", "name": "f"}}}},
         {"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"toolUse": {"input": ARGUMENTS}}}},
         {"contentBlockStop": {"contentBlockIndex": 1}}, {"messageStop": {"stopReason": "tool_use"}}],
        1,
    ),
}  # fmt: skip


@pytest.mark.parametrize("report", CALLS)
def test_the_calls_of_a_reported_reply_are_read(report: str) -> None:
    wire, events, count = CALLS[report]
    reply: AssistantMessage = (
        WIRES[wire].decode(events[0])
        if "message" in str(events[0].get("choices"))
        else assemble(WIRES[wire].decode_stream(events))
    )
    read = [(call.name, arguments_object(call.arguments)["a"]) for call in reply.tool_calls]
    assert read == [("f", "b")] * count
    assert len({call.id for call in reply.tool_calls}) == count
    assert all(call.complete for call in reply.tool_calls)


EMPTY: dict[str, tuple[str, list[Json]]] = {
    "pydantic/pydantic-ai/issues/822": ("chat", [chunk("stop", tool_calls=[piece("c", "f", None)])]),
    "microsoft/autogen/pull/5667": ("chat", [chunk("stop", tool_calls=[piece("c", "f", "")])]),
    "cheshire-cat-ai/core/pull/1140": (
        "chat", [whole("tool_calls", tool_calls=[piece("c", "f", "")])]),
    "BerriAI/litellm/issues/25561": (
        "Messages",
        [START, block(1, "tool_use", **TOOL), {"type": "content_block_stop", "index": 1}, *end("tool_use")]),
}  # fmt: skip


@pytest.mark.parametrize("report", EMPTY)
def test_a_reported_call_without_arguments_is_a_call(report: str) -> None:
    wire, events = EMPTY[report]
    [call] = assemble(WIRES[wire].decode_stream(events)).tool_calls
    assert (call.name, arguments_object(call.arguments), call.complete) == ("f", {}, True)


@pytest.mark.parametrize(
    ("report", "wire", "events", "tokens"),
    [
        ("tensorzero/tensorzero/issues/5481", "Messages", [START, *end("end_turn", output_tokens=15)], 15),
        ("open-webui/open-webui/issues/29064", "chat",
         [{**chunk(content="a"), "usage": {"completion_tokens": n}} for n in (1, 2, 3)] + [chunk("stop")], 3),
        ("lemma-work/lemma-platform/pull/564", "chat",
         [{**chunk(content="a"), "usage": {"prompt_tokens": 9, "completion_tokens": 2}},
          {**chunk("stop"), "usage": {"prompt_tokens": 9, "completion_tokens": 3}}], 3),
        ("langchain-ai/langchainjs/pull/8694", "Gemini",
         [{**part({"text": "a"}), "usageMetadata": {"candidatesTokenCount": n}} for n in (1, 4)]
         + [part(finish="STOP")], 4),
    ],
)  # fmt: skip
def test_reported_usage_is_counted_once(
    report: str, wire: str, events: list[Json], tokens: int
) -> None:
    assert assemble(WIRES[wire].decode_stream(events)).usage.output_tokens == tokens, report


@pytest.mark.parametrize("native", ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"])
def test_a_malformed_call_behind_a_router_is_the_models_mistake(native: str) -> None:
    """BerriAI/litellm/issues/23273: ``error`` with the provider's own word beside it."""
    decoder = openai_chat.StreamDecoder()
    answer = whole("error", role="assistant", content=None, refusal=None, reasoning=None)
    answer["choices"][0]["native_finish_reason"] = native
    decoder.read_response(answer)
    assert decoder.mistake() == native


@pytest.mark.parametrize("kind", ["server_error", "service_unavailable_error"])
def test_an_error_event_without_a_code_is_sent_again(kind: str) -> None:
    """vercel/ai/issues/21360."""
    fields = {"type": kind, "code": None, "message": "Please retry.", "param": None}
    with pytest.raises(ModelError, match=r"Please retry\.") as raised:
        openai_responses.StreamDecoder().feed({"type": "error", "error": fields})
    assert raised.value.retryable


def test_signed_thinking_in_pieces_goes_back_as_it_was_signed() -> None:
    """BerriAI/litellm/issues/29428 and 8964, agentjido/req_llm/issues/626."""
    pieces = [{"type": "thinking", "thinking": one, "signature": ""} for one in ("One. ", "Two.")]
    pieces.append({"type": "thinking", "thinking": "", "signature": "c2ln"})
    chunks = [chunk(thinking_blocks=[one], reasoning_content=one["thinking"]) for one in pieces]
    call = piece("c", "f", "{}")
    reply = assemble(
        openai_chat.decode_stream([*chunks, chunk("tool_calls", tool_calls=[call], content="")])
    )
    sent: Any = openai_chat.encode_messages([UserMessage("go"), reply])[1]
    signed = {"type": "thinking", "thinking": "One. Two.", "signature": "c2ln"}
    assert sent["thinking_blocks"] == [signed]
    events = [START, block(0, "thinking", thinking=""), add(0, "thinking_delta", thinking="One. ")]
    events += [add(0, "thinking_delta", thinking="Two."), add(0, "signature_delta", signature="c2ln")]  # fmt: skip
    again = assemble(
        anthropic.decode_stream([*events, block(1, "tool_use", **TOOL), *end("tool_use")])
    )
    back: Any = anthropic.encode_messages([UserMessage("go"), again], model="m")[1]
    assert back["content"][0] == signed


def test_thinking_between_texts_goes_back_in_its_place() -> None:
    """BerriAI/litellm/issues/13834."""
    blocks: list[Json] = [
        {"type": "thinking", "thinking": "a", "signature": "c2ln"},
        {"type": "text", "text": "First."},
        {"type": "thinking", "thinking": "b", "signature": "c2lo"},
        {"type": "text", "text": "Second."},
    ]
    answer = {"type": "message", "model": "m", "content": blocks, "stop_reason": "end_turn"}
    reply = anthropic.decode(answer)
    sent: Any = anthropic.encode_messages([UserMessage("go"), reply, UserMessage("?")], model="m")
    assert sent[1]["content"] == blocks


@pytest.mark.parametrize(
    ("report", "line_end"),
    [
        ("ollama/ollama-js/issues/255", "\n"),
        ("xberg-io/liter-llm/issues/152", "\r\n"),
        ("praxis-proxy/praxis/pull/739", "\r"),
        ("open-metadata/OpenMetadata/issues/29531", "\n"),
    ],
)
def test_characters_and_lines_cut_anywhere_are_joined(report: str, line_end: str) -> None:
    text = "ь 猫 ✅ 🌍\u0085."
    data = json.dumps(chunk("stop", content=text), ensure_ascii=False)
    body = f"data:{data}{line_end}{line_end}data:[DONE]{line_end}{line_end}".encode()
    parser = SSEParser()
    found = [one for n in range(len(body)) for one in parser.feed(body[n : n + 1])]
    reply = assemble(openai_chat.decode_stream([*found, *parser.close()]))
    assert (reply.text, reply.finish_reason) == (text, "stop"), report


ERRORS: dict[str, bytes] = {
    "xyOz-dev/Saturn/pull/43": b'{"error": {"message": "quota exceeded", "code": 429}}',
    "SillyTavern/SillyTavern/pull/5945": b'{"error": {"code": "quota exceeded"}}',
    "lemonade-sdk/lemonade/issues/2826":
        b'{"error":{"code":400,"message":"quota exceeded","type":"exceed_context_size_error"}}',
    "apache/rocketmq-dashboard/issues/2178": b'data: {"error": {"message": "quota exceeded"}}\n\ndata: [DONE]\n\n',
    "coddy-project/coddy-agent/pull/106":
        b': ping\n\nerror: {"code":400,"message":"quota exceeded","type":"invalid_request_error"}\n\ndata: [DONE]\n\n',
    "lucasjinreal/Crane/pull/121": b"data: error: quota exceeded\n\n",
    "NousResearch/hermes-agent/pull/80649": b"<html><title>quota exceeded</title></html>",
}  # fmt: skip


@pytest.mark.parametrize("report", ERRORS)
@pytest.mark.parametrize("stream", [True, False])
def test_an_error_within_a_200_is_raised_with_its_words(report: str, stream: bool) -> None:
    with saying(answer(ERRORS[report])) as server:
        model = models.chat(server, stream=stream, max_retries=0)
        with pytest.raises(ModelError, match="quota exceeded"):
            Agent(model).run_sync("go")


PIECES = [json.dumps(one) for one in (chunk(content="H"), chunk(content="i"), chunk("stop"))]
BODIES: dict[str, bytes | str] = {
    "hackclub/ai/issues/17": "".join(f"{one}\n\n\n" for one in PIECES),
    "openai/openai-python/pull/2721":
        "retry: 3000\n\n" + "".join(f"data: {one}\n\n" for one in PIECES) + "data: [DONE]\n\n",
    "dataelement/Clawith/pull/106": "".join(f"data:{one}\n\n" for one in PIECES),
    "janhq/jan/pull/8392":
        'event: hermes.tool.progress\ndata: {"tool": "f", "status": "running"}\n\n'
        + "".join(f"data: {one}\n\n" for one in PIECES),
}  # fmt: skip


@pytest.mark.parametrize("report", BODIES)
def test_a_reported_body_of_events_is_read(report: str) -> None:
    """Each comes as ``application/json``, as in openclaw/openclaw/pull/97474."""
    with saying(answer(BODIES[report])) as server:
        assert Agent(models.chat(server)).run_sync("go").output == "Hi"


def test_a_refusal_within_an_event_is_raised_with_its_words() -> None:
    """openclaw/openclaw/pull/76444."""
    body = 'data: {"error": {"code": 400, "message": "quota exceeded", "status": "X"}}\r\n\r\n'
    with (
        saying(answer(body, status=400)) as server,
        pytest.raises(ModelError, match=r"m: quota exceeded$"),
    ):
        Agent(models.gemini(server)).run_sync("go")


@pytest.mark.parametrize("stream", [True, False])
def test_an_answer_without_a_body_is_requested_again(stream: bool) -> None:
    """decolua/9router/pull/3051: a status of success, and nothing else."""
    with saying(answer(b""), answer(json.dumps(whole("stop", content="Hi")))) as server:
        assert Agent(models.chat(server, stream=stream)).run_sync("go").output == "Hi"
    assert len(server.requests) == 2
