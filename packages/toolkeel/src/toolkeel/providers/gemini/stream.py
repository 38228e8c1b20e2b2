"""Decodes Gemini's answers, complete and streamed, into deltas.

A stream is a sequence of answers, each with the next parts; calls arrive complete, or on Vertex in pieces
(`partial_args`). Parts that
programs do not read or that carry a signature (thoughts, code that the server ran, pictures) are kept
in the reply's ``provider_options["gemini"]["parts"]``, with their position (`wire.part_order`).
"""

from __future__ import annotations

from collections.abc import Mapping

from toolkeel.model_interface import CallDelta, Delta, ReasoningDelta, TextDelta
from toolkeel.providers.gemini.partial_args import PartialCall, is_partial
from toolkeel.providers.gemini.profile import (
    NUMBERED_REASONS,
    REASONS,
    WIRE,
    kind_of,
    parse_usage,
    signature_of,
    to_wire_names,
)
from toolkeel.providers.text_pieces import CumulativeText
from toolkeel.providers.wire.decoder import Decoder
from toolkeel.providers.wire.part_order import make_layout
from toolkeel.providers.wire.plain_json import (
    Json,
    as_dict,
    as_id,
    as_key,
    as_parts,
    as_text,
    complete_arguments_text,
    dumps,
    parse_response,
    plain,
    wire_options,
)
from toolkeel.providers.wire.server_errors import (
    empty_answer,
    incomplete_response,
    is_mistake,
    known_word,
    reported_error,
)
from toolkeel.providers.wire.tools import WireTools

_CALL_KEYS = frozenset({"id", "name", "args"})


_GROUNDING_KEYS = ("groundingMetadata", "urlContextMetadata", "citationMetadata")
"""Keys of a candidate about the server's searches, fetched pages and quotations."""


