"""Shapes of replies that users of other libraries have reported as read wrong; each names its report."""

from __future__ import annotations

from typing import Any

import pytest

from toolkeel import tool
from toolkeel.agent.reply_assembly import assemble
from toolkeel.content import File, Image
from toolkeel.errors import ModelError
from toolkeel.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from toolkeel.providers import anthropic, bedrock, gemini, openai_chat, openai_responses
from toolkeel.providers.wire.plain_json import arguments_object

Json = dict[str, Any]


def chunk(finish: str | None = None, **delta: Any) -> Json:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def piece(id: str | None = None, name: str | None = None, text: str | None = None) -> Json:
    """A piece of the first call, with only what is given."""
    given = {"name": name, "arguments": text}
    function = {key: one for key, one in given.items() if one is not None}
    return {"index": 0, **({"id": id} if id is not None else {}), "function": function}


CALL = ("c", "read", {"path": "a"})

STREAMED_CALLS: dict[str, list[Json]] = {
    "Zoo-Code#695: arguments before the id": [
        chunk(tool_calls=[piece(text='{"path"')]),
        chunk(tool_calls=[piece("c", "read")]),
        chunk(tool_calls=[piece(text=': "a"}')]),
        chunk("tool_calls"),
    ],
    "Zoo-Code#218: id and name apart": [
        chunk(tool_calls=[piece("c")]),
        chunk(tool_calls=[piece(name="read")]),
        chunk(tool_calls=[piece(text='{"path": "a"}')]),
        chunk("tool_calls"),
    ],
    "req_llm#801: the brace comes with the name": [
        chunk(tool_calls=[piece("c", "read", "{")]),
        chunk(tool_calls=[piece(text='"path": "a"}')]),
        chunk("tool_calls"),
    ],
    "jcode#1326: each chunk says that the reply has ended": [
        chunk("tool_calls", tool_calls=[piece("c", "read", "")]),
        chunk("tool_calls", tool_calls=[piece(text='{"path"')]),
        chunk("tool_calls", tool_calls=[piece(text=': "a"}')]),
        chunk("tool_calls"),
    ],
    "aichat#1522: the id comes once": [
        chunk(tool_calls=[piece("c", "read", "")]),
        chunk(tool_calls=[piece(text='{"path": "a"}')]),
        chunk("tool_calls"),
    ],
    "pi#8387: an empty name goes on": [
        chunk(role="assistant", content=""),
        chunk(tool_calls=[piece("c", "read", '{"path": ')], content=""),
        chunk(tool_calls=[piece(name="", text='"a"}')], content=""),
        chunk("tool_calls", content=""),
    ],
    "vllm#40148: no content, and it says stop": [
        chunk(content=None, tool_calls=[piece("c", "read", '{"path": "a"}')]),
        chunk("stop", content=None),
    ],
    "langchain#29913: no choices first, usage last": [
        {"choices": [], "prompt_filter_results": []},
        chunk(tool_calls=[piece("c", "read", '{"path": "a"}')]),
        chunk("tool_calls"),
        {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4}},
    ],
}


@pytest.mark.parametrize("report", STREAMED_CALLS)
def test_a_streamed_call_is_read_as_it_was_meant(report: str) -> None:
    reply = assemble(openai_chat.decode_stream(STREAMED_CALLS[report]))
    [call] = reply.tool_calls
    assert (call.id, call.name, arguments_object(call.arguments), call.complete) == (*CALL, True)
    assert reply.finish_reason == "tool_calls"


EMPTY_ARGUMENTS: dict[str, Json] = {
    "aichat#1217: an empty text": {"name": "now", "arguments": ""},
    "agno#8999: nothing": {"name": "now"},
    "agno#10260: null": {"name": "now", "arguments": None},
    "vtcode#354: an object": {"name": "now", "arguments": {}},
}


@pytest.mark.parametrize("report", EMPTY_ARGUMENTS)
def test_a_call_without_arguments_has_none(report: str) -> None:
    call = {"id": "c", "type": "function", "function": EMPTY_ARGUMENTS[report]}
    message = {"role": "assistant", "content": "", "tool_calls": [call]}
    reply = openai_chat.decode({"choices": [{"message": message, "finish_reason": "stop"}]})
    [made] = reply.tool_calls
    assert (arguments_object(made.arguments), made.complete) == ({}, True)
    [sent] = openai_chat.encode_messages([reply])[:1]
    assert sent["tool_calls"][0]["function"]["arguments"] == "{}"  # type: ignore[index]


