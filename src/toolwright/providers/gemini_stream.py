"""Gemini's answers, whole and streamed, as deltas.

A stream is a row of answers of which each has the next parts; calls come whole. Parts that a
program does not know or that carry a signature (thoughts, code that the server ran, pictures) are
kept in the reply's ``extra["gemini"]["parts"]``, which says where each stood (``layout.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from toolwright.errors import ModelError, model_error
from toolwright.messages import FinishReason
from toolwright.model import CallDelta, Delta, Finish, ReasoningDelta, TextDelta
from toolwright.providers.gemini_part import (
    WIRE,
    kind_of,
    retry_delay,
    signature_of,
    usage_of,
    wire_form,
)
from toolwright.providers.layout import layout_of
from toolwright.providers.wire import (
    Json,
    TextPieces,
    as_dict,
    as_list,
    as_text,
    dumps,
    extra_under,
    input_text,
)
from toolwright.providers.wiretools import WireTools

REASONS: Mapping[str, FinishReason] = MappingProxyType(
    {
        "STOP": "stop",
        "FUNCTION_CALL": "stop",
        "MAX_TOKENS": "length",
        "CONTINUATION": "length",
        "SAFETY": "refusal",
        "RECITATION": "refusal",
        "LANGUAGE": "refusal",
        "BLOCKLIST": "refusal",
        "PROHIBITED_CONTENT": "refusal",
        "SPII": "refusal",
        "MODEL_ARMOR": "refusal",
        "ESCALATION": "refusal",
        "IMAGE_SAFETY": "refusal",
        "IMAGE_PROHIBITED_CONTENT": "refusal",
        "IMAGE_RECITATION": "refusal",
    }
)
"""Why an answer ends; any other reason, such as MALFORMED_FUNCTION_CALL, is an error."""

_CALL_KEYS = frozenset({"id", "name", "args"})


_GROUNDS = ("groundingMetadata", "urlContextMetadata")
"""What a candidate says about searches and pages the server looked at."""


class StreamDecoder:
    """Answers in, deltas out, nothing else: feed it from any client, sync or async.

    Args:
        tools: The tools as they were sent; then calls carry their own names again.

    >>> decoder = StreamDecoder()
    >>> decoder.feed({"candidates": [{"content": {"parts": [{"text": "Hi"}]}}]})
    [TextDelta(text='Hi')]
    >>> decoder.finish()  # there was no finishReason: it was cut off
    []
    """

    __slots__ = (
        "_calls",
        "_grounds",
        "_message",
        "_model",
        "_parts",
        "_reason",
        "_text",
        "_thought",
        "_tools",
        "_usage",
        "empty",
    )

    def __init__(self, tools: WireTools | None = None) -> None:
        self._tools = tools or WireTools(target="gemini")
        self._parts: list[Json] = []
        self._calls = 0
        self._text = TextPieces()
        self._thought = TextPieces()
        self._reason = ""
        self._message = ""
        self._grounds: Json = {}
        self._model = ""
        self._usage: Json = {}
        self.empty = True
        """Whether there was neither a part nor a reason so far: then ask again (quirk Q49)."""

    def feed(self, chunk: object) -> list[Delta]:
        """The deltas in one chunk.

        Args:
            chunk: A dict, its JSON text, or google-genai's response; a whole answer is one
                chunk, and so is a list of chunks, which is what a stream is without ``alt=sse``.

        Raises:
            ModelError: if the chunk is an error, or no JSON.
        """
        if isinstance(chunk, str | bytes) and chunk.strip() in ("", "[DONE]", b"", b"[DONE]"):
            return []
        data = wire_form(chunk)
        if isinstance(data, list):
            return [delta for one in data for delta in self.feed(one)]
        return self._take(as_dict(data))

    def finish(self) -> list[Delta]:
        """What is left at the end. There is no `Finish` in it if the server never said why."""
        if not self._reason:
            return []
        reason = REASONS.get(self._reason, "error")
        if reason == "stop" and self._calls:
            reason = "tool_calls"
        return [Finish(reason, usage_of(self._usage), self._model, self._extra())]

    def _take(self, data: Json) -> list[Delta]:
        if data.get("error"):
            raise_error(as_dict(data["error"]))
        self._model = as_text(data.get("modelVersion")) or self._model
        for key, value in as_dict(data.get("usageMetadata")).items():
            if value is not None:
                self._usage[key] = value
        blocked = as_text(as_dict(data.get("promptFeedback")).get("blockReason"))
        candidates = [as_dict(one) for one in as_list(data.get("candidates"))]
        candidate = next((one for one in candidates if not one.get("index")), {})
        deltas: list[Delta] = []
        for part in as_list(as_dict(candidate.get("content")).get("parts")):
            deltas += self._part(dict(as_dict(part)))
        reason = as_text(candidate.get("finishReason"))
        if blocked and not candidate:
            self._reason, self._message = self._reason or "SAFETY", blocked
        elif reason and REASONS.get(self._reason, "stop") == "stop":
            self._reason = reason
            self._message = as_text(candidate.get("finishMessage"))
        for key in _GROUNDS:
            self._grounds |= {key: candidate[key]} if candidate.get(key) else {}
        self.empty = self.empty and not (deltas or self._reason)
        return deltas

    def _extra(self) -> Mapping[str, object]:
        extra: Json = {}
        extra |= self._grounds
        parts = layout_of([(kind_of(part), part) for part in self._parts])
        if parts:
            extra["parts"] = parts
        if REASONS.get(self._reason) != "stop":
            extra["finish_reason"] = self._reason
            if self._message:
                extra["finish_message"] = self._message
        return extra_under(WIRE, extra)

    # — parts —

    def _part(self, part: Json) -> list[Delta]:
        signature = signature_of(part)
        part.pop("thoughtSignature", None)
        if signature:
            part["thoughtSignature"] = signature
        if "functionCall" in part:
            self._parts.append(part)
            return [self._call(part, signature)]
        if "text" in part:
            return self._say(part, signature)
        if part:
            self._parts.append(part)
        return []

    def _say(self, part: Json, signature: str) -> list[Delta]:
        """Text, said or thought; pieces without signatures are one part."""
        thought = bool(part.get("thought"))
        pieces = self._thought if thought else self._text
        text = pieces.feed(as_text(part["text"]))
        part["text"] = text
        if not thought:
            part.pop("thought", None)
        if text or signature:
            last = self._parts[-1] if self._parts else {}
            if "text" in last and last.keys() == part.keys() and "thoughtSignature" not in part:
                last["text"] = as_text(last["text"]) + text
            else:
                self._parts.append(part)
        if thought:
            return [ReasoningDelta(text, signature)] if text or signature else []
        return [TextDelta(text)] if text else []

    def _call(self, part: Json, signature: str) -> CallDelta:
        """A call, which comes whole.

        Raises:
            ModelError: if its arguments come in pieces, which the request must not ask for.
        """
        call = as_dict(part["functionCall"])
        if call.get("partialArgs") or call.get("willContinue"):
            raise ModelError(
                "the arguments of a call came in pieces; leave streamFunctionCallArguments out"
            )
        name = self._tools.own(as_text(call.get("name")))
        id = as_text(call.get("id"))
        kept = {key: call[key] for key in sorted(call.keys() - _CALL_KEYS)}
        kept |= {"id": id} if id else {}
        kept |= {"thoughtSignature": signature} if signature else {}
        arguments = self._tools.inward(name, input_text(call.get("args")))
        if name in self._tools.natives:
            alias, given = as_text(call.get("name")), as_dict(call.get("args"))
            arguments = dumps(self._tools.translated(name, given, alias))
            kept |= {"name": alias, "args": given}
        number, self._calls = self._calls, self._calls + 1
        return CallDelta(number, id, name, arguments, extra_under(WIRE, kept))


def raise_error(error: Json) -> None:
    """Raise the error that a server sent in place of an answer.

    Raises:
        ModelError: with the server's own words, its status and how long it asks to wait.
    """
    code = error.get("code")
    status = code if isinstance(code, int) and 400 <= code < 600 else None
    message = as_text(error.get("message")) or as_text(error.get("status"))
    raise model_error(
        message or "the server sent an error", status=status, retry_after=retry_delay(error)
    )