class StreamDecoder(Decoder):
    """Turns partial answers into deltas; works with any client, sync or async.

    Args:
        tools: The tools as they were sent; calls get the tools' own names back.

    >>> decoder = StreamDecoder()
    >>> decoder.feed({"candidates": [{"content": {"parts": [{"text": "Hi"}]}}]})
    [TextDelta(text='Hi')]
    >>> decoder.finish()  # there was no finishReason: it was cut off
    []
    """

    target = WIRE
    finish_reasons = REASONS
    parse_usage = staticmethod(parse_usage)

    def __init__(self, tools: WireTools | None = None, model: str = "") -> None:
        super().__init__(tools, model)
        self._parts: list[Json] = []
        self._joins_texts = True
        """True if texts arrive in pieces; those of a complete answer are separate parts."""
        self._cumulative = {False: CumulativeText(), True: CumulativeText()}
        """Readers of texts in pieces, the one of thoughts under True."""
        self._is_last = False
        """True while a candidate with a finish reason is decoded."""
        self._finish_message = ""
        self._grounding: Json = {}
        self._partial: list[PartialCall] = []
        """Calls whose arguments are still arriving, the latest last."""
        self.is_empty = True
        """True if there was neither a part nor a finish reason: retry (quirk Q49)."""

    normalize = staticmethod(to_wire_names)

    def read_response(self, reply: object) -> list[Delta]:
        """Decode a complete answer into deltas, with its texts as separate parts.

        Raises:
            ModelError: if it is an error, or cannot be an answer.
        """
        original = plain(reply)
        data = to_wire_names(
            original if isinstance(original, list) else parse_response(WIRE, original)
        )
        self._joins_texts = False
        deltas = self.feed(data)
        if self.is_empty:
            raise empty_answer(str(incomplete_response("candidates", data)))
        return deltas

    def handle_event(self, data: Json) -> list[Delta]:
        """Return the deltas of one chunk, and record its usage, model, reason and sources.

        Code Assist puts a chunk in an envelope.

        Raises:
            ModelError: the chunk reports an error.
        """
        if "candidates" not in data:
            data = as_dict(data.get("response")) or data
        if data.get("error"):
            raise reported_error(data)
        self._model = as_text(data.get("modelVersion")) or self._model
        for key, value in as_dict(data.get("usageMetadata")).items():
            if value is not None:
                self._usage[key] = value
        feedback = as_dict(data.get("promptFeedback"))
        blocked = feedback.get("blockReason")
        candidate = self._choose(data)
        reason = _finish_word(candidate.get("finishReason"))
        self._is_last = bool(reason)
        deltas: list[Delta] = []
        content = candidate.get("content")
        for part in as_parts(content.get("parts") if isinstance(content, dict) else content):
            deltas += self._read_part(dict(part))
        if blocked and not candidate:
            words = filter(None, (as_text(blocked), as_text(feedback.get("blockReasonMessage"))))
            self._reason, self._finish_message = self._reason or "SAFETY", ": ".join(words)
        elif reason and REASONS.get(self._reason, "stop") == "stop":
            self._reason = reason
            self._finish_message = as_text(candidate.get("finishMessage"))
        for key in _GROUNDING_KEYS:
            self._grounding |= {key: candidate[key]} if candidate.get(key) else {}
        self.is_empty = self.is_empty and not (deltas or self._media or self._reason)
        return deltas

    def _choose(self, data: Json) -> Json:
        """Return the first candidate; of a complete answer without a first one, another."""
        candidates = as_parts(data.get("candidates"))
        others = [] if self._joins_texts else candidates
        return next((one for one in candidates if not one.get("index")), (*others, {})[0])

    def mistake(self) -> str:
        """Return why the server rejected a call that the model wrote, or an empty string."""
        if not is_mistake(self._reason):
            return ""
        message = self._finish_message
        return f"{self._reason}: {message}" if message else self._reason

    def provider_options(self) -> Mapping[str, object]:
        """Return the parts' order, the sources, and a finish reason more precise than ours."""
        extra = dict(self._grounding)
        parts = make_layout([(kind_of(part), part) for part in self._parts])
        if parts:
            extra["parts"] = parts
        if REASONS.get(self._reason) != "stop":
            extra["finish_reason"] = self._reason
            if self._finish_message:
                extra["finish_message"] = self._finish_message
        return wire_options(WIRE, extra)

    # — parts —

    def _read_part(self, part: Json) -> list[Delta]:
        """Decode a part into deltas, and record it in order.

        Pictures become media, and other parts are only kept in order.
        """
        signature = signature_of(part)
        part.pop("thoughtSignature", None)
        if signature:
            part["thoughtSignature"] = signature
        if "text" in part:
            return self._read_text(part, signature)
        deltas = self._release_text(True, False)
        if "functionCall" in part:
            return deltas + self._read_any_call(part)
        if part:
            self._parts.append(part)
        made = as_dict(part.get("inlineData"))
        if made and not part.get("thought"):
            self._add_media(made.get("data"), made.get("mimeType"))
        return deltas

    def _read_text(self, part: Json, signature: str) -> list[Delta]:
        """Decode text or a thought into deltas, and keep what is new of it."""
        text, thought = as_text(part["text"]), bool(part.get("thought"))
        deltas: list[Delta] = []
        if self._joins_texts and text:
            deltas = self._release_text(not thought)
            text = self._cumulative[thought].feed(text, is_last=self._is_last)
            text += self._cumulative[thought].finish() if signature else ""
        return deltas + self._add_text({**part, "text": text}, signature)

    def _release_text(self, *kinds: bool) -> list[Delta]:
        """Add text that waited for a further piece to the parts, and return its deltas; kind True is thoughts."""
        deltas: list[Delta] = []
        for thought in kinds:
            if text := self._cumulative[thought].finish():
                deltas += self._add_text({"text": text, "thought": thought}, "")
        return deltas

    def _add_text(self, part: Json, signature: str) -> list[Delta]:
        """Keep a part with text or a thought, and return its delta.

        Unsigned neighboring pieces are joined.
        """
        thought = bool(part.get("thought"))
        pieces = self._thinking if thought else self._text
        text = pieces.feed(as_text(part["text"]))
        part["text"] = text
        if not thought:
            part.pop("thought", None)
        if text or signature:
            last = self._parts[-1] if self._parts else {}
            if (
                self._joins_texts
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

    def _read_any_call(self, part: Json) -> list[Delta]:
        """Decode a complete call into a delta, and record it; extend a call that arrives in pieces.

        Return nothing while a call's pieces are still arriving.
        """
        call = as_dict(part["functionCall"])
        open_call = next((one for one in reversed(self._partial) if one.takes(part)), None)
        deltas: list[Delta] = []
        if open_call is None and not call.get("id"):
            deltas += self.remaining_deltas()  # without ids, a call ends where the next one starts
        if open_call is None and not is_partial(part):
            self._parts.append(part)
            return [*deltas, self._read_call(part)]
        if open_call is None:
            open_call = PartialCall(part)
            self._partial.append(open_call)
        open_call.feed(part)
        return deltas if call.get("willContinue") else [*deltas, *self._end_partial(open_call)]

    def _end_partial(self, call: PartialCall) -> list[Delta]:
        """Keep a finished call of pieces as one part, and return its delta."""
        self._partial.remove(call)
        part = call.complete()
        self._parts.append(part)
        return [self._read_call(part)]

    def remaining_deltas(self) -> list[Delta]:
        """Return the deltas of text that waited, and of a call left open.

        If the call's text is incomplete, mark the reply as cut off.
        """
        if any(one.is_cut_off for one in self._partial) and REASONS.get(self._reason) == "stop":
            self._reason = ""
        calls = [delta for one in [*self._partial] for delta in self._end_partial(one)]
        return self._release_text(True, False) + calls

    def _read_call(self, part: Json) -> CallDelta:
        """Count a complete call and return its delta, with the tool's own name and properties."""
        call, signature = as_dict(part["functionCall"]), signature_of(part)
        name = self._tools.name_of(as_text(call.get("name")))
        id = as_id(call.get("id"))
        options = {key: call[key] for key in sorted(call.keys() - _CALL_KEYS)}
        options |= {"id": id} if id else {}
        options |= {"thoughtSignature": signature} if signature else {}
        arguments = self._tools.from_wire(name, complete_arguments_text(call.get("args")))
        if name in self._tools.natives:
            alias, original = as_text(call.get("name")), as_dict(call.get("args"))
            arguments = dumps(self._tools.translate_native(name, original, alias))
            options |= {"name": alias, "args": original}
        number, self._call_count = self._call_count, self._call_count + 1
        return CallDelta(number, id, name, arguments, wire_options(WIRE, options))


def _finish_word(original: object) -> str:
    """Return the word for a finish reason, which older servers number; empty if there is none yet."""
    word = known_word(as_text(original).removeprefix("FINISH_REASON_"), REASONS)
    word = word or NUMBERED_REASONS.get(as_key(original), "")
    return word or (str(original) if original else "")