def test_a_stream_that_dies_behind_a_name_runs_nothing() -> None:
    """hermes-agent#80498, on both wires."""
    chat = assemble(openai_chat.decode_stream([chunk(tool_calls=[piece("c", "write", "")])]))
    events = [
        {"type": "message_start", "message": {"model": "m", "usage": {}}},
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "tool_use", "id": "c", "name": "write", "input": {}},
        },
    ]
    for reply in (chat, assemble(anthropic.decode_stream(events))):
        assert (reply.finish_reason, [one.complete for one in reply.tool_calls]) == (
            "incomplete",
            [False],
        )


THINKING: dict[str, tuple[list[Json], str, str]] = {
    "req_llm#742: a list in a list": (
        [
            chunk(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "Okay"}]}]),
            chunk("stop", content="Yes."),
        ],
        "Okay",
        "Yes.",
    ),
    "mistral client-python#252: an empty thought in the text": (
        [
            chunk(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]),
            chunk(content=[{"type": "text", "text": "Ye"}]),
            chunk(content=[{"type": "thinking", "thinking": []}]),
            chunk("stop", content=[{"type": "text", "text": "s."}]),
        ],
        "hm",
        "Yes.",
    ),
}


@pytest.mark.parametrize("report", THINKING)
def test_thinking_parts_are_reasoning(report: str) -> None:
    chunks, thought, text = THINKING[report]
    reply = assemble(openai_chat.decode_stream(chunks))
    assert ("".join(one.text for one in reply.reasoning), reply.text) == (thought, text)


def test_an_error_in_the_middle_of_a_stream_is_an_error() -> None:
    """gptel#1512, unsloth#10811 and agent-os#2118; OpenRouter's form on the chat wire."""
    overloaded = {"type": "overloaded_error", "message": "Overloaded", "details": None}
    begun = {"type": "message_start", "message": {"model": "m", "usage": {}}}
    with pytest.raises(ModelError, match="Overloaded"):
        assemble(anthropic.decode_stream([begun, {"type": "error", "error": overloaded}]))
    failed = {**chunk("error", content=""), "error": {"code": 502, "message": "Provider gone"}}
    with pytest.raises(ModelError, match="Provider gone"):
        assemble(openai_chat.decode_stream([chunk(content="I"), failed]))


# — Responses —


def response_of(*events: Json, output: list[Json], **more: Any) -> AssistantMessage:
    done = {"id": "r", "object": "response", "status": "completed", "model": "gpt-5"}
    end = {"type": "response.completed", "response": {**done, "output": output, **more}}
    return assemble(openai_responses.decode_stream([*events, end]))


FUNCTION = {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "read"}


def test_an_empty_piece_of_arguments_is_nothing() -> None:
    """litellm#39288 and #40207."""
    kind = "response.function_call_arguments.delta"
    place = {"output_index": 0, "item_id": "fc_1"}
    whole = {**FUNCTION, "arguments": '{"path": "a"}', "status": "completed"}
    reply = response_of(
        {"type": "response.output_item.added", "output_index": 0, "item": {**FUNCTION}},
        {"type": kind, **place, "delta": ""},
        {"type": kind, **place, "delta": '{"path": "a"}'},
        {"type": "response.output_item.done", "output_index": 0, "item": whole},
        output=[whole],
    )
    [call] = reply.tool_calls
    assert (call.id, call.name, arguments_object(call.arguments)) == CALL


def test_a_summary_that_only_its_last_form_has_is_reasoning() -> None:
    """langchain#37625."""
    item = {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "hm"}],
        "encrypted_content": "eA",
    }
    text = {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "Yes.", "annotations": []}],
    }
    reply = response_of(
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 1, "item": text},
        output=[item, text],
    )
    assert ("".join(one.text for one in reply.reasoning), reply.text) == ("hm", "Yes.")


def test_an_empty_summary_goes_back_with_its_reasoning() -> None:
    """Agora#141: input without "summary" is refused."""
    item = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "eA"}
    call = {**FUNCTION, "arguments": "{}"}
    reply = response_of(output=[item, call])
    sent = openai_responses.encode_messages([UserMessage("go"), reply], model="gpt-5")
    assert sent[1]["summary"] == []


def test_items_that_nobody_announced_are_read() -> None:
    """litellm#36375: content without an open item, one index for several items."""
    text = {
        "type": "message",
        "id": "msg_9",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "I read.", "annotations": []}],
    }
    whole = {**FUNCTION, "arguments": '{"path": "a"}'}
    reply = response_of(
        {"type": "response.output_text.delta", "output_index": 0, "item_id": "x", "delta": "I re"},
        {"type": "response.output_text.delta", "output_index": 0, "item_id": "y", "delta": "ad."},
        {"type": "response.output_item.done", "output_index": 0, "item": whole},
        output=[text, whole],
    )
    assert reply.text == "I read."
    assert [(one.id, arguments_object(one.arguments)) for one in reply.tool_calls] == [
        ("c", {"path": "a"})
    ]


