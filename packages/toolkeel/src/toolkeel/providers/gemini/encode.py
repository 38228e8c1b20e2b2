"""Encodes transcripts, tools and settings for Gemini's wire."""

from __future__ import annotations

import base64
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from toolkeel.content import Audio, File, Image
from toolkeel.messages import AssistantMessage, Message, ToolCall, ToolMessage
from toolkeel.model_interface import ModelRequest, Settings
from toolkeel.providers.gemini.profile import (
    SENTINEL,
    WIRE,
    GeminiProfile,
    kind_of,
    signature_of,
    spoken_text,
)
from toolkeel.providers.gemini.stream import StreamDecoder
from toolkeel.providers.wire.media import NO_OUTPUT, RESULT_FOLLOWS, text_without_media
from toolkeel.providers.wire.part_order import arrange_blocks
from toolkeel.providers.wire.plain_json import (
    Json,
    as_dict,
    as_list,
    as_text,
    without_none,
)
from toolkeel.providers.wire.request import PreparedRequest, WireResults
from toolkeel.providers.wire.sampling import stop_texts
from toolkeel.providers.wire.structured_output import compile_format
from toolkeel.providers.wire.tools import Tools, WireTools, wire_tools
from toolkeel.providers.wire.turns import TurnEncoder

_MEDIA = re.compile(r"image/(png|jpeg|webp|heic|heif)|application/pdf|audio/.+|video/.+")
_IN_RESULTS = re.compile(r"image/(png|jpeg|webp)|application/pdf")
_ADDRESS = re.compile(r"(https?|gs)://.+")


def encode_tools(tools: Tools) -> list[Json]:
    """Encode the body's ``tools``: one dict that declares all functions, then the server's own; none without tools.

    Args:
        tools: The tools that the model may call. A name that the wire does not accept is replaced
            by an alias, and so is a property's; `decode` restores them if it gets the tools.

    Raises:
        DefinitionError, SetupError: as `wire_tools`.
    """
    made = wire_tools(tools, WIRE)
    return [*_declare_functions([dict(body) for body in made.bodies]), *made.native_bodies]


def encode(request: ModelRequest, model: str, *, vertex: bool = False) -> Json:
    """Encode the body of a request, without model and streaming; log settings that are not sent.

    The model and streaming are in the request's address.

    Args:
        request: Messages, tools and settings. ``settings.extra_body`` holds further keys of the body;
            its ``tools`` are appended to the request's; its ``generationConfig`` and
            ``toolConfig`` are merged with ours. ``settings.strict`` makes the server hold calls
            to their schemas; ``parallel_tool_calls`` has no equivalent and is not sent.
        model: The model's name.
        vertex: True for Vertex AI.

    Raises:
        DefinitionError, SetupError: as `wire_tools`; or ``tool_choice`` names no tool.
    """
    return GeminiEncoder.encode(request, GeminiProfile(model, vertex=vertex))


def encode_messages(
    messages: Iterable[Message], *, tools: Tools = (), model: str = "", vertex: bool = False
) -> list[Json]:
    r"""Encode the body's ``contents``, without instructions: see `encode_system`.

    Args:
        messages: The transcript.
        tools: The tools as they are sent; names of other tools are made legal one by one.
        model: The requested model; thoughts and signatures of other models are not sent. Empty: any.
        vertex: True for Vertex AI.

    Raises:
        DefinitionError, SetupError: as `wire_tools`.

    >>> from toolkeel.messages import UserMessage
    >>> call = ToolCall("c1", "weather", '{"city": "\u5317\u4eac"}')
    >>> turn = [UserMessage("北京?"), AssistantMessage(tool_calls=(call,)), ToolMessage("晴", "c1")]
    >>> user, called, results = encode_messages(turn, model="gemini-2.5-pro")
    >>> called["parts"]
    [{'functionCall': {'name': 'weather', 'args': {'city': '北京'}}}]
    >>> results["parts"]
    [{'functionResponse': {'name': 'weather', 'response': {'output': '晴'}}}]
    """
    profile = GeminiProfile(model, vertex=vertex)
    return GeminiEncoder(wire_tools(tools, WIRE), profile).encode_transcript(messages)


def encode_system(messages: Iterable[Message]) -> Json:
    """Encode the body's ``systemInstruction``: all instructions of a transcript; empty if none."""
    return as_dict(encode(ModelRequest(list(messages)), "").get("systemInstruction"))


