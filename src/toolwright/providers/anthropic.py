"""Anthropic's Messages wire, for Anthropic's own client or anybody's.

Pure functions between this library's records and the wire's dicts. With a client of your own::

    reply = client.messages.create(
        model=model, max_tokens=4096, messages=messages, tools=anthropic.encode_tools(tools)
    )
    calls = anthropic.decode_calls(reply, tools=tools)
    messages += anthropic.encode_turn(reply, tools.run_sync(calls))

and streamed::

    events = client.messages.create(..., stream=True)
    reply = assemble(anthropic.decode_stream(events, tools=tools))
    messages += anthropic.encode_turn(reply, tools.run_sync(reply.tool_calls), tools=tools)

Whatever comes in may be a dict, JSON text or an SDK's object. `StreamDecoder` is the same decoder
without an iterator around it. The wire is described at
https://platform.claude.com/docs/en/api/messages.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Sequence

from toolwright.agent.assemble import assemble, settle
from toolwright.errors import ModelError
from toolwright.messages import AssistantMessage, Message, ToolCall, ToolMessage
from toolwright.model import Delta, ModelRequest, ToolDefinition
from toolwright.providers.anthropic_encode import (
    AnthropicBlocks,
    AnthropicOptions,
    encode_options,
    end_of,
    head_of,
    past_tools,
    system_of,
)
from toolwright.providers.anthropic_stream import StreamDecoder
from toolwright.providers.turns import TurnEncoder, encode_results, encode_transcript
from toolwright.providers.wire import Json, as_dict, plain
from toolwright.providers.wiretools import WireTools, wire_tools

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
    """The body's ``tools``.

    Args:
        tools: What the model may call.
        strict: Whether the server shall hold arguments to the schema; None: it decides.

    Returns:
        One dict a tool, in order. A name that the wire does not take is sent under an alias, and
        so is a property's; `decode` turns them back if it is given the tools.
    """
    made = wire_tools(tools, "anthropic", strict)
    return [*map(dict, made.bodies), *made.own_bodies]


def encode(
    request: ModelRequest, model: str, *, stream: bool = False, prompt_cache: bool = False
) -> Json:
    """The body of a request.

    Args:
        request: Messages, tools and settings. ``settings.extra`` holds further keys of the body;
            its ``tools``, such as the server's own, stand behind the request's.
        model: The model's name.
        stream: Whether the answer shall be streamed.
        prompt_cache: Whether to mark what the next request will repeat for the cache.

    Returns:
        The JSON body, to be sent as it is or as keyword arguments of an SDK's ``create``.
    """
    tools = wire_tools(request.tools, "anthropic", request.settings.strict)
    options = AnthropicOptions(model, stream, prompt_cache)
    blocks = AnthropicBlocks(tools, options)
    encoder = TurnEncoder(blocks)
    messages = encode_transcript(encoder, request.messages, lambda one: end_of(one, prompt_cache))
    body = encode_options(request.settings, tools, options)
    head = head_of(encoder, blocks.container, prompt_cache)
    past = {} if "tools" in body else past_tools(encoder.called, tools)
    return {**body, **past, **head, "messages": messages}


def encode_messages(
    messages: Iterable[Message], *, tools: Tools = (), model: str = "", prompt_cache: bool = False
) -> list[Json]:
    """The body's ``messages``; instructions are none of them: see `encode_system`.

    Args:
        messages: The transcript.
        tools: The tools as they are sent; other names are made legal one by one.
        model: The model asked; signed reasoning of other models goes as text. Empty: any.
        prompt_cache: Whether to mark the last block for the cache.

    >>> from toolwright.messages import UserMessage
    >>> call = ToolCall("c1", "weather", '{"city": "\\\\u5317\\\\u4eac"}')
    >>> turn = [UserMessage("北京?"), AssistantMessage(tool_calls=(call,)), ToolMessage("晴", "c1")]
    >>> user, assistant, results = encode_messages(turn)
    >>> assistant["content"]
    [{'type': 'tool_use', 'id': 'c1', 'name': 'weather', 'input': {'city': '北京'}}]
    >>> results["content"]
    [{'type': 'tool_result', 'tool_use_id': 'c1', 'content': '晴'}]
    """
    encoder = _encoder(tools, model)
    return encode_transcript(encoder, messages, lambda one: end_of(one, prompt_cache))


def encode_system(messages: Iterable[Message], *, prompt_cache: bool = False) -> list[Json]:
    """The body's ``system``: all instructions of a transcript, wherever they stand.

    Args:
        messages: The transcript.
        prompt_cache: Whether to mark the last block for the cache.
    """
    encoder = _encoder((), "")
    for message in messages:
        encoder.add(message)
    return system_of(encoder, prompt_cache)


def decode(reply: object, *, tools: Tools = ()) -> AssistantMessage:
    """A whole answer as a message.

    Args:
        reply: A message as dict, JSON text or SDK object. An `AssistantMessage` is only given
            proper call ids.
        tools: The tools as they were sent; then calls carry their own names again.

    Raises:
        ModelError: if it is an error, or nothing that could be an answer.
    """
    if isinstance(reply, AssistantMessage):
        return settle(reply)
    data = as_dict(plain(reply))
    decoder = StreamDecoder(wire_tools(tools, "anthropic"))
    deltas = decoder.feed(data)
    if "content" not in data:
        raise ModelError(f"the server's answer has no content: {str(reply)[:80]!r}")
    return assemble([*deltas, *decoder.finish()])


def decode_calls(reply: object, *, tools: Tools = ()) -> list[ToolCall]:
    """The calls in a whole answer, in order, each with an id of its own.

    Args:
        reply: As `decode` takes it.
        tools: The tools as they were sent; then calls carry their own names again.
    """
    return list(decode(reply, tools=tools).tool_calls)


def decode_stream(events: Iterable[object], *, tools: Tools = ()) -> Iterator[Delta]:
    """A streamed answer as deltas, each as soon as its event is there.

    Args:
        events: What the client's stream yields: event objects, dicts or JSON text.
        tools: The tools as they were sent; then calls carry their own names again.

    Raises:
        ModelError: if the server sends an error.
    """
    decoder = StreamDecoder(wire_tools(tools, "anthropic"))
    for event in events:
        yield from decoder.feed(event)
    yield from decoder.finish()


async def adecode_stream(
    events: AsyncIterable[object], *, tools: Tools = ()
) -> AsyncIterator[Delta]:
    """`decode_stream` for an asynchronous client."""
    decoder = StreamDecoder(wire_tools(tools, "anthropic"))
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
    return encode_results(_encoder(own, "", begun=True), decode(reply), results)


def _encoder(tools: Tools, model: str, *, begun: bool = False) -> TurnEncoder:
    made: WireTools = wire_tools(tools, "anthropic")
    return TurnEncoder(AnthropicBlocks(made, AnthropicOptions(model)), begun=begun)
