"""Encodes transcripts, tools and settings for Anthropic's Messages wire."""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterable, Mapping, Sequence

from toolkeel.content import Audio, Block, File, Image
from toolkeel.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from toolkeel.model_interface import ModelRequest, Settings
from toolkeel.providers.anthropic.profile import UNSIGNED, WIRE, AnthropicProfile
from toolkeel.providers.anthropic.stream import StreamDecoder
from toolkeel.providers.chat_servers import provider_at
from toolkeel.providers.claude import (
    can_reason,
    claude_reasoning,
    is_claude,
    longest_reply,
    takes_temperature,
)
from toolkeel.providers.wire.media import omission_note
from toolkeel.providers.wire.plain_json import (
    Json,
    as_dict,
    as_list,
    as_text,
    clean_text,
    without_none,
)
from toolkeel.providers.wire.request import PreparedRequest
from toolkeel.providers.wire.sampling import PENALTIES, SAMPLING, stop_texts
from toolkeel.providers.wire.structured_output import compile_format
from toolkeel.providers.wire.tools import Tools, WireTools, wire_tools
from toolkeel.providers.wire.turns import ClaudeEncoder

MAX_IMAGE = 5 * 1024 * 1024
"""The most base64 characters of one picture that the API takes."""

_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_NO_INPUT: Json = {"type": "object", "properties": {}}
_EPHEMERAL: Mapping[str, str] = {"type": "ephemeral"}
_SIGNING_PROVIDERS = frozenset({"anthropic", "aws.bedrock", "gcp.vertex_ai"})
"""Providers that refuse thinking without a signature."""
_HIDDEN = frozenset({"thinking", "redacted_thinking"})


def encode_tools(tools: Tools, *, strict: bool | None = None) -> list[Json]:
    """Encode the body's ``tools``.

    Args:
        tools: The tools that the model may call.
        strict: True if the server must hold arguments to the schema; None: its default.

    Returns:
        One dict a tool: functions in order, then the server's own tools. A name that the wire does not
        accept is replaced by an alias, and so is a property's; `decode` restores them if it gets the tools.

    Raises:
        DefinitionError, SetupError: as `wire_tools`.
    """
    made = wire_tools(tools, WIRE, strict)
    return [*map(dict, made.bodies), *made.native_bodies]


def encode(
    request: ModelRequest, model: str, *, stream: bool = False, prompt_cache: bool = False
) -> Json:
    """Encode the body of a request; log settings that are not sent.

    Args:
        request: Messages, tools and settings. ``settings.extra_body`` holds further keys of the body;
            its ``tools``, such as the server's own, are appended to the request's.
        model: The model's name.
        stream: True to stream the answer.
        prompt_cache: True to mark the part that the next request repeats for the cache.

    Returns:
        The JSON body, to be sent as it is or as keyword arguments of an SDK's ``create``.

    Raises:
        DefinitionError, SetupError: as `wire_tools`; or ``tool_choice`` names no tool.
    """
    profile = AnthropicProfile(model, stream, prompt_cache=prompt_cache)
    return AnthropicEncoder.encode(request, profile)


def encode_messages(
    messages: Iterable[Message], *, tools: Tools = (), model: str = "", prompt_cache: bool = False
) -> list[Json]:
    r"""Encode the body's ``messages``, without instructions: see `encode_system`.

    Args:
        messages: The transcript.
        tools: The tools as they are sent; names of other tools are made legal one by one.
        model: The requested model; signed reasoning of other models becomes text. Empty: any.
        prompt_cache: True to mark the last block for the cache.

    Raises:
        DefinitionError, SetupError: as `wire_tools`.

    >>> from toolkeel.messages import UserMessage
    >>> call = ToolCall("c1", "weather", '{"city": "\u5317\u4eac"}')
    >>> turn = [UserMessage("北京?"), AssistantMessage(tool_calls=(call,)), ToolMessage("晴", "c1")]
    >>> user, assistant, results = encode_messages(turn)
    >>> assistant["content"]
    [{'type': 'tool_use', 'id': 'c1', 'name': 'weather', 'input': {'city': '北京'}}]
    >>> results["content"]
    [{'type': 'tool_result', 'tool_use_id': 'c1', 'content': '晴'}]
    """
    profile = AnthropicProfile(model, prompt_cache=prompt_cache)
    return AnthropicEncoder(wire_tools(tools, WIRE), profile).encode_transcript(messages)