def encode_turn(
    reply: object, results: Sequence[ToolMessage], *, tools: Tools = (), model: str = ""
) -> list[Json]:
    """Encode a reply and the results of its calls, to append to your own ``contents``.

    Args:
        reply: The answer with the calls, in any form that `decode` accepts.
        results: One for each call, as `Toolset.run` returns them.
        tools: The tools as they were sent.
        model: The requested model, if it is not the one that `reply` names: results contain
            pictures as of Gemini 3.

    Returns:
        The model's content and, if it calls, one of the user with all results in the order of
        the calls.

    Raises:
        DefinitionError, SetupError: as `wire_tools`; or there is not one result for each call.
        ModelError: as `decode` does.
    """
    sent = wire_tools(tools, WIRE)
    message = StreamDecoder.decode(reply, tools=sent)
    return GeminiEncoder.encode_turn(message, results, sent, GeminiProfile(model or message.model))


def encode_options(settings: Settings, tools: WireTools, profile: GeminiProfile) -> Json:
    """Return tools and settings as keys of a body; raise `SetupError` if the tool choice is no tool.

    Keys of ``extra_body`` win, but its ``tools`` are appended, ``generationConfig`` and ``toolConfig`` merged.
    """
    extra = dict(settings.extra_body)
    wires: list[object] = [*_declare_functions(tools.bodies)]
    wires += [*tools.native_bodies, *as_list(extra.pop("tools", None))]
    config = _encode_choice(settings, tools) if tools.bodies else {}
    if tools.bodies and tools.natives:  # the server refuses the mixture otherwise
        config["includeServerSideToolInvocations"] = True
    config |= as_dict(extra.pop("toolConfig", None))
    generation = without_none(
        temperature=settings.temperature,
        maxOutputTokens=settings.max_tokens,
        topP=settings.top_p,
        topK=settings.top_k,
        seed=settings.seed,
        frequencyPenalty=settings.frequency_penalty,
        presencePenalty=settings.presence_penalty,
        stopSequences=stop_texts(settings),
        thinkingConfig=profile.thinking(settings.reasoning_effort),
    )
    if settings.output is not None:
        generation["responseMimeType"] = "application/json"
        generation["responseJsonSchema"] = compile_format(settings.output, "gemini").schema
    generation |= as_dict(extra.pop("generationConfig", None))
    body = {"tools": wires, "toolConfig": config, "generationConfig": generation}
    return {**{key: value for key, value in body.items() if value}, **extra}


