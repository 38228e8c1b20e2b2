"""Transcripts and settings as Anthropic's Messages wire wants them."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence

from toolwright.content import Block, Content, Data, File, Image, Text, text_of
from toolwright.messages import (
    AssistantMessage,
    Reasoning,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from toolwright.model import Settings
from toolwright.providers.anthropic_stream import PAUSE, WIRE
from toolwright.providers.claude import longest_reply, takes_temperature
from toolwright.providers.held import held_schema
from toolwright.providers.layout import arrange
from toolwright.providers.media import BELOW, NO_OUTPUT, inline, is_blank, note, readable
from toolwright.providers.ownership import same_model
from toolwright.providers.turns import Answer, TurnEncoder
from toolwright.providers.wire import Json, arguments_object, as_dict, as_list, as_text, clean_text
from toolwright.providers.wiretools import WireTools
from toolwright.record import record

MAX_IMAGE = 5 * 1024 * 1024
"""The most base64 characters of one picture that the API takes."""

_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_NO_INPUT: Json = {"type": "object", "properties": {}}
_EPHEMERAL: Mapping[str, str] = {"type": "ephemeral"}
_HIDDEN = frozenset({"thinking", "redacted_thinking"})


@record
class AnthropicOptions:
    """How to encode.

    Args:
        model: The model asked; reasoning of other models goes as plain text. Empty: any.
        stream: Whether the answer shall be streamed.
        prompt_cache: Whether to mark what the next request will repeat for the cache: the
            system prompt, the last tool and the last block of what was said to the model.
        unsigned_thinking: Whether the server takes thinking without a signature back as such.
            Anthropic's does not; some that imitate it never sign.
        hosting: Whether the server has tools of its own, such as web search.
    """

    model: str = ""
    stream: bool = False
    prompt_cache: bool = False
    unsigned_thinking: bool = False
    hosting: bool = True


class AnthropicBlocks:
    """What the parts of a transcript look like on this wire.

    Args:
        tools: The request's.
        options: How to encode.

    Attributes:
        container: The code execution container that the open turn needs again; empty if none.
    """

    __slots__ = ("_options", "_tools", "container")

    def __init__(self, tools: WireTools, options: AnthropicOptions) -> None:
        self._tools = tools
        self._options = options
        self.container = ""

    def text(self, text: str) -> Json:
        return {"type": "text", "text": text}

    def system(self, message: SystemMessage) -> list[Json]:
        text = clean_text(text_of(message.content))
        return [self.text(text)] if text.strip() else []

    def prompt(self, message: UserMessage) -> list[Json]:
        self.container = ""
        return self._blocks(message.content)

    def reply(self, message: AssistantMessage, ids: Sequence[str]) -> list[Json]:
        extra = as_dict(message.extra.get(WIRE))
        ours = same_model(self._options.model, message.model)
        layout = [entry for entry in as_list(extra.get("content")) if ours or not _is_hidden(entry)]
        thoughts = [self._thought(one) for one in message.reasoning]
        calls = [self._call(call, id) for call, id in zip(message.tool_calls, ids, strict=True)]
        text = clean_text(message.text)
        said = [self.text(text)] if text.strip() else []
        blocks = arrange(layout, thoughts, calls, (text, said), _spoken)
        blocks = [
            block for block in blocks if block.get("type") != "text" or _spoken(block).strip()
        ]
        paused = extra.get("stop_reason") == PAUSE
        by_code = any(as_dict(call.get("caller")).get("tool_id") for call in calls)
        self.container = as_text(extra.get("container")) if paused or by_code else ""
        return [] if all(map(_is_hidden, blocks)) else blocks

    def answer(self, result: ToolMessage, call: ToolCall, wire_id: str) -> Answer:
        blocks = self._blocks(result.content)
        after: list[Json] = []
        if result.failed:  # "if is_error is true, all content must be type text"
            after = [block for block in blocks if block["type"] != "text"]
            blocks = [block for block in blocks if block["type"] == "text"]
        if not any(block["type"] == "text" for block in blocks):
            below = blocks or after
            blocks = [self.text(BELOW if below else NO_OUTPUT), *blocks]
        wire: Json = {"type": "tool_result", "tool_use_id": wire_id}
        alone = len(blocks) == 1 and blocks[0]["type"] == "text"
        wire["content"] = blocks[0]["text"] if alone else blocks
        if result.failed:
            wire["is_error"] = True
        toolset = as_dict(call.extra.get(WIRE)).get("toolset_name")
        if toolset:
            wire["toolset_name"] = toolset
        return Answer([wire], after)

    def _call(self, call: ToolCall, wire_id: str) -> Json:
        arguments = self._tools.outward(call.name, arguments_object(call.arguments))
        wire: Json = {"type": "tool_use", "id": wire_id, "name": self._tools.alias(call.name)}
        return {**wire, "input": arguments, **as_dict(call.extra.get(WIRE))}

    def _thought(self, thought: Reasoning) -> list[Json]:
        text = clean_text(thought.text)
        signed = bool(thought.signature) or self._options.unsigned_thinking
        if signed and same_model(self._options.model, thought.model):
            return [{"type": "thinking", "thinking": text, "signature": thought.signature}]
        return [self.text(text)] if text.strip() else []

    def _blocks(self, content: Content) -> list[Json]:
        if is_blank(content):
            return []
        if isinstance(content, str):
            return [self.text(clean_text(content))]
        blocks = [self._block(block) for block in content]
        return [block for block in blocks if block["type"] != "text" or _spoken(block).strip()]

    def _block(self, block: Block) -> Json:
        text = readable(block)
        if text is not None or isinstance(block, Text | Data):
            return self.text(clean_text(text or ""))
        block = inline(block)
        url = getattr(block, "url", "")
        match block:
            case Image() if url:
                return {"type": "image", "source": {"type": "url", "url": url}}
            case Image(data, media_type) if data and media_type in _IMAGES:
                if len(data) * 4 <= MAX_IMAGE * 3:
                    return {"type": "image", "source": _base64(data, media_type)}
                return self.text(note(block, "too large to be shown"))
            case File(media_type="application/pdf") if block.data or url:
                pdf = _base64(block.data, block.media_type)
                source = {"type": "url", "url": url} if url else pdf
                return {"type": "document", "source": source, "title": clean_text(block.name)}
        return self.text(note(block, "cannot be shown"))


def encode_options(settings: Settings, tools: WireTools, options: AnthropicOptions) -> Json:
    """The body of a request without what depends on its messages."""
    extra = dict(settings.extra)
    thinking = as_dict(extra.get("thinking"))
    budget = thinking.get("budget_tokens")
    most = settings.max_tokens or longest_reply(options.model, stream=options.stream)
    if settings.max_tokens is None and isinstance(budget, int):
        most = max(most, budget + longest_reply(options.model, stream=False))
    body: Json = {"model": options.model, "max_tokens": most}
    wires = _marked_tools(tools.bodies) if options.prompt_cache else list(tools.bodies)
    wires += [*tools.own_bodies, *map(as_dict, as_list(extra.pop("tools", None)))]
    if wires:
        body["tools"] = wires
        choice = _tool_choice(settings, tools, forced=thinking.get("type") != "enabled")
        if choice:
            body["tool_choice"] = choice
    thinks = thinking.get("type") in ("enabled", "adaptive")
    if settings.temperature is not None and not thinks and takes_temperature(options.model):
        body["temperature"] = settings.temperature
    if options.stream:
        body["stream"] = True
    if settings.output is not None:
        schema = held_schema(settings.output, "anthropic-strict").schema
        form = {"format": {"type": "json_schema", "schema": schema}}
        body["output_config"] = {**as_dict(extra.pop("output_config", None)), **form}
    beside = {key: [*found, *as_list(extra.pop(key, None))] for key, found in tools.beside.items()}
    return {**body, **beside, **extra}


def head_of(encoder: TurnEncoder, container: str, cache: bool) -> Json:
    """The keys of a body, beside ``messages``, that depend on them."""
    system = system_of(encoder, cache)
    head: Json = {"system": system} if system else {}
    if container:
        head["container"] = container
    return head


def system_of(encoder: TurnEncoder, cache: bool) -> list[Json]:
    """The body's ``system``."""
    return _marked(encoder.system) if cache else list(encoder.system)


