"""What Bedrock's Converse wire takes and says: options, media, stop reasons, bytes, usage."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Final

from toolkeel._records.record import record
from toolkeel.content import Audio, File, Image
from toolkeel.messages import FinishReason, Usage
from toolkeel.providers.wire.claude import caches_on_bedrock
from toolkeel.providers.wire.plain_json import Json, as_count, as_text, by_word
from toolkeel.providers.wire.reasoning_ownership import Asked

WIRE: Final = "bedrock"

BYTES = "$bytes"
"""The key under which bytes stand in a layout, so that it is JSON."""

_IMAGES = {"image/png": "png", "image/jpeg": "jpeg", "image/gif": "gif", "image/webp": "webp"}
_DOCUMENTS = {
    "application/pdf": "pdf",
    "application/msword": "doc",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.ms-excel": "xls",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
}
_VIDEOS = {
    "video/x-matroska": "mkv",
    "video/quicktime": "mov",
    "video/mp4": "mp4",
    "video/webm": "webm",
    "video/mpeg": "mpeg",
    "video/3gpp": "three_gp",
}
_AUDIOS = {
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/ogg": "ogg",
    "audio/flac": "flac",
    "audio/aac": "aac",
}
REASONS: Mapping[str, FinishReason] = by_word(
    {
        "stop": "end_turn stop_sequence",
        "tool_calls": "tool_use",
        "length": "max_tokens model_context_window_exceeded",
        "filtered": "guardrail_intervened content_filtered",
        "error": "malformed_model_output malformed_tool_use",
    }
)
"""Every stop reason of this wire; any other is an error, none at all a cut-off reply."""


@record
class BedrockProfile(Asked):
    """What a model behind this wire takes.

    Args:
        prompt_cache: Whether to mark what the next request will repeat for the cache: the
            system prompt, the tools and what was said to the model last. Models that do not
            take such marks get none.
    """

    prompt_cache: bool = False

    @property
    def cache(self) -> bool:
        return self.prompt_cache and caches_on_bedrock(self.model)


def media_type_of(kind: str, form: str) -> str:
    """The media type of the wire's words for a kind of block and its format; empty if unknown.

    >>> media_type_of("image", "png"), media_type_of("document", "csv")
    ('image/png', 'text/csv')
    """
    tables = {"image": _IMAGES, "document": _DOCUMENTS, "video": _VIDEOS, "audio": _AUDIOS}
    known = (media for media, name in tables.get(kind, {}).items() if name == form)
    texts = {"txt": "text/plain", "csv": "text/csv", "html": "text/html", "md": "text/markdown"}
    return next(known, texts.get(form, "") if kind == "document" else "")


def usage_of(usage: Json) -> Usage:
    """One request's tokens. The wire counts cached ones beside ``inputTokens``; we count all."""
    read = as_count(usage.get("cacheReadInputTokens"))
    written = as_count(usage.get("cacheWriteInputTokens"))
    tokens = as_count(usage.get("inputTokens")) + read + written
    return Usage(1, tokens, as_count(usage.get("outputTokens")), read, 0, written)


def packed(value: object, raw: bool = False) -> object:
    """`value` with its bytes as JSON.

    Args:
        value: A block, or a part of one.
        raw: Whether text is base64 where the wire has bytes, as if it did not come through boto3.

    >>> packed({"redactedContent": b"ab"}), packed({"source": {"bytes": "YWI="}}, raw=True)
    ({'redactedContent': {'$bytes': 'YWI='}}, {'source': {'bytes': {'$bytes': 'YWI='}}})
    """
    if isinstance(value, bytes):
        return {BYTES: base64.b64encode(value).decode()}
    if isinstance(value, dict):
        if raw and value.keys() == {"bytes"} and isinstance(value["bytes"], str):
            return {"bytes": {BYTES: value["bytes"]}}
        return {key: item if key == "json" else packed(item, raw) for key, item in value.items()}
    return [packed(item, raw) for item in value] if isinstance(value, list) else value


def unpacked(value: object) -> object:
    """`packed`, turned round.

    >>> unpacked({"redactedContent": {"$bytes": "YWI="}})
    {'redactedContent': b'ab'}
    """
    if isinstance(value, dict):
        if value.keys() == {BYTES}:
            return base64.b64decode(as_text(value[BYTES]))
        return {key: unpacked(item) for key, item in value.items()}
    return [unpacked(item) for item in value] if isinstance(value, list) else value


def joined(before: object, piece: object) -> bytes:
    """Bytes and a piece of them, which is base64 if it did not come through boto3."""
    more = piece if isinstance(piece, bytes) else base64.b64decode(as_text(piece))
    return (before if isinstance(before, bytes) else b"") + more


def media_form(block: Image | Audio | File) -> tuple[str, str]:
    """The wire's word for the kind of block, and for its format; empty if it has none."""
    if isinstance(block, Image):
        return "image" if block.media_type in _IMAGES else "", _IMAGES.get(block.media_type, "")
    for kind, forms in (("document", _DOCUMENTS), ("video", _VIDEOS), ("audio", _AUDIOS)):
        if block.media_type in forms:
            return kind, forms[block.media_type]
    return "", ""


def is_only_masked(trace: object) -> bool:
    """Whether a guardrail's trace says that it masked words of an answer and blocked nothing.

    >>> is_only_masked({"guardrail": {"outputAssessments": {"g": [{"action": "ANONYMIZED"}]}}})
    True
    >>> is_only_masked({"guardrail": {"inputAssessment": {"g": {"action": "BLOCKED"}}}})
    False
    """
    actions = set(_actions(trace))
    return "ANONYMIZED" in actions and "BLOCKED" not in actions


def _actions(value: object) -> Iterator[object]:
    """Every ``action`` in a trace."""
    if isinstance(value, dict):
        if isinstance(value.get("action"), str):
            yield value["action"]
        for item in value.values():
            yield from _actions(item)
    elif isinstance(value, list):
        for item in value:
            yield from _actions(item)