def test_citations_of_a_stream_are_sources() -> None:
    """rig#2539; the list at the end has none."""
    mark = {
        "type": "url_citation",
        "url": "https://a.example",
        "title": "A",
        "start_index": 0,
        "end_index": 3,
    }
    bare = {"type": "output_text", "text": "Yes.", "annotations": []}
    text = {"type": "message", "id": "msg_1", "role": "assistant", "content": [bare]}
    place = {"output_index": 0, "item_id": "msg_1", "content_index": 0}
    reply = response_of(
        {"type": "response.output_item.added", "output_index": 0, "item": {**text, "content": []}},
        {"type": "response.output_text.delta", **place, "delta": "Yes."},
        {
            "type": "response.output_text.annotation.added",
            **place,
            "annotation_index": 0,
            "annotation": mark,
        },
        {"type": "response.output_item.done", "output_index": 0, "item": text},
        output=[text],
    )
    assert [(one.url, one.title, one.spans) for one in reply.sources] == [
        ("https://a.example", "A", ((0, 3),))
    ]


# — Anthropic —


def test_a_turn_that_only_calls_goes_back_without_an_empty_text() -> None:
    """claude-code#62396."""
    blocks = [
        {"type": "text", "text": ""},
        {"type": "tool_use", "id": "c", "name": "read", "input": {"path": "a"}},
    ]
    reply = anthropic.decode({"content": blocks, "stop_reason": "tool_use"})
    sent = anthropic.encode_messages([UserMessage("go"), reply])[1]
    assert sent["content"] == blocks[1:]


def test_blocks_of_the_servers_tools_go_back_in_their_order() -> None:
    """oh-my-pi#6495, inspect_ai#4603: a search that waits stays, and its container is named."""
    blocks: list[Json] = [
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"type": "server_tool_use", "id": "s_1", "name": "web_search", "input": {"query": "q"}},
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"type": "text", "text": "I read."},
        {"type": "tool_use", "id": "c", "name": "read", "input": {"path": "a"}},
    ]
    answer = {"model": "claude-opus-5", "stop_reason": "tool_use", "container": {"id": "k"}}
    reply = anthropic.decode({**answer, "content": blocks})
    sent = anthropic.encode_messages([UserMessage("go"), reply], model="claude-opus-5")
    assert sent[1]["content"] == blocks
    assert reply.provider_options["anthropic"]["container"] == "k"  # type: ignore[index]


# — Gemini —


def candidate(*parts: Json, finish: str = "STOP", **content: Any) -> Json:
    made = {"role": "model", **({"parts": [*parts]} if parts else {}), **content}
    return {"candidates": [{"content": made, "finishReason": finish}]}


def test_empty_parts_before_a_call_are_nothing() -> None:
    """LlamaIndexTS#1993 and mirascope#985."""
    call = {"functionCall": {"name": "read", "args": {"path": "a"}}}
    reply = gemini.decode(candidate({"text": ""}, {}, {"text": "", "thought": True}, call))
    assert (reply.text, reply.reasoning) == ("", ())
    assert [(one.name, arguments_object(one.arguments)) for one in reply.tool_calls] == [
        ("read", {"path": "a"})
    ]


def functions_of(messages: list[Message], model: str) -> tuple[list[Json], list[Json]]:
    """The parts of the message behind the calls: responses of functions, and others."""
    last = gemini.encode_messages(messages, model=model)[-1]
    parts: Any = last["parts"]
    responses = [part for part in parts if "functionResponse" in part]
    return responses, [part for part in parts if "functionResponse" not in part]


@pytest.mark.parametrize("model", ["gemini-2.5-pro", "gemini-3-pro"])
def test_parallel_calls_have_one_response_each_in_one_message(model: str) -> None:
    """eino-ext#571, crush#878 and gemini-cli#16135: six calls of one function, two with pictures."""
    calls = tuple(ToolCall(f"c{n}", "read", {"n": n}) for n in range(6))
    image = Image(b"\x89PNG\r\n\x1a\n", "image/png")
    results = [ToolMessage((image,) if n in (1, 4) else str(n), f"c{n}") for n in range(6)]
    messages = [UserMessage("go"), AssistantMessage(tool_calls=calls), *results]
    responses, others = functions_of(messages, model)
    assert len(responses) == 6
    assert any(others) == (model == "gemini-2.5-pro")  # behind all responses, or inside them


def test_a_call_that_nobody_answered_has_a_response() -> None:
    """vscode#299295, MaiBot#1617."""
    calls = (ToolCall("a", "read", {}), ToolCall("b", "read", {}))
    messages = [UserMessage("go"), AssistantMessage(tool_calls=calls), ToolMessage("1", "a")]
    assert len(functions_of(messages, "gemini-3-pro")[0]) == 2


# — Bedrock —


