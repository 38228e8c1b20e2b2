"""Bedrock's Converse wire, for boto3 or anybody's client.

Pure functions between this library's records and the wire's dicts, in the form boto3 has them:
bytes as bytes. With a client of your own::

    reply = client.converse(
        modelId=model, messages=messages, toolConfig={"tools": bedrock.encode_tools(tools)}
    )
    calls = bedrock.decode_calls(reply, tools=tools)
    messages += bedrock.encode_turn(reply, tools.run_sync(calls))

and streamed::

    answer = client.converse_stream(...)
    reply = assemble(bedrock.decode_stream(answer["stream"], tools=tools))
    messages += bedrock.encode_turn(reply, tools.run_sync(reply.tool_calls), tools=tools)

The wire is described at
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Sequence

from toolwright.agent.assemble import assemble, settle
from toolwright.messages import AssistantMessage, Message, ToolCall, ToolMessage
from toolwright.model import Delta, ModelRequest, ToolDefinition
from toolwright.providers.bedrock_encode import (
    BedrockBlocks,
    BedrockOptions,
    compose,
    encode_options,
    end_of,
    tool_config,
)
from toolwright.providers.bedrock_stream import StreamDecoder
from toolwright.providers.turns import TurnEncoder, encode_results, encode_transcript
from toolwright.providers.wire import Json, answer_of
from toolwright.providers.wiretools import wire_tools

__all__ = [
    "StreamDecoder",
    "adecode_stream",
    "decode",
    "decode_calls",
    "decode_stream",
    "encode",
    "encode_messages",
    "encode_system",
    "encode_tools",
    "encode_turn",
]

Tools = Iterable[ToolDefinition]
"""The tools of a request, such as a `Toolset`, which is prepared once."""


def encode_tools(tools: Tools, *, strict: bool | None = None) -> list[Json]:
    """The ``tools`` of a ``toolConfig``.

    Args:
        tools: What the model may call.
        strict: Whether the server shall hold arguments to the schema; None: it decides.

    Returns:
        One dict a tool, in order. A name that the wire does not take is sent under an alias, and
        so is a property's; `decode` turns them back if it is given the tools.
    """
    return [dict(body) for body in wire_tools(tools, "bedrock", strict).bodies]


def encode(request: ModelRequest, model: str, *, prompt_cache: bool = False) -> Json:
    """The keyword arguments of boto3's ``converse`` and ``converse_stream``.

    Args:
        request: Messages, tools and settings. ``settings.extra`` holds further keys; the tools
            in its ``toolConfig``, such as the service's own, stand behind the request's, and what
            is in its ``inferenceConfig`` and ``additionalModelRequestFields`` beside ours.
        model: The model's id, or the ARN of an inference profile.
        prompt_cache: Whether to mark what the next request will repeat for the cache, if the
            model takes such marks.
    """
    tools = wire_tools(request.tools, "bedrock", request.settings.strict)
    options = BedrockOptions(model, prompt_cache)
    encoder = TurnEncoder(BedrockBlocks(tools, options))
    messages = encode_transcript(encoder, request.messages, lambda one: end_of(one, options.cache))
    config = tool_config(request.settings, tools, options, encoder.called)
    keys = compose(encoder, messages, config, options.cache)
    return {**encode_options(request.settings, tools, options), **keys}


def encode_messages(
    messages: Iterable[Message], *, tools: Tools = (), model: str = "", prompt_cache: bool = False
) -> list[Json]:
    """The request's ``messages``; instructions are none of them: see `encode_system`.

    Args:
        messages: The transcript.
        tools: The tools as they are sent; other names are made legal one by one.
        model: The model asked; signed reasoning of other models goes as text. Empty: any.
        prompt_cache: Whether to put a cache point at the end, if the model takes it.

    >>> from toolwright.messages import UserMessage
    >>> call = ToolCall("c1", "weather", '{"city": "\\\\u5317\\\\u4eac"}')
    >>> turn = [UserMessage("北京?"), AssistantMessage(tool_calls=(call,)), ToolMessage("晴", "c1")]
    >>> user, assistant, results = encode_messages(turn)
    >>> assistant["content"]
    [{'toolUse': {'toolUseId': 'c1', 'name': 'weather', 'input': {'city': '北京'}}}]
    >>> results["content"]
    [{'toolResult': {'toolUseId': 'c1', 'content': [{'text': '晴'}], 'status': 'success'}}]
    """
    options = BedrockOptions(model, prompt_cache)
    encoder = TurnEncoder(BedrockBlocks(wire_tools(tools, "bedrock"), options))
    return encode_transcript(encoder, messages, lambda one: end_of(one, options.cache))


def encode_system(messages: Iterable[Message]) -> list[Json]:
    """The request's ``system``: all instructions of a transcript, wherever they stand."""
    encoder = _encoder(())
    for message in messages:
        encoder.add(message)
    return encoder.system


