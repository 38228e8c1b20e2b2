"""Transcripts and settings as Gemini's wire wants them."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Sequence

from toolwright.content import Audio, Block, Content, Data, File, Image, Text, text_of
from toolwright.hosted import native_of
from toolwright.messages import (
    AssistantMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from toolwright.model import Settings, ToolDefinition
from toolwright.providers.gemini_part import SENTINEL, WIRE, kind_of, signature_of, spoken
from toolwright.providers.held import held_schema
from toolwright.providers.layout import arrange
from toolwright.providers.media import BELOW, NO_OUTPUT, inline, is_blank, note, readable
from toolwright.providers.ownership import model_family, same_model
from toolwright.providers.turns import Answer, TurnEncoder
from toolwright.providers.wire import Json, arguments_object, as_dict, as_list, as_text, clean_text
from toolwright.providers.wiretools import WireTools
from toolwright.record import record

_MEDIA = re.compile(r"image/(png|jpeg|webp|heic|heif)|application/pdf|audio/.+|video/.+")
_IN_RESULTS = re.compile(r"image/(png|jpeg|webp)|application/pdf")
_ADDRESS = re.compile(r"(https?|gs)://.+")
_GENERATION = re.compile(r"gemini-(\d+)")
_REVISION = re.compile(r"-\d{3}$")


@record
class GeminiOptions:
    """How to encode.

    Args:
        model: The model asked; thoughts and signatures of other models stay here. Empty: any.
        vertex: Whether Vertex AI is asked, which takes no stand-in for a missing signature.
        hosting: Whether the server has tools of its own, such as Google's search.
    """

    model: str = ""
    vertex: bool = False
    hosting: bool = True

    def hosts(self, tools: Iterable[ToolDefinition]) -> bool:
        """Whether these tools may be its own: before Gemini 3, not beside functions."""
        if not self.hosting or (self.generation >= 3 and not self.vertex):
            return self.hosting
        return all(native_of(tool, "gemini") for tool in tools)

    @property
    def generation(self) -> int:
        """Which Gemini it is; the third if its name does not say, since the latest are."""
        found = _GENERATION.search(model_family(self.model))
        return int(found[1]) if found else 3

    def is_own(self, answered: str) -> bool:
        """Whether a reply of the model with that name is this model's own."""
        asked, answered = _REVISION.sub("", self.model), _REVISION.sub("", answered)
        return same_model(asked, answered)


