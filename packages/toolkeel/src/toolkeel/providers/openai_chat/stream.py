"""Decodes Chat Completions answers, complete and streamed, into deltas."""

from __future__ import annotations

from dataclasses import replace

from toolkeel._records.messages_json import inline
from toolkeel.content import Audio, Image, detect_media_type
from toolkeel.messages import FinishReason
from toolkeel.model_interface import CallDelta, Delta
from toolkeel.providers.openai_chat.call_pieces import CallTracker
from toolkeel.providers.openai_chat.content_parts import (
    PartReader,
    as_message,
    find_completion,
    merge_fields,
    part_text,
)
from toolkeel.providers.openai_chat.listed_calls import arguments_of, extra_keys, list_calls
from toolkeel.providers.openai_chat.profile import (
    REASONING_BLOCKS,
    REASONING_KEYS,
    REASONS,
    is_sealed_reasoning,
    parse_usage,
)
from toolkeel.providers.openai_chat.reasoning_blocks import ReasoningBlocks
from toolkeel.providers.text_pieces import CumulativeText
from toolkeel.providers.wire.decoder import Decoder
from toolkeel.providers.wire.plain_json import (
    Json,
    arguments_piece,
    arguments_text,
    as_dict,
    as_id,
    as_list,
    as_parts,
    as_text,
    clean,
    decode_base64,
    parse_response,
    plain,
)
from toolkeel.providers.wire.server_errors import (
    has_failed_status,
    incomplete_response,
    is_mistake,
    known_word,
    reported_error,
)
from toolkeel.providers.wire.tools import WireTools

_BARE_FAILURE_KEYS = frozenset({"detail", "errors", "error_code", "error_msg", "errorMessage"})
"""Keys of an error that has no choices beside it."""
_FAILURE_KEYS = _BARE_FAILURE_KEYS | {"error", "base_resp"}
_SOURCE_KEYS = frozenset(
    {"citations", "search_results", "search_info", "web_search", "references", "sources"}
    | {f"vertex_ai_{what}_metadata" for what in ("grounding", "url_context", "citation")}
)
"""Keys beside the choices that hold what the answer cites: Perplexity's, xAI's, DashScope's, GLM's,
Ark's, Open WebUI's, LiteLLM's."""
_NO_TEXT_KEYS = frozenset({"role", "tool_calls"})
_TEXT_KEYS = _NO_TEXT_KEYS | {"content"}
_KNOWN_KEYS = frozenset(
    {*_NO_TEXT_KEYS, *REASONING_KEYS, *REASONING_BLOCKS, "content", "function_call", "refusal"}
    | {"images", "audio"}
)
"""Keys of a message that are decoded; all others are saved."""


