"""Google's Gemini wire (``generateContent``), for Google's own client or anybody's.

Pure functions between this library's records and the wire's dicts. With a client of your own::

    body = gemini.encode(request, model)
    reply = post(f"{base}/models/{model}:generateContent", json=body)
    calls = gemini.decode_calls(reply, tools=tools)
    body["contents"] += gemini.encode_turn(reply, tools.run_sync(calls))

and streamed (``:streamGenerateContent?alt=sse``)::

    reply = assemble(gemini.decode_stream(chunks, tools=tools))
    body["contents"] += gemini.encode_turn(reply, tools.run_sync(reply.tool_calls), tools=tools)

Whatever comes in may be a dict, JSON text or google-genai's object. `StreamDecoder` is the same
decoder without an iterator around it. The wire is described at
https://ai.google.dev/api/generate-content.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Sequence
from typing import TypeAlias

from toolwright.agent.assemble import assemble, settle
from toolwright.errors import ModelError
from toolwright.messages import AssistantMessage, Message, ToolCall, ToolMessage
from toolwright.model import Delta, ModelRequest, ToolDefinition
from toolwright.providers.gemini_encode import GeminiBlocks, GeminiOptions, encode_options, head_of
from toolwright.providers.gemini_part import wire_form
from toolwright.providers.gemini_stream import StreamDecoder
from toolwright.providers.turns import TurnEncoder, encode_results, encode_transcript
from toolwright.providers.wire import Json, as_dict
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
    "turn_encoder",
]

Tools: TypeAlias = Iterable[ToolDefinition] | WireTools
"""The tools of a request, such as a `Toolset`, which is prepared once."""


def encode_tools(tools: Tools) -> list[Json]:
    """The body's ``tools``: one dict that declares them all; none if there are none.

    Args:
        tools: What the model may call. A name that the wire does not take is sent under an
            alias, and so is a property's; `decode` turns them back if it is given the tools.
    """
    made = _wire_tools(tools)
    bodies: list[object] = [dict(body) for body in made.bodies]
    declared: list[Json] = [{"functionDeclarations": bodies}] if bodies else []
    return [*declared, *made.own_bodies]


def encode(request: ModelRequest, model: str, *, vertex: bool = False) -> Json:
    """The body of a request; the model's name and whether to stream stand in its address.

    Args:
        request: Messages, tools and settings. ``settings.extra`` holds further keys of the body;
            its ``tools`` stand behind the request's, and ``generationConfig`` and
            ``toolConfig`` are joined with what the settings say. ``settings.strict`` makes the
            server hold calls to their schemas; ``parallel_tool_calls`` it has no word for.
        model: The model's name.
        vertex: Whether Vertex AI is asked.
    """
    options = GeminiOptions(model, vertex)
    tools = wire_tools(request.tools, "gemini", hosting=options.hosts(request.tools))
    encoder = turn_encoder(tools, options)
    contents = encode_transcript(encoder, request.messages)
    return {"contents": contents, **head_of(encoder), **encode_options(request.settings, tools)}


def encode_messages(
    messages: Iterable[Message], *, tools: Tools = (), model: str = "", vertex: bool = False
) -> list[Json]:
    """The body's ``contents``; instructions are none of them: see `encode_system`.

    Args:
        messages: The transcript.
        tools: The tools as they are sent; other names are made legal one by one.
        model: The model asked; thoughts and signatures of other models stay here. Empty: any.
        vertex: Whether Vertex AI is asked.

    >>> from toolwright.messages import UserMessage
    >>> call = ToolCall("c1", "weather", '{"city": "\\\\u5317\\\\u4eac"}')
    >>> turn = [UserMessage("北京?"), AssistantMessage(tool_calls=(call,)), ToolMessage("晴", "c1")]
    >>> user, called, results = encode_messages(turn, model="gemini-2.5-pro")
    >>> called["parts"]
    [{'functionCall': {'name': 'weather', 'args': {'city': '北京'}}}]
    >>> results["parts"]
    [{'functionResponse': {'name': 'weather', 'response': {'output': '晴'}}}]
    """
    return encode_transcript(
        turn_encoder(_wire_tools(tools), GeminiOptions(model, vertex)), messages
    )


def encode_system(messages: Iterable[Message]) -> Json:
    """The body's ``systemInstruction``: all instructions of a transcript; empty if there is none."""
    encoder = turn_encoder(_wire_tools(()), GeminiOptions())
    for message in messages:
        encoder.add(message)
    return as_dict(head_of(encoder).get("systemInstruction"))


