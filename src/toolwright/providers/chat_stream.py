"""Chat Completions answers, whole and streamed, as deltas."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from toolwright.errors import model_error
from toolwright.messages import FinishReason, Usage
from toolwright.model import CallDelta, Delta, Finish, ReasoningDelta, TextDelta
from toolwright.providers.chat_calls import CallTracker, extra_of, text_of_arguments
from toolwright.providers.wire import (
    Json,
    TextPieces,
    as_count,
    as_dict,
    as_list,
    as_text,
    clean,
    plain,
)

REASONING_KEYS = ("reasoning_content", "reasoning", "reasoning_text")
"""Under which name servers send reasoning; one of them, or the same under several."""

REASONS: Mapping[str, FinishReason] = MappingProxyType(
    {
        "stop": "stop",
        "end": "stop",
        "end_turn": "stop",
        "eos": "stop",
        "eos_token": "stop",
        "stop_sequence": "stop",
        "tool_calls": "tool_calls",
        "tool_call": "tool_calls",
        "tool_use": "tool_calls",
        "function_call": "tool_calls",
        "length": "length",
        "max_tokens": "length",
        "model_length": "length",
        "model_context_window_exceeded": "length",
        "content_filter": "refusal",
        "refusal": "refusal",
        "safety": "refusal",
        "sensitive": "refusal",
    }
)
"""Every reason seen on this wire; any other is an error, none at all a cut-off reply."""


_SILENT = frozenset({"role", "tool_calls"})


class StreamDecoder:
    """Chunks in, deltas out, nothing else: feed it from any client, sync or async.

    >>> decoder = StreamDecoder()
    >>> decoder.feed({"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]})
    [TextDelta(text='Hi')]
    >>> [delta.reason for delta in decoder.finish()]
    ['stop']
    """

    __slots__ = (
        "_called",
        "_calls",
        "_details",
        "_model",
        "_reason",
        "_reasoning_key",
        "_refused",
        "_text",
        "_thought",
        "_usage",
    )

    def __init__(self) -> None:
        self._calls = CallTracker()
        self._called = False
        self._text = TextPieces()
        self._thought = TextPieces()
        self._reason = ""
        self._refused = False
        self._model = ""
        self._usage: Json = {}
        self._reasoning_key = ""
        self._details: list[Json] = []

    def feed(self, chunk: object) -> list[Delta]:
        """The deltas in one chunk.

        Args:
            chunk: A dict, its JSON text, or an SDK's chunk object. Empty and null chunks and
                ``[DONE]`` hold nothing; a whole completion is one chunk.

        Raises:
            ModelError: if the chunk is an error, or no JSON.
        """
        if isinstance(chunk, str | bytes) and chunk.strip() in ("", "[DONE]", b"", b"[DONE]"):
            return []
        data = as_dict(plain(chunk))
        choice = self._open_chunk(data)
        delta = choice.get("delta")
        if delta is None and "message" in choice:
            return self._whole(as_dict(choice["message"]))
        message = as_dict(delta)
        deltas = self._message(message)
        for entry in _call_entries(message):
            pieces = self._calls.feed(entry)
            deltas += pieces
            self._called = self._called or bool(pieces)
        return deltas

    def _whole(self, message: Json) -> list[Delta]:
        """The deltas of a whole message, where each listed call is one, whatever its id."""
        deltas = self._message(message)
        for index, entry in enumerate(_call_entries(message)):
            function = as_dict(entry.get("function")) or as_dict(entry.get("custom"))
            text = text_of_arguments(function.get("arguments", function.get("input")))
            id, name = as_text(entry.get("id")), as_text(function.get("name"))
            deltas.append(CallDelta(index, id, name, text, extra_of(entry)))
            self._called = True
        return deltas

    def finish(self) -> list[Delta]:
        """What is left at the end. There is no `Finish` in it if the server never said why."""
        deltas: list[Delta] = [*self._calls.finish()]
        if self._reason:
            usage = usage_of(self._usage)
            deltas.append(Finish(self._finish_reason(), usage, self._model, self._extra()))
        return deltas

    def _finish_reason(self) -> FinishReason:
        if self._refused:
            return "refusal"
        reason = REASONS.get(self._reason, "error")
        return "tool_calls" if reason == "stop" and self._called else reason

    def _open_chunk(self, data: Json) -> Json:
        """Read what stands beside the message; return the first choice."""
        if "error" in data or data.get("object") == "error":
            raise_error(data)
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
        reason = as_text(choice.get("finish_reason"))
        if reason and REASONS.get(self._reason, "stop") in ("stop", "tool_calls"):
            self._reason = reason
        return choice

    def _message(self, message: Json) -> list[Delta]:
        """What is said and thought in a message or delta."""
        if message.keys() <= _SILENT:
            return []
        thought, said = _parts(message.get("content"))
        thought = self._reasoning(message) or thought
        refusal = as_text(message.get("refusal"))
        self._refused = self._refused or bool(refusal)
        for detail in as_list(message.get("reasoning_details")):
            self._add_detail(as_dict(detail))
        thought, said = self._thought.feed(thought), self._text.feed(said + refusal)
        deltas: list[Delta] = [ReasoningDelta(thought)] if thought else []
        if said:
            deltas.append(TextDelta(said))
        return deltas

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

    def _extra(self) -> Json:
        extra: Json = {}
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
    if old:
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


def usage_of(usage: Json) -> Usage:
    """One request's tokens, under whichever names the server counts them."""
    details_in = as_dict(usage.get("prompt_tokens_details"))
    details_out = as_dict(usage.get("completion_tokens_details"))
    cached = (
        details_in.get("cached_tokens")
        or usage.get("prompt_cache_hit_tokens")
        or usage.get("cached_tokens")
    )
    return Usage(
        1,
        as_count(usage.get("prompt_tokens")),
        as_count(usage.get("completion_tokens")),
        as_count(cached),
        as_count(details_out.get("reasoning_tokens")),
    )


def raise_error(data: Json) -> None:
    """Raise the error that `data` is, if it is one and no answer.

    Raises:
        ModelError: with the server's own words, and the status that its code or type stands for.
    """
    error = data.get("error")
    if not error and data.get("object") != "error":
        return
    body = as_dict(error) or (data if not error else {})
    message = as_text(body.get("message")) or as_text(error) or "the server sent an error"
    raise model_error(message, status=status_of(body))


STATUS: Mapping[str, int] = MappingProxyType(
    {
        "authentication_error": 401,
        "invalid_api_key": 401,
        "insufficient_quota": 402,
        "permission_error": 403,
        "model_not_found": 404,
        "not_found_error": 404,
        "invalid_request_error": 400,
        "context_length_exceeded": 400,
        "rate_limit_error": 429,
        "rate_limit_exceeded": 429,
        "api_error": 500,
        "internal_error": 500,
        "internal_server_error": 500,
        "server_error": 500,
        "service_unavailable": 503,
        "overloaded_error": 529,
    }
)
"""The HTTP status of an error that is sent in place of a chunk, by its code or type."""


def status_of(error: Mapping[str, object]) -> int | None:
    """The HTTP status that an error's ``code``, ``status`` or ``type`` is or stands for.

    >>> status_of({"code": "429"}), status_of({"type": "server_error", "code": None})
    (429, 500)
    """
    for key in ("code", "status", "status_code", "type"):
        code = error.get(key)
        number = int(code) if isinstance(code, str) and code.isdecimal() else code
        if isinstance(number, int) and 400 <= number < 600:
            return number
        if isinstance(code, str) and code.lower() in STATUS:
            return STATUS[code.lower()]
    return None
