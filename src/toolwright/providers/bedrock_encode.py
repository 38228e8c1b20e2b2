"""Transcripts and settings as Bedrock's Converse wire wants them, in boto3's form: bytes as bytes."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from toolwright.content import Audio, Block, Content, Data, File, Image, Text, text_of
from toolwright.messages import (
    AssistantMessage,
    Reasoning,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from toolwright.model import OutputFormat, Settings, ToolChoice
from toolwright.providers.bedrock_block import unpacked
from toolwright.providers.bedrock_stream import WIRE
from toolwright.providers.claude import (
    caches_on_bedrock,
    is_claude,
    longest_reply,
    takes_temperature,
)
from toolwright.providers.held import held_schema
from toolwright.providers.layout import arrange
from toolwright.providers.media import BELOW, NO_OUTPUT, inline, is_blank, note, readable
from toolwright.providers.ownership import model_family, same_model
from toolwright.providers.turns import Answer, TurnEncoder
from toolwright.providers.wire import (
    Json,
    arguments_object,
    as_dict,
    as_list,
    as_text,
    clean_text,
    dumps,
)
from toolwright.providers.wiretools import WireTools
from toolwright.record import record

MAX_IMAGE = 3_932_160
"""The most bytes of one picture that the service takes: 3.75 MB."""

_IMAGES = {"image/png": "png", "image/jpeg": "jpeg", "image/gif": "gif", "image/webp": "webp"}
_DOCUMENTS = {
    "application/pdf": "pdf",
    "application/msword": "doc",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.ms-excel": "xls",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
}
_VIDEOS = {
    "video/x-matroska": "mkv",
    "video/quicktime": "mov",
    "video/mp4": "mp4",
    "video/webm": "webm",
    "video/mpeg": "mpeg",
    "video/3gpp": "three_gp",
}
_AUDIOS = {
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/ogg": "ogg",
    "audio/flac": "flac",
    "audio/aac": "aac",
}
_S3 = re.compile(r"s3://[a-z0-9][.\-a-z0-9]{1,61}[a-z0-9](/.*)?")
_LABEL = re.compile(r"[^A-Za-z0-9()\[\]-]+")
_CACHE_POINT: Json = {"cachePoint": {"type": "default"}}
_NO_INPUT: Json = {"type": "object", "properties": {}}


@record
class BedrockOptions:
    """How to encode.

    Args:
        model: The model asked; reasoning of other models goes as plain text. Empty: any.
        prompt_cache: Whether to mark what the next request will repeat for the cache: the
            system prompt, the tools and what was said to the model last. Models that do not
            take such marks get none.
    """

    model: str = ""
    prompt_cache: bool = False

    @property
    def cache(self) -> bool:
        return self.prompt_cache and caches_on_bedrock(self.model)


class BedrockBlocks:
    """What the parts of a transcript look like on this wire.

    Args:
        tools: The request's.
        options: How to encode.
    """

    __slots__ = ("_claude", "_labels", "_options", "_tools")

    def __init__(self, tools: WireTools, options: BedrockOptions) -> None:
        self._tools = tools
        self._options = options
        self._claude = is_claude(options.model) or not options.model
        self._labels: set[str] = set()

    def text(self, text: str) -> Json:
        return {"text": text}

    def system(self, message: SystemMessage) -> list[Json]:
        text = clean_text(text_of(message.content))
        return [{"text": text}] if text.strip() else []

    def prompt(self, message: UserMessage) -> list[Json]:
        return self._blocks(message.content)

    def reply(self, message: AssistantMessage, ids: Sequence[str]) -> list[Json]:
        extra = as_dict(message.extra.get(WIRE))
        ours = same_model(self._options.model, message.model)
        layout = [
            as_dict(unpacked(entry)) if isinstance(entry, dict) else entry
            for entry in as_list(extra.get("content"))
            if ours or not _is_hidden(entry)
        ]
        thoughts = [self._thought(one) for one in message.reasoning]
        calls = [self._call(call, id) for call, id in zip(message.tool_calls, ids, strict=True)]
        text = clean_text(message.text)
        said = [self.text(text)] if text.strip() else []
        blocks = [
            block
            for block in arrange(layout, thoughts, calls, (text, said), _spoken)
            if not _is_blank(block)
        ]
        return [] if all(map(_is_hidden, blocks)) else blocks

    def answer(self, result: ToolMessage, call: ToolCall, wire_id: str) -> Answer:
        blocks = self._blocks(result.content)
        inside = ("text",) if result.failed else ("text", "image", "document", "video")
        after = [block for block in blocks if not block.keys() & {*inside}]
        blocks = [block for block in blocks if block.keys() & {*inside}]
        if not any("text" in block for block in blocks):
            blocks = [self.text(BELOW if blocks or after else NO_OUTPUT), *blocks]
        status = "error" if result.failed else "success"
        body: Json = {"toolUseId": wire_id, "content": blocks, "status": status}
        return Answer([{"toolResult": body}], after)

    def _call(self, call: ToolCall, wire_id: str) -> Json:
        arguments = self._tools.outward(call.name, arguments_object(call.arguments))
        alias = self._tools.alias(call.name)
        body: Json = {"toolUseId": wire_id, "name": alias, "input": arguments}
        return {"toolUse": {**body, **as_dict(call.extra.get(WIRE))}}

    def _thought(self, thought: Reasoning) -> list[Json]:
        """Reasoning as Claude wants it back; other models want none."""
        text = clean_text(thought.text)
        if not self._claude:
            return []
        if thought.signature and same_model(self._options.model, thought.model):
            told = {"text": text, "signature": thought.signature}
            return [{"reasoningContent": {"reasoningText": told}}]
        return [self.text(text)] if text.strip() else []

    def _blocks(self, content: Content) -> list[Json]:
        if is_blank(content):
            return []
        if isinstance(content, str):
            return [self.text(clean_text(content))]
        made = [wire for block in content for wire in self._block(block)]
        return [wire for wire in made if not _is_blank(wire)]

    def _block(self, block: Block) -> list[Json]:
        text = readable(block)
        if text is not None or isinstance(block, Text | Data):
            return [self.text(clean_text(text or ""))]
        block = inline(block)
        source = _source(block)
        kind, form = _form(block)
        if (
            not source
            or not kind
            or (kind in ("video", "audio") and is_claude(self._options.model))
        ):
            return [self.text(note(block, "cannot be shown"))]
        if kind == "image" and len(block.data) > MAX_IMAGE:
            return [self.text(note(block, "too large to be shown"))]
        if kind != "document":
            return [{kind: {"format": form, "source": source}}]
        name = block.name if isinstance(block, File) else ""
        label = self._label(name)
        intro = self.text(clean_text(f"Document {label!r} is the file {name!r}:"))
        return [intro, {"document": {"format": form, "name": label, "source": source}}]

    def _label(self, name: str) -> str:
        """A document's name as the service takes it: of few letters, and used once."""
        stem = _LABEL.sub(" ", name.rpartition(".")[0] or name).strip()[:180] or "document"
        label, number = stem, 1
        while label.lower() in self._labels:
            number += 1
            label = f"{stem} {number}"
        self._labels.add(label.lower())
        return label