def encode_system(messages: Iterable[Message], *, prompt_cache: bool = False) -> list[Json]:
    """Encode the body's ``system``: all instructions of a transcript, wherever they are.

    Args:
        messages: The transcript.
        prompt_cache: True to mark the last block for the cache.
    """
    body = encode(ModelRequest(list(messages)), "", prompt_cache=prompt_cache)
    return [as_dict(block) for block in as_list(body.get("system"))]


def encode_turn(reply: object, results: Sequence[ToolMessage], *, tools: Tools = ()) -> list[Json]:
    """Encode a reply and the results of its calls, to append to your own ``messages``.

    Args:
        reply: The answer with the calls, in any form that `decode` accepts.
        results: One for each call, as `Toolset.run` returns them.
        tools: The tools as they were sent.

    Returns:
        The assistant's message and, if it calls, one of the user with all results in the order
        of the calls. Missing or repeated ids of the server become unique on both sides.

    Raises:
        DefinitionError, SetupError: as `wire_tools`; or there is not one result for each call.
        ModelError: as `decode` does.
    """
    return AnthropicEncoder.encode_turn(reply, results, wire_tools(tools, WIRE), AnthropicProfile())


def encode_options(settings: Settings, tools: WireTools, profile: AnthropicProfile) -> Json:
    """Return model, tools and settings as keys of a body; raise `SetupError` if the tool choice is no tool.

    Keys of ``extra_body`` win, but its ``tools`` are appended. Without a maximum, the model's longest reply is set.
    """
    extra = _with_reasoning(settings, profile.model)
    if profile.betas_in_header:
        extra.pop("betas", None)
    thinking = as_dict(extra.get("thinking"))
    budget = thinking.get("budget_tokens")
    most = settings.max_tokens or longest_reply(profile.model, stream=profile.stream)
    if settings.max_tokens is None and isinstance(budget, int):
        most = max(most, budget + longest_reply(profile.model, stream=False))
    body: Json = {"model": profile.model, "max_tokens": most}
    wires = _mark_last_tool(tools.bodies) if profile.prompt_cache else list(tools.bodies)
    wires += [*tools.native_bodies, *map(as_dict, as_list(extra.pop("tools", None)))]
    if wires:
        body["tools"] = wires
        choice = _encode_choice(settings, tools, forced=thinking.get("type") != "enabled")
        if choice:
            body["tool_choice"] = choice
    if _is_sampled(extra, profile.model):
        body |= without_none(
            temperature=settings.temperature, top_p=settings.top_p, top_k=settings.top_k
        )
    body |= without_none(stop_sequences=stop_texts(settings), stream=profile.stream or None)
    if settings.output is not None:
        schema = compile_format(settings.output, "anthropic-strict").schema
        form = {"format": {"type": "json_schema", "schema": schema}}
        body["output_config"] = {**as_dict(extra.pop("output_config", None)), **form}
    beside = {
        key: [*found, *as_list(extra.pop(key, None))] for key, found in tools.native_lists.items()
    }
    return {**body, **beside, **extra}


def _with_reasoning(settings: Settings, model: str) -> Json:
    """Return a copy of ``settings.extra_body`` with the keys of the reasoning effort; its own values win."""
    extra = dict(settings.extra_body)
    for key, value in claude_reasoning(model, settings.reasoning_effort).items():
        extra[key] = {**as_dict(value), **as_dict(extra.get(key))}
    return extra


def _is_sampled(extra: Json, model: str) -> bool:
    """Return True if the model accepts sampling settings: not while it thinks, nor the latest."""
    thinks = as_dict(extra.get("thinking")).get("type") in ("enabled", "adaptive")
    return not thinks and takes_temperature(model)


