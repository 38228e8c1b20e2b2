"""A wire that the shared code knows nothing of: all it needs is what a folder's five files say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager

import httpx2
import pytest

from tests.providers.loopback import Json, answer, events, saying
from toolkeel import Agent, Toolset, tool
from toolkeel.content import Block, content_text
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
from toolkeel.providers.wire.http import ClientPerLoop
from toolkeel.providers.wire.media import unknown_block
from toolkeel.providers.wire.plain_json import (
    arguments_object,
    as_count,
    as_dict,
    as_list,
    as_text,
    complete_arguments_text,
    invert,
    parse_response,
    without_none,
)
from toolkeel.providers.wire.reasoning_ownership import ModelProfile
from toolkeel.providers.wire.request import Encoder, PreparedRequest, WireResults
from toolkeel.providers.wire.sdk_model import RequestTemplate, SdkClient, SdkModel, http_errors
from toolkeel.providers.wire.stored_conversations import StoredCalls, StoredConversation
from toolkeel.providers.wire.tools import WireTools, wire_tools

WIRE = "parley"

# — profile.py and stream.py —


class StreamDecoder(Decoder):
    target = WIRE
    finish_reasons = invert({"stop": "done", "tool_calls": "calls", "length": "long"})

    @staticmethod
    def parse_usage(usage: Json) -> Usage:
        return Usage(1, as_count(usage.get("in")), as_count(usage.get("out")))

    def handle_event(self, data: Json) -> list[Delta]:
        self._usage = as_dict(data.get("spent")) or self._usage
        self._reason = as_text(data.get("why")) or self._reason
        deltas = self._text_delta(as_text(data.get("say")))
        for one in map(as_dict, as_list(data.get("do"))):
            name = self._tools.name_of(as_text(one.get("verb")))
            text = self._tools.from_wire(name, complete_arguments_text(one.get("with")))
            deltas.append(CallDelta(self._call_count, as_text(one.get("ref")), name, text))
            self._call_count += 1
        return deltas

    def read_response(self, reply: object) -> list[Delta]:
        return self.handle_event({"why": "done", **parse_response(WIRE, reply)})


# — encode.py —


def encode_options(settings: Settings, tools: WireTools, profile: ModelProfile) -> Json:
    verbs = [{"verb": one["name"], "shape": one["inputSchema"]} for one in tools.bodies]
    return without_none(model=profile.model, verbs=verbs or None, live=profile.stream or None)


class ParleyEncoder(Encoder[ModelProfile]):
    wire = WIRE
    key = "turns"
    decoder = StreamDecoder
    encode_options = staticmethod(encode_options)

    def encode_message(self, message: AssistantMessage | SystemMessage | UserMessage) -> list[Json]:
        over = self.encode_tail()
        self.close_turn()
        role = {AssistantMessage: "model", SystemMessage: "rule"}.get(type(message), "user")
        turn: Json = {"role": role, "say": content_text(message.content)}
        if isinstance(message, AssistantMessage) and message.tool_calls:
            turn["do"] = [self._call(call) for call in message.tool_calls]
        return [*over, turn]

    def encode_result(self, result: ToolMessage, call: ToolCall, wire_id: str) -> WireResults:
        return WireResults([{"role": "tool", "ref": wire_id, "got": result.text}], [])

    def encode_tail(self) -> list[Json]:
        return self.open_results().blocks

    def _call(self, call: ToolCall) -> Json:
        arguments = self._tools.to_wire(call.name, arguments_object(call.arguments))
        verb = self._tools.alias(call.name)
        return {"ref": self._open.add(call), "verb": verb, "with": arguments}


# — decode.py —


class StoredParley(StoredConversation):
    decoder = StreamDecoder
    key = "turns"
    content_key = "say"
    assistant_role = "model"

    def as_response(self, turn: list[Json]) -> Json:
        return turn[0]

    def decode_input(self, wire: Json, calls: StoredCalls) -> Iterator[Message]:
        if wire["role"] == "tool":
            yield calls.make_result(wire["got"], wire["ref"])
        elif wire["role"] == "rule":
            yield SystemMessage(wire["say"])
        else:
            yield UserMessage(wire["say"])

    def decode_block(self, block: Json) -> Block:
        return unknown_block(WIRE, block)


# — model_interface.py —


class Parley(SdkModel):
    encoder = ParleyEncoder
    output_dialect = "openai"

    def __init__(self, url: str, *, stream: bool) -> None:
        self._template = RequestTemplate(f"{url}/parley", {}, {})
        super().__init__(
            ModelProfile("p-1", stream), {"max_retries": 0}, ClientPerLoop(_new_client)
        )

    def _errors(self) -> AbstractContextManager[None]:
        return http_errors(self.name)

    def _has_structured_output(self, tools: bool) -> bool:
        return False

    async def _post(
        self, client: SdkClient, body: bytes, prepared: PreparedRequest
    ) -> httpx2.Response:
        return await self._send(client.sdk, self._template, body, {})


def _new_client() -> SdkClient:
    http = httpx2.AsyncClient()
    return SdkClient(http, close=http.aclose)


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
    assert (
        ParleyEncoder(wire_tools(tools, WIRE), ModelProfile()).encode_transcript(messages) == TURNS
    )
    _, called, results, _ = anthropic.encode_messages(messages, tools=tools)
    use = {"type": "tool_use", "id": "r1", "name": "add", "input": {"a": 1, "b": 2}}
    assert called["content"] == [{"type": "text", "text": "I add."}, use]
    assert results["content"] == [{"type": "tool_result", "tool_use_id": "r1", "content": "3"}]