def encode_options(settings: Settings, tools: WireTools, options: BedrockOptions) -> Json:
    """A request without what depends on its messages."""
    extra = {key: value for key, value in settings.extra.items() if key != "toolConfig"}
    fields = as_dict(extra.pop("additionalModelRequestFields", None))
    sampling = _sampling(settings, options.model, as_dict(fields.get("thinking")))
    sampling |= as_dict(extra.pop("inferenceConfig", None))
    serial = settings.parallel_tool_calls is False and settings.tool_choice in (None, "auto")
    if serial and tools.bodies and is_claude(options.model):
        fields = {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}, **fields}
    body: Json = {"modelId": options.model}
    if sampling:
        body["inferenceConfig"] = sampling
    if fields:
        body["additionalModelRequestFields"] = fields
    if settings.output is not None:
        form = {"textFormat": _text_format(settings.output)}
        body["outputConfig"] = {**as_dict(extra.pop("outputConfig", None)), **form}
    return {**body, **extra}


def _text_format(output: OutputFormat) -> Json:
    form: Json = {"name": output.name}
    if output.description:
        form["description"] = output.description
    form["schema"] = dumps(held_schema(output, "anthropic-strict").schema)
    return {"type": "json_schema", "structure": {"jsonSchema": form}}


def _sampling(settings: Settings, model: str, thinking: Json) -> Json:
    sampling: Json = {}
    if settings.max_tokens is not None:
        sampling["maxTokens"] = settings.max_tokens
    elif is_claude(model):  # the service's own default, 4096, cuts calls off
        budget = thinking.get("budget_tokens")
        least = budget + 4096 if isinstance(budget, int) else 0
        sampling["maxTokens"] = max(longest_reply(model, stream=True), least)
    if settings.temperature is not None and not thinking and takes_temperature(model):
        sampling["temperature"] = settings.temperature
    return sampling


