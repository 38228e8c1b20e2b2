"""Decodes Chat Completions answers, complete and streamed, into deltas."""

from __future__ import annotations

from dataclasses import replace

from toolkeel._records.messages_json import inline
from toolkeel.content import Audio, Image, detect_media_type
from toolkeel.messages import FinishReason
from toolkeel.model_interface import CallDelta, Delta
from toolkeel.providers.openai_chat.call_pieces import CallTracker, extra_keys
from toolkeel.providers.openai_chat.content_parts import PartReader, find_completion, merge_fields
from toolkeel.providers.openai_chat.profile import (
    REASONING_BLOCKS,
    REASONING_KEYS,
    REASONS,
    is_sealed_reasoning,
    parse_usage,
)
from toolkeel.providers.wire.decoder import BREAK, Decoder
from toolkeel.providers.wire.plain_json import (
    Json,
    arguments_piece,
    as_dict,
    as_list,
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
_BLOCK_TEXTS = ("text", "summary", "thinking")
"""Keys of a block of reasoning that hold its text."""
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
    finish_reasons = REASONS
    is_sealed = staticmethod(is_sealed_reasoning)
    parse_usage = staticmethod(parse_usage)

    def __init__(self, tools: WireTools | None = None, model: str = "") -> None:
        super().__init__(tools, model)
        self._tracker = CallTracker()
        self._refused = False
        self._text_length = 0
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
        self._blocks: dict[str, list[Json]] = {}
        """Blocks of reasoning, by their key."""
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
        deltas = self._read_choice(choices[0], order) if choices else []
        for further in choices[1:]:
            deltas += self._read_choice(further, order)
        return deltas

    def _read_choice(self, choice: Json, order: tuple[str, str]) -> list[Delta]:
        """Return a choice's deltas, from the first key in `order` with content; count its calls."""
        first, second = order
        key, value = first, choice.get(first)
        if not value and choice.get(second):
            is_summary = first == "delta" and value is not None and self._has_output()
            key, value = (key, value) if is_summary else (second, choice[second])
        message = as_dict(value)
        if not value and (text := choice.get("text")):
            message = {"content": text}  # as servers of the older wire for completions send it
        if key == "message":
            return self._read_message(message)
        deltas = self._read_content(message)
        entries = _call_entries(message)
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
        data = find_completion(parse_response("openai_chat", reply))
        deltas = self._read_choices(self._read_chunk(data), ("message", "delta"))
        if not data.get("choices"):
            raise incomplete_response("choices", data or plain(reply))
        fields = [as_dict(one) for one in as_list(data["choices"])] or [{}]
        if self._reason in ("", "stop") and not any(
            isinstance(one.get("message"), dict) or not {"delta", "text"}.isdisjoint(one)
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
        """Decode a complete message, counting its calls; each listed one is separate."""
        self._is_complete = True
        deltas = self._read_content(message)
        self._is_complete = False
        for index, entry in enumerate(_call_entries(message), self._call_count):
            function = as_dict(entry.get("function")) or as_dict(entry.get("custom"))
            text = arguments_piece(function.get("arguments", function.get("input")))
            id, name = as_text(entry.get("id")), as_text(function.get("name"))
            deltas.append(CallDelta(index, id, self._tools.name_of(name), text, extra_keys(entry)))
            self._call_count += 1
        return deltas

    def remaining_deltas(self) -> list[Delta]:
        """Return calls of other choices, arguments sent as objects, and the rest; store audio."""
        if self._audio:
            kind = detect_media_type(self._audio)
            kind = kind if kind.startswith("audio/") else "audio/pcm"
            self._media.append(Audio(self._audio, kind, as_dict(clean(self._audio_extra))))
        deltas = self._read_beside()
        rest = self._with_own_names(self._tracker.finish())
        self._call_count += len(rest)
        return deltas + rest

    def _read_beside(self) -> list[Delta]:
        """Return the deltas of choices that are the answer after all: the first has none of it.

        Either there is no first choice, and the reason to end is theirs, too; or it says that it ends with calls
        and has none. Returns no deltas for a first choice with content.
        """
        first = self._beside[0].get("index") if self._beside else None
        if not (self._reason or self._has_output()):
            listed = [one for one in self._beside if one.get("index") == first]
            ends = (known_word(one.get("finish_reason"), REASONS) for one in listed)
            self._reason = next(filter(None, ends), "")
        elif REASONS.get(self._reason) == "tool_calls" and not self._call_count:
            listed = [one for one in self._beside if _message_of(one).get("tool_calls")]
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
            self._unknown_keys |= {
                key: data[key] for key in _SOURCE_KEYS & data.keys() if data[key]
            }
        listed = as_list(data.get("choices"))
        if len(listed) == 1 and isinstance(one := listed[0], dict) and not one.get("index"):
            choices: list[Json] = [one]
        else:
            choices = self._choose(listed)
        for choice in choices or ({},):
            if "usage" in data or "usage" in choice or "error" in choice or "x_groq" in data:
                self._read_rare_fields(data, choice)
            reason = choice.get("finish_reason")
            if reason and REASONS.get(self._reason, "stop") in ("stop", "tool_calls"):
                native = as_text(choice.get("native_finish_reason"))  # OpenRouter's
                word = known_word(reason, REASONS) or self._reason
                self._reason = native if is_mistake(native) else word
        return choices

    def _choose(self, listed: list[object]) -> list[Json]:
        """Return the choices without a number or with the first one, and keep the others."""
        choices = []
        for one in map(as_dict, listed):
            if one.get("index") in (None, 0, "", "0"):
                choices.append(one)
            else:
                self._beside.append(one)
        return choices

    def _read_rare_fields(self, data: Json, choice: Json) -> None:
        """Record the usage; raise the error that a router or Groq reports inside a chunk."""
        groq = as_dict(data.get("x_groq"))
        usage = data.get("usage") or choice.get("usage") or groq.get("usage")
        if usage:
            self._usage = as_dict(usage)
        for holder in (choice, groq):  # a router's, of the provider behind it; Groq's of a stream
            if holder.get("error"):
                raise reported_error(holder)

    def _read_content(self, message: Json) -> list[Delta]:
        """Return the text and reasoning in a message or delta, and count the text's characters."""
        if _NO_TEXT_KEYS.issuperset(message):
            return []
        content = message.get("content")
        if isinstance(content, str) and _TEXT_KEYS.issuperset(message):  # most say no more
            self._text_length += len(content)
            return self._text_delta(content)
        deltas = self._read_all_keys(message)
        self._has_more = self._has_more or bool(deltas)
        return deltas

    def _read_all_keys(self, message: Json) -> list[Delta]:
        """Return the text and reasoning of a message, and record its media and unknown keys."""
        thought, spoken = self._parts.read(message.get("content"), self._text_length)
        thought = self._reasoning_text(message) or thought
        refusal = as_text(message.get("refusal"))
        self._refused = self._refused or bool(refusal)
        in_blocks = self._add_blocks(message)
        if not self._reasoning_key:  # else the blocks repeat it
            thought = thought or in_blocks
        self._add_images(as_list(message.get("images")))
        spoken += self._add_audio(as_dict(message.get("audio")))
        for key in message.keys() - _KNOWN_KEYS:
            self._keep_unknown(key, message[key])
        self._text_length += len(spoken + refusal)
        return self._thinking_delta(thought) + self._text_delta(spoken + refusal)

    def _add_images(self, images: list[object]) -> None:
        """Store pictures, which OpenRouter sends as parts like a user message's."""
        for one in map(as_dict, images):
            url = as_text(as_dict(one.get("image_url")).get("url"))
            if url:
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
        """Store a value under an unknown key, to send it back; lists and dicts grow."""
        before = self._unknown_keys.get(key)
        if isinstance(before, list) and isinstance(value, list):
            self._unknown_keys[key] = [*before, *value]
        elif isinstance(value, dict) and value:
            self._unknown_keys[key] = merge_fields(as_dict(before), value)
        elif value not in (None, "", [], {}):
            self._unknown_keys[key] = value

    def _reasoning_text(self, message: Json) -> str:
        """Return the reasoning under the first of its keys, and record that key."""
        for key in REASONING_KEYS:
            value = message.get(key)
            if isinstance(value, str):
                self._reasoning_key = self._reasoning_key or key
                if value:
                    self._reasoning_key = key
                    return value
        return ""

    def _add_blocks(self, message: Json) -> str:
        """Keep the blocks of reasoning in a message or delta. Return the text in those of one kind."""
        text = ""
        for key in REASONING_BLOCKS:
            listed = [as_dict(block) for block in as_list(message.get(key))]
            for block in listed:
                self._add_block(self._blocks.setdefault(key, []), block)
            texts = (as_text(block.get(one)) for block in listed for one in _BLOCK_TEXTS)
            text = text or (BREAK if self._is_complete else "").join(filter(None, texts))
        return text

    def _add_block(self, blocks: list[Json], block: Json) -> None:
        """Store a block of reasoning, whose pieces share type, index and id.

        A signature ends a block without an index. In a complete message each block is separate.
        """
        last = blocks[-1] if blocks else {}
        same = last and all(last.get(key) == block.get(key) for key in ("type", "index", "id"))
        is_over = "signature" in last and bool(last["signature"]) and last.get("index") is None
        if self._is_complete or not same or is_over or "data" in block:
            blocks.append(dict(block))
            return
        for key, value in block.items():
            if key in _BLOCK_TEXTS:
                last[key] = as_text(last.get(key)) + as_text(value)
            elif value is not None:
                last[key] = value

    def provider_options(self) -> Json:
        """Return what the wire needs back: foreign keys, and the reasoning."""
        extra: Json = dict(self._unknown_keys)
        if self._parts.citations:
            extra["annotations"] = [*as_list(extra.get("annotations")), *self._parts.citations]
        if self._reasoning_key:
            extra["reasoning_key"] = self._reasoning_key
        extra |= self._blocks
        if self._reason not in REASONS:
            extra["finish_reason"] = self._reason
        return as_dict(clean(extra))


def _reports_failure(data: Json) -> bool:
    """Return True if a key of `_FAILURE_KEYS` says that a chunk or an answer is an error."""
    bare = "choices" not in data and any(map(data.get, _BARE_FAILURE_KEYS))
    return bool(data.get("error") or bare or has_failed_status(data))


def _message_of(choice: Json) -> Json:
    """Return a choice's message, or its delta; empty if it has neither."""
    return as_dict(choice.get("message") or choice.get("delta"))


def _call_entries(message: Json) -> list[Json]:
    """Return the calls in a message or delta, with one of the old ``function_call`` style."""
    calls: list[Json] = []
    if "tool_calls" in message:
        entries = message["tool_calls"]
        listed = entries if isinstance(entries, list) else [entries]
        calls += [one for one in listed if isinstance(one, dict) and one]
    if "function_call" in message and not calls:  # else it is the same call once more
        old = as_dict(message["function_call"])
        if old.get("name") or old.get("arguments"):
            calls.append({"index": 0, "function": old})
    return calls
