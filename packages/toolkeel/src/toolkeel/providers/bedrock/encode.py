"""Encodes transcripts, tools and settings for Bedrock's Converse wire, in boto3's form: bytes as bytes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from toolkeel.content import Audio, File, Image
from toolkeel.messages import Message, Reasoning, ToolCall, ToolMessage
from toolkeel.model_interface import (
    ModelRequest,
    OutputFormat,
    ReasoningEffort,
    Settings,
    ToolChoice,
)
from toolkeel.providers.bedrock.profile import WIRE, BedrockProfile, media_form, unpack_bytes
from toolkeel.providers.bedrock.stream import StreamDecoder
from toolkeel.providers.claude import claude_reasoning, is_claude, longest_reply, takes_temperature
from toolkeel.providers.wire.media import omission_note
from toolkeel.providers.wire.plain_json import (
    Json,
    as_dict,
    as_list,
    as_text,
    clean_text,
    dumps,
    without_none,
)
from toolkeel.providers.wire.reasoning_ownership import model_family
from toolkeel.providers.wire.request import PreparedRequest
from toolkeel.providers.wire.sampling import PENALTIES, SAMPLING, stop_texts
from toolkeel.providers.wire.structured_output import compile_format
from toolkeel.providers.wire.tools import Tools, WireTools, wire_tools
from toolkeel.providers.wire.turns import ClaudeEncoder

MAX_IMAGE = 3_932_160
"""The most bytes of one picture that the service takes: 3.75 MB."""

_IN_RESULTS = frozenset({"image", "document", "video"})
_S3 = re.compile(r"s3://[a-z0-9][.\-a-z0-9]{1,61}[a-z0-9](/.*)?")
_LABEL = re.compile(r"[^A-Za-z0-9()\[\]-]+")
_CACHE_POINT: Json = {"cachePoint": {"type": "default"}}
_NO_INPUT: Json = {"type": "object", "properties": {}}


def encode_tools(tools: Tools, *, strict: bool | None = None) -> list[Json]:
    """Encode the ``tools`` of a ``toolConfig``.

    Args:
        tools: The tools that the model may call.
        strict: True if the server must hold arguments to the schema; None: its default.

    Returns:
        One dict a tool, in order. A name that the wire does not accept is replaced by an alias, and
        so is a property's; `decode` restores them if it gets the tools.

    Raises:
        DefinitionError, SetupError: as `wire_tools`.
    """
    return [dict(body) for body in wire_tools(tools, WIRE, strict).bodies]


def encode(request: ModelRequest, model: str, *, prompt_cache: bool = False) -> Json:
    """Encode the keyword arguments of boto3's ``converse`` and ``converse_stream``; log settings left out.

    Args:
        request: Messages, tools and settings. ``settings.extra_body`` holds further keys; the tools
            in its ``toolConfig``, such as the service's own, are appended to the request's; its
            ``inferenceConfig`` and ``additionalModelRequestFields`` are merged with ours.
        model: The model's id, or the ARN of an inference profile.
        prompt_cache: True to mark the part that the next request repeats for the cache, if the
            model accepts such marks.

    Raises:
        DefinitionError, SetupError: as `wire_tools`; or ``tool_choice`` names no tool.
    """
    profile = BedrockProfile(model, prompt_cache=prompt_cache)
    body = BedrockEncoder.encode(request, profile)
    return {"modelId": model, **body}


def encode_messages(
    messages: Iterable[Message], *, tools: Tools = (), model: str = "", prompt_cache: bool = False
) -> list[Json]:
    r"""Encode the request's ``messages``, without instructions: see `encode_system`.

    Args:
        messages: The transcript.
        tools: The tools as they are sent; names of other tools are made legal one by one.
        model: The requested model; signed reasoning of other models becomes text. Empty: any.
        prompt_cache: True to put a cache point at the end, if the model accepts it.

    Raises:
        DefinitionError, SetupError: as `wire_tools`.

    >>> from toolkeel.messages import AssistantMessage, UserMessage
    >>> call = ToolCall("c1", "weather", '{"city": "\\u5317\\u4eac"}')
    >>> turn = [UserMessage("北京?"), AssistantMessage(tool_calls=(call,)), ToolMessage("晴", "c1")]
    >>> user, assistant, results = encode_messages(turn)
    >>> assistant["content"]
    [{'toolUse': {'toolUseId': 'c1', 'name': 'weather', 'input': {'city': '北京'}}}]
    >>> results["content"]
    [{'toolResult': {'toolUseId': 'c1', 'content': [{'text': '晴'}], 'status': 'success'}}]
    """
    profile = BedrockProfile(model, prompt_cache=prompt_cache)
    return BedrockEncoder(wire_tools(tools, WIRE), profile).encode_transcript(messages)


def encode_system(messages: Iterable[Message]) -> list[Json]:
    """Encode the request's ``system``: all instructions of a transcript, wherever they are."""
    body = encode(ModelRequest(list(messages)), "")
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
    return BedrockEncoder.encode_turn(reply, results, wire_tools(tools, WIRE), BedrockProfile())


