"""Messages as Chat Completions wants them."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping

from toolwright.agent.transcript import no_result
from toolwright.content import Audio, Block, Content, File, Image, data_url, text_of
from toolwright.define.names import wire_name
from toolwright.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from toolwright.providers.chat_profile import OPENAI, ChatProfile
from toolwright.providers.ids import Waiting, WireIds
from toolwright.providers.media import NO_OUTPUT, note, readable
from toolwright.providers.ownership import same_model
from toolwright.providers.wire import WIRES, Json, arguments_text, as_text, clean_text

BRIDGE = "(the results are there)"
"""What the model is made to say between results and a person, where a server wants that."""

_ID_LENGTH = 40
_SHORT_ID = re.compile(r"[A-Za-z0-9]{9}")
_AUDIO_FORMATS = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}


class ChatEncoder:
    """Encodes a transcript message by message, so that a growing one is encoded once.

    Call ids become unique across the transcript and legal for the server, the same on the call
    and on its result. A call without a result is answered with a sentence that says so, and a
    result without a call is left out, since servers refuse both (provider quirks Q1 to Q5).
    Pictures and files of results wait until the last result of their turn, since nothing may
    stand between results: they follow in one user message.

    Args:
        names: Alias on the wire by tool name; other names are made legal one by one.
        profile: What the server takes.
        model: The model asked; reasoning of other models stays here. Empty: any.

    Attributes:
        late: Whether a result stood elsewhere than behind its call, which was answered with a
            sentence: then the transcript must be put in order first.
    """

    __slots__ = (
        "_calls",
        "_ids",
        "_last",
        "_made_up",
        "_media",
        "_model",
        "_names",
        "_profile",
        "_waiting",
        "late",
    )

    def __init__(
        self,
        names: Mapping[str, str] | None = None,
        profile: ChatProfile = OPENAI,
        model: str = "",
    ) -> None:
        self._names = dict(names or {})
        self._profile = profile
        self._model = model
        self._ids = WireIds(_short_id if profile.short_ids else _long_id)
        self._waiting = Waiting()
        self._media: list[Json] = []
        self._calls: dict[str, ToolCall] = {}
        self._made_up: set[str] = set()
        self._last = ""
        self.late = False

    def add(self, message: Message) -> list[Json]:
        """What `message` adds to the body's ``messages``, held back media before it."""
        if isinstance(message, ToolMessage):
            return self._take(message)
        wires = self.tail()
        self._made_up.update(self._ids.own[wire_id] for wire_id in self._waiting)
        self._media.clear()
        if isinstance(message, AssistantMessage):
            wires.extend(self._assistant(message))
        else:
            self._waiting = Waiting()
            last = as_text(wires[-1]["role"]) if wires else self._last
            wires += self._after(last, self._prompt(message))
        self._last = as_text(wires[-1]["role"]) if wires else self._last
        return wires

    def tail(self) -> list[Json]:
        """What stands at the end as long as nothing follows.

        Sentences for the calls without a result, and the user message with the media of results.
        """
        media = list(self._media)
        wires = [self.result(no_result(self._calls[id]), id) for id in self._waiting]
        self._media = media
        return wires + (self._after("tool", *self.media()))

    def media(self) -> list[Json]:
        """The user message with the media of the latest results, if there are any."""
        return [{"role": "user", "content": list(self._media)}] if self._media else []

    def _after(self, last: str, *wires: Json) -> list[Json]:
        """`wires` behind a message of the role `last`; some servers want the model between."""
        if self._profile.bridge and last == "tool" and wires and wires[0]["role"] == "user":
            return [{"role": "assistant", "content": BRIDGE}, *wires]
        return list(wires)

    def _take(self, message: ToolMessage) -> list[Json]:
        """A result, if it answers a call of the latest reply."""
        id = message.tool_call_id
        wire_id = self._waiting.take(id) if id else self._waiting.take_first()
        if not wire_id:
            self.late = self.late or id in self._made_up
            return []
        self._last = "tool"
        return [self.result(message, wire_id)]

    def result(self, message: ToolMessage, wire_id: str) -> Json:
        """One result, answering the call that has `wire_id`; keeps its media for `tail`."""
        texts, media = self._split(message.content, "shown in the next message")
        text = "\n".join(text for text in texts if text)
        if media:
            intro = f"Output of {message.name or 'tool'}, call {wire_id}:"
            self._media += [{"type": "text", "text": clean_text(intro)}, *media]
        if not text.strip():
            text = NO_OUTPUT
        if message.failed and not text.lower().startswith("error"):
            text = f"Error: {text}"
        wire: Json = {"role": "tool", "tool_call_id": wire_id, "content": text}
        if self._profile.result_name:
            wire["name"] = self._alias(message.name)
        return wire

    def waiting(self) -> list[str]:
        """Ids on the wire of the calls without a result, in order."""
        return list(self._waiting)

    def _prompt(self, message: SystemMessage | UserMessage) -> Json:
        role = "system" if isinstance(message, SystemMessage) else "user"
        if role == "system" or isinstance(message.content, str):
            return {"role": role, "content": clean_text(text_of(message.content))}
        parts: list[Json] = []
        for block in message.content:
            part = self._part(block)
            parts.append(part or {"type": "text", "text": note(block, "not shown")})
        if all(part["type"] == "text" for part in parts):
            return {"role": role, "content": "\n".join(as_text(part["text"]) for part in parts)}
        return {"role": role, "content": parts}

    def _assistant(self, message: AssistantMessage) -> Iterator[Json]:
        text = clean_text(message.text)
        self._waiting = Waiting()
        self._calls.clear()
        calls = [self._call(call) for call in message.tool_calls]
        if not calls and not text.strip():
            return
        wire: Json = {"role": "assistant", "content": text or None}
        if calls:
            wire["tool_calls"] = calls
            wire.update(self._reasoning(message))
        yield wire

    def _call(self, call: ToolCall) -> Json:
        wire_id = self._ids.new(call.id)
        self._waiting.add(call.id, wire_id)
        self._calls[wire_id] = call
        extra = {k: v for k, v in call.extra.items() if k != "type" and k not in WIRES}
        name = self._alias(call.name)
        if call.extra.get("type") == "custom" and isinstance(call.arguments, str):
            custom = {"name": name, "input": clean_text(call.arguments)}
            return {**extra, "id": wire_id, "type": "custom", "custom": custom}
        function = {"name": name, "arguments": arguments_text(call.arguments)}
        return {**extra, "id": wire_id, "type": "function", "function": function}

    def _reasoning(self, message: AssistantMessage) -> Json:
        """The reasoning behind calls, under the name it came by, if the server wants it."""
        if self._profile.reasoning == "never":
            return {}
        ours = [one for one in message.reasoning if same_model(self._model, one.model)]
        text = clean_text("".join(one.text for one in ours))
        key = as_text(message.extra.get("reasoning_key"))
        wire: Json = {}
        if key and text:
            wire[key] = text
        elif self._profile.reasoning == "always":
            wire["reasoning_content"] = text
        if "reasoning_details" in message.extra and same_model(self._model, message.model):
            wire["reasoning_details"] = message.extra["reasoning_details"]
        return wire

    def _alias(self, name: str) -> str:
        alias = self._names.get(name)
        if alias is None:
            alias = self._names[name] = wire_name(name)
        return alias

    def _split(self, content: Content, where: str) -> tuple[list[str], list[Json]]:
        """The texts of `content`, a note for each other block among them, and those blocks."""
        if isinstance(content, str):
            return [clean_text(content)], []
        texts: list[str] = []
        media: list[Json] = []
        for block in content:
            part = self._part(block)
            if part is None:
                texts.append(note(block, "cannot be shown"))
            elif part["type"] == "text":
                texts.append(as_text(part["text"]))
            else:
                texts.append(note(block, where))
                media.append(part)
        return texts, media

    def _part(self, block: Block) -> Json | None:
        """A block as a part of a user message; None if this wire has no form for it."""
        text = readable(block)
        if text is not None:
            return {"type": "text", "text": clean_text(text)}
        if not self._profile.media:
            return None
        match block:
            case Image():
                return {"type": "image_url", "image_url": {"url": data_url(block)}}
            case Audio() if block.media_type in _AUDIO_FORMATS:
                data = base64.b64encode(block.data).decode()
                form = _AUDIO_FORMATS[block.media_type]
                return {"type": "input_audio", "input_audio": {"data": data, "format": form}}
            case File() if block.data:
                file = {"filename": clean_text(block.name), "file_data": data_url(block)}
                return {"type": "file", "file": file}
        return None


def _long_id(id: str) -> str:
    if len(id) <= _ID_LENGTH:
        return id
    return f"{id[: _ID_LENGTH - 11]}_{hashlib.sha256(id.encode()).hexdigest()[:10]}"


def _short_id(id: str) -> str:
    return id if _SHORT_ID.fullmatch(id) else hashlib.sha256(id.encode()).hexdigest()[:9]
