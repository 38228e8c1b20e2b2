"""Transcripts and settings as the Responses wire wants them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from toolwright.agent.transcript import no_result, repair
from toolwright.content import Block, Content, Data, File, Image, Text, data_url, text_of
from toolwright.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from toolwright.model import OutputFormat, Settings
from toolwright.providers.held import held_schema
from toolwright.providers.ids import Waiting, WireIds
from toolwright.providers.layout import arrange
from toolwright.providers.media import NO_OUTPUT, inline, is_blank, note, readable
from toolwright.providers.ownership import model_family, same_model
from toolwright.providers.responses_item import CALLS, WIRE, part_text, spoken
from toolwright.providers.responses_native import NATIVE, native_item, native_output
from toolwright.providers.wire import (
    Json,
    arguments_object,
    arguments_text,
    as_dict,
    as_list,
    as_text,
    clean_text,
    dumps,
)
from toolwright.providers.wiretools import WireTools

ENCRYPTED = "reasoning.encrypted_content"

_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_FILES = re.compile(r"application/(pdf|rtf|msword|vnd\..+)")
_THINKS = re.compile(r"o\d|gpt-(?:[5-9]|\d\d)|gpt-oss|codex")
_ITEM_ID = re.compile(r"(?:fc|ctc|msg)[A-Za-z0-9_-]{0,60}[A-Za-z0-9-]")
_OUTPUTS = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
}


class ResponsesEncoder:
    """Encodes a transcript message by message, so that a growing one is encoded once.

    Call ids become unique across the transcript and legal, the same on the call and its result;
    an item's own id stands beside it and goes only to the model it came from. A call without a
    result is answered with a sentence that says so as soon as somebody speaks, since the server
    refuses the conversation otherwise; a result of no call is left out.

    Args:
        tools: The request's.
        model: The model asked; reasoning, ids and hosted items of other models stay here.
            Empty: any.

    Attributes:
        late: Whether a result stood elsewhere than behind its call, and a made-up one in its
            place: then the transcript must be put in order first.
    """

    __slots__ = ("_calls", "_ids", "_made_up", "_model", "_natives", "_tools", "_waiting", "late")

    def __init__(self, tools: WireTools, model: str = "") -> None:
        self._tools = tools
        self._model = model
        self._ids = WireIds()
        self._waiting = Waiting()
        self._calls: dict[str, ToolCall] = {}
        self._natives: dict[str, Json] = {}
        self._made_up: set[str] = set()
        self.late = False

    def add(self, message: Message) -> list[Json]:
        """What `message` adds to the body's ``input``."""
        if isinstance(message, ToolMessage):
            return self._take(message)
        if isinstance(message, SystemMessage):
            text = clean_text(message.text)
            return [{"role": "system", "content": text}] if text.strip() else []
        items = self.tail()
        self._made_up.update(self._ids.own[wire_id] for wire_id in self._waiting)
        self._waiting, self._calls = Waiting(), {}
        if isinstance(message, UserMessage):
            return [*items, {"role": "user", "content": self._prompt(message.content)}]
        return items + self._reply(message)

    def tail(self) -> list[Json]:
        """Answers for the calls that have none so far."""
        open_calls = [(wire_id, self._calls[wire_id]) for wire_id in self._waiting]
        return [self.result(no_result(call), call, wire_id) for wire_id, call in open_calls]

    def result(self, result: ToolMessage, call: ToolCall, wire_id: str) -> Json:
        """One result, answering the call that has `wire_id`."""
        if wire_id in self._natives:
            return native_output(self._natives[wire_id], result, wire_id)
        extra = as_dict(call.extra.get(WIRE))
        kind = as_text(extra.get("type")) or "function_call"
        wire: Json = {"type": _OUTPUTS[kind], "call_id": wire_id, "output": self._output(result)}
        if "caller" in extra and kind == "function_call":
            wire["caller"] = extra["caller"]
        return wire

    def _take(self, result: ToolMessage) -> list[Json]:
        id = result.tool_call_id
        wire_id = self._waiting.take(id) if id else self._waiting.take_first()
        if not wire_id:
            self.late = self.late or id in self._made_up
            return []
        return [self.result(result, self._calls[wire_id], wire_id)]

    def _reply(self, message: AssistantMessage) -> list[Json]:
        extra = as_dict(message.extra.get(WIRE))
        known = message.model or extra or any(WIRE in call.extra for call in message.tool_calls)
        ours = bool(known) and same_model(self._model, message.model)
        output = [as_dict(one) or one for one in as_list(extra.get("output"))] if ours else []
        stored = extra.get("store") is True
        kept = [one for one in output if not isinstance(one, dict) or _goes_back(one, stored)]
        paired = ours and len(kept) == len(output)
        calls = [self._call(call, ours, paired) for call in message.tool_calls]
        text = clean_text(message.text)
        said: list[Json] = [{"role": "assistant", "content": text}] if text.strip() else []
        items = arrange(kept, [], calls, (text, said), _cleaned)
        return [
            _sent(item, paired) for item in items if item.get("type") != "message" or spoken(item)
        ]

    def _call(self, call: ToolCall, ours: bool, paired: bool) -> Json:
        wire_id = self._ids.new(call.id)
        self._waiting.add(call.id, wire_id)
        self._calls[wire_id] = call
        extra = dict(as_dict(call.extra.get(WIRE)))
        item = native_item(extra, wire_id)
        extra.pop(NATIVE, None)
        if item and ours:
            self._natives[wire_id] = item
            return item
        kind = as_text(extra.get("type")) or "function_call"
        wire: Json = {"type": kind, "call_id": wire_id, "name": self._tools.alias(call.name)}
        for key, value in extra.items():
            if key == "namespace" or (paired and key != "type"):
                wire[key] = value
        if not _is_item_id(wire.get("id")):
            wire.pop("id", None)
        return {**wire, CALLS[kind]: self._arguments(call, kind)}

    def _arguments(self, call: ToolCall, kind: str) -> str:
        if kind == "custom_tool_call" and isinstance(call.arguments, str):
            return clean_text(call.arguments)
        if call.name in self._tools.keys:
            return dumps(self._tools.outward(call.name, arguments_object(call.arguments)))
        return arguments_text(call.arguments)

    def _prompt(self, content: Content) -> object:
        if isinstance(content, str):
            return clean_text(content)
        parts = [self._part(block) for block in content]
        if all(part["type"] == "input_text" for part in parts):
            return "\n".join(as_text(part["text"]) for part in parts)
        return parts

    def _output(self, result: ToolMessage) -> object:
        """A result's content: text, or parts if there is more in it. There is no error flag."""
        if is_blank(result.content):
            return f"Error: {NO_OUTPUT}" if result.failed else NO_OUTPUT
        output = self._prompt(result.content)
        if not result.failed or text_of(result.content).lower().startswith("error"):
            return output
        if isinstance(output, str):
            return f"Error: {output}"
        return [{"type": "input_text", "text": "Error:"}, *as_list(output)]

    def _part(self, block: Block) -> Json:
        text = readable(block)
        if text is not None or isinstance(block, Text | Data):
            return {"type": "input_text", "text": clean_text(text or "")}
        block = inline(block)
        url = getattr(block, "url", "")
        reachable = url.startswith(("https://", "http://"))
        match block:
            case Image() if reachable or (block.data and block.media_type in _IMAGES):
                return {"type": "input_image", "image_url": data_url(block), "detail": "auto"}
            case File() if reachable:
                return {"type": "input_file", "file_url": url}
            case File() if block.data and _FILES.fullmatch(block.media_type):
                name = clean_text(block.name)
                return {"type": "input_file", "filename": name, "file_data": data_url(block)}
        return {"type": "input_text", "text": note(block, "cannot be shown")}


