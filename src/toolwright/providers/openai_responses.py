"""OpenAI's Responses wire, for OpenAI's own client or anybody's.

Pure functions between this library's records and the wire's dicts. With a client of your own::

    reply = client.responses.create(
        model=model, input=items, tools=openai_responses.encode_tools(tools)
    )
    calls = openai_responses.decode_calls(reply, tools=tools)
    items += openai_responses.encode_turn(reply, tools.run_sync(calls))

and streamed::

    events = client.responses.create(..., stream=True)
    reply = assemble(openai_responses.decode_stream(events, tools=tools))
    items += openai_responses.encode_turn(reply, tools.run_sync(reply.tool_calls), tools=tools)

Whatever comes in may be a dict, JSON text or an SDK's object. `StreamDecoder` is the same decoder
without an iterator around it. The wire is described at
https://platform.openai.com/docs/api-reference/responses.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from toolwright.agent.assemble import assemble, settle
from toolwright.errors import ModelError
from toolwright.messages import AssistantMessage, Message, ToolCall, ToolMessage
from toolwright.model import Delta, ModelRequest, ToolDefinition
from toolwright.providers.ids import paired
from toolwright.providers.responses_encode import (
    ResponsesEncoder,
    encode_options,
    encode_transcript,
)
from toolwright.providers.responses_stream import StreamDecoder, raise_error
from toolwright.providers.wire import Json, answer_of, as_dict
from toolwright.providers.wiretools import WireTools, wire_tools

__all__ = [
    "StreamDecoder",
    "adecode_stream",
    "decode",
    "decode_calls",
    "decode_stream",
    "encode",
    "encode_messages",
    "encode_tools",
    "encode_turn",
]

Tools: TypeAlias = Iterable[ToolDefinition] | WireTools
"""The tools of a request, such as a `Toolset`, which is prepared once."""


def encode_tools(tools: Tools, *, strict: bool | None = None) -> list[Json]:
    """The body's ``tools``.

    Args:
        tools: What the model may call.
        strict: Whether the server shall hold arguments to the schema; None: it shall not. The
            flag is always sent, since its absence means yes here.

    Returns:
        One dict a tool, in order. A name that the wire does not take is sent under an alias;
        `decode` turns it back if it is given the tools.
    """
    made = _wire_tools(tools, strict)
    return [*map(dict, made.bodies), *made.own_bodies]


def encode(request: ModelRequest, model: str, *, stream: bool = False) -> Json:
    """The body of a request.

    Args:
        request: Messages, tools and settings. ``settings.extra`` holds further keys of the body;
            its ``tools``, such as the server's own, stand behind the request's, and its
            ``include`` before what is asked for anyway.
        model: The model's name.
        stream: Whether the answer shall be streamed.

    Returns:
        The JSON body, to be sent as it is or as keyword arguments of an SDK's ``create``. It says
        ``store: false``, and asks a model that reasons for its reasoning in encrypted form.
    """
    tools = _wire_tools(request.tools, request.settings.strict)
    items = encode_transcript(ResponsesEncoder(tools, model), request.messages)
    return {**encode_options(request.settings, tools, model, stream), "input": items}


def encode_messages(
    messages: Iterable[Message], *, tools: Tools = (), model: str = ""
) -> list[Json]:
    """The body's ``input``.

    Args:
        messages: The transcript.
        tools: The tools as they are sent; other names are made legal one by one.
        model: The model asked; reasoning, item ids and hosted items of other models stay here.
            Empty: any.

    >>> from toolwright.messages import UserMessage
    >>> call = ToolCall("c1", "weather", '{"city": "\\\\u5317\\\\u4eac"}')
    >>> turn = [UserMessage("北京?"), AssistantMessage(tool_calls=(call,)), ToolMessage("晴", "c1")]
    >>> user, called, result = encode_messages(turn)
    >>> called
    {'type': 'function_call', 'call_id': 'c1', 'name': 'weather', 'arguments': '{"city":"北京"}'}
    >>> result
    {'type': 'function_call_output', 'call_id': 'c1', 'output': '晴'}
    """
    return encode_transcript(ResponsesEncoder(_wire_tools(tools), model), messages)


def decode(reply: object, *, tools: Tools = ()) -> AssistantMessage:
    """A whole answer as a message.

    Args:
        reply: A response as dict, JSON text or SDK object. An `AssistantMessage` is only given
            proper call ids.
        tools: The tools as they were sent; then calls carry their own names again.

    Raises:
        ModelError: if it failed, or is nothing that could be an answer.
    """
    if isinstance(reply, AssistantMessage):
        return settle(reply)
    data = answer_of("openai_responses", reply)
    decoder = StreamDecoder(_wire_tools(tools))
    if data.get("error") or data.get("type") == "error":
        raise_error(as_dict(data.get("error")) or data)
    if "output" not in data:
        raise ModelError(f"the server's answer has no output: {str(reply)[:80]!r}")
    deltas = decoder.whole(data)
    return assemble([*deltas, *decoder.finish()])


def decode_calls(reply: object, *, tools: Tools = ()) -> list[ToolCall]:
    """The calls in a whole answer, in order, each with an id of its own.

    Args:
        reply: As `decode` takes it.
        tools: The tools as they were sent; then calls carry their own names again.
    """
    return list(decode(reply, tools=tools).tool_calls)


def decode_stream(
    events: Iterable[object], *, tools: Tools = ()
) -> Iterator[Delta | AssistantMessage]:
    """A streamed answer as deltas, each as soon as its event is there.

    Args:
        events: What the client's stream yields: event objects, dicts or JSON text.
        tools: The tools as they were sent; then calls carry their own names again.

    Yields:
        Deltas; then, only if the server's last word contradicts them, the whole message.

    Raises:
        ModelError: if the server sends an error, or the response failed.
    """
    decoder = StreamDecoder(_wire_tools(tools))
    for event in events:
        yield from decoder.feed(event)
    yield from decoder.finish()


async def adecode_stream(
    events: AsyncIterable[object], *, tools: Tools = ()
) -> AsyncIterator[Delta | AssistantMessage]:
    """`decode_stream` for an asynchronous client."""
    decoder = StreamDecoder(_wire_tools(tools))
    async for event in events:
        for delta in decoder.feed(event):
            yield delta
    for last in decoder.finish():
        yield last


def encode_turn(reply: object, results: Sequence[ToolMessage], *, tools: Tools = ()) -> list[Json]:
    """A reply and the results of its calls, to append to your own ``input``.

    Args:
        reply: The answer the calls came from, as `decode` takes it.
        results: One for each call, as `Toolset.run` returns them.
        tools: The tools, if the calls were decoded with them; needed for the server's own, such
            as its shell.

    Returns:
        The reply's items as they came, then one output for each call in call order. Ids that the
        server left out or gave twice are made unique on both sides.

    Raises:
        SetupError: if there is not one result for each call.
        ModelError: as `decode` does.
    """
    message = decode(reply, tools=tools)
    ordered = paired(message.tool_calls, results)
    encoder = ResponsesEncoder(_wire_tools(tools))
    items = encoder.add(message)
    for call, result in zip(message.tool_calls, ordered, strict=True):
        items += encoder.add(replace(result, tool_call_id=call.id))
    return items


def _wire_tools(tools: Tools, strict: bool | None = None) -> WireTools:
    if isinstance(tools, WireTools):
        return tools
    return wire_tools(tools, "openai-responses", strict)