class AnthropicEncoder(ClaudeEncoder[AnthropicProfile]):
    """Encodes the parts of a transcript for this wire.

    Attributes:
        container: Code execution container that the next request must name; empty if none.
    """

    wire = WIRE
    decoder = StreamDecoder
    encode_options = staticmethod(encode_options)

    @staticmethod
    def unsupported_settings(settings: Settings, profile: AnthropicProfile) -> Collection[str]:
        """Return the names of settings that the model or this wire does not take."""
        sampled = _is_sampled(_with_reasoning(settings, profile.model), profile.model)
        lost = {"min_p", "seed"} | PENALTIES | (frozenset() if sampled else SAMPLING)
        return lost if can_reason(profile.model) else lost | {"reasoning_effort"}

    def __init__(self, tools: WireTools, profile: AnthropicProfile) -> None:
        super().__init__(tools, profile)
        self.container = ""
        signs = provider_at(profile.endpoint) in _SIGNING_PROVIDERS
        self._is_anthropic = signs or is_claude(profile.model)
        self._accepts_unsigned = profile.unsigned_thinking

    def text_block(self, text: str) -> Json:
        """Return a block of text."""
        return {"type": "text", "text": text}

    def encode_prompt(self, message: UserMessage) -> list[Json]:
        """Encode a user message as blocks, and forget the container of the last turn unless the profile keeps it."""
        if not self._profile.keep_container:
            self.container = ""
        return super().encode_prompt(message)

    def encode_reply(self, message: AssistantMessage, ids: Sequence[str]) -> list[Json]:
        """Encode a reply as blocks.

        Remember its code container for the next request of the turn, and if it had thinking without
        a signature.
        """
        extra = as_dict(message.provider_options.get(WIRE))
        self.container = as_text(extra.get("container")) or self.container
        unsigned = extra.get(UNSIGNED) is True and not self._is_anthropic
        self._accepts_unsigned = unsigned or self._profile.unsigned_thinking
        return super().encode_reply(message, ids)

    def fits_in_result(self, block: Json, failed: bool) -> bool:
        """Return True if a result may contain a block: a failed result has text only."""
        return not failed or block["type"] == "text"  # "if is_error is true, all must be text"

    def result_block(self, call: ToolCall, wire_id: str, blocks: list[Json], failed: bool) -> Json:
        """Build a ``tool_result`` block; a single text block becomes a string."""
        alone = len(blocks) == 1 and blocks[0]["type"] == "text"
        return without_none(
            type="tool_result",
            tool_use_id=wire_id,
            content=blocks[0]["text"] if alone else blocks,
            is_error=failed or None,
            toolset_name=as_dict(call.provider_options.get(WIRE)).get("toolset_name"),
        )

    def encode_head(self, prepared: PreparedRequest) -> Json:
        """Return ``system``, the container and, in a request without tools, stubs of the called tools."""
        past = (
            {} if "tools" in prepared.static_keys else _stub_tools(self.called_tools, self._tools)
        )
        if self.system:
            past["system"] = self.mark_for_cache(self.system)
        if self.container:
            past["container"] = self.container
        return past

    def encode_call(self, call: ToolCall, wire_id: str) -> Json:
        """Encode a call that has `wire_id`."""
        arguments = self._tools.encode_arguments(call)
        wire: Json = {"type": "tool_use", "id": wire_id, "name": self._tools.alias(call.name)}
        return {**wire, "input": arguments, **as_dict(call.provider_options.get(WIRE))}

    def signed_reasoning(self, text: str, signature: str) -> Json:
        """Build a ``thinking`` block.

        Return an empty dict if it is unsigned and the server wants signatures.
        """
        if not signature and not self._accepts_unsigned:
            return {}
        return {"type": "thinking", "thinking": text, "signature": signature}

    def media_blocks(self, block: Image | Audio | File) -> list[Json]:
        """Encode a picture or a PDF; a text for a picture of more than `MAX_IMAGE` bytes as base64, no blocks for anything else."""
        url = getattr(block, "url", "")
        source = (
            {"type": "url", "url": url} if url else _encode_base64(block.data, block.media_type)
        )
        match block:
            case Image() if url or (block.data and block.media_type in _IMAGES):
                if len(block.data) * 4 > MAX_IMAGE * 3 and not url:
                    return [self.text_block(omission_note(block, "too large to be shown"))]
                return [{"type": "image", "source": source}]
            case File(media_type="application/pdf") if url or block.data:
                return [self._encode_document(block, source)]
        return []

    def encode_block(self, block: Block) -> list[Json]:
        """Encode a content block.

        A text file that came as a document of this wire is a document again.
        """
        if isinstance(block, File) and block.media_type == "text/plain" and WIRE in block.extra:
            text = clean_text(block.data.decode(errors="replace"))
            source: Json = {"type": "text", "media_type": "text/plain", "data": text}
            return [self._encode_document(block, source)]
        return super().encode_block(block)

    def _encode_document(self, file: File, source: Json) -> Json:
        """Build a document block with title, source and the fields saved from this wire."""
        title = clean_text(file.name)
        extra = as_dict(file.extra.get(WIRE))
        return {"type": "document", "source": source, "title": title, **extra}

    def text_of_block(self, block: Json) -> str:
        """Return the text of a text block; empty for other blocks."""
        return as_text(block.get("text")) if block.get("type") == "text" else ""

    def is_reasoning(self, entry: object) -> bool:
        """Return True if a block is reasoning."""
        return as_text(as_dict(entry).get("type")) in _HIDDEN

    def mark_for_cache(self, blocks: Sequence[Json]) -> list[Json]:
        """Return blocks with a cache breakpoint on the last possible one, if the profile wants it."""
        marked = list(blocks)
        for index in reversed(range(len(marked) * self._profile.prompt_cache)):
            if not self.is_reasoning(marked[index]):
                marked[index] = {**marked[index], "cache_control": dict(_EPHEMERAL)}
                break
        return marked


