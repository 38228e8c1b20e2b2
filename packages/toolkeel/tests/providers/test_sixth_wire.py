"""A wire that the shared code knows nothing of: all it needs is what a folder's five files say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager

import httpx2
import pytest

from tests.providers.loopback import Json, answer, events, saying
from toolkeel import Agent, Toolset, tool
from toolkeel.content import Block, text_of
from toolkeel.errors import ModelError
from toolkeel.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    Usage,
    UserMessage,
)
from toolkeel.model_interface import CallDelta, Delta, Settings
from toolkeel.providers import anthropic
from toolkeel.providers.wire.decoder import Decoder
from toolkeel.providers.wire.http import PerLoop
from toolkeel.providers.wire.media import unknown_block
from toolkeel.providers.wire.plain_json import (
    arguments_object,
    as_count,
    as_dict,
    as_list,
    as_text,
    by_word,
    given,
    input_text,
    response_of,
)
from toolkeel.providers.wire.reasoning_ownership import Asked
from toolkeel.providers.wire.request import Encoder, PreparedRequest, WireResults
from toolkeel.providers.wire.sdk_model import RequestTemplate, SdkClient, SdkModel, http_errors
from toolkeel.providers.wire.stored_conversations import StoredCalls, StoredConversation
from toolkeel.providers.wire.tools import WireTools, wire_tools

WIRE = "parley"

# — profile.py and stream.py —


class StreamDecoder(Decoder):
    target = WIRE
    reasons = by_word({"stop": "done", "tool_calls": "calls", "length": "long"})

    @staticmethod
    def usage_of(usage: Json) -> Usage:
        return Usage(1, as_count(usage.get("in")), as_count(usage.get("out")))

    def take(self, data: Json) -> list[Delta]:
        self._usage = as_dict(data.get("spent")) or self._usage
        self._reason = as_text(data.get("why")) or self._reason
        deltas = self._say(as_text(data.get("say")))
        for one in map(as_dict, as_list(data.get("do"))):
            name = self._tools.name_of(as_text(one.get("verb")))
            text = self._tools.from_wire(name, input_text(one.get("with")))
            deltas.append(CallDelta(self._calls, as_text(one.get("ref")), name, text))
            self._calls += 1
        return deltas

    def read_response(self, reply: object) -> list[Delta]:
        return self.take({"why": "done", **response_of(WIRE, reply)})


# — encode.py —


def encode_options(settings: Settings, tools: WireTools, profile: Asked) -> Json:
    verbs = [{"verb": one["name"], "shape": one["inputSchema"]} for one in tools.bodies]
    return given(model=profile.model, verbs=verbs or None, live=profile.stream or None)


class ParleyEncoder(Encoder[Asked]):
    wire = WIRE
    key = "turns"
    decoder = StreamDecoder
    options = staticmethod(encode_options)

    def said(self, message: AssistantMessage | SystemMessage | UserMessage) -> list[Json]:
        over = self.tail()
        self.close()
        role = {AssistantMessage: "model", SystemMessage: "rule"}.get(type(message), "user")
        turn: Json = {"role": role, "say": text_of(message.content)}
        if isinstance(message, AssistantMessage) and message.tool_calls:
            turn["do"] = [self._call(call) for call in message.tool_calls]
        return [*over, turn]

    def encode_result(self, result: ToolMessage, call: ToolCall, wire_id: str) -> WireResults:
        return WireResults([{"role": "tool", "ref": wire_id, "got": result.text}], [])

    def tail(self) -> list[Json]:
        return self.rest().blocks

    def _call(self, call: ToolCall) -> Json:
        arguments = self._tools.to_wire(call.name, arguments_object(call.arguments))
        verb = self._tools.alias(call.name)
        return {"ref": self._open.add(call), "verb": verb, "with": arguments}


# — decode.py —


class StoredParley(StoredConversation):
    decoder = StreamDecoder
    key = "turns"
    inside = "say"
    assistant = "model"

    def as_response(self, turn: list[Json]) -> Json:
        return turn[0]

    def said(self, wire: Json, calls: StoredCalls) -> Iterator[Message]:
        if wire["role"] == "tool":
            yield calls.result(wire["got"], wire["ref"])
        elif wire["role"] == "rule":
            yield SystemMessage(wire["say"])
        else:
            yield UserMessage(wire["say"])

    def block(self, block: Json) -> Block:
        return unknown_block(WIRE, block)


# — model_interface.py —


class Parley(SdkModel):
    encoder = ParleyEncoder
    output_dialect = "openai"

    def __init__(self, url: str, *, stream: bool) -> None:
        self._template = RequestTemplate(f"{url}/parley", {}, {})
        super().__init__(Asked("p-1", stream), {"max_retries": 0}, PerLoop(_new_client))

    def _errors(self) -> AbstractContextManager[None]:
        return http_errors(self.name)

    def _has_structured_output(self, tools: bool) -> bool:
        return False

    async def _ask(
        self, client: SdkClient, body: bytes, prepared: PreparedRequest
    ) -> httpx2.Response:
        return await self._send(client.sdk, self._template, body, {})


def _new_client() -> SdkClient:
    http = httpx2.AsyncClient()
    return SdkClient(http, http, http.aclose)


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


CALLS = {
    "say": "I add.",
    "do": [{"ref": "r1", "verb": "add", "with": {"a": 1, "b": 2}}],
    "why": "calls",
    "spent": {"in": 3, "out": 4},
}
DONE = {"say": "3", "why": "done", "spent": {"in": 5, "out": 1}}
TURNS = [
    {"role": "rule", "say": "Be brief."},
    {"role": "user", "say": "1+2?"},
    {"role": "model", "say": CALLS["say"], "do": CALLS["do"]},
    {"role": "tool", "ref": "r1", "got": "3"},
    {"role": "model", "say": "3"},
]


@pytest.mark.parametrize("stream", [True, False])
def test_an_agent_works_over_it(stream: bool) -> None:
    said = [events(one) if stream else answer(json.dumps(one)) for one in (CALLS, DONE)]
    with saying(*said) as server:
        result = Agent(Parley(server.url, stream=stream), [add]).run_sync("1+2?")
    assert (result.output, result.usage) == ("3", Usage(2, 8, 5))
    assert server.requests[1]["turns"] == TURNS[1:4]
    assert server.requests[0]["verbs"] == [{"verb": "add", "shape": dict(add.parameters)}]


def test_its_errors_are_read_as_on_every_wire() -> None:
    with (
        saying(answer('{"error": "not now"}', status=503)) as server,
        pytest.raises(ModelError) as e,
    ):
        Agent(Parley(server.url, stream=True), [add]).run_sync("1+2?")
    assert (e.value.status, str(e.value)) == (503, "p-1: not now")


def test_a_stored_conversation_of_it_goes_on_over_any_wire() -> None:
    messages = StoredParley().decode_messages({"turns": TURNS})
    tools = Toolset([add])
    assert ParleyEncoder(wire_tools(tools, WIRE), Asked()).transcript(messages) == TURNS
    _, called, results, _ = anthropic.encode_messages(messages, tools=tools)
    use = {"type": "tool_use", "id": "r1", "name": "add", "input": {"a": 1, "b": 2}}
    assert called["content"] == [{"type": "text", "text": "I add."}, use]
    assert results["content"] == [{"type": "tool_result", "tool_use_id": "r1", "content": "3"}]
