"""A run over an alias: a server answers under another name than it is asked by, and gets back what
it signed, byte for byte, in every request of the run, although it is saved in the middle."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import anthropic as anthropic_sdk
import openai
import pytest

from tests.providers.bedrock.test_model import streamed
from tests.providers.loopback import Json, Loopback, answer, events, saying
from tests.providers.models import anthropic, bedrock, chat, gemini, responses
from toolkeel import Agent, tool
from toolkeel.agent.result import RunResult
from toolkeel.messages import AssistantMessage
from toolkeel.providers.anthropic.model import AnthropicMessages
from toolkeel.providers.bedrock.model import BedrockConverse
from toolkeel.providers.openai_chat.model import OpenAIChat
from toolkeel.providers.openai_responses.model import OpenAIResponses
from toolkeel.runs import RunState
from toolkeel.sessions import Sessions

TURNS = 20
PAUSE = 10
"""At which turn a call waits for a person."""
REAL = "real-model-2026"
PROFILE = "arn:aws:bedrock:us-east-1:1:application-inference-profile/abc"
"""Bedrock's alias, which has no model's name in it; its answers have none either."""


@tool
def step(number: int) -> str:
    """Take a step."""
    return f"step {number}"


@tool(approval=True)
def leap(number: int) -> str:
    """Take a leap."""
    return f"leap {number}"


def name_of(turn: int) -> str:
    return "leap" if turn == PAUSE else "step"


def signature(turn: int) -> str:
    """What the server signs in a turn: base64 that is longer than any name."""
    return f"c2lnbmVk{turn:04d}" + "QUJD" * 20


SIGNED: dict[Callable[..., Any], Callable[[int], Json]] = {
    anthropic: lambda turn: {
        "type": "thinking",
        "thinking": f"turn {turn}: 東京",
        "signature": signature(turn),
    },
    responses: lambda turn: {
        "type": "reasoning",
        "id": f"rs_{turn}",
        "summary": [{"type": "summary_text", "text": f"turn {turn}"}],
        "encrypted_content": signature(turn),
    },
    gemini: lambda turn: {
        **(
            {"functionCall": {"name": name_of(turn), "args": {"number": turn}}}
            if turn < TURNS
            else {"text": "done"}
        ),
        "thoughtSignature": signature(turn),
    },
    chat: lambda turn: {
        "type": "reasoning.encrypted",
        "id": f"r{turn}",
        "format": "x-v1",
        "index": 0,
        "data": signature(turn),
    },
    bedrock: lambda turn: {
        "reasoningContent": {
            "reasoningText": {"text": f"turn {turn}", "signature": signature(turn)}
        }
    },
}
"""What each server signs in a turn, as it says it."""


def anthropic_says(turn: int, stream: bool) -> bytes:
    thought = SIGNED[anthropic](turn)
    use: Json = {"type": "tool_use", "id": f"toolu_{turn}", "name": name_of(turn)}
    last = {**use, "input": {"number": turn}} if turn < TURNS else {"type": "text", "text": "done"}
    reason = "tool_use" if turn < TURNS else "end_turn"
    whole = {"type": "message", "model": REAL, "content": [thought, last], "stop_reason": reason}
    if not stream:
        return answer(json.dumps(whole))

    def told(index: int, **delta: Any) -> Json:
        return {"type": "content_block_delta", "index": index, "delta": delta}

    begun = [
        {**thought, "thinking": "", "signature": ""},
        {**last, "input": {}} if turn < TURNS else last,
    ]
    starts = [
        {"type": "content_block_start", "index": index, "content_block": block}
        for index, block in enumerate(begun)
    ]
    said = thought["thinking"]
    return events(
        {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}},
        starts[0],
        *(told(0, type="thinking_delta", thinking=part) for part in (said[:5], said[5:])),
        told(0, type="signature_delta", signature=thought["signature"]),
        {"type": "content_block_stop", "index": 0},
        starts[1],
        *(
            told(1, type="input_json_delta", partial_json=part)
            for part in ('{"number"', f": {turn}}}")
            if turn < TURNS
        ),
        {"type": "content_block_stop", "index": 1},
        {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
        done=False,
    )


def responses_say(turn: int, stream: bool) -> bytes:
    call = {"type": "function_call", "id": f"fc_{turn}", "call_id": f"call_{turn}"}
    call |= {"name": name_of(turn), "arguments": json.dumps({"number": turn})}
    text = {"type": "output_text", "text": "done", "annotations": []}
    said = {"type": "message", "id": f"msg_{turn}", "role": "assistant", "content": [text]}
    output = [SIGNED[responses](turn), call if turn < TURNS else said]
    whole = {"object": "response", "status": "completed", "model": REAL, "output": output}
    if not stream:
        return answer(json.dumps(whole))
    steps = [
        {"type": f"response.output_item.{what}", "output_index": index, "item": item}
        for index, item in enumerate(output)
        for what in ("added", "done")
    ]
    return events(*steps, {"type": "response.completed", "response": whole}, done=False)


def gemini_says(turn: int, stream: bool) -> bytes:
    candidate = {"content": {"role": "model", "parts": [SIGNED[gemini](turn)]}}
    said = {"modelVersion": REAL, "candidates": [{**candidate, "finishReason": "STOP"}]}
    return events(said, done=False) if stream else answer(json.dumps(said))


def chat_says(turn: int, stream: bool) -> bytes:
    function = {"name": name_of(turn), "arguments": json.dumps({"number": turn})}
    call = {"index": 0, "id": f"call_{turn}", "type": "function", "function": function}
    message: Json = {"role": "assistant", "content": None if turn < TURNS else "done"}
    message |= {"reasoning_details": [SIGNED[chat](turn)]}
    message |= {"tool_calls": [call]} if turn < TURNS else {}
    end = {"finish_reason": "tool_calls" if turn < TURNS else "stop"}
    if not stream:
        return answer(json.dumps({"model": REAL, "choices": [{"message": message, **end}]}))
    return events(
        {"model": REAL, "choices": [{"delta": message, "finish_reason": None}]},
        {"model": REAL, "choices": [{"delta": {}, **end}]},
    )


def bedrock_says(turn: int, stream: bool) -> bytes:
    thought = SIGNED[bedrock](turn)
    use: Json = {"toolUseId": f"tooluse_{turn}", "name": name_of(turn)}
    last: Json = (
        {"toolUse": {**use, "input": {"number": turn}}} if turn < TURNS else {"text": "done"}
    )
    reason = "tool_use" if turn < TURNS else "end_turn"
    if not stream:
        message = {"role": "assistant", "content": [thought, last]}
        return answer(json.dumps({"output": {"message": message}, "stopReason": reason}))

    def told(index: int, delta: Json) -> Json:
        return {"contentBlockDelta": {"contentBlockIndex": index, "delta": delta}}

    body = thought["reasoningContent"]["reasoningText"]
    end = (
        {"text": "done"} if turn == TURNS else {"toolUse": {"input": json.dumps({"number": turn})}}
    )
    start = {"contentBlockStart": {"contentBlockIndex": 1, "start": {"toolUse": use}}}
    return streamed(
        {"messageStart": {"role": "assistant"}},
        told(0, {"reasoningContent": {"text": body["text"]}}),
        told(0, {"reasoningContent": {"signature": body["signature"]}}),
        {"contentBlockStop": {"contentBlockIndex": 0}},
        *([start] if turn < TURNS else []),
        told(1, end),
        {"contentBlockStop": {"contentBlockIndex": 1}},
        {"messageStop": {"stopReason": reason}},
    )


def azure_client(server: Loopback) -> openai.AsyncAzureOpenAI:
    return openai.AsyncAzureOpenAI(
        api_key="k", api_version="2026-01-01", azure_endpoint=server.url, max_retries=0
    )


def azure_chat(server: Loopback, **options: Any) -> OpenAIChat:
    """A deployment on Azure, which is an alias by its nature."""
    return OpenAIChat("my-deployment", client=azure_client(server), **options)


def azure_responses(server: Loopback, **options: Any) -> OpenAIResponses:
    return OpenAIResponses("my-deployment", client=azure_client(server), **options)


def vertex(server: Loopback, **options: Any) -> AnthropicMessages:
    client = anthropic_sdk.AsyncAnthropicVertex(
        base_url=server.url, region="eu", project_id="p", access_token="t", max_retries=0
    )
    return AnthropicMessages("claude-latest", client=client, **options)


SIGNED |= {
    azure_chat: SIGNED[chat],
    azure_responses: SIGNED[responses],
    vertex: SIGNED[anthropic],
}
SAYS = {
    vertex: anthropic_says,
    azure_chat: chat_says,
    azure_responses: responses_say,
    chat: chat_says,
    responses: responses_say,
    anthropic: anthropic_says,
    gemini: gemini_says,
    bedrock: bedrock_says,
}


def parts(value: Any) -> Iterator[Any]:
    """Every object in JSON, in order."""
    if isinstance(value, dict):
        yield value
    for one in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        yield from parts(one)


async def saved(make: Callable[[], Agent], folder: Path) -> RunResult[str]:
    """The run, written down as JSON where it waits and gone on from by another agent."""
    waiting = await make().run("go")
    state = RunState.from_json(waiting.state.to_json())
    return await make().run(state, decisions=[waiting.pending[0].approve()])


async def in_session(make: Callable[[], Agent], folder: Path) -> RunResult[str]:
    """The run in a session, which is opened anew where it waits."""
    with closing(Sessions(folder / "sessions.db")) as sessions:
        waiting = await make().run("go", session=sessions["ada"])
    with closing(Sessions(folder / "sessions.db")) as sessions:
        decisions = [waiting.pending[0].approve()]
        return await make().run(None, session=sessions["ada"], decisions=decisions)


def agent_at(server: Loopback, make: Callable[..., Any], stream: bool) -> Agent:
    model = make(server, stream=stream)
    if make is bedrock:
        model = BedrockConverse(PROFILE, base_url=server.url, region="us-east-1", stream=stream)
    return Agent(model, [step, leap], max_turns=TURNS + 2)


@pytest.mark.usefixtures("aws")
@pytest.mark.parametrize(("way", "stream"), [(saved, True), (in_session, False)])
@pytest.mark.parametrize("make", SAYS)
def test_a_long_run_over_an_alias_sends_back_all_that_was_signed(
    make: Callable[..., Any], way: Callable[..., Any], stream: bool, tmp_path: Path
) -> None:
    with saying(*(SAYS[make](turn, stream) for turn in range(TURNS + 1))) as server:
        result = asyncio.run(way(lambda: agent_at(server, make, stream), tmp_path))
    assert result.output == "done"
    assert len(server.requests) == TURNS + 1
    thoughts = [SIGNED[make](turn) for turn in range(TURNS)]
    for turn, body in enumerate(server.requests):
        assert [one for one in parts(body) if one in thoughts] == thoughts[:turn]
    replies = [one for one in result.messages if isinstance(one, AssistantMessage)]
    assert {one.model for one in replies} == {PROFILE if make is bedrock else REAL}