def _stub_tools(called: Iterable[str], tools: WireTools) -> Json:
    """Return ``tools`` with a stub for each called tool, and a choice that forbids calls; empty if none was called.

    Some servers refuse the calls otherwise (provider quirk Q33).
    """
    stubs = [{"name": tools.alias(name), "input_schema": dict(_NO_INPUT)} for name in called]
    return {"tools": stubs, "tool_choice": {"type": "none"}} if stubs else {}


def _encode_choice(settings: Settings, tools: WireTools, *, forced: bool) -> Json:
    """Encode the tool choice; without `forced`, the model cannot be made to call while it thinks.

    Raises `SetupError` if it names no tool.
    """
    serial = {"disable_parallel_tool_use": True} if settings.parallel_tool_calls is False else {}
    match settings.tool_choice:
        case None:
            return {"type": "auto", **serial} if serial else {}
        case "none":
            return {"type": "none"}
        case "auto":
            return {"type": "auto", **serial}
        case "required":
            return {"type": "any" if forced else "auto", **serial}
        case name:
            alias = tools.alias_to_call(name)
            return (
                {"type": "tool", "name": alias, **serial} if forced else {"type": "auto", **serial}
            )


def _mark_last_tool(tools: Sequence[Json]) -> list[Json]:
    """Return tools with a breakpoint on the last one that is not deferred, unless the program set its own."""
    if any("cache_control" in tool for tool in tools):
        return list(tools)
    loaded = [index for index, tool in enumerate(tools) if not tool.get("defer_loading")]
    last = loaded[-1] if loaded else -1
    return [
        {**tool, "cache_control": dict(_EPHEMERAL)} if index == last else tool
        for index, tool in enumerate(tools)
    ]


def _encode_base64(data: bytes, media_type: str) -> Json:
    """Return a ``base64`` source with the bytes and their media type."""
    encoded = base64.b64encode(data).decode()
    return {"type": "base64", "media_type": media_type, "data": encoded}
