"""Transcripts and settings as Gemini's wire wants them."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Sequence
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
    spoken,
)
from toolkeel.providers.gemini.stream import StreamDecoder
from toolkeel.providers.wire.media import BELOW, NO_OUTPUT, words_alone
from toolkeel.providers.wire.part_order import arrange
from toolkeel.providers.wire.plain_json import (
    Json,
    arguments_object,
    as_dict,
    as_list,
    as_text,
    given,
)
from toolkeel.providers.wire.request import PreparedRequest, WireResults
from toolkeel.providers.wire.structured_output import compiled_format
from toolkeel.providers.wire.tools import Tools, WireTools, wire_tools
from toolkeel.providers.wire.turns import TurnEncoder

_MEDIA = re.compile(r"image/(png|jpeg|webp|heic|heif)|application/pdf|audio/.+|video/.+")
_IN_RESULTS = re.compile(r"image/(png|jpeg|webp)|application/pdf")
_ADDRESS = re.compile(r"(https?|gs)://.+")


def encode_tools(tools: Tools) -> list[Json]:
    """The body's ``tools``: one dict that declares them all; none if there are none.

    Args:
        tools: What the model may call. A name that the wire does not take is sent under an
            alias, and so is a property's; `decode` turns them back if it is given the tools.
    """
    made = wire_tools(tools, WIRE)
    return [*_declared([dict(body) for body in made.bodies]), *made.native_bodies]


def encode(request: ModelRequest, model: str, *, vertex: bool = False) -> Json:
    """The body of a request; the model's name and whether to stream stand in its address.

    Args:
        request: Messages, tools and settings. ``settings.provider_options`` holds further keys of the body;
            its ``tools`` stand behind the request's, and ``generationConfig`` and
            ``toolConfig`` are joined with what the settings say. ``settings.strict`` makes the
            server hold calls to their schemas; ``parallel_tool_calls`` it has no word for.
        model: The model's name.
        vertex: Whether Vertex AI is asked.
    """
    return GeminiEncoder.encode(request, GeminiProfile(model, vertex=vertex))


def encode_messages(
    messages: Iterable[Message], *, tools: Tools = (), model: str = "", vertex: bool = False
) -> list[Json]:
    """The body's ``contents``; instructions are none of them: see `encode_system`.

    Args:
        messages: The transcript.
        tools: The tools as they are sent; other names are made legal one by one.
        model: The model asked; thoughts and signatures of other models stay here. Empty: any.
        vertex: Whether Vertex AI is asked.

    >>> from toolkeel.messages import UserMessage
    >>> call = ToolCall("c1", "weather", '{"city": "\\u5317\\u4eac"}')
    >>> turn = [UserMessage("北京?"), AssistantMessage(tool_calls=(call,)), ToolMessage("晴", "c1")]
    >>> user, called, results = encode_messages(turn, model="gemini-2.5-pro")
    >>> called["parts"]
    [{'functionCall': {'name': 'weather', 'args': {'city': '北京'}}}]
    >>> results["parts"]
    [{'functionResponse': {'name': 'weather', 'response': {'output': '晴'}}}]
    """
    profile = GeminiProfile(model, vertex=vertex)
    return GeminiEncoder(wire_tools(tools, WIRE), profile).transcript(messages)


def encode_system(messages: Iterable[Message]) -> Json:
    """The body's ``systemInstruction``: all instructions of a transcript; empty if there is none."""
    return as_dict(encode(ModelRequest(list(messages)), "").get("systemInstruction"))


def encode_turn(
    reply: object, results: Sequence[ToolMessage], *, tools: Tools = (), model: str = ""
) -> list[Json]:
    """A reply and the results of its calls, to append to your own ``contents``.

    Args:
        reply: The answer the calls came from, as `decode` takes it.
        results: One for each call, as `Toolset.run` returns them.
        tools: The tools as they were sent.
        model: The model asked, if it is not the one that `reply` names: pictures stand in
            results as of Gemini 3.

    Returns:
        The model's content and, if it calls, one of the user with all results in the order of
        the calls.

    Raises:
        SetupError: if there is not one result for each call.
        ModelError: as `decode` does.
    """
    sent = wire_tools(tools, WIRE)
    message = StreamDecoder.decode(reply, tools=sent)
    return GeminiEncoder.turn(message, results, sent, GeminiProfile(model or message.model))


def encode_options(settings: Settings, tools: WireTools, profile: GeminiProfile) -> Json:
    """The body of a request without what depends on its messages."""
    extra = dict(settings.provider_options)
    wires: list[object] = [*_declared(tools.bodies)]
    wires += [*tools.native_bodies, *as_list(extra.pop("tools", None))]
    config = _tool_choice(settings, tools) if tools.bodies else {}
    if tools.bodies and tools.natives:  # the server refuses the mixture otherwise
        config["includeServerSideToolInvocations"] = True
    config |= as_dict(extra.pop("toolConfig", None))
    generation = given(temperature=settings.temperature, maxOutputTokens=settings.max_tokens)
    if settings.output is not None:
        generation["responseMimeType"] = "application/json"
        generation["responseJsonSchema"] = compiled_format(settings.output, "gemini").schema
    generation |= as_dict(extra.pop("generationConfig", None))
    body = {"tools": wires, "toolConfig": config, "generationConfig": generation}
    return {**{key: value for key, value in body.items() if value}, **extra}


