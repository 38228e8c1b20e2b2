"""OpenAI's Chat Completions wire, for OpenAI's own client or anybody's.

Pure functions between this library's records and the wire's dicts. With a client of your own::

    reply = client.chat.completions.create(
        model=model, messages=messages, tools=openai_chat.encode_tools(tools)
    )
    calls = openai_chat.decode_calls(reply)
    messages += openai_chat.encode_turn(reply, tools.run_sync(calls))

and streamed::

    reply = assemble(openai_chat.decode_stream(client.chat.completions.create(..., stream=True)))
    messages += openai_chat.encode_turn(reply, tools.run_sync(reply.tool_calls))

Whatever comes in may be a dict, JSON text or an SDK's object. `StreamDecoder` is the same
decoder without an iterator around it. The wire is described at
https://platform.openai.com/docs/api-reference/chat; how its imitators depart from it stands at
the top of ``chat_calls.py`` and in ``chat_profile.py``.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping, Sequence
from weakref import WeakKeyDictionary

from toolwright.agent.assemble import assemble, settle
from toolwright.agent.transcript import repair
from toolwright.call.toolset import Toolset
from toolwright.define.definition import definition
from toolwright.define.names import wire_names
from toolwright.errors import ModelError, SetupError
from toolwright.hosted import native_of
from toolwright.messages import AssistantMessage, Message, ToolCall, ToolMessage
from toolwright.model import Delta, ModelRequest, OutputFormat, ToolDefinition
from toolwright.providers.chat_encode import ChatEncoder
from toolwright.providers.chat_profile import COMPATIBLE, OPENAI, ChatProfile
from toolwright.providers.chat_stream import StreamDecoder
from toolwright.providers.held import held_schema
from toolwright.providers.wire import Json, answer_of

__all__ = [
    "COMPATIBLE",
    "OPENAI",
    "ChatProfile",
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


def encode_tools(
    tools: Iterable[ToolDefinition],
    *,
    strict: bool | None = None,
    profile: ChatProfile = OPENAI,
) -> list[Json]:
    """The body's ``tools``.

    Args:
        tools: What the model may call. A `Toolset` is encoded once; then the same dicts come
            again, so copy them before you change them.
        strict: Whether the server shall hold arguments to the schema; None: it decides.
        profile: What the server takes.

    Returns:
        One dict a tool, in order. A name that the wire does not take is sent under an alias,
        a schema as far as the server understands it (`toolwright.define.definition`).
    """
    if not isinstance(tools, Toolset):
        return _encode_tools(list(tools), strict, profile)
    kept = _TOOLSETS.setdefault(tools, {})
    wires = kept.get((strict, profile))
    if wires is None:
        wires = kept[strict, profile] = _encode_tools(list(tools), strict, profile)
    return list(wires)


def encode(
    request: ModelRequest, model: str, *, stream: bool = False, profile: ChatProfile = OPENAI
) -> Json:
    """The body of a request.

    Args:
        request: Messages, tools and settings.
        model: The model's name on the server.
        stream: Whether the answer shall be streamed.
        profile: What the server takes.

    Returns:
        The JSON body, to be sent as it is or as keyword arguments of an SDK's ``create``.
    """
    names = tool_names(request.tools)
    messages = encode_messages(request.messages, names=names, model=model, profile=profile)
    return {"messages": messages, **encode_options(request, model, stream, profile)}


def encode_messages(
    messages: Iterable[Message],
    *,
    names: Mapping[str, str] | None = None,
    model: str = "",
    profile: ChatProfile = OPENAI,
) -> list[Json]:
    """The body's ``messages``.

    Args:
        messages: The transcript.
        names: Alias on the wire by tool name; other names are made legal one by one.
        model: The model asked; reasoning of other models is left out. Empty: none is.
        profile: What the server takes.

    >>> from toolwright.messages import UserMessage
    >>> call = ToolCall("c1", "weather", '{"city": "\\u5317\\u4eac"}')
    >>> turn = [UserMessage("北京?"), AssistantMessage(tool_calls=(call,)), ToolMessage("晴", "c1")]
    >>> user, assistant, tool = encode_messages(turn)
    >>> assistant["tool_calls"][0]["function"]
    {'name': 'weather', 'arguments': '{"city":"北京"}'}
    >>> tool
    {'role': 'tool', 'tool_call_id': 'c1', 'content': '晴'}
    """
    encoder = ChatEncoder(names, profile, model)
    wires = [wire for message in repair(messages) for wire in encoder.add(message)]
    return wires + encoder.tail()


def encode_options(request: ModelRequest, model: str, stream: bool, profile: ChatProfile) -> Json:
    """The body of a request without its ``messages``."""
    settings = request.settings
    body: Json = {"model": model}
    if request.tools:
        body["tools"] = encode_tools(request.tools, strict=settings.strict, profile=profile)
        if settings.tool_choice is not None:
            body["tool_choice"] = _tool_choice(settings.tool_choice, request.tools)
        if settings.parallel_tool_calls is not None and profile.parallel:
            body["parallel_tool_calls"] = settings.parallel_tool_calls
    elif profile.tools_with_calls and _has_calls(request.messages):
        body["tools"] = []
    if settings.temperature is not None:
        body["temperature"] = settings.temperature
    if settings.max_tokens is not None:
        body[profile.max_tokens_key] = settings.max_tokens
    if settings.output is not None:
        body["response_format"] = _response_format(settings.output)
    if stream:
        body["stream"] = True
        if profile.stream_usage:
            body["stream_options"] = {"include_usage": True}
    return {**body, **settings.extra}


def _response_format(output: OutputFormat) -> Json:
    compiled = held_schema(output, "openai-strict")
    form: Json = {"name": output.name, "schema": compiled.schema, "strict": compiled.strict}
    if output.description:
        form["description"] = output.description
    return {"type": "json_schema", "json_schema": form}


def decode(reply: object) -> AssistantMessage:
    """A whole answer as a message.

    Args:
        reply: A completion, or its choice or message alone: dict, JSON text or SDK object. An
            `AssistantMessage` is only given proper call ids.

    Raises:
        ModelError: if it is an error, or nothing that could be an answer.
    """
    if isinstance(reply, AssistantMessage):
        return settle(reply)
    data = answer_of("openai_chat", reply)
    if "choices" not in data and "message" in data:
        data = {"choices": [data]}
    elif "choices" not in data and data.get("role") == "assistant":
        data = {"choices": [{"message": data, "finish_reason": "stop"}]}
    decoder = StreamDecoder()
    deltas = decoder.feed(data)
    if not data.get("choices"):
        raise ModelError(f"the server's answer has no choices: {str(reply)[:80]!r}")
    return assemble([*deltas, *decoder.finish()])


def decode_calls(reply: object) -> list[ToolCall]:
    """The calls in a whole answer, in order, each with an id of its own.

    Args:
        reply: As `decode` takes it.
    """
    return list(decode(reply).tool_calls)


def decode_stream(chunks: Iterable[object]) -> Iterator[Delta]:
    """A streamed answer as deltas, each as soon as its chunk is there.

    Args:
        chunks: What the client's stream yields: chunk objects, dicts or JSON text.

    Raises:
        ModelError: if the server sends an error instead of a chunk.
    """
    decoder = StreamDecoder()
    for chunk in chunks:
        yield from decoder.feed(chunk)
    yield from decoder.finish()


async def adecode_stream(chunks: AsyncIterable[object]) -> AsyncIterator[Delta]:
    """`decode_stream` for an asynchronous client."""
    decoder = StreamDecoder()
    async for chunk in chunks:
        for delta in decoder.feed(chunk):
            yield delta
    for delta in decoder.finish():
        yield delta


def encode_turn(
    reply: object,
    results: Sequence[ToolMessage],
    *,
    tools: Iterable[ToolDefinition] = (),
    profile: ChatProfile = OPENAI,
) -> list[Json]:
    """A reply and the results of its calls, to append to your own ``messages``.

    Args:
        reply: The answer the calls came from, as `decode` takes it.
        results: One for each call, as `Toolset.run` returns them.
        tools: The tools, if `reply` names them otherwise than they were sent.
        profile: What the server takes.

    Returns:
        The assistant's message, the results in the order of the calls and, if results hold
        pictures or files, one user message with them. Ids that the server left out or gave
        twice are made unique on both sides.

    Raises:
        SetupError: if there is not one result for each call.
        ModelError: as `decode` does.
    """
    message = decode(reply)
    if len(message.tool_calls) != len(results):
        raise SetupError(
            f"encode_turn(results=...): the reply has {len(message.tool_calls)} calls and there "
            f"are {len(results)} results; pass all that Toolset.run returned for these calls"
        )
    encoder = ChatEncoder(tool_names(list(tools)), profile)
    wires = encoder.add(message)
    ordered = _in_call_order(message.tool_calls, results)
    for wire_id, result in zip(encoder.waiting(), ordered, strict=True):
        wires.append(encoder.result(result, wire_id))
    return wires + encoder.media()


def tool_names(tools: Sequence[ToolDefinition]) -> dict[str, str]:
    """Alias on the wire by tool name."""
    return wire_names([tool.name for tool in tools])


_TOOLSETS: WeakKeyDictionary[Toolset, dict[tuple[bool | None, ChatProfile], list[Json]]]
_TOOLSETS = WeakKeyDictionary()


def _encode_tools(
    tools: Sequence[ToolDefinition], strict: bool | None, profile: ChatProfile
) -> list[Json]:
    names = tool_names(tools)
    for tool in tools:
        native_of(tool, profile.target)  # this wire has none; one that must be there is refused
    return [
        definition(
            names[tool.name],
            tool.description,
            tool.parameters,
            profile.target,
            strict=strict,
            extras=tool.extras,
        ).body
        for tool in tools
    ]


def _tool_choice(choice: str, tools: Sequence[ToolDefinition]) -> object:
    if choice in ("auto", "none", "required"):
        return choice
    alias = tool_names(tools).get(choice)
    if alias is None:
        known = ", ".join(tool.name for tool in tools)
        raise SetupError(f"Settings(tool_choice={choice!r}): no such tool; there are {known}")
    return {"type": "function", "function": {"name": alias}}


def _has_calls(messages: Sequence[Message]) -> bool:
    return any(isinstance(one, AssistantMessage) and one.tool_calls for one in messages)


def _in_call_order(
    calls: Sequence[ToolCall], results: Sequence[ToolMessage]
) -> Iterator[ToolMessage]:
    """Each call's result: the one with its id, else the next that has no call's id."""
    ids = {call.id for call in calls}
    named = {result.tool_call_id: result for result in results if result.tool_call_id in ids}
    if len(named) < sum(result.tool_call_id in ids for result in results):
        named = {}  # ids repeat: the order alone counts
    rest = iter([result for result in results if result.tool_call_id not in named])
    for call in calls:
        result = named.get(call.id)
        yield result if result is not None else next(rest)