def encode_options(settings: Settings, tools: WireTools, profile: BedrockProfile) -> Json:
    """Return settings as keys of a request, without its tools; raise as `compile_format` for a format."""
    extra = {key: value for key, value in settings.extra_body.items() if key != "toolConfig"}
    fields = _model_fields(settings, profile.model)
    extra.pop("additionalModelRequestFields", None)
    sampling = _encode_sampling(settings, profile.model, as_dict(fields.get("thinking")))
    sampling |= as_dict(extra.pop("inferenceConfig", None))
    serial = settings.parallel_tool_calls is False and settings.tool_choice in (None, "auto")
    if serial and tools.bodies and is_claude(profile.model):
        fields = {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}, **fields}
    body = without_none(
        inferenceConfig=sampling or None, additionalModelRequestFields=fields or None
    )
    if settings.output is not None:
        form = {"textFormat": _encode_format(settings.output)}
        body["outputConfig"] = {**as_dict(extra.pop("outputConfig", None)), **form}
    return {**body, **extra}


class BedrockEncoder(ClaudeEncoder[BedrockProfile]):
    """Encodes the parts of a transcript for this wire."""

    wire = WIRE
    decoder = StreamDecoder
    encode_options = staticmethod(encode_options)

    @staticmethod
    def unsupported_settings(settings: Settings, profile: BedrockProfile) -> Collection[str]:
        """Return the names of settings that the model or this wire does not take."""
        model, fields = profile.model, _model_fields(settings, profile.model)
        lost = {"min_p", "seed"} | PENALTIES
        if not _is_sampled(as_dict(fields.get("thinking")), model):
            lost |= SAMPLING
        if not (is_claude(model) or model_family(model).startswith("nova")):
            lost.add("top_k")
        if not fields.keys() & {"thinking", "reasoningConfig", "reasoning_effort"}:
            lost.add("reasoning_effort")
        return lost

    def __init__(self, tools: WireTools, profile: BedrockProfile) -> None:
        super().__init__(tools, profile)
        nameless = not profile.model or "application-inference-profile/" in profile.model
        self._takes_reasoning = nameless or is_claude(profile.model)
        self._labels: set[str] = set()

    def restore_block(self, block: Json) -> Json:
        """Return a saved block with its base64 data converted to bytes."""
        return as_dict(unpack_bytes(block))

    def fits_in_result(self, block: Json, failed: bool) -> bool:
        """Return True if a result may contain a block: text always; pictures, documents and videos unless it failed."""
        return "text" in block or (not failed and bool(block.keys() & _IN_RESULTS))

    def result_block(self, call: ToolCall, wire_id: str, blocks: list[Json], failed: bool) -> Json:
        """Build a ``toolResult`` block with its status."""
        status = "error" if failed else "success"
        return {"toolResult": {"toolUseId": wire_id, "content": blocks, "status": status}}

    def encode_call(self, call: ToolCall, wire_id: str) -> Json:
        """Encode a call that has `wire_id`."""
        arguments = self._tools.encode_arguments(call)
        alias = self._tools.alias(call.name)
        body: Json = {"toolUseId": wire_id, "name": alias, "input": arguments}
        return {"toolUse": {**body, **as_dict(call.provider_options.get(WIRE))}}

    def encode_reasoning(self, thought: Reasoning, own: bool) -> list[Json]:
        """Encode reasoning for Claude or a model of unknown name; others accept none and get no blocks."""
        return super().encode_reasoning(thought, own) if self._takes_reasoning else []

    def signed_reasoning(self, text: str, signature: str) -> Json:
        """Build a ``reasoningContent`` block; return an empty dict without a signature."""
        reasoning = {"text": text, "signature": signature}
        return {"reasoningContent": {"reasoningText": reasoning}} if signature else {}

    def text_of_block(self, block: Json) -> str:
        """Return the text in a block, with or without citations."""
        if "citationsContent" in block:
            parts = as_list(as_dict(block["citationsContent"]).get("content"))
            return "".join(as_text(as_dict(part).get("text")) for part in parts)
        return as_text(block.get("text"))

    def is_reasoning(self, entry: object) -> bool:
        """Return True if a block is reasoning."""
        return "reasoningContent" in as_dict(entry)

    def mark_for_cache(self, blocks: Sequence[Json]) -> list[Json]:
        """Return a list of the blocks, with a cache point if the model accepts one.

        It follows the last block that is no document, video or sound; there is none without such a block.
        """
        marked = list(blocks)
        for index in range(len(marked) * self._profile.caches_prompt, 0, -1):
            if not marked[index - 1].keys() & {"document", "video", "audio"}:
                marked.insert(index, _CACHE_POINT)
                break
        return marked

    def encode_head(self, prepared: PreparedRequest) -> Json:
        """Return ``system`` and ``toolConfig``, with cache points if the profile wants them.

        A request without tools whose messages have calls gets stubs of the called tools.
        """
        head: Json = {}
        if self.system:
            head["system"] = self.mark_for_cache(self.system)
        called = self.called_tools
        if config := _encode_tool_config(prepared.settings, self._tools, self._profile, called):
            head["toolConfig"] = config
        return head

    def media_blocks(self, block: Image | Audio | File) -> list[Json]:
        """Encode a picture, video or sound, or a document after a text that gives its name.

        Return no blocks for what the wire or the model does not accept, and a text for a picture that is
        too large.
        """
        source = _encode_source(block)
        kind, form = media_form(block)
        unknown = kind in ("video", "audio") and is_claude(self._profile.model)
        if not source or not kind or unknown:
            return []
        if kind == "image" and len(block.data) > MAX_IMAGE:
            return [self.text_block(omission_note(block, "too large to be shown"))]
        if kind != "document":
            return [{kind: {"format": form, "source": source}}]
        name = block.name if isinstance(block, File) else ""
        saved = dict(as_dict(block.extra.get(WIRE)))
        if saved_label := as_text(saved.pop("label", "")):
            return [{"document": {"format": form, "name": saved_label, "source": source, **saved}}]
        label = self._reserve_label(name)
        intro = self.text_block(clean_text(f"Document {label!r} is the file {name!r}:"))
        return [intro, {"document": {"format": form, "name": label, "source": source}}]

    def _reserve_label(self, name: str) -> str:
        """Return and reserve a legal name for a document, unique in the transcript in any letter case.

        It is the file's name without its extension and with a space for illegal characters, 180 characters
        at most, "document" if nothing is left; a number is added if it is taken.
        """
        stem = _LABEL.sub(" ", name.rpartition(".")[0] or name).strip()[:180] or "document"
        label, number = stem, 1
        while label.lower() in self._labels:
            number += 1
            label = f"{stem} {number}"
        self._labels.add(label.lower())
        return label


