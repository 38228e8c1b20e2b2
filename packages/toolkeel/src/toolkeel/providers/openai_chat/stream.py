"""Reads Chat Completions answers, whole and streamed, as deltas."""

from __future__ import annotations

from dataclasses import replace

from toolkeel._records.messages_json import inline
from toolkeel.content import Audio, Image, sniff
from toolkeel.messages import FinishReason
from toolkeel.model_interface import CallDelta, Delta
from toolkeel.providers.openai_chat.call_pieces import CallTracker, extra_of, text_of_arguments
from toolkeel.providers.openai_chat.profile import REASONING_KEYS, REASONS, usage_of
from toolkeel.providers.wire.decoder import Decoder
from toolkeel.providers.wire.plain_json import (
    Json,
    as_dict,
    as_list,
    as_text,
    clean,
    decoded_base64,
    response_of,
)
from toolkeel.providers.wire.server_errors import incomplete_response, sent_error
from toolkeel.providers.wire.tools import WireTools

_SILENT = frozenset({"role", "tool_calls"})
_PLAIN = _SILENT | {"content"}
_KNOWN = frozenset(
    {*_SILENT, *REASONING_KEYS, "content", "function_call", "refusal", "reasoning_details"}
    | {"images", "audio"}
)
"""Keys of a message that are read; all others are kept."""