def decode(reply: object, *, tools: Tools = (), model: str = "") -> AssistantMessage:
    """A whole answer as a message.

    Args:
        reply: What ``converse`` returned, or its JSON text. An `AssistantMessage` is only given
            proper call ids.
        tools: The tools as they were sent; then calls carry their own names again.
        model: Which model was asked: the wire does not say which one answers.

    Raises:
        ModelError: if it is nothing that could be an answer.
    """
    if isinstance(reply, AssistantMessage):
        return settle(reply)
    decoder = StreamDecoder(wire_tools(tools, "bedrock"), model)
    deltas = decoder.whole(answer_of("bedrock", reply))
    return assemble([*deltas, *decoder.finish()])


def decode_calls(reply: object, *, tools: Tools = ()) -> list[ToolCall]:
    """The calls in a whole answer, in order, each with an id of its own.

    Args:
        reply: As `decode` takes it.
        tools: The tools as they were sent; then calls carry their own names again.
    """
    return list(decode(reply, tools=tools).tool_calls)


def decode_stream(
    events: Iterable[object], *, tools: Tools = (), model: str = ""
) -> Iterator[Delta]:
    """A streamed answer as deltas, each as soon as its event is there.

    Args:
        events: The ``stream`` of what ``converse_stream`` returned.
        tools: The tools as they were sent; then calls carry their own names again.
        model: Which model was asked.

    Raises:
        ModelError: if the server sends an error, and the client gives it as an event.
    """
    decoder = StreamDecoder(wire_tools(tools, "bedrock"), model)
    for event in events:
        yield from decoder.feed(event)
    yield from decoder.finish()


async def adecode_stream(
    events: AsyncIterable[object], *, tools: Tools = (), model: str = ""
) -> AsyncIterator[Delta]:
    """`decode_stream` for an asynchronous client."""
    decoder = StreamDecoder(wire_tools(tools, "bedrock"), model)
    async for event in events:
        for delta in decoder.feed(event):
            yield delta
    for delta in decoder.finish():
        yield delta


def encode_turn(reply: object, results: Sequence[ToolMessage], *, tools: Tools = ()) -> list[Json]:
    """A reply and the results of its calls, to append to your own ``messages``.

    Args:
        reply: The answer the calls came from, as `decode` takes it.
        results: One for each call, as `Toolset.run` returns them.
        tools: The tools, if `reply` was decoded with them.

    Returns:
        The assistant's message and, if it calls, one of the user with all results in the order
        of the calls. Ids that the server left out or gave twice are made unique on both sides.

    Raises:
        SetupError: if there is not one result for each call.
        ModelError: as `decode` does.
    """
    own = tools if isinstance(reply, AssistantMessage) else ()
    return encode_results(_encoder(own, begun=True), decode(reply), results)


def _encoder(tools: Tools, *, begun: bool = False) -> TurnEncoder:
    return TurnEncoder(BedrockBlocks(wire_tools(tools, "bedrock"), BedrockOptions()), begun=begun)