def _encode_format(output: OutputFormat) -> Json:
    """Encode a reply's schema as the request's ``textFormat``, or raise as `compile_format`."""
    schema = dumps(compile_format(output, "anthropic-strict").schema)
    form = without_none(name=output.name, description=output.description or None, schema=schema)
    return {"type": "json_schema", "structure": {"jsonSchema": form}}


def _encode_sampling(settings: Settings, model: str, thinking: Json) -> Json:
    """Return the request's ``inferenceConfig``.

    Claude gets its longest reply if no maximum is set.
    """
    most = settings.max_tokens
    if most is None and is_claude(model):  # the service's own default, 4096, cuts calls off
        budget = thinking.get("budget_tokens")
        least = budget + 4096 if isinstance(budget, int) else 0
        most = max(longest_reply(model, stream=True), least)
    sampled = _is_sampled(thinking, model)
    return without_none(
        maxTokens=most,
        temperature=settings.temperature if sampled else None,
        topP=settings.top_p if sampled else None,
        stopSequences=stop_texts(settings),
    )


def _is_sampled(thinking: Json, model: str) -> bool:
    """Return True if the model accepts sampling settings: not while it thinks, nor the latest."""
    return thinking.get("type") in (None, "disabled") and takes_temperature(model)


def _model_fields(settings: Settings, model: str) -> Json:
    """Return ``additionalModelRequestFields``: reasoning and settings of the vendor; the program's own win."""
    given = as_dict(settings.extra_body.get("additionalModelRequestFields"))
    effort, family, fields = settings.reasoning_effort, model_family(model), dict[str, object]()
    if is_claude(model):
        fields = claude_reasoning(model, effort)
        if settings.top_k is not None and _is_sampled(as_dict(fields.get("thinking")), model):
            fields["top_k"] = settings.top_k
    elif family.startswith("nova"):
        if settings.top_k is not None:
            fields["inferenceConfig"] = {"topK": settings.top_k}
        if effort is not None and family.startswith("nova-2"):
            fields["reasoningConfig"] = _nova_reasoning(effort)
    elif "gpt-oss" in family and effort is not None:
        fields["reasoning_effort"] = effort
    for key, value in given.items():
        both = isinstance(value, dict) and isinstance(fields.get(key), dict)
        fields[key] = {**as_dict(fields[key]), **as_dict(value)} if both else value
    return fields