class StreamDecoder(Decoder):
    """Chunks in, deltas out, nothing else: feed it from any client, sync or async.

    >>> decoder = StreamDecoder()
    >>> decoder.feed({"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]})
    [TextDelta(text='Hi')]
    >>> [delta.reason for delta in decoder.finish()]
    ['stop']
    """

    target = "openai-chat"
    reasons = REASONS
    usage_of = staticmethod(usage_of)

    def __init__(self, tools: WireTools | None = None, model: str = "") -> None:
        super().__init__(tools, model)
        self._tracker = CallTracker()
        self._refused = False
        self._said = False
        self._kept: Json = {}
        self._sound = b""
        self._heard: Json = {}
        """What stands beside a sound: its id, and when the server forgets it."""
        self._reasoning_key = ""
        self._details: list[Json] = []

    def take(self, data: Json) -> list[Delta]:
        """The deltas in one chunk, whose `delta` counts, even beside the message so far."""
        return self._choice_deltas(self._open_chunk(data), ("delta", "message"))

    def _choice_deltas(self, choice: Json, order: tuple[str, str]) -> list[Delta]:
        """The deltas of a choice, by the first of these keys that has something."""
        key = next((key for key in order if choice.get(key)), order[0])
        message = as_dict(choice.get(key))
        if key == "message":
            return self._message_deltas(message)
        deltas = self._message(message)
        for entry in _call_entries(message):
            pieces = self._tracker.feed(entry)
            deltas += self._under_tool_names(pieces)
            self._calls += bool(pieces)
        return deltas

    def read_response(self, reply: object) -> list[Delta]:
        """The deltas of a whole answer: a completion, or its choice or message alone.

        Raises:
            ModelError: if it is an error, or nothing that could be an answer.
        """
        data: Json = response_of("openai_chat", reply)
        if "choices" not in data:
            if isinstance(data.get("message"), dict):
                data = {"choices": [data]}
            elif data.get("role") == "assistant":
                data = {"choices": [{"message": data, "finish_reason": "stop"}]}
        deltas = self._choice_deltas(self._open_chunk(data), ("message", "delta"))
        if not data.get("choices"):
            raise incomplete_response("choices", data)
        told = map(as_dict, as_list(data["choices"]))
        if self._reason in ("", "stop") and not any(
            isinstance(one.get("message"), dict) or "delta" in one for one in told
        ):
            raise incomplete_response("message", data)
        self._reason = self._reason or "stop"  # what came whole is whole, though nobody says so
        return deltas

    def done(self) -> None:
        """The server says that it said all, if it did not before."""
        if self._calls or self._said:
            self._reason = self._reason or "stop"

    def _under_tool_names(self, pieces: list[CallDelta]) -> list[CallDelta]:
        """Pieces of calls under the tools' own names."""
        own = self._tools.name_of
        return [
            one if own(one.name) == one.name else replace(one, name=own(one.name)) for one in pieces
        ]

    def _message_deltas(self, message: Json) -> list[Delta]:
        """The deltas of a whole message, where each listed call is one, whatever its id."""
        deltas = self._message(message)
        for index, entry in enumerate(_call_entries(message)):
            function = as_dict(entry.get("function")) or as_dict(entry.get("custom"))
            text = text_of_arguments(function.get("arguments", function.get("input")))
            id, name = as_text(entry.get("id")), as_text(function.get("name"))
            deltas.append(CallDelta(index, id, self._tools.name_of(name), text, extra_of(entry)))
            self._calls += 1
        return deltas

    def rest(self) -> list[CallDelta]:
        """Arguments that were sent as objects, and what came too much."""
        if self._sound:
            kind = sniff(self._sound)
            kind = kind if kind.startswith("audio/") else "audio/pcm"
            self._media.append(Audio(self._sound, kind, as_dict(clean(self._heard))))
        deltas = self._under_tool_names(self._tracker.finish())
        self._calls += len(deltas)
        return deltas

    def why(self) -> FinishReason:
        """Why the answer ended."""
        return "refusal" if self._refused else super().why()

    def _open_chunk(self, data: Json) -> Json:
        """Read what stands beside the message; return the first choice."""
        fails = data.get("error") or data.get("object") == "error"
        if fails or ("choices" not in data and data.get("detail")):
            raise sent_error(data)
        self._model = as_text(data.get("model")) or self._model
        choice: Json = {}
        for one in as_list(data.get("choices")):
            if isinstance(one, dict) and not one.get("index"):
                choice = one
                break
        usage = data.get("usage") or choice.get("usage")
        if "x_groq" in data:
            usage = usage or as_dict(data["x_groq"]).get("usage")
        if usage:
            self._usage = as_dict(usage)
        if choice.get("error"):  # a router's, of the provider behind it
            raise sent_error(choice)
        reason = choice.get("finish_reason")
        if reason and REASONS.get(self._reason, "stop") in ("stop", "tool_calls"):
            self._reason = as_text(reason) or self._reason
        return choice

    def _message(self, message: Json) -> list[Delta]:
        """What is said and thought in a message or delta."""
        if _SILENT.issuperset(message):
            return []
        content = message.get("content")
        if isinstance(content, str) and _PLAIN.issuperset(message):  # most say no more
            deltas = self._say(content)
        else:
            deltas = self._all_of(message)
        self._said = self._said or bool(deltas)
        return deltas

    def _all_of(self, message: Json) -> list[Delta]:
        thought, said = _parts(message.get("content"))
        thought = self._reasoning(message) or thought
        refusal = as_text(message.get("refusal"))
        self._refused = self._refused or bool(refusal)
        for detail in as_list(message.get("reasoning_details")):
            self._add_detail(as_dict(detail))
        self._look(as_list(message.get("images")))
        said += self._hear(as_dict(message.get("audio")))
        for key in message.keys() - _KNOWN:
            self._keep(key, message[key])
        return self._think(thought) + self._say(said + refusal)

    def _look(self, images: list[object]) -> None:
        """Take pictures, as OpenRouter has them: parts as of a person's message."""
        for one in map(as_dict, images):
            url = as_text(as_dict(one.get("image_url")).get("url"))
            if url:
                self._media.append(inline(Image(url=url)))
                self._kept["images"] = True

    def _hear(self, audio: Json) -> str:
        """Take a sound, which comes whole or in pieces; what is said in it."""
        if audio:
            self._sound += decoded_base64(as_text(audio.get("data")))
            told = {key: one for key, one in audio.items() if key not in ("data", "transcript")}
            self._heard |= {key: one for key, one in told.items() if one is not None}
        return as_text(audio.get("transcript"))

    def _keep(self, key: str, value: object) -> None:
        """Keep what a message says under a key that is not the wire's; lists and dicts grow."""
        before = self._kept.get(key)
        if isinstance(before, list) and isinstance(value, list):
            self._kept[key] = [*before, *value]
        elif isinstance(before, dict) and isinstance(value, dict):
            self._kept[key] = {**before, **value}
        elif value not in (None, "", [], {}):
            self._kept[key] = value

    def _reasoning(self, message: Json) -> str:
        for key in REASONING_KEYS:
            value = message.get(key)
            if isinstance(value, str):
                self._reasoning_key = self._reasoning_key or key
                if value:
                    self._reasoning_key = key
                    return value
        return ""

    def _add_detail(self, detail: Json) -> None:
        """Keep a block of OpenRouter's, which come in pieces of one type, index and id."""
        last = self._details[-1] if self._details else {}
        same = last and all(last.get(key) == detail.get(key) for key in ("type", "index", "id"))
        if not same or "data" in detail:
            self._details.append(dict(detail))
            return
        for key, value in detail.items():
            if key in ("text", "summary"):
                last[key] = as_text(last.get(key)) + as_text(value)
            elif value is not None:
                last[key] = value

    def extra(self) -> Json:
        """What the wire wants back: keys that are not its own, and the reasoning."""
        extra: Json = dict(self._kept)
        if self._reasoning_key:
            extra["reasoning_key"] = self._reasoning_key
        if self._details:
            extra["reasoning_details"] = self._details
        if self._reason not in REASONS:
            extra["finish_reason"] = self._reason
        return as_dict(clean(extra))


def _call_entries(message: Json) -> list[Json]:
    """The calls in a message or delta, the one of the old ``function_call`` style included."""
    entries = message.get("tool_calls")
    calls = [one for one in as_list(entries) if isinstance(one, dict) and one] if entries else []
    old = message.get("function_call")
    if isinstance(old, dict) and (old.get("name") or old.get("arguments")):
        calls.append({"index": 0, "function": old})
    return calls


def _parts(content: object) -> tuple[str, str]:
    """What is thought and what is said in content: a string or a list of parts."""
    if isinstance(content, str):
        return "", content
    thought, said = [], []
    for part in map(as_dict, as_list(content)):
        if "thinking" in part:
            thought.append(_part_text(part["thinking"]))
        else:
            said.append(as_text(part.get("text")) or as_text(part.get("refusal")))
    return "".join(thought), "".join(said)


def _part_text(parts: object) -> str:
    if isinstance(parts, str):
        return parts
    return "".join(as_text(as_dict(part).get("text")) for part in as_list(parts))
