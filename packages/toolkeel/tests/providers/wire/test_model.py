"""What the models of all wires share, shown with a wire that has no server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest

from toolkeel.agent.reply_assembly import assemble
from toolkeel.errors import ModelError, ModelUnavailable
from toolkeel.messages import AssistantMessage, UserMessage
from toolkeel.model_interface import ModelRequest, OutputFormat, TextDelta
from toolkeel.providers.anthropic.encode import AnthropicEncoder
from toolkeel.providers.anthropic.profile import AnthropicProfile
from toolkeel.providers.wire.model import MAX_PAUSES, WireModel

REQUEST = ModelRequest([UserMessage("go")])


def message(text: str, reason: str = "end_turn") -> dict[str, object]:
    content = [{"type": "text", "text": text}]
    return {"type": "message", "content": content, "stop_reason": reason}


class Told(WireModel):
    """Answers as it is told; keeps the bodies it was sent."""

    encoder = AnthropicEncoder
    output_dialect = "anthropic-strict"

    def __init__(self, *answers: object, stream: bool = False, **options: Any) -> None:
        super().__init__(AnthropicProfile("m", stream), {"max_retries": 0, **options})
        self.answers = list(answers)
        self.bodies: list[bytes] = []

    async def _events(self, body: Any, prepared: object) -> AsyncGenerator[list[object]]:
        self.bodies.append(body)
        yield [self.answers.pop(0)]

    def _errors(self) -> AbstractContextManager[None]:
        return named(self.name)

    def _has_structured_output(self, tools: bool) -> bool:
        return tools


@contextmanager
def named(model: str) -> Iterator[None]:
    try:
        yield
    except ModelError as error:
        raise error.with_model_name(model) from error


def reply_of(model: Told) -> AssistantMessage:
    async def ask() -> AssistantMessage:
        return assemble([delta async for delta in model.stream(REQUEST)])

    return asyncio.run(ask())


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_comes_whole_or_as_a_stream(stream: bool) -> None:
    assert reply_of(Told(message("Hi"), stream=stream)).text == "Hi"


@pytest.mark.parametrize("stream", [False, True])
def test_a_reply_that_pauses_is_asked_to_go_on_and_is_one_reply(stream: bool) -> None:
    model = Told(message("One. ", "pause_turn"), message("Two."), stream=stream)
    assert reply_of(model).text == "One. Two."
    assert b"One. " not in model.bodies[0] and b"One. " in model.bodies[1]


def test_a_reply_that_never_ends_its_pauses_is_given_as_it_is() -> None:
    model = Told(*[message(".", "pause_turn")] * (MAX_PAUSES + 5))
    assert reply_of(model).text == "." * (MAX_PAUSES + 1)


def test_a_stream_of_nothing_is_an_error_that_names_the_model() -> None:
    with pytest.raises(ModelUnavailable, match="m: the answer ended before"):
        reply_of(Told({"type": "ping"}, stream=True))


def test_what_a_server_holds_is_what_the_program_says_or_what_is_known() -> None:
    form = OutputFormat("x", {"type": "object", "properties": {}, "additionalProperties": False})
    assert [Told().supports_format(form, tools=tools) for tools in (True, False)] == [True, False]
    assert Told(native_output=True).supports_format(form, tools=False)
    assert not Told(native_output=False).supports_format(form, tools=True)


def test_what_was_said_before_an_error_is_given_although_both_came_at_once() -> None:
    class AtOnce(Told):
        async def _events(self, body: Any, prepared: object) -> AsyncGenerator[list[object]]:
            yield self.answers

    start = {"type": "content_block_start", "index": 0, "content_block": {"type": "text"}}
    said = {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "text_delta", "text": "Hi"},
    }
    model = AtOnce(start, said, {"type": "error", "error": {"message": "broke"}}, stream=True)
    heard: list[object] = []
    hear = heard.append

    async def ask() -> None:
        async for delta in model.stream(REQUEST):
            hear(delta)

    with pytest.raises(ModelError, match="m: broke"):
        asyncio.run(ask())
    assert heard == [TextDelta("Hi")]