def encode_transcript(encoder: ResponsesEncoder, messages: Iterable[Message]) -> list[Json]:
    """All of `messages`, put in order if they are not, as input items."""
    items = [item for message in repair(messages) for item in encoder.add(message)]
    return items + encoder.tail()


def encode_options(settings: Settings, tools: WireTools, model: str, stream: bool) -> Json:
    """The body of a request without its ``input``.

    Nothing is stored at the server and reasoning is asked for in its encrypted form, unless the
    settings' extra keys say otherwise: the transcript is all there is.
    """
    extra = dict(settings.extra)
    body: Json = {"model": model, "store": False}
    wires = [*tools.bodies, *tools.own_bodies, *as_list(extra.pop("tools", None))]
    if wires:
        body["tools"] = wires
        if settings.tool_choice is not None:
            body["tool_choice"] = _tool_choice(settings.tool_choice, tools)
        if settings.parallel_tool_calls is not None:
            body["parallel_tool_calls"] = settings.parallel_tool_calls
    include = [*tools.included, *as_list(extra.pop("include", None))]
    if _THINKS.match(model_family(model)) and "-chat" not in model and ENCRYPTED not in include:
        include = [*include, ENCRYPTED]
    if include:
        body["include"] = include
    if settings.temperature is not None:
        body["temperature"] = settings.temperature
    if settings.max_tokens is not None:
        body["max_output_tokens"] = settings.max_tokens
    if settings.output is not None:
        body["text"] = {**as_dict(extra.pop("text", None)), "format": _format(settings.output)}
    if stream:
        body["stream"] = True
    return {**body, **extra}