class StreamDecoder(Decoder):
    """Turns chunks of an answer into deltas; works with any client, sync or async.

    >>> decoder = StreamDecoder()
    >>> decoder.feed({"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]})
    [TextDelta(text='Hi')]
    >>> [delta.reason for delta in decoder.finish()]
    ['stop']
    """

    target = "openai-chat"
    joins_repeated_calls = True
    """True if a call that a message lists twice, id and arguments included, is one."""
    finish_reasons = REASONS
    is_sealed = staticmethod(is_sealed_reasoning)
    parse_usage = staticmethod(parse_usage)

    def __init__(self, tools: WireTools | None = None, model: str = "") -> None:
        super().__init__(tools, model)
        self._tracker = CallTracker()
        self._refused = False
        self._text_length = 0
        self._is_streamed = True
        self._is_last = False
        """True while a choice with a reason to end is decoded."""
        self._new_text, self._new_thought = CumulativeText(), CumulativeText()
        self._listed: set[tuple[str, str, str]] = set()
        """Id, name and arguments of the calls in complete messages."""
        self._has_more = False
        """True if there was anything else that is shown, such as reasoning."""
        self._parts = PartReader()
        self._unknown_keys: Json = {}
        self._audio = b""
        self._audio_extra: Json = {}
        """Fields beside the audio: its id, and its expiry at the server."""
        self._reasoning_key = ""
        self._is_complete = False
        """True while a complete message is decoded."""
        self._blocks = ReasoningBlocks()
        self._beside: list[Json] = []
        """Choices beside the first one, which are other answers."""

    def handle_event(self, data: Json) -> list[Delta]:
        """Return the deltas of one chunk; its `delta` counts before a `message` beside it.

        Raises:
            ModelError: the chunk reports an error.
        """
        choices = self._read_chunk(data)
        if len(choices) == 1:  # of nearly all chunks
            return self._read_choice(choices[0], ("delta", "message"))
        return self._read_choices(choices, ("delta", "message"))

    def _read_choices(self, choices: list[Json], order: tuple[str, str]) -> list[Delta]:
        """Return the deltas of an answer's choices: one, or several that it is spread over."""
        return [delta for one in choices for delta in self._read_choice(one, order)]

    def _read_choice(self, choice: Json, order: tuple[str, str]) -> list[Delta]:
        """Return a choice's deltas, from the first key in `order` with content; count its calls."""
        first, second = order
        key, value = first, choice.get(first)
        if not value and choice.get(second):
            is_summary = first == "delta" and value is not None and self._has_output()
            key, value = (key, value) if is_summary else (second, choice[second])
        message = as_message(value)
        if not value and (text := choice.get("text")):
            message = {"content": text}  # as servers of the older wire for completions send it
        if key == "message":
            return self._read_message(message)
        deltas = self._read_content(message)
        entries = list_calls(message)
        deltas += self._release_text() if entries else []
        are_several = len(entries) > 1
        for position, entry in enumerate(entries):
            pieces = self._tracker.feed(entry, position if are_several else None)
            if pieces:
                has_name = pieces[0].name or pieces[1:]  # most continue one call's arguments
                deltas += self._with_own_names(pieces) if has_name else pieces
                self._call_count += 1
        return deltas

    def read_response(self, reply: object) -> list[Delta]:
        """Decode a complete answer into deltas, and record why it ended.

        Raises:
            ModelError: if it is an error, or cannot be an answer.
        """
        self._is_streamed = False
        data = find_completion(parse_response("openai_chat", reply))
        deltas = self._read_choices(self._read_chunk(data), ("message", "delta"))
        if not data.get("choices"):
            raise incomplete_response("choices", data or plain(reply))
        fields = as_parts(data["choices"]) or [{}]
        if self._reason in ("", "stop") and not any(
            as_message(one.get("message")) or not {"delta", "text"}.isdisjoint(one)
            for one in fields
        ):
            rest = {key: one for key, one in fields[0].items() if key != "finish_reason"}
            raise incomplete_response("message", {**data, "choices": None, **rest})
        if self._has_output() or not self._beside:
            self._reason = self._reason or "stop"  # without a reason, it ended normally
        return deltas

    def mark_done(self) -> None:
        """Handle ``[DONE]``: the reply is complete if it has any content, else it is empty."""
        if self._has_output():
            self._reason = self._reason or "stop"
        self.is_empty = not (self._reason or self._beside)

    def _has_output(self) -> bool:
        """Return True if the reply has text, a call or other content so far."""
        return bool(self._call_count or self._text_length or self._has_more)

    def _with_own_names(self, pieces: list[CallDelta]) -> list[CallDelta]:
        """Return pieces of calls with the tools' own names instead of wire names."""
        own = self._tools.name_of
        return [
            replace(one, name=name) if one.name and (name := own(one.name)) != one.name else one
            for one in pieces
        ]

    def _read_message(self, message: Json) -> list[Delta]:
        """Decode a complete message, counting its calls.

        Each listed one is separate, except one that repeats another's id, name and arguments.
        """
        self._is_complete = True
        deltas = self._read_content(message)
        self._is_complete = False
        for entry in list_calls(message):
            function = as_dict(entry.get("function")) or as_dict(entry.get("custom"))
            text = arguments_piece(arguments_of(function))
            id, name = as_id(entry.get("id")), self._tools.name_of(as_text(function.get("name")))
            listed = (id, name, arguments_text(text))
            if id and listed in self._listed and self.joins_repeated_calls:
                continue
            self._listed.add(listed)
            deltas.append(CallDelta(self._call_count, id, name, text, extra_keys(entry)))
            self._call_count += 1
        return deltas

    def remaining_deltas(self) -> list[Delta]:
        """Return other choices that count, text that waited, arguments sent as objects; store audio."""
        if self._audio:
            kind = detect_media_type(self._audio)
            kind = kind if kind.startswith("audio/") else "audio/pcm"
            self._media.append(Audio(self._audio, kind, as_dict(clean(self._audio_extra))))
        deltas = self._read_beside()
        deltas += self._thinking_delta(self._new_thought.finish()) + self._release_text()
        rest = self._with_own_names(self._tracker.finish())
        self._call_count += len(rest)
        return deltas + rest

    def _read_beside(self) -> list[Delta]:
        """Return the deltas of choices that are the answer after all, and record their reason to end.

        Either there is no first choice, and the reason to end is theirs, too; or it says that it ends with calls
        and has none. Returns no deltas for a first choice with content.
        """
        first = self._beside[0].get("index") if self._beside else None
        if not (self._reason or self._has_output()):
            listed = [one for one in self._beside if one.get("index") == first]
            ends = (known_word(one.get("finish_reason"), REASONS) for one in listed)
            self._reason = next(filter(None, ends), "")
        elif REASONS.get(self._reason) == "tool_calls" and not self._call_count:
            messages = ((one, one.get("message") or one.get("delta")) for one in self._beside)
            listed = [one for one, said in messages if as_message(said).get("tool_calls")]
        else:
            return []
        return self._read_choices(listed, ("delta", "message"))

    def finish_reason(self) -> FinishReason:
        """Return why the answer ended: "refusal" for any refusal, else as the base class."""
        return "refusal" if self._refused else super().finish_reason()

    def _read_chunk(self, data: Json) -> list[Json]:
        """Record fields beside the messages. Return the answer's choices, or raise `ModelError`."""
        is_error = "object" in data and data["object"] == "error"
        if is_error or (not _FAILURE_KEYS.isdisjoint(data) and _reports_failure(data)):
            raise reported_error(data)
        if "model" in data and data["model"] != self._model:
            self._model = as_text(data["model"]) or self._model
        if not _SOURCE_KEYS.isdisjoint(data):  # each chunk repeats them
            self._unknown_keys |= {k: data[k] for k in _SOURCE_KEYS & data.keys() if data[k]}
        listed = data.get("choices")
        listed = listed if isinstance(listed, list) else [listed]
        if len(listed) == 1 and isinstance(one := listed[0], dict) and not one.get("index"):
            choices: list[Json] = [one]
        else:
            choices = self._choose(listed)
        for choice in choices or ({},):
            if "usage" in data or "usage" in choice or "error" in choice or "x_groq" in data:
                self._read_rare_fields(data, choice)
            reason = choice.get("finish_reason")
            self._is_last = bool(reason)
            if reason and REASONS.get(self._reason, "stop") in ("stop", "tool_calls"):
                native = as_text(choice.get("native_finish_reason"))  # OpenRouter's
                word = known_word(reason, REASONS) or self._reason
                self._reason = native if is_mistake(native) else word
        return choices

    def _choose(self, listed: list[object]) -> list[Json]:
        """Return the choices without a number or with the first one, and keep the others."""
        choices = []
        for one in as_parts(listed):
            if one.get("index") in (None, 0, "", "0"):
                choices.append(one)
            else:
                self._beside.append(one)
        return choices

    def _read_rare_fields(self, data: Json, choice: Json) -> None:
        """Record the usage; raise the error that a router or Groq reports inside a chunk."""
        groq = as_dict(data.get("x_groq"))
        usage = data.get("usage") or choice.get("usage") or groq.get("usage")
        self._add_usage(as_dict(usage))
        for holder in (choice, groq):  # a router's, of the provider behind it; Groq's of a stream
            if holder.get("error"):
                raise reported_error(holder)

    def _add_usage(self, usage: Json) -> None:
        """Record the usage so far; what a later chunk has as null or zero stays."""
        self._usage |= {key: value for key, value in usage.items() if value}

    def _read_content(self, message: Json) -> list[Delta]:
        """Return the text and reasoning in a message or delta, and count the text's characters."""
        if _NO_TEXT_KEYS.issuperset(message):
            return []
        content = message.get("content")
        if isinstance(content, str) and _TEXT_KEYS.issuperset(message):  # most say no more
            return self._add_text(content)
        deltas = self._read_all_keys(message)
        self._has_more = self._has_more or bool(deltas)
        return deltas

    def _read_all_keys(self, message: Json) -> list[Delta]:
        """Return the text and reasoning of a message, and record its media and unknown keys."""
        content = message.get("content")
        deltas = self._release_text() if isinstance(content, list) else []  # parts cite places
        thought, spoken = self._parts.read(content, self._text_length)
        thought = self._reasoning_text(message) or thought
        refusal = as_text(message.get("refusal"))
        self._refused = self._refused or bool(refusal)
        in_blocks = self._blocks.add(message, is_complete=self._is_complete)
        if not self._reasoning_key:  # else the blocks repeat it
            thought = thought or in_blocks
        self._add_images(as_list(message.get("images")))
        spoken += self._add_audio(as_dict(message.get("audio")))
        for key in message.keys() - _KNOWN_KEYS:
            self._keep_unknown(key, message[key])
        thought = self._new_thought.feed(thought) if self._is_streamed else thought
        return deltas + self._thinking_delta(thought) + self._add_text(spoken + refusal)

    def _add_text(self, text: str) -> list[Delta]:
        """Return the delta of what is new in a text, and count its characters."""
        if self._is_streamed:
            text = self._new_text.feed(text, is_last=self._is_last)
        self._text_length += len(text)
        return self._text_delta(text)

    def _release_text(self) -> list[Delta]:
        """Return the delta of a text that waited for a further piece, and count its characters."""
        text = self._new_text.finish()
        self._text_length += len(text)
        return self._text_delta(text)

    def _add_images(self, images: list[object]) -> None:
        """Store pictures, which OpenRouter sends as parts like a user message's."""
        for one in map(as_dict, images):
            if url := as_text(as_dict(one.get("image_url")).get("url")):
                self._media.append(inline(Image(url=url)))
                self._unknown_keys["images"] = True

    def _add_audio(self, audio: Json) -> str:
        """Store audio, complete or in pieces. Return its transcript."""
        if audio:
            self._audio += decode_base64(as_text(audio.get("data")))
            fields = {key: one for key, one in audio.items() if key not in ("data", "transcript")}
            self._audio_extra |= {key: one for key, one in fields.items() if one is not None}
        return as_text(audio.get("transcript"))

    def _keep_unknown(self, key: str, value: object) -> None:
        """Store a value under an unknown key, to send it back; lists and dicts grow.

        Usage and finish reason, which belong beside the message, are read here, too.
        """
        if key == "usage":
            self._add_usage(as_dict(value))
            return
        if key == "finish_reason":
            self._reason = known_word(value, REASONS) or self._reason
            return
        before = self._unknown_keys.get(key)
        if isinstance(before, list) and isinstance(value, list):
            self._unknown_keys[key] = [*before, *value]
        elif isinstance(value, dict) and value:
            self._unknown_keys[key] = merge_fields(as_dict(before), value)
        elif value not in (None, "", [], {}):
            self._unknown_keys[key] = value

    def _reasoning_text(self, message: Json) -> str:
        """Return the reasoning under the first of its keys, and record that key; empty without any."""
        for key in REASONING_KEYS:
            value = message.get(key)
            if value is not None:
                self._reasoning_key = self._reasoning_key or key
                if text := part_text(value):
                    self._reasoning_key = key
                    return text
        return ""

    def provider_options(self) -> Json:
        """Return what the wire needs back: foreign keys, citations, reasoning, and a finish reason that is not ours."""
        extra: Json = dict(self._unknown_keys)
        if self._parts.citations:
            extra["annotations"] = [*as_list(extra.get("annotations")), *self._parts.citations]
        if self._reasoning_key:
            extra["reasoning_key"] = self._reasoning_key
        extra |= self._blocks.by_key
        if self._reason not in REASONS:
            extra["finish_reason"] = self._reason
        return as_dict(clean(extra))


def _reports_failure(data: Json) -> bool:
    """Return True if a key of `_FAILURE_KEYS` says that a chunk or an answer is an error."""
    bare = "choices" not in data and any(map(data.get, _BARE_FAILURE_KEYS))
    return bool(data.get("error") or bare or has_failed_status(data))
