"""Encodes transcripts, tools and settings for the Chat Completions wire."""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterable, Iterator, Sequence

from toolkeel.content import Audio, Block, Content, File, Image, content_text, data_url
from toolkeel.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from toolkeel.model_interface import ModelRequest, OutputFormat, Settings
from toolkeel.providers.chat_servers import OPENAI, ChatProfile
from toolkeel.providers.openai_chat.profile import ChatTarget, media_to_send_back, speaker
from toolkeel.providers.openai_chat.reasoning import add_reasoning
from toolkeel.providers.openai_chat.stream import StreamDecoder
from toolkeel.providers.wire.call_ids import cut_id, make_short_id
from toolkeel.providers.wire.media import (
    ERROR_PREFIXES,
    NO_OUTPUT,
    block_text,
    describe_false_picture,
    inline,
    omission_note,
    original_block,
    text_without_media,
)
from toolkeel.providers.wire.plain_json import (
    WIRES,
    Json,
    arguments_text,
    as_text,
    clean_text,
    without_none,
)
from toolkeel.providers.wire.reasoning_ownership import is_own
from toolkeel.providers.wire.request import Encoder, PreparedRequest, WireResults
from toolkeel.providers.wire.sampling import refused_by_reasoner, stop_texts
from toolkeel.providers.wire.structured_output import compile_format
from toolkeel.providers.wire.tools import Tools, WireTools, is_freeform, wire_tools

BRIDGE = "(the results are there)"
"""What the model is made to say between results and a person, where a server wants that."""

_SENT = (
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "seed",
    "frequency_penalty",
    "presence_penalty",
    "reasoning_effort",
)
"""Settings whose key in the body is their own name; a server has another for the seed."""
_AUDIO_FORMATS = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}


def encode_tools(
    tools: Tools, *, strict: bool | None = None, profile: ChatProfile = OPENAI
) -> list[Json]:
    """Encode the body's ``tools``.

    Args:
        tools: The tools that the model may call. A `Toolset` is encoded once; then the same dicts come
            again, so copy them before you change them.
        strict: True if the server must hold arguments to the schema; None: its default.
        profile: What the server accepts.

    Returns:
        One dict a tool, in order. A name that the wire does not accept is replaced by an alias;
        the schema is limited to the server's dialect (`toolkeel.define.dialect.definition`).

    Raises:
        DefinitionError, SetupError: as `wire_tools`.
    """
    return list(wire_tools(tools, profile.target, strict).bodies)


def encode(
    request: ModelRequest, model: str, *, stream: bool = False, profile: ChatProfile = OPENAI
) -> Json:
    """Encode the body of a request; log settings that are not sent.

    Args:
        request: Messages, tools and settings.
        model: The model's name on the server.
        stream: True to stream the answer.
        profile: What the server accepts.

    Returns:
        The JSON body, to be sent as it is or as keyword arguments of an SDK's ``create``.

    Raises:
        DefinitionError, SetupError: as `wire_tools`; or ``tool_choice`` names no tool.
    """
    return ChatEncoder.encode(request, ChatTarget(model, stream, server=profile))


def encode_messages(
    messages: Iterable[Message],
    *,
    tools: Tools = (),
    model: str = "",
    profile: ChatProfile = OPENAI,
) -> list[Json]:
    r"""Encode the body's ``messages``.

    Args:
        messages: The transcript.
        tools: The tools as they are sent; names of other tools are made legal one by one.
        model: The requested model; reasoning of other models is dropped. Empty: none is.
        profile: What the server accepts.

    Raises:
        DefinitionError, SetupError: as `wire_tools`.

    >>> from toolkeel.messages import UserMessage
    >>> call = ToolCall("c1", "weather", '{"city": "\u5317\u4eac"}')
    >>> turn = [UserMessage("北京?"), AssistantMessage(tool_calls=(call,)), ToolMessage("晴", "c1")]
    >>> user, assistant, tool = encode_messages(turn)
    >>> assistant["tool_calls"][0]["function"]
    {'name': 'weather', 'arguments': '{"city":"北京"}'}
    >>> tool
    {'role': 'tool', 'tool_call_id': 'c1', 'content': '晴'}
    """
    target = ChatTarget(model, server=profile)
    return ChatEncoder(wire_tools(tools, profile.target), target).encode_transcript(messages)