class GeminiBlocks:
    """What the parts of a transcript look like on this wire.

    Args:
        tools: The request's.
        options: How to encode.
    """

    __slots__ = ("_ids", "_options", "_tools")

    def __init__(self, tools: WireTools, options: GeminiOptions) -> None:
        self._tools = tools
        self._options = options
        self._ids: dict[str, str] = {}
        """The server's own ids by ours, of the calls that go back with them."""

    def text(self, text: str) -> Json:
        return {"text": text}

    def system(self, message: SystemMessage) -> list[Json]:
        text = clean_text(text_of(message.content))
        return [self.text(text)] if text.strip() else []

    def prompt(self, message: UserMessage) -> list[Json]:
        return self._parts(message.content)

    def reply(self, message: AssistantMessage, ids: Sequence[str]) -> list[Json]:
        extra = as_dict(message.extra.get(WIRE))
        signed = any(WIRE in call.extra for call in message.tool_calls)
        known = bool(extra or signed or message.model)
        ours = known and self._options.is_own(message.model)
        calls = [
            self._call(call, id, ours) for call, id in zip(message.tool_calls, ids, strict=True)
        ]
        if calls and not any("thoughtSignature" in call for call in calls):
            calls = [{**call, **self._stand_in()} for call in calls]
        text = clean_text(message.text)
        said = [self.text(text)] if text.strip() else []
        parts = arrange(
            as_list(extra.get("parts")) if ours else [], [], calls, (text, said), spoken
        )
        parts = [part for part in parts if kind_of(part) != "text" or spoken(part).strip()]
        return parts if any(not part.get("thought") for part in parts) else []

    def answer(self, result: ToolMessage, call: ToolCall, wire_id: str) -> Answer:
        texts: list[str] = []
        media: list[Json] = []
        for block in self._parts(result.content):
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
        return Answer([{"functionResponse": response}], [*label, *after])

    def _call(self, call: ToolCall, wire_id: str, ours: bool) -> Json:
        arguments = self._tools.outward(call.name, arguments_object(call.arguments))
        wire: Json = {"name": self._tools.alias(call.name), "args": arguments}
        extra = as_dict(call.extra.get(WIRE)) if ours else {}
        id, signature = as_text(extra.get("id")), signature_of(extra)
        if id and id not in self._ids.values():
            wire["id"] = self._ids[wire_id] = id
        if call.name in self._tools.natives and "args" in extra:
            wire |= {"name": extra["name"], "args": extra["args"]}
        return {"functionCall": wire, **({"thoughtSignature": signature} if signature else {})}

    def _called(self, call: ToolCall) -> str:
        """What the call's tool is called on the wire; one of Gemini's own, as it was called."""
        given = as_dict(call.extra.get(WIRE)).get("name")
        native = call.name in self._tools.natives
        return as_text(given) if native and given else self._tools.alias(call.name)

    def _stand_in(self) -> Json:
        needed = self._options.generation >= 3 and not self._options.vertex
        return {"thoughtSignature": SENTINEL} if needed else {}

    def _fits_in_result(self, part: Json) -> bool:
        """Whether a result may hold the media itself, as of Gemini 3; else it follows."""
        media = as_dict(part.get("inlineData"))
        fits = _IN_RESULTS.fullmatch(as_text(media.get("mimeType"))) is not None
        return fits and self._options.generation >= 3

    def _parts(self, content: Content) -> list[Json]:
        if is_blank(content):
            return []
        if isinstance(content, str):
            return [self.text(clean_text(content))]
        parts = [self._part(block) for block in content]
        return [part for part in parts if "text" not in part or spoken(part).strip()]

    def _part(self, block: Block) -> Json:
        text = readable(block)
        if text is not None or isinstance(block, Text | Data):
            return self.text(clean_text(text or ""))
        block = inline(block)
        media_type = block.media_type
        match block:
            case Image(url=url) | File(url=url) if url and _ADDRESS.fullmatch(url):
                return {"fileData": {"fileUri": url, "mimeType": media_type}}
            case Image() | Audio() | File() if block.data and _MEDIA.fullmatch(media_type):
                data = base64.b64encode(block.data).decode()
                return {"inlineData": {"mimeType": media_type, "data": data}}
        return self.text(note(block, "cannot be shown"))


def encode_options(settings: Settings, tools: WireTools) -> Json:
    """The body of a request without what depends on its messages."""
    extra = dict(settings.extra)
    body: Json = {}
    wires: list[object] = [{"functionDeclarations": list(tools.bodies)}] if tools.bodies else []
    wires += [*tools.own_bodies, *as_list(extra.pop("tools", None))]
    if wires:
        body["tools"] = wires
    config = _tool_choice(settings, tools) if tools.bodies else {}
    if tools.bodies and tools.natives:  # the server refuses the mixture otherwise
        config["includeServerSideToolInvocations"] = True
    config |= as_dict(extra.pop("toolConfig", None))
    if config:
        body["toolConfig"] = config
    generation: Json = {}
    if settings.temperature is not None:
        generation["temperature"] = settings.temperature
    if settings.max_tokens is not None:
        generation["maxOutputTokens"] = settings.max_tokens
    if settings.output is not None:
        generation["responseMimeType"] = "application/json"
        generation["responseJsonSchema"] = held_schema(settings.output, "gemini").schema
    generation |= as_dict(extra.pop("generationConfig", None))
    if generation:
        body["generationConfig"] = generation
    return {**body, **extra}


def head_of(encoder: TurnEncoder) -> Json:
    """The key of a body, beside ``contents``, that depends on the messages."""
    return {"systemInstruction": {"parts": list(encoder.system)}} if encoder.system else {}


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
