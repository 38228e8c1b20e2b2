"""Reads Gemini's answers, whole and streamed, as deltas.

A stream is a row of answers of which each has the next parts; calls come whole. Parts that a
program does not know or that carry a signature (thoughts, code that the server ran, pictures) are
kept in the reply's ``provider_options["gemini"]["parts"]``, which says where each stood (``part_order.py``).
"""

from __future__ import annotations

from collections.abc import Mapping

from toolkeel.errors import ModelError, ModelUnavailable
from toolkeel.model_interface import CallDelta, Delta, ReasoningDelta, TextDelta
from toolkeel.providers.gemini.profile import (
    LEGACY,
    REASONS,
    WIRE,
    kind_of,
    signature_of,
    usage_of,
    wire_form,
)
from toolkeel.providers.wire.decoder import Decoder
from toolkeel.providers.wire.part_order import layout_of
from toolkeel.providers.wire.plain_json import (
    Json,
    as_dict,
    as_key,
    as_list,
    as_text,
    dumps,
    extra_under,
    input_text,
    plain,
    response_of,
)
from toolkeel.providers.wire.server_errors import incomplete_response, sent_error
from toolkeel.providers.wire.tools import WireTools

_CALL_KEYS = frozenset({"id", "name", "args"})


_GROUNDS = ("groundingMetadata", "urlContextMetadata")
"""What a candidate says about searches and pages the server looked at."""


class StreamDecoder(Decoder):
    """Answers in, deltas out, nothing else: feed it from any client, sync or async.

    Args:
        tools: The tools as they were sent; then calls carry their own names again.

    >>> decoder = StreamDecoder()
    >>> decoder.feed({"candidates": [{"content": {"parts": [{"text": "Hi"}]}}]})
    [TextDelta(text='Hi')]
    >>> decoder.finish()  # there was no finishReason: it was cut off
    []
    """

    target = WIRE
    reasons = REASONS
    usage_of = staticmethod(usage_of)

    def __init__(self, tools: WireTools | None = None, model: str = "") -> None:
        super().__init__(tools, model)
        self._parts: list[Json] = []
        self._pieces = True
        """Whether texts come in pieces; those of a whole answer are parts, each as it stands."""
        self._message = ""
        self._grounds: Json = {}
        self.empty = True
        """Whether there was neither a part nor a reason so far: then ask again (quirk Q49)."""

    form = staticmethod(wire_form)

    def read_response(self, reply: object) -> list[Delta]:
        """The deltas of a whole answer.

        Raises:
            ModelError: if it is an error, or nothing that could be an answer.
        """
        given = plain(reply)
        data = wire_form(given if isinstance(given, list) else response_of(WIRE, given))
        self._pieces = False
        deltas = self.feed(data)
        if self.empty:
            raise ModelUnavailable(str(incomplete_response("candidates", data)))
        return deltas

    def take(self, data: Json) -> list[Delta]:
        """The deltas in one chunk."""
        if data.get("error"):
            raise sent_error(data)
        self._model = as_text(data.get("modelVersion")) or self._model
        for key, value in as_dict(data.get("usageMetadata")).items():
            if value is not None:
                self._usage[key] = value
        blocked = as_dict(data.get("promptFeedback")).get("blockReason")
        candidates = [as_dict(one) for one in as_list(data.get("candidates"))]
        candidate = next((one for one in candidates if not one.get("index")), {})
        deltas: list[Delta] = []
        for part in as_list(as_dict(candidate.get("content")).get("parts")):
            deltas += self._part(dict(as_dict(part)))
        reason = _reason_of(candidate.get("finishReason"))
        if blocked and not candidate:
            self._reason, self._message = self._reason or "SAFETY", as_text(blocked)
        elif reason and REASONS.get(self._reason, "stop") == "stop":
            self._reason = reason
            self._message = as_text(candidate.get("finishMessage"))
        for key in _GROUNDS:
            self._grounds |= {key: candidate[key]} if candidate.get(key) else {}
        self.empty = self.empty and not (deltas or self._media or self._reason)
        return deltas

    def extra(self) -> Mapping[str, object]:
        """The parts' order, what was looked at, and a reason that says more than ours."""
        extra = dict(self._grounds)
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
            return self._tell(part, signature)
        if part:
            self._parts.append(part)
        made = as_dict(part.get("inlineData"))
        if made and not part.get("thought"):
            self._show(made.get("data"), made.get("mimeType"))
        return []

    def _tell(self, part: Json, signature: str) -> list[Delta]:
        """Text, said or thought; pieces without signatures are one part."""
        thought = bool(part.get("thought"))
        pieces = self._thought if thought else self._text
        text = pieces.feed(as_text(part["text"]))
        part["text"] = text
        if not thought:
            part.pop("thought", None)
        if text or signature:
            last = self._parts[-1] if self._parts else {}
            if (
                self._pieces
                and "text" in last
                and last.keys() == part.keys()
                and "thoughtSignature" not in part
            ):
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
        name = self._tools.name_of(as_text(call.get("name")))
        id = as_text(call.get("id"))
        kept = {key: call[key] for key in sorted(call.keys() - _CALL_KEYS)}
        kept |= {"id": id} if id else {}
        kept |= {"thoughtSignature": signature} if signature else {}
        arguments = self._tools.from_wire(name, input_text(call.get("args")))
        if name in self._tools.natives:
            alias, given = as_text(call.get("name")), as_dict(call.get("args"))
            arguments = dumps(self._tools.translated(name, given, alias))
            kept |= {"name": alias, "args": given}
        number, self._calls = self._calls, self._calls + 1
        return CallDelta(number, id, name, arguments, extra_under(WIRE, kept))


def _reason_of(given: object) -> str:
    """The word for why an answer ends, which older servers number; empty if it does not yet."""
    word = as_text(given).removeprefix("FINISH_REASON_") or LEGACY.get(as_key(given), "")
    return word or (str(given) if given else "")
