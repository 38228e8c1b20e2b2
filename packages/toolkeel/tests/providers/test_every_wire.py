"""What every model does alike, through the official SDKs against servers on loopback."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable, Sequence
from typing import Any, get_args

import pytest

from tests.providers.gemini import test_public as test_gemini
from tests.providers.judge import check_body
from tests.providers.loopback import Json, answer, saying
from tests.providers.models import (
    MODELS,
    anthropic,
    bedrock,
    chat,
    gemini,
    responses,
)
from tests.providers.openai_responses import test_public as test_openai_responses
from tests.providers.vendors import check_anthropic, check_bedrock
from toolkeel import Agent, ToolError, tool
from toolkeel.content import Image, Text
from toolkeel.define.dialect.definition import definition
from toolkeel.define.names import wire_name
from toolkeel.errors import ModelError
from toolkeel.messages import (
    AssistantMessage,
    Message,
    Origin,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from toolkeel.model_interface import ModelRequest
from toolkeel.providers import bedrock as bedrock_wire

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
SEEN = base64.b64encode(PNG).decode()
BEGUN = SEEN[:24]  # beyond it, alphabets of base64 differ
TRANSCRIPT: list[Message] = [
    UserMessage((Text("Which is it?"), Image(PNG))),
    AssistantMessage(tool_calls=(ToolCall("c1", "look"),)),
    ToolMessage((Image(PNG),), "c1", "look"),
    UserMessage("Well?"),
]


def sent(make: Callable[..., Any], messages: Sequence[Message] = TRANSCRIPT, **options: Any) -> str:
    """The body of the request with these messages."""

    async def ask(model: Any) -> None:
        with pytest.raises(ModelError):
            async for _ in model.stream(ModelRequest(messages)):
                pass

    with saying(answer("{}", status=400)) as server:
        asyncio.run(ask(make(server, **options)))
    return json.dumps(server.requests[0], ensure_ascii=False)


@pytest.mark.usefixtures("aws")
@pytest.mark.parametrize("make", MODELS)
def test_pictures_are_shown_or_told_as_the_options_say(make: Callable[..., Any]) -> None:
    assert sent(make).count(BEGUN) == 2
    blind = sent(make, media=False)
    assert BEGUN not in blind
    assert blind.count("[image/png, 70 bytes, not shown: this model takes text only]") == 2
    few = sent(make, media_limit=len(SEEN))
    assert (few.count(BEGUN), few.count("left out: the conversation holds")) == (1, 1)
    assert sent(make, media_limit=None).count(BEGUN) == 2


@pytest.mark.usefixtures("aws")
@pytest.mark.parametrize("make", MODELS)
def test_who_wrote_a_message_in_the_persons_place_is_never_sent(make: Callable[..., Any]) -> None:
    def body(message: UserMessage) -> Json:
        made: Json = json.loads(sent(make, [message]))
        return made | {"head": ""}  # which names the port

    plain = body(UserMessage("Well?"))
    assert all(body(UserMessage("Well?", origin)) == plain for origin in get_args(Origin))


# — one conversation through all of them —


@tool
def look() -> Image:
    """Look at it."""
    return Image(PNG)


@tool
def 失败(理由: str) -> str:
    """Fail."""
    raise ToolError(f"failed: {理由}")


TOOLS = [look, 失败]


def chat_says(names: dict[str, str]) -> tuple[Json, Json]:
    calls = [
        {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": ""}},
        {
            "id": "call_1",
            "type": "function",
            "function": {"name": names["失败"], "arguments": '{"理由": "晚"}'},
        },
    ]
    first = {"content": "Hm.", "reasoning_content": "I think", "tool_calls": calls}
    return (
        {"model": "m-1", "choices": [{"message": first, "finish_reason": "tool_calls"}]},
        {"model": "m-1", "choices": [{"message": {"content": "A cat."}, "finish_reason": "stop"}]},
    )


def responses_say(names: dict[str, str]) -> tuple[Json, Json]:
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2VjcmV0"}
    calls = [
        {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "look"},
        {"type": "function_call", "id": "fc_2", "call_id": "call_2", "name": names["失败"]},
    ]
    calls = [
        {**one, "arguments": text}
        for one, text in zip(calls, ("{}", '{"理由": "晚"}'), strict=True)
    ]
    text = {"type": "output_text", "text": "A cat.", "annotations": []}
    said = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
    return (
        {"status": "completed", "model": "m", "output": [thought, *calls]},
        {"status": "completed", "model": "m", "output": [{**said, "content": [text]}]},
    )


def anthropic_says(names: dict[str, str]) -> tuple[Json, Json]:
    key = names["失败.理由"]
    blocks = [
        {"type": "thinking", "thinking": "I think", "signature": "c2ln"},
        {"type": "text", "text": "Hm."},
        {"type": "tool_use", "id": "call_1", "name": "look", "input": {}},
        {"type": "tool_use", "id": "toolu_2", "name": names["失败"], "input": {key: "晚"}},
    ]
    head = {"type": "message", "role": "assistant", "model": "m"}
    return (
        {**head, "content": blocks, "stop_reason": "tool_use"},
        {**head, "content": [{"type": "text", "text": "A cat."}], "stop_reason": "end_turn"},
    )


def gemini_says(names: dict[str, str]) -> tuple[Json, Json]:
    parts = [
        {"text": "I think", "thought": True},
        {"functionCall": {"name": "look", "args": {}}, "thoughtSignature": "c2ln"},
        {"functionCall": {"name": names["失败"], "args": {names["失败.理由"]: "晚"}}},
    ]
    return tuple(
        {
            "modelVersion": "m",
            "candidates": [{"content": {"role": "model", "parts": one}, "finishReason": "STOP"}],
        }
        for one in (parts, [{"text": "A cat."}])
    )


def bedrock_says(names: dict[str, str]) -> tuple[Json, Json]:
    key = names["失败.理由"]
    thought = {"reasoningText": {"text": "I think", "signature": "c2ln"}}
    blocks = [
        {"reasoningContent": thought},
        {"toolUse": {"toolUseId": "call_1", "name": "look", "input": {}}},
        {"toolUse": {"toolUseId": "t2", "name": names["失败"], "input": {key: "晚"}}},
    ]
    return tuple(
        {"output": {"message": {"role": "assistant", "content": one}}, "stopReason": reason}
        for one, reason in ((blocks, "tool_use"), ([{"text": "A cat."}], "end_turn"))
    )


def bedrock_accepts(body: Json, messages: list[Message]) -> None:
    check_bedrock(bedrock_wire.encode(ModelRequest(messages, tuple(TOOLS)), "m"))


def plain(check: Callable[[Json], None]) -> Callable[[Json, list[Message]], None]:
    return lambda body, _: check(body)


def gemini_accepts(body: Json) -> None:
    test_gemini.check_body({key: value for key, value in body.items() if key != "toolConfig"})


STATIONS: list[tuple[Any, Any, Any, str]] = [
    (chat, chat_says, plain(check_body), "openai-chat"),
    (responses, responses_say, plain(test_openai_responses.check_body), "openai-responses"),
    (anthropic, anthropic_says, plain(check_anthropic), "anthropic"),
    (gemini, gemini_says, plain(gemini_accepts), "gemini"),
    (bedrock, bedrock_says, bedrock_accepts, "bedrock"),
]


def names_on(target: Any) -> dict[str, str]:
    """What the wire calls the tool and its property."""
    sent = definition("x", 失败.description, 失败.parameters, target)
    return {"失败": wire_name("失败"), "失败.理由": sent.keys.get("理由", "理由")}


@pytest.mark.usefixtures("aws")
@pytest.mark.parametrize(
    ("shift", "step"),
    [
        (0, 1),
        *(pytest.param(s, t, marks=pytest.mark.slow) for s in range(5) for t in (1, 2, 3)),
    ],
)
def test_a_conversation_moves_to_another_provider_after_every_turn(shift: int, step: int) -> None:
    messages: list[Message] = [UserMessage((Text("先看图。"), Image(PNG, extra={"trusted": True})))]
    for turn in range(7):
        make, says, accepts, target = STATIONS[(shift + turn * step) % 5]
        first, second = (answer(json.dumps(one)) for one in says(names_on(target)))
        with saying(first, second) as server:
            result = Agent(make(server, stream=False), TOOLS).run_sync(messages)
        assert result.output == "A cat."
        new = result.messages[len(messages) :]
        results = [one for one in new if isinstance(one, ToolMessage)]
        assert [(one.name, one.kind) for one in results] == [("look", None), ("失败", "tool_error")]
        assert "failed: 晚" in results[1].text
        assert len(server.requests) == 2
        for body in server.requests:
            del body[""], body["head"]
            accepts(body, messages)
        messages = [*result.messages, UserMessage(f"Turn {turn}: again.")]