def _nova_reasoning(effort: ReasoningEffort) -> Json:
    """Return Amazon Nova's reasoning configuration for an effort, mapped to low, medium or high."""
    if effort == "none":
        return {"type": "disabled"}
    level = {"minimal": "low", "xhigh": "high", "max": "high"}.get(effort, effort)
    return {"type": "enabled", "maxReasoningEffort": level}


def _encode_tool_config(
    settings: Settings, tools: WireTools, profile: BedrockProfile, called: Collection[str]
) -> Json:
    """Encode the request's ``toolConfig``; empty if there must be none.

    Calls in the transcript are refused without it (provider quirk Q50), and it cannot forbid calls.

    Args:
        settings: Settings; tools of the service's own in ``extra_body["toolConfig"]["tools"]``.
        tools: The request's tools.
        profile: What the model accepts.
        called: Names of the tools called so far.
    """
    extra = as_dict(settings.extra_body.get("toolConfig"))
    wires: list[object] = [*tools.bodies, *as_list(extra.get("tools"))]
    if not called and (not wires or settings.tool_choice == "none"):
        return {}
    if not wires:
        return {"tools": [_make_stub(tools.alias(name)) for name in called]}
    if profile.caches_prompt and not model_family(profile.model).startswith("nova"):
        wires.append(_CACHE_POINT)
    fields = _model_fields(settings, profile.model)
    thinks = as_dict(fields.get("thinking")).get("type") == "enabled"
    choice = {} if thinks else _encode_choice(settings.tool_choice, tools)
    return {**choice, **extra, "tools": wires}


def _encode_choice(choice: ToolChoice | None, tools: WireTools) -> Json:
    """Encode the tool choice, empty for ``auto``, ``none`` and None; raise `SetupError` for an unknown tool."""
    match choice:
        case None | "auto" | "none":
            return {}
        case "required":
            return {"toolChoice": {"any": {}}}
    return {"toolChoice": {"tool": {"name": tools.alias_to_call(choice)}}}


def _make_stub(name: str) -> Json:
    """Return a stub for a tool that is gone but was called."""
    return {"toolSpec": {"name": name, "inputSchema": {"json": dict(_NO_INPUT)}}}


def _encode_source(block: Image | Audio | File) -> Json:
    """Return a block's source, its bytes or an S3 address; an empty dict for any other address."""
    url = getattr(block, "url", "")
    if url:
        return {"s3Location": {"uri": url}} if _S3.fullmatch(url) else {}
    return {"bytes": block.data} if block.data else {}