def decode(reply: object, *, tools: Tools = ()) -> AssistantMessage:
    """A whole answer as a message.

    Args:
        reply: A response as dict, JSON text or SDK object. An `AssistantMessage` is only given
            proper call ids.
        tools: The tools as they were sent; then calls carry their own names again.

    Raises:
        ModelError: if it is an error, or nothing that could be an answer.
    """
    if isinstance(reply, AssistantMessage):
        return settle(reply)
    data = wire_form(reply)
    decoder = StreamDecoder(_wire_tools(tools))
    deltas = decoder.feed(data)
    if decoder.empty:
        raise ModelError(f"the server's answer has no candidates: {str(reply)[:80]!r}")
    return assemble([*deltas, *decoder.finish()])


def decode_calls(reply: object, *, tools: Tools = ()) -> list[ToolCall]:
    """The calls in a whole answer, in order, each with an id of its own.

    Args:
        reply: As `decode` takes it.
        tools: The tools as they were sent; then calls carry their own names again.
    """
    return list(decode(reply, tools=tools).tool_calls)


def decode_stream(chunks: Iterable[object], *, tools: Tools = ()) -> Iterator[Delta]:
    """A streamed answer as deltas, each as soon as its chunk is there.

    Args:
        chunks: What the client's stream yields: responses, dicts or JSON text.
        tools: The tools as they were sent; then calls carry their own names again.

    Raises:
        ModelError: if the server sends an error.
    """
    decoder = StreamDecoder(_wire_tools(tools))
    for chunk in chunks:
        yield from decoder.feed(chunk)
    yield from decoder.finish()


async def adecode_stream(
    chunks: AsyncIterable[object], *, tools: Tools = ()
) -> AsyncIterator[Delta]:
    """`decode_stream` for an asynchronous client."""
    decoder = StreamDecoder(_wire_tools(tools))
    async for chunk in chunks:
        for delta in decoder.feed(chunk):
            yield delta
    for delta in decoder.finish():
        yield delta


def encode_turn(
    reply: object, results: Sequence[ToolMessage], *, tools: Tools = (), model: str = ""
) -> list[Json]:
    """A reply and the results of its calls, to append to your own ``contents``.

    Args:
        reply: The answer the calls came from, as `decode` takes it.
        results: One for each call, as `Toolset.run` returns them.
        tools: The tools, if `reply` was decoded with them.
        model: The model asked, if it is not the one that `reply` names: pictures stand in
            results as of Gemini 3.

    Returns:
        The model's content and, if it calls, one of the user with all results in the order of
        the calls.

    Raises:
        SetupError: if there is not one result for each call.
        ModelError: as `decode` does.
    """
    own = tools if isinstance(reply, AssistantMessage) else ()
    message = decode(reply)
    options = GeminiOptions(model or message.model)
    return encode_results(turn_encoder(_wire_tools(own), options, begun=True), message, results)


def turn_encoder(tools: WireTools, options: GeminiOptions, *, begun: bool = False) -> TurnEncoder:
    """An encoder of this wire's contents, message by message."""
    blocks = GeminiBlocks(tools, options)
    return TurnEncoder(blocks, content="parts", assistant="model", begun=begun)


def _wire_tools(tools: Tools) -> WireTools:
    return tools if isinstance(tools, WireTools) else wire_tools(tools, "gemini")