def encode_turn(
    reply: object,
    results: Sequence[ToolMessage],
    *,
    tools: Tools = (),
    profile: ChatProfile = OPENAI,
) -> list[Json]:
    """Encode a reply and the results of its calls, to append to your own ``messages``.

    Args:
        reply: The answer with the calls, in any form that `decode` accepts.
        results: One for each call, as `Toolset.run` returns them.
        tools: The tools as they were sent.
        profile: What the server accepts.

    Returns:
        The assistant's message, the results in the order of the calls and, if results hold
        pictures or files, one user message with them. Missing or repeated ids of the server
        become unique on both sides.

    Raises:
        DefinitionError, SetupError: as `wire_tools`; or there is not one result for each call.
        ModelError: as `decode` does.
    """
    sent = wire_tools(tools, profile.target)
    return ChatEncoder.encode_turn(reply, results, sent, ChatTarget(server=profile))


def encode_options(settings: Settings, tools: WireTools, profile: ChatTarget) -> Json:
    """Return model, tools and settings as keys of a body; raise `SetupError` if the tool choice is no tool.

    Keys of ``extra_body`` win. Settings that the server or the model refuses are left out.
    """
    server = profile.server
    counted = profile.stream and server.stream_usage
    body: Json = {"model": profile.model}
    if tools.bodies:
        body |= without_none(
            tools=list(tools.bodies),
            tool_choice=_encode_choice(settings.tool_choice, tools),
            parallel_tool_calls=settings.parallel_tool_calls if server.parallel else None,
        )
    refused = server.refused | refused_by_reasoner(profile.model, settings)
    sent = {name: getattr(settings, name) for name in _SENT} | {"stop": stop_texts(settings)}
    keys = {"seed": server.seed_key}
    body |= without_none(
        **{keys.get(name, name): sent[name] for name in sent if name not in refused},
        **{server.max_tokens_key: settings.max_tokens},
        response_format=settings.output and _encode_format(settings.output),
        stream=profile.stream or None,
        stream_options={"include_usage": True} if counted else None,
    )
    return {**body, **settings.extra_body}