def _format(output: OutputFormat) -> Json:
    compiled = held_schema(output, "openai-strict")
    form: Json = {"type": "json_schema", "name": output.name, "schema": compiled.schema}
    if output.description:
        form["description"] = output.description
    return {**form, "strict": compiled.strict}


def _tool_choice(choice: str, tools: WireTools) -> object:
    if choice in ("auto", "none", "required"):
        return choice
    native = tools.natives.get(choice)
    if native is None:
        return {"type": "function", "name": tools.chosen(choice)}
    label = native.body.get("server_label")
    return {"type": native.type, **({"server_label": label} if label else {})}


def _goes_back(item: Json, stored: bool) -> bool:
    """Whether an item means anything to the server: reasoning does if it is in it or stored."""
    if item.get("type") != "reasoning":
        return True
    return stored or bool(item.get("encrypted_content") or item.get("content"))


def _cleaned(item: Json) -> str:
    return clean_text(spoken(item))


def _is_item_id(id: object) -> bool:
    return isinstance(id, str) and _ITEM_ID.fullmatch(id) is not None


def _sent(item: Json, paired: bool) -> Json:
    """An item of the server's as it goes back to it."""
    match item.get("type"):
        case "reasoning":
            return {"summary": [], **_without_nulls(item)}
        case "message":
            return _message(item, paired)
    return {key: value for key, value in item.items() if key != "created_by"}


def _message(item: Json, paired: bool) -> Json:
    """A message; without an id that goes with its reasoning it is a plain one."""
    if not paired or not _is_item_id(item.get("id")):
        phase = {"phase": item["phase"]} if item.get("phase") else {}
        return {"role": "assistant", "content": clean_text(spoken(item)), **phase}
    content = [_output_part(as_dict(part)) for part in as_list(item.get("content"))]
    return {"status": "completed", **_without_nulls(item), "content": content}


def _output_part(part: Json) -> Json:
    text = clean_text(part_text(part))
    if part.get("type") == "refusal":
        return {"type": "refusal", "refusal": text}
    return {"type": "output_text", "text": text, "annotations": as_list(part.get("annotations"))}


def _without_nulls(item: Json) -> Json:
    return {key: value for key, value in item.items() if value is not None and key != "created_by"}