class GeminiEncoder(TurnEncoder[GeminiProfile]):
    """Encodes the parts of a transcript for this wire."""

    wire = WIRE
    key = "contents"
    content_key = "parts"
    assistant_role = "model"
    decoder = StreamDecoder
    encode_options = staticmethod(encode_options)

    @staticmethod
    def unsupported_settings(settings: Settings, profile: GeminiProfile) -> Collection[str]:
        """Return the names of settings that the model or this wire does not take."""
        lost = {"min_p", "parallel_tool_calls"}
        return lost if profile.can_reason else lost | {"reasoning_effort"}

    def __init__(self, tools: WireTools, profile: GeminiProfile) -> None:
        super().__init__(tools, profile)
        self._ids: dict[str, str] = {}
        """The server's own ids by ours, of the calls that go back with them."""

    def encode_reply(self, message: AssistantMessage, ids: Sequence[str]) -> list[Json]:
        """Encode a reply as parts in their original order; no parts if it has only thoughts."""
        extra = as_dict(message.provider_options.get(WIRE))
        signed = any(WIRE in call.provider_options for call in message.tool_calls)
        known = bool(extra or signed or message.model)
        ours = known and self._profile.is_own(message)
        calls = [
            self._encode_call(one, id, ours)
            for one, id in zip(message.tool_calls, ids, strict=True)
        ]
        if calls and not any("thoughtSignature" in call for call in calls):
            calls = [{**call, **self._placeholder_signature()} for call in calls]
        layout = as_list(extra.get("parts")) if ours else []
        if any("inlineData" in as_dict(part) for part in layout):
            message = replace(message, content=text_without_media(message))
        arranged = arrange_blocks(layout, [], calls, self.encode_text(message.text), spoken_text)
        parts = [part for part in arranged if kind_of(part) != "text" or spoken_text(part).strip()]
        return parts if any(not part.get("thought") for part in parts) else []

    def encode_result(self, result: ToolMessage, call: ToolCall, wire_id: str) -> WireResults:
        """Encode a result as a ``functionResponse``.

        Media that do not fit in it follow the results.
        """
        texts: list[str] = []
        media: list[Json] = []
        for block in self.encode_content(result.content):
            if "text" in block:
                texts.append(as_text(block["text"]))
            else:
                media.append(block)
        text = "\n".join(texts) or (RESULT_FOLLOWS if media else NO_OUTPUT)
        name = self._wire_name(call)
        key = "error" if result.failed else "output"
        response: Json = {"name": name, "response": {key: text}}
        if wire_id in self._ids:
            response["id"] = self._ids[wire_id]
        inside = [part for part in media if self._fits_in_result(part)]
        if inside:
            response["parts"] = inside
        after = [part for part in media if part not in inside]
        label = [self.text_block(f"Output of {name}:")] if after else []
        return WireResults([{"functionResponse": response}], [*label, *after])

    def _encode_call(self, call: ToolCall, wire_id: str, ours: bool) -> Json:
        """Encode a call; in this model's own reply (`ours`) with its signature and its id, which is stored."""
        arguments = self._tools.encode_arguments(call)
        wire: Json = {"name": self._tools.alias(call.name), "args": arguments}
        extra = as_dict(call.provider_options.get(WIRE)) if ours else {}
        id, signature = as_text(extra.get("id")), signature_of(extra)
        if id and id not in self._ids.values():
            wire["id"] = self._ids[wire_id] = id
        if call.name in self._tools.natives and "args" in extra:
            wire |= {"name": extra["name"], "args": extra["args"]}
        return {"functionCall": wire, **({"thoughtSignature": signature} if signature else {})}

    def _wire_name(self, call: ToolCall) -> str:
        """Return the wire name of a call's tool; for one of Gemini's own, the name in the call."""
        original_name = as_dict(call.provider_options.get(WIRE)).get("name")
        native = call.name in self._tools.natives
        return as_text(original_name) if native and original_name else self._tools.alias(call.name)

    def _placeholder_signature(self) -> Json:
        """Return the placeholder signature that Gemini 3 needs, else an empty dict."""
        needed = self._profile.generation >= 3 and not self._profile.vertex
        return {"thoughtSignature": SENTINEL} if needed else {}

    def _fits_in_result(self, part: Json) -> bool:
        """Return True if a result may contain the media, as of Gemini 3; else they follow it."""
        media = as_dict(part.get("inlineData"))
        fits = _IN_RESULTS.fullmatch(as_text(media.get("mimeType"))) is not None
        return fits and self._profile.generation >= 3

    @classmethod
    def make_wire_tools(
        cls, tools: Tools, strict: bool | None, profile: GeminiProfile
    ) -> WireTools:
        """Convert the tools to Gemini's form, or raise as `wire_tools`.

        `strict` is ignored, since it is part of the tool choice here.
        """
        return wire_tools(tools, WIRE, hosting=profile.can_host(tools))

    def encode_head(self, prepared: PreparedRequest) -> Json:
        """Return the instructions as ``systemInstruction``; an empty dict without any."""
        return {"systemInstruction": {"parts": list(self.system)}} if self.system else {}

    def media_blocks(self, block: Image | Audio | File) -> list[Json]:
        """Encode a web or ``gs`` address, or the bytes of a picture, sound, video or PDF; no parts for others."""
        media_type = block.media_type
        match block:
            case Image(url=url) | File(url=url) if url and _ADDRESS.fullmatch(url):
                return [{"fileData": {"fileUri": url, "mimeType": media_type}}]
            case Image() | Audio() | File() if block.data and _MEDIA.fullmatch(media_type):
                data = base64.b64encode(block.data).decode()
                return [{"inlineData": {"mimeType": media_type, "data": data}}]
        return []


def _encode_choice(settings: Settings, tools: WireTools) -> Json:
    """Encode the tool choice, and strictness as mode ``VALIDATED``.

    Return an empty dict for the default.
    """
    config: Json
    match settings.tool_choice:
        case None if not settings.strict:
            return {}
        case None | "auto":
            config = {"mode": "VALIDATED" if settings.strict else "AUTO"}
        case "none":
            config = {"mode": "NONE"}
        case "required":
            config = {"mode": "ANY"}
        case name:
            config = {"mode": "ANY", "allowedFunctionNames": [tools.alias_to_call(name)]}
    return {"functionCallingConfig": config}


def _declare_functions(bodies: list[Json]) -> list[Json]:
    """Return one tool that declares all functions, or an empty list if there are none."""
    return [{"functionDeclarations": list(bodies)}] if bodies else []