class ChatEncoder(Encoder[ChatTarget]):
    """Encodes a transcript message by message.

    Pictures and files of results wait until the last result of their turn, since nothing may come
    between results: they follow in one user message.

    Args:
        tools: The request's tools.
        target: The requested model and what its server accepts.

    Attributes:
        has_calls: True if any tool was called.
    """

    wire = "openai-chat"
    decoder = StreamDecoder
    encode_options = staticmethod(encode_options)

    def __init__(self, tools: WireTools, target: ChatTarget) -> None:
        super().__init__(tools, target, make_short_id if target.server.short_ids else cut_id)
        self._server = target.server
        self._last_role = ""
        self._later: dict[str, Json] = {}
        """Messages with further calls of the turn, by the call whose result they precede."""
        self.has_calls = False

    @staticmethod
    def unsupported_settings(settings: Settings, profile: ChatTarget) -> Collection[str]:
        """Return the names of settings that the server or the model refuses."""
        parallel = () if profile.server.parallel else ("parallel_tool_calls",)
        by_model = refused_by_reasoner(profile.model, settings)
        return {*profile.server.refused, *parallel, *by_model}

    @classmethod
    def make_wire_tools(cls, tools: Tools, strict: bool | None, profile: ChatTarget) -> WireTools:
        """Convert the tools to the server's dialect, or raise as `wire_tools`."""
        return wire_tools(tools, profile.server.target, strict)

    def encode_message(self, message: AssistantMessage | SystemMessage | UserMessage) -> list[Json]:
        """Encode a message after the open results and media of the turn, which it ends; record its role."""
        wires = self.encode_tail()
        self.close_turn()
        if isinstance(message, AssistantMessage):
            wires.extend(self._encode_reply(message))
        else:
            last = as_text(wires[-1]["role"]) if wires else self._last_role
            wires += self._with_bridge(last, {**self._encode_prompt(message), **speaker(message)})
        self._last_role = as_text(wires[-1]["role"]) if wires else self._last_role
        return wires

    def take_ready_results(self) -> list[Json]:
        """Remove and return the results that can be sent, without their media."""
        results = super().take_ready_results()
        self._last_role = "tool" if results else self._last_role
        return results

    def encode_tail(self) -> list[Json]:
        """Return open results or placeholders, then their media; later messages may change both."""
        rest = self.open_results()
        media: list[Json] = [{"role": "user", "content": rest.trailing}] if rest.trailing else []
        return rest.blocks + self._with_bridge("tool", *media)

    def encode_head(self, prepared: PreparedRequest) -> Json:
        """Return an empty ``tools`` where a server requires one after calls and none is sent; else no keys."""
        wanted = self._server.tools_with_calls and self.has_calls
        return {"tools": []} if wanted and "tools" not in prepared.static_keys else {}

    def _with_bridge(self, last: str, *wires: Json) -> list[Json]:
        """Return `wires`, after the reply `BRIDGE` if the server needs one between results and a user's message."""
        if self._server.bridge and last == "tool" and wires and wires[0]["role"] == "user":
            return [{"role": "assistant", "content": BRIDGE}, *wires]
        return list(wires)

    def encode_result(self, result: ToolMessage, call: ToolCall, wire_id: str) -> WireResults:
        """Encode the result of the call that has `wire_id`, and its media."""
        texts, media = self._split_media(result.content, "shown in the next message")
        text = "\n".join(text for text in texts if text)
        if media:
            intro = f"Output of {result.name or 'tool'}, call {wire_id}:"
            media = [{"type": "text", "text": clean_text(intro)}, *media]
        if not text.strip():
            text = NO_OUTPUT
        if result.failed and not text.lower().startswith(ERROR_PREFIXES):
            text = f"Error: {text}"
        wire: Json = {"role": "tool", "tool_call_id": wire_id, "content": text}
        if self._server.result_name:
            wire["name"] = self._tools.alias(result.name)
        before = self._later.get(wire_id)
        return WireResults([wire] if before is None else [before, wire], media)

    def _encode_prompt(self, message: SystemMessage | UserMessage) -> Json:
        """Encode a system or user message, with notes for media that the server refuses."""
        role = "system" if isinstance(message, SystemMessage) else "user"
        if role == "system" or isinstance(message.content, str):
            return {"role": role, "content": clean_text(content_text(message.content))}
        parts: list[Json] = []
        for block in message.content:
            part = self._encode_part(block)
            parts.append(part or {"type": "text", "text": omission_note(block, "not shown")})
        if all(part["type"] == "text" for part in parts):
            return {"role": role, "content": "\n".join(as_text(part["text"]) for part in parts)}
        return {"role": role, "content": parts}

    def _encode_reply(self, message: AssistantMessage) -> Iterator[Json]:
        """Yield a reply as one message, none if it is empty, reasoning beside its calls; record that it has calls."""
        own = is_own(message, self.wire, self._profile)
        media = media_to_send_back(message) if own else {}
        text = clean_text(text_without_media(message) if media else message.text)
        calls = [self._encode_call(call, own) for call in message.tool_calls]
        if not calls and not text.strip() and not media:
            return
        nothing = None if self._server.null_content else ""
        wire: Json = {"role": "assistant", "content": text or nothing, **media, **speaker(message)}
        if calls:
            self.has_calls = True
            wire["tool_calls"] = self._split_calls(calls)
            add_reasoning(wire, message, self._profile, own)
        yield wire

    def _split_calls(self, calls: list[Json]) -> list[Json]:
        """Return the calls of the first message, at most the server's `max_calls`; store messages with the others."""
        most = self._server.max_calls or len(calls)
        for start in range(most, len(calls), most):
            further: Json = {
                "role": "assistant",
                "content": None if self._server.null_content else "",
            }
            if self._server.reasoning == "always":
                further["reasoning_content"] = ""
            group = calls[start : start + most]
            self._later[as_text(group[0]["id"])] = {**further, "tool_calls": group}
        return calls[:most]

    def close_turn(self) -> None:
        """End the turn: forget its open calls and the messages with its further calls."""
        super().close_turn()
        self._later = {}

    def _encode_call(self, call: ToolCall, own: bool) -> Json:
        """Register a call and encode it, with its unusual keys if it is this model's own."""
        wire_id = self._open.add(call)
        options = call.provider_options if own else {}
        extra = {k: v for k, v in options.items() if k != "type" and k not in WIRES}
        name = self._tools.alias(call.name)
        if self._server.custom_tools and is_freeform(call):
            custom = {"name": name, "input": clean_text(str(call.arguments))}
            return {**extra, "id": wire_id, "type": "custom", "custom": custom}
        function = {"name": name, "arguments": arguments_text(self._tools.arguments_of(call))}
        return {**extra, "id": wire_id, "type": "function", "function": function}

    def _split_media(self, content: Content, where: str) -> tuple[list[str], list[Json]]:
        """Return the texts of content, with a note for each other block, and those blocks."""
        if isinstance(content, str):
            return [clean_text(content)], []
        texts: list[str] = []
        media: list[Json] = []
        for block in content:
            part = self._encode_part(block)
            if part is None:
                texts.append(omission_note(block, "cannot be shown"))
            elif part["type"] == "text":
                texts.append(as_text(part["text"]))
            else:
                texts.append(omission_note(block, where))
                media.append(part)
        return texts, media

    def _encode_part(self, block: Block) -> Json | None:
        """Encode a block as a part of a user message; None if the wire or the server has no form for it."""
        if original := original_block(self.wire, block):
            return original
        text = block_text(block)
        if text is not None:
            return {"type": "text", "text": clean_text(text)}
        if not self._server.media:
            return None
        block = inline(block) if isinstance(block, Image | File) else block
        if note := describe_false_picture(block):
            return {"type": "text", "text": note}
        match block:
            case Image():
                closely = {key: block.extra[key] for key in ("detail",) if key in block.extra}
                return {"type": "image_url", "image_url": {"url": data_url(block), **closely}}
            case Audio() if block.media_type in _AUDIO_FORMATS:
                data = base64.b64encode(block.data).decode()
                form = _AUDIO_FORMATS[block.media_type]
                return {"type": "input_audio", "input_audio": {"data": data, "format": form}}
            case File() if self._server.document_url and (block.data or block.url):
                address = {"document_url": data_url(block), "document_name": clean_text(block.name)}
                return {"type": "document_url", **address}
            case File() if block.data:
                file = {"filename": clean_text(block.name), "file_data": data_url(block)}
                return {"type": "file", "file": file}
        return None


def _encode_format(output: OutputFormat) -> Json:
    """Encode a reply's schema as ``response_format``, or raise as `compile_format`."""
    compiled = compile_format(output, "openai-strict")
    form: Json = {"name": output.name, "schema": compiled.schema, "strict": compiled.strict}
    form |= without_none(description=output.description or None)
    return {"type": "json_schema", "json_schema": form}


def _encode_choice(choice: str | None, tools: WireTools) -> object:
    """Encode the tool choice: a word unchanged, a name as a function, or raise `SetupError` without that tool."""
    if choice in (None, "auto", "none", "required"):
        return choice
    return {"type": "function", "function": {"name": tools.alias_to_call(choice)}}