@pytest.mark.parametrize("text", ["", " ", "\n\t"])
def test_blank_text_never_goes_to_bedrock(text: str) -> None:
    """hermes-agent#66167, pi#4975, llama_index#18914: white space is refused like nothing."""
    reply = AssistantMessage(text, tool_calls=(ToolCall("c", "read", {}),))
    messages = [UserMessage(text), reply, ToolMessage(text, "c"), AssistantMessage(text)]
    for message in bedrock.encode_messages(messages):
        blocks: Any = message["content"]
        assert blocks
        for block in blocks:
            inner = block.get("toolResult", {}).get("content", [block])
            assert all(one["text"].strip() for one in inner if "text" in one)


def test_json_in_a_result_reaches_nova_as_text() -> None:
    """strands#1095: Nova invents answers to JSON blocks."""
    messages = [
        UserMessage("go"),
        AssistantMessage(tool_calls=(ToolCall("c", "read", {}),)),
        ToolMessage((File(b'{"a": 1}', "a.json", "application/json"),), "c"),
    ]
    sent: Any = bedrock.encode_messages(messages, model="amazon.nova-pro-v1:0")[-1]
    assert "json" not in str(sent["content"][0]["toolResult"]["content"][0].keys())


# — what a stranger tried —


def test_the_message_so_far_beside_an_empty_delta_is_not_read_again() -> None:
    whole = {"role": "assistant", "content": "Hello you"}
    last = {"choices": [{"index": 0, "delta": {}, "message": whole, "finish_reason": "stop"}]}
    assert (
        assemble(openai_chat.decode_stream([chunk(content="Hello you"), last])).text == "Hello you"
    )
    assert assemble(openai_chat.decode_stream([last])).text == "Hello you"


@pytest.mark.parametrize("pieces", [["{}", '{"n": 2}'], ["{}"], ["", "{}"]])
def test_an_empty_object_before_arguments_is_a_placeholder(pieces: list[str]) -> None:
    start = {"type": "tool_use", "id": "c", "name": "f", "input": {}}
    delta = "content_block_delta"
    events = [
        {"type": "message_start", "message": {"model": "m", "usage": {}}},
        {"type": "content_block_start", "index": 0, "content_block": start},
        *(
            {"type": delta, "index": 0, "delta": {"type": "input_json_delta", "partial_json": text}}
            for text in pieces
        ),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
        {"type": "message_stop"},
    ]
    stream = [
        {"messageStart": {"role": "assistant"}},
        {
            "contentBlockStart": {
                "contentBlockIndex": 0,
                "start": {"toolUse": {"toolUseId": "c", "name": "f"}},
            }
        },
        *(
            {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"toolUse": {"input": text}}}}
            for text in pieces
        ),
        {"contentBlockStop": {"contentBlockIndex": 0}},
        {"messageStop": {"stopReason": "tool_use"}},
    ]
    expected = {"n": 2} if len(pieces[-1]) > 2 else {}
    for reply in (
        assemble(anthropic.decode_stream(events)),
        assemble(bedrock.decode_stream(stream)),
    ):
        [call] = reply.tool_calls
        assert (arguments_object(call.arguments), call.complete) == (expected, True)


@pytest.mark.parametrize("reason", ["max_tokens", "end_turn"])
def test_unsigned_thinking_never_goes_to_claude(reason: str) -> None:
    blocks = [
        {"type": "thinking", "thinking": "T", "signature": ""},
        {"type": "text", "text": "I think."},
    ]
    reply = anthropic.decode({"model": "m", "content": blocks, "stop_reason": reason})
    for model in ("claude-sonnet-4-0", "m"):
        sent = anthropic.encode_messages([UserMessage("go"), reply, UserMessage("?")], model=model)
        kinds = [block["type"] for block in sent[1]["content"]]  # type: ignore[attr-defined]
        assert ("thinking" in kinds) == (model == "m" and reason == "end_turn")


@pytest.mark.parametrize("name", ["read<|channel|>commentary", "functions.read:0", "read:3"])
def test_what_a_server_leaves_of_a_models_own_format_is_no_part_of_a_name(name: str) -> None:
    @tool
    def read(path: str) -> str:
        """Read a file."""
        return path

    entry = {"id": "c", "type": "function", "function": {"name": name, "arguments": "{}"}}
    message = {"role": "assistant", "content": None, "tool_calls": [entry]}
    answer = {"choices": [{"message": message, "finish_reason": "tool_calls"}]}
    assert openai_chat.decode(answer, tools=[read]).tool_calls[0].name == "read"
    assert openai_chat.decode(answer).tool_calls[0].name == name


def test_a_call_that_bedrock_did_not_accept_is_the_models_mistake() -> None:
    decoder = bedrock.StreamDecoder()
    decoder.feed({"messageStop": {"stopReason": "malformed_tool_use"}})
    assert decoder.mistake() == "malformed_tool_use"