def past_tools(called: Iterable[str], tools: WireTools) -> Json:
    """What stands in for ``tools`` if there are none any more, but some were called.

    Some servers refuse the calls otherwise (provider quirk Q33).
    """
    stubs = [{"name": tools.alias(name), "input_schema": dict(_NO_INPUT)} for name in called]
    return {"tools": stubs, "tool_choice": {"type": "none"}} if stubs else {}


def end_of(encoder: TurnEncoder, cache: bool) -> list[Json]:
    """The messages that may still change, as the end of a request."""
    tail = encoder.tail()
    if tail and tail[-1]["role"] == "assistant":  # a prefill must not end in white space
        blocks = as_list(tail[-1]["content"])
        last = as_dict(blocks[-1])
        if last.get("type") == "text":
            tail[-1]["content"] = [*blocks[:-1], {**last, "text": _spoken(last).rstrip()}]
    elif tail and cache:
        tail[-1]["content"] = _marked([as_dict(one) for one in as_list(tail[-1]["content"])])
    return tail


def _tool_choice(settings: Settings, tools: WireTools, *, forced: bool) -> Json:
    """The choice; not `forced`, the model cannot be made to call while it thinks."""
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
            alias = tools.chosen(name)
            return (
                {"type": "tool", "name": alias, **serial} if forced else {"type": "auto", **serial}
            )


def _marked(blocks: Sequence[Json]) -> list[Json]:
    """`blocks` with a cache breakpoint on the last that may have one; they are not changed."""
    marked = list(blocks)
    for index in range(len(marked) - 1, -1, -1):
        if not _is_hidden(marked[index]):
            marked[index] = {**marked[index], "cache_control": dict(_EPHEMERAL)}
            break
    return marked


def _marked_tools(tools: Sequence[Json]) -> list[Json]:
    """`tools` with a breakpoint on the last one, unless the program set its own."""
    if any("cache_control" in tool for tool in tools):
        return list(tools)
    loaded = [index for index, tool in enumerate(tools) if not tool.get("defer_loading")]
    last = loaded[-1] if loaded else -1
    return [
        {**tool, "cache_control": dict(_EPHEMERAL)} if index == last else tool
        for index, tool in enumerate(tools)
    ]


def _base64(data: bytes, media_type: str) -> Json:
    encoded = base64.b64encode(data).decode()
    return {"type": "base64", "media_type": media_type, "data": encoded}


def _spoken(block: Json) -> str:
    return as_text(block.get("text")) if block.get("type") == "text" else ""


def _is_hidden(entry: object) -> bool:
    return as_text(as_dict(entry).get("type")) in _HIDDEN
