"""Encodes transcripts, tools and settings for the Responses wire."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from toolkeel.content import Audio, Content, File, Image, content_text, data_url
from toolkeel.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from toolkeel.model_interface import ModelRequest, OutputFormat, Settings
from toolkeel.providers.openai_responses.native_calls import (
    NATIVE_KEY,
    encode_native_output,
    native_item,
)
from toolkeel.providers.openai_responses.previous_response import AT_SERVER, messages_to_send
from toolkeel.providers.openai_responses.profile import CALLS, WIRE, message_text, part_text
from toolkeel.providers.openai_responses.stream import StreamDecoder
from toolkeel.providers.wire.media import ERROR_PREFIXES, NO_OUTPUT, is_blank, text_without_media
from toolkeel.providers.wire.part_order import arrange_blocks
from toolkeel.providers.wire.plain_json import (
    Json,
    arguments_text,
    as_dict,
    as_list,
    as_text,
    clean_text,
    dumps,
    without_none,
)
from toolkeel.providers.wire.reasoning_ownership import ModelProfile, is_own, model_family
from toolkeel.providers.wire.request import Encoder, WireResults, encode_block
from toolkeel.providers.wire.sampling import LOCAL_SAMPLING, PENALTIES, refused_by_reasoner
from toolkeel.providers.wire.structured_output import compile_format
from toolkeel.providers.wire.tools import Tools, WireTools, wire_tools

ENCRYPTED = "reasoning.encrypted_content"

_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_FILES = re.compile(r"application/(pdf|rtf|msword|vnd\..+)")
_REASONING_MODELS = re.compile(r"o\d|gpt-(?:[5-9]|\d\d)|gpt-oss|codex")
_UNSUPPORTED = LOCAL_SAMPLING | PENALTIES | {"stop", "seed"}
_ITEM_ID = re.compile(r"(?:fc|ctc|msg)[A-Za-z0-9_-]{0,60}[A-Za-z0-9-]")
_OUTPUTS = {"function_call": "function_call_output", "custom_tool_call": "custom_tool_call_output"}


def encode_tools(tools: Tools, *, strict: bool | None = None) -> list[Json]:
    """Encode the body's ``tools``.

    Args:
        tools: The tools that the model may call.
        strict: True if the server must hold arguments to the schema; None: False, which is sent, too.

    Returns:
        One dict a tool: functions in order, then the server's own tools. A name that the wire does not
        accept is replaced by an alias; `decode` restores it if it gets the tools.

    Raises:
        DefinitionError, SetupError: as `wire_tools`.
    """
    made = wire_tools(tools, WIRE, strict)
    return [*map(dict, made.bodies), *made.native_bodies]


def encode(request: ModelRequest, model: str, *, stream: bool = False) -> Json:
    """Encode the body of a request; log settings that are not sent.

    Args:
        request: Messages, tools and settings. ``settings.extra_body`` holds further keys of the body;
            its ``tools``, such as the server's own, are appended to the request's, and its
            ``include`` comes before the values that are always sent.
        model: The model's name.
        stream: True to stream the answer.

    Returns:
        The JSON body, to be sent as it is or as keyword arguments of an SDK's ``create``. It says
        ``store: false``, and requests a reasoning model's reasoning in encrypted form.

    Raises:
        DefinitionError, SetupError: as `wire_tools`; ``tool_choice`` names no tool; or ``extra_body``
            names a ``conversation``, and the transcript has a reply.
    """
    return ResponsesEncoder.encode(request, ModelProfile(model, stream))


def encode_messages(
    messages: Iterable[Message], *, tools: Tools = (), model: str = ""
) -> list[Json]:
    r"""Encode the body's ``input``; raise DefinitionError or SetupError as `wire_tools` does.

    Args:
        messages: The transcript.
        tools: The tools as they are sent; names of other tools are made legal one by one.
        model: The requested model; reasoning, item ids and hosted items of other models are not sent.
            Empty: any.

    >>> from toolkeel.messages import UserMessage
    >>> call = ToolCall("c1", "weather", '{"city": "\\u5317\\u4eac"}')
    >>> turn = [UserMessage("北京?"), AssistantMessage(tool_calls=(call,)), ToolMessage("晴", "c1")]
    >>> user, called, result = encode_messages(turn)
    >>> called
    {'type': 'function_call', 'call_id': 'c1', 'name': 'weather', 'arguments': '{"city":"北京"}'}
    >>> result
    {'type': 'function_call_output', 'call_id': 'c1', 'output': '晴'}
    """
    encoder = ResponsesEncoder(wire_tools(tools, WIRE), ModelProfile(model))
    return encoder.encode_transcript(messages)


def encode_turn(reply: object, results: Sequence[ToolMessage], *, tools: Tools = ()) -> list[Json]:
    """Encode a reply and the results of its calls, to append to your own ``input``.

    Args:
        reply: The answer with the calls, in any form that `decode` accepts.
        results: One for each call, as `Toolset.run` returns them.
        tools: The tools as they were sent, the server's own, such as its shell, among them.

    Returns:
        The reply's items as they came, then one output for each call in call order. Missing or
        repeated ids of the server become unique on both sides.

    Raises:
        DefinitionError, SetupError: as `wire_tools`; or there is not one result for each call.
        ModelError: as `decode` does.
    """
    return ResponsesEncoder.encode_turn(reply, results, wire_tools(tools, WIRE), ModelProfile())


def encode_options(settings: Settings, tools: WireTools, profile: ModelProfile) -> Json:
    """Return the keys of a request body except ``input``.

    Sets ``store`` to false. For reasoning models it asks for the encrypted reasoning, which the
    next request must send back. Keys of `settings.extra_body` replace the ones set here, with these
    exceptions: ``tools`` and ``include`` are appended; ``reasoning`` and ``text`` are merged where
    `settings` sets an effort or an output format (the settings' format wins).

    Args:
        settings: Settings of the request.
        tools: The tools as they are sent, with the server's own.
        profile: The model's name and whether the reply is streamed.
    """
    extra, model = dict(settings.extra_body), profile.model
    body: Json = {**({"model": model} if model else {}), "store": False}
    wires = [*tools.bodies, *tools.native_bodies, *as_list(extra.pop("tools", None))]
    if wires:
        body |= without_none(
            tools=wires,
            tool_choice=_encode_choice(settings.tool_choice, tools),
            parallel_tool_calls=settings.parallel_tool_calls,
        )
    include = [*tools.native_includes, *as_list(extra.pop("include", None))]
    if (
        _REASONING_MODELS.match(model_family(model))
        and "-chat" not in model
        and ENCRYPTED not in include
    ):
        include = [*include, ENCRYPTED]
    refused = refused_by_reasoner(model, settings)
    body |= without_none(
        include=include or None,
        temperature=None if "temperature" in refused else settings.temperature,
        top_p=None if "top_p" in refused else settings.top_p,
        max_output_tokens=settings.max_tokens,
        stream=profile.stream or None,
    )
    if settings.reasoning_effort is not None:
        effort = {"effort": settings.reasoning_effort}
        body["reasoning"] = {**effort, **as_dict(extra.pop("reasoning", None))}
    if settings.output is not None:
        form = {"format": _encode_format(settings.output)}
        body["text"] = {**as_dict(extra.pop("text", None)), **form}
    return {**body, **extra}


class ResponsesEncoder(Encoder[ModelProfile]):
    """Encodes a transcript message by message.

    An item's own id is kept beside that of its call, and is sent only to the model it came from.
    """

    wire = WIRE
    key = "input"
    decoder = StreamDecoder
    encode_options = staticmethod(encode_options)
    select_messages = staticmethod(messages_to_send)

    @staticmethod
    def unsupported_settings(settings: Settings, profile: ModelProfile) -> Collection[str]:
        """Return the names of settings that this wire does not have, or the model refuses."""
        return _UNSUPPORTED | refused_by_reasoner(profile.model, settings)

    def __init__(self, tools: WireTools, profile: ModelProfile) -> None:
        super().__init__(tools, profile)
        self._natives: dict[str, Json] = {}

    def encode_message(self, message: AssistantMessage | SystemMessage | UserMessage) -> list[Json]:
        """Encode a message that is not a result; before it the answers of open calls, whose turn it ends.

        An instruction ends no turn.
        """
        if isinstance(message, SystemMessage):
            text = clean_text(message.text)
            return [{"role": "system", "content": text}] if text.strip() else []
        items = self.encode_tail()
        self.close_turn()
        if isinstance(message, UserMessage):
            return [*items, {"role": "user", "content": self._encode_content(message.content)}]
        return items + self._encode_reply(message)

    def encode_tail(self) -> list[Json]:
        """Return results that wait for others, and placeholders for missing ones."""
        return self.open_results().blocks

    def encode_result(self, result: ToolMessage, call: ToolCall, wire_id: str) -> WireResults:
        """Encode the result of the call that has `wire_id`."""
        if wire_id in self._natives:
            return WireResults([encode_native_output(self._natives[wire_id], result, wire_id)], [])
        extra = as_dict(call.provider_options.get(WIRE))
        kind = as_text(extra.get("type")) or "function_call"
        output = self._encode_output(result)
        wire: Json = {"type": _OUTPUTS[kind], "call_id": wire_id, "output": output}
        if "caller" in extra and kind == "function_call":
            wire["caller"] = extra["caller"]
        return WireResults([wire], [])

    def _encode_reply(self, message: AssistantMessage) -> list[Json]:
        """Encode a reply as items, in original form and order if this model's own; none if the server has it."""
        extra = as_dict(message.provider_options.get(WIRE))
        known = (
            message.model
            or extra
            or any(WIRE in call.provider_options for call in message.tool_calls)
        )
        ours = bool(known) and is_own(message, WIRE, self._profile)
        output = [as_dict(one) or one for one in as_list(extra.get("output"))] if ours else []
        stored = extra.get("store") is True
        layout = [one for one in output if not isinstance(one, dict) or _is_sent_back(one, stored)]
        together = ours and len(layout) == len(output)
        calls = [self._encode_call(call, ours, together) for call in message.tool_calls]
        if AT_SERVER in extra:
            return []
        text = clean_text(text_without_media(message) if output else message.text)
        texts: list[Json] = [{"role": "assistant", "content": text}] if text.strip() else []
        items = arrange_blocks(layout, [], calls, (text, texts), _clean_message_text)
        items = [item for item in items if item.get("type") != "message" or message_text(item)]
        while items and items[-1].get("type") == "reasoning":
            items.pop()  # cut off while reasoning: refused without the item that follows it
        return [_item_to_send(item, together) for item in items]

    def _encode_call(self, call: ToolCall, ours: bool, together: bool) -> Json:
        """Register a call and encode it; one of the provider's own tools in its original form.

        Args:
            call: The call.
            ours: True if this server made it.
            together: True if the reply's items are sent back together, with the ids that belong to them.
        """
        wire_id = self._open.add(call)
        extra = dict(as_dict(call.provider_options.get(WIRE)))
        item = native_item(extra, wire_id)
        extra.pop(NATIVE_KEY, None)
        if item and ours:
            self._natives[wire_id] = item
            return item
        kind = as_text(extra.get("type")) or "function_call"
        wire: Json = {"type": kind, "call_id": wire_id, "name": self._tools.alias(call.name)}
        for key, value in extra.items():
            if key == "namespace" or (together and key != "type"):
                wire[key] = value
        if not _is_item_id(wire.get("id")):
            wire.pop("id", None)
        return {**wire, CALLS[kind]: self._encode_arguments(call, kind)}

    def _encode_arguments(self, call: ToolCall, kind: str) -> str:
        """Return a call's arguments as text, with property names of the wire."""
        if kind == "custom_tool_call" and isinstance(call.arguments, str):
            return clean_text(call.arguments)
        if call.name in self._tools.keys:
            return dumps(self._tools.encode_arguments(call))
        return arguments_text(self._tools.arguments_of(call))

    def _encode_content(self, content: Content) -> object:
        """Encode content as text, or as parts if it has media."""
        if isinstance(content, str):
            return clean_text(content)
        parts = [p for one in content for p in encode_block(WIRE, one, _input_text, _media_blocks)]
        if all(part["type"] == "input_text" for part in parts):
            return "\n".join(as_text(part["text"]) for part in parts)
        return parts

    def _encode_output(self, result: ToolMessage) -> object:
        """Encode a result's content: text, or parts for media. There is no error flag."""
        if is_blank(result.content):
            return f"Error: {NO_OUTPUT}" if result.failed else NO_OUTPUT
        output = self._encode_content(result.content)
        if not result.failed or content_text(result.content).lower().startswith(ERROR_PREFIXES):
            return output
        if isinstance(output, str):
            return f"Error: {output}"
        return [_input_text("Error:"), *as_list(output)]


def _input_text(text: str) -> Json:
    """Return an ``input_text`` part."""
    return {"type": "input_text", "text": text}


def _media_blocks(block: Image | Audio | File) -> list[Json]:
    """Encode a picture or a file, by address or bytes; no parts for any other media."""
    url = getattr(block, "url", "")
    reachable = url.startswith(("https://", "http://"))
    match block:
        case Image() if reachable or (block.data and block.media_type in _IMAGES):
            shown = {"image_url": data_url(block), "detail": block.extra.get("detail", "auto")}
            return [{"type": "input_image", **shown}]
        case File() if reachable:
            return [{"type": "input_file", "file_url": url}]
        case File() if block.data and _FILES.fullmatch(block.media_type):
            name = clean_text(block.name)
            return [{"type": "input_file", "filename": name, "file_data": data_url(block)}]
    return []


def _encode_format(output: OutputFormat) -> Json:
    """Encode a reply's schema as ``text.format``, or raise as `compile_format`."""
    compiled = compile_format(output, "openai-strict")
    form: Json = {"type": "json_schema", "name": output.name, "schema": compiled.schema}
    return {
        **form,
        **without_none(description=output.description or None),
        "strict": compiled.strict,
    }


def _encode_choice(choice: str | None, tools: WireTools) -> object:
    """Encode the tool choice: a word unchanged, a name as a tool; raise `SetupError` if there is no such tool."""
    if choice in (None, "auto", "none", "required"):
        return choice
    native = tools.natives.get(choice)
    if native is None:
        return {"type": "function", "name": tools.alias_to_call(choice)}
    label = native.body.get("server_label")
    return {"type": native.type, **({"server_label": label} if label else {})}


def _is_sent_back(item: Json, stored: bool) -> bool:
    """Return True if an item may be sent back: reasoning needs content, or to be stored."""
    if item.get("type") != "reasoning":
        return True
    return stored or bool(item.get("encrypted_content") or item.get("content"))


def _clean_message_text(item: Json) -> str:
    """Return the text of a message item without lone surrogates."""
    return clean_text(message_text(item))


def _is_item_id(id: object) -> bool:
    """Return True if a value has the form of an item id."""
    return isinstance(id, str) and _ITEM_ID.fullmatch(id) is not None


def _item_to_send(item: Json, together: bool) -> Json:
    """Return a server's item in the form that is sent back; a message with its id only if all are sent (`together`)."""
    match item.get("type"):
        case "reasoning":
            return {"summary": [], **_without_nulls(item)}
        case "message":
            return _message_to_send(item, together)
    return {key: value for key, value in item.items() if key != "created_by"}


def _message_to_send(item: Json, together: bool) -> Json:
    """Return a message item; without an id that belongs to its reasoning, a plain message."""
    if not together or not _is_item_id(item.get("id")):
        phase = {"phase": item["phase"]} if item.get("phase") else {}
        return {"role": "assistant", "content": clean_text(message_text(item)), **phase}
    content = [_output_part(as_dict(part)) for part in as_list(item.get("content"))]
    return {"status": "completed", **_without_nulls(item), "content": content}


def _output_part(part: Json) -> Json:
    """Return a part of an assistant message with only the keys that the server accepts."""
    text = clean_text(part_text(part))
    if part.get("type") == "refusal":
        return {"type": "refusal", "refusal": text}
    return {"type": "output_text", "text": text, "annotations": as_list(part.get("annotations"))}


def _without_nulls(item: Json) -> Json:
    """Return an item without null values and without ``created_by``."""
    return {key: value for key, value in item.items() if value is not None and key != "created_by"}