def compose(encoder: TurnEncoder, messages: list[Json], config: Json, cache: bool) -> Json:
    """The keys of a request that depend on its messages.

    Args:
        encoder: Which encoded the messages.
        messages: All of them.
        config: As `tool_config` made it.
        cache: Whether to mark what the next request will repeat.
    """
    body: Json = {"messages": messages}
    if encoder.system:
        body["system"] = [*encoder.system, *[_CACHE_POINT] * cache]
    if config:
        body["toolConfig"] = config
    return body


def tool_config(
    settings: Settings, tools: WireTools, options: BedrockOptions, called: Collection[str]
) -> Json:
    """The request's ``toolConfig``; empty if there shall be none.

    Calls in the transcript are refused without (provider quirk Q50), and there is no way to say
    that none may be made now.

    Args:
        settings: How to sample; tools of the service's own in ``extra["toolConfig"]["tools"]``.
        tools: The request's.
        options: How to encode.
        called: Names of the tools called so far.
    """
    extra = as_dict(settings.extra.get("toolConfig"))
    wires: list[object] = [*tools.bodies, *as_list(extra.get("tools"))]
    if not called and (not wires or settings.tool_choice == "none"):
        return {}
    if not wires:
        return {"tools": [_stub(tools.alias(name)) for name in called]}
    if options.cache and not model_family(options.model).startswith("nova"):
        wires.append(_CACHE_POINT)
    fields = as_dict(settings.extra.get("additionalModelRequestFields"))
    thinks = as_dict(fields.get("thinking")).get("type") == "enabled"
    choice = {} if thinks else _tool_choice(settings.tool_choice, tools)
    return {**choice, **extra, "tools": wires}


def _tool_choice(choice: ToolChoice | None, tools: WireTools) -> Json:
    match choice:
        case None | "auto" | "none":
            return {}
        case "required":
            return {"toolChoice": {"any": {}}}
    return {"toolChoice": {"tool": {"name": tools.chosen(choice)}}}


def end_of(encoder: TurnEncoder, cache: bool) -> list[Json]:
    """The messages that may still change, as the end of a request."""
    tail = encoder.tail()
    if not tail:
        return tail
    blocks = as_list(tail[-1]["content"])
    last = as_dict(blocks[-1])
    if tail[-1]["role"] == "assistant":  # a prefill must not end in white space
        if "text" in last:
            tail[-1]["content"] = [*blocks[:-1], {"text": as_text(last["text"]).rstrip()}]
    elif cache:
        tail[-1]["content"] = _marked(blocks)
    return tail


def _marked(blocks: Sequence[object]) -> list[object]:
    """`blocks` with a cache point, which must not stand behind a document or a film."""
    marked = list(blocks)
    for index in range(len(marked), 0, -1):
        if not as_dict(marked[index - 1]).keys() & {"document", "video", "audio"}:
            marked.insert(index, _CACHE_POINT)
            break
    return marked


def _stub(name: str) -> Json:
    """A tool that is not there any more, but was called."""
    return {"toolSpec": {"name": name, "inputSchema": {"json": dict(_NO_INPUT)}}}


def _source(block: Image | Audio | File) -> Json:
    """Where the bytes are; empty if this wire cannot say it."""
    url = getattr(block, "url", "")
    if url:
        return {"s3Location": {"uri": url}} if _S3.fullmatch(url) else {}
    return {"bytes": block.data} if block.data else {}


def _form(block: Image | Audio | File) -> tuple[str, str]:
    """The wire's word for the kind of block, and for its format; empty if it has none."""
    if isinstance(block, Image):
        return "image" if block.media_type in _IMAGES else "", _IMAGES.get(block.media_type, "")
    for kind, forms in (("document", _DOCUMENTS), ("video", _VIDEOS), ("audio", _AUDIOS)):
        if block.media_type in forms:
            return kind, forms[block.media_type]
    return "", ""


def _spoken(block: Json) -> str:
    if "citationsContent" in block:
        parts = as_list(as_dict(block["citationsContent"]).get("content"))
        return "".join(as_text(as_dict(part).get("text")) for part in parts)
    return as_text(block.get("text"))


def _is_blank(block: Json) -> bool:
    return "text" in block and not as_text(block["text"]).strip()


def _is_hidden(entry: object) -> bool:
    return "reasoningContent" in as_dict(entry)