class GeminiEncoder(TurnEncoder[GeminiProfile]):
    """What the parts of a transcript look like on this wire."""

    wire = WIRE
    key = "contents"
    inside = "parts"
    assistant = "model"
    decoder = StreamDecoder
    options = staticmethod(encode_options)

    def __init__(self, tools: WireTools, profile: GeminiProfile) -> None:
        super().__init__(tools, profile)
        self._ids: dict[str, str] = {}
        """The server's own ids by ours, of the calls that go back with them."""

    def reply(self, message: AssistantMessage, ids: Sequence[str]) -> list[Json]:
        extra = as_dict(message.provider_options.get(WIRE))
        signed = any(WIRE in call.provider_options for call in message.tool_calls)
        known = bool(extra or signed or message.model)
        ours = known and self._profile.owns(message)
        calls = [self._call(one, id, ours) for one, id in zip(message.tool_calls, ids, strict=True)]
        if calls and not any("thoughtSignature" in call for call in calls):
            calls = [{**call, **self._stand_in()} for call in calls]
        layout = as_list(extra.get("parts")) if ours else []
        if any("inlineData" in as_dict(part) for part in layout):
            message = replace(message, content=words_alone(message))
        arranged = arrange(layout, [], calls, self.words(message.text), spoken)
        parts = [part for part in arranged if kind_of(part) != "text" or spoken(part).strip()]
        return parts if any(not part.get("thought") for part in parts) else []

    def encode_result(self, result: ToolMessage, call: ToolCall, wire_id: str) -> WireResults:
        texts: list[str] = []
        media: list[Json] = []
        for block in self.blocks(result.content):
            if "text" in block:
                texts.append(as_text(block["text"]))
            else:
                media.append(block)
        text = "\n".join(texts) or (BELOW if media else NO_OUTPUT)
        name = self._called(call)
        key = "error" if result.failed else "output"
        response: Json = {"name": name, "response": {key: text}}
        if wire_id in self._ids:
            response["id"] = self._ids[wire_id]
        inside = [part for part in media if self._fits_in_result(part)]
        if inside:
            response["parts"] = inside
        after = [part for part in media if part not in inside]
        label = [self.text(f"Output of {name}:")] if after else []
        return WireResults([{"functionResponse": response}], [*label, *after])

    def _call(self, call: ToolCall, wire_id: str, ours: bool) -> Json:
        arguments = self._tools.to_wire(call.name, arguments_object(call.arguments))
        wire: Json = {"name": self._tools.alias(call.name), "args": arguments}
        extra = as_dict(call.provider_options.get(WIRE)) if ours else {}
        id, signature = as_text(extra.get("id")), signature_of(extra)
        if id and id not in self._ids.values():
            wire["id"] = self._ids[wire_id] = id
        if call.name in self._tools.natives and "args" in extra:
            wire |= {"name": extra["name"], "args": extra["args"]}
        return {"functionCall": wire, **({"thoughtSignature": signature} if signature else {})}

    def _called(self, call: ToolCall) -> str:
        """What the call's tool is called on the wire; one of Gemini's own, as it was called."""
        given = as_dict(call.provider_options.get(WIRE)).get("name")
        native = call.name in self._tools.natives
        return as_text(given) if native and given else self._tools.alias(call.name)

    def _stand_in(self) -> Json:
        needed = self._profile.generation >= 3 and not self._profile.vertex
        return {"thoughtSignature": SENTINEL} if needed else {}

    def _fits_in_result(self, part: Json) -> bool:
        """Whether a result may hold the media itself, as of Gemini 3; else it follows."""
        media = as_dict(part.get("inlineData"))
        fits = _IN_RESULTS.fullmatch(as_text(media.get("mimeType"))) is not None
        return fits and self._profile.generation >= 3

    @classmethod
    def sent(cls, tools: Tools, strict: bool | None, profile: GeminiProfile) -> WireTools:
        """The tools as they are sent; whether they are strict, the choice of one says."""
        return wire_tools(tools, WIRE, hosting=profile.hosts(tools))

    def head(self, prepared: PreparedRequest) -> Json:
        """Instructions."""
        return {"systemInstruction": {"parts": list(self.system)}} if self.system else {}

    def media_blocks(self, block: Image | Audio | File) -> list[Json]:
        """A picture, a sound, a film or a PDF: its bytes, or where it is."""
        media_type = block.media_type
        match block:
            case Image(url=url) | File(url=url) if url and _ADDRESS.fullmatch(url):
                return [{"fileData": {"fileUri": url, "mimeType": media_type}}]
            case Image() | Audio() | File() if block.data and _MEDIA.fullmatch(media_type):
                data = base64.b64encode(block.data).decode()
                return [{"inlineData": {"mimeType": media_type, "data": data}}]
        return []


def _tool_choice(settings: Settings, tools: WireTools) -> Json:
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
            config = {"mode": "ANY", "allowedFunctionNames": [tools.chosen(name)]}
    return {"functionCallingConfig": config}


def _declared(bodies: list[Json]) -> list[Json]:
    """Functions as one of the body's tools, if there are any."""
    return [{"functionDeclarations": list(bodies)}] if bodies else []
