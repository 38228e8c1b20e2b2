"""Constants and options of Bedrock's Converse wire: media, stop reasons, bytes, usage, profile."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Final

from toolkeel._records.record import record
from toolkeel.content import Audio, File, Image
from toolkeel.messages import FinishReason, Usage
from toolkeel.providers.claude import caches_on_bedrock
from toolkeel.providers.wire.plain_json import Json, as_count, as_text, invert
from toolkeel.providers.wire.reasoning_ownership import ModelProfile

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
REASONS: Mapping[str, FinishReason] = invert(
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
class BedrockProfile(ModelProfile):
    """What a model behind this wire accepts.

    Args:
        prompt_cache: True to mark what the next request repeats for the cache: the system prompt,
            the tools and the last message. Models that do not accept such marks get none.
    """

    prompt_cache: bool = False

    @property
    def caches_prompt(self) -> bool:
        """True if cache points are wanted and the model accepts them."""
        return self.prompt_cache and caches_on_bedrock(self.model)


def media_type_of(kind: str, form: str) -> str:
    """Return the media type for the wire's words for a block's kind and format; empty if unknown.

    >>> media_type_of("image", "png"), media_type_of("document", "csv")
    ('image/png', 'text/csv')
    """
    tables = {"image": _IMAGES, "document": _DOCUMENTS, "video": _VIDEOS, "audio": _AUDIOS}
    known = (media for media, name in tables.get(kind, {}).items() if name == form)
    texts = {"txt": "text/plain", "csv": "text/csv", "html": "text/html", "md": "text/markdown"}
    return next(known, texts.get(form, "") if kind == "document" else "")


def parse_usage(usage: Json) -> Usage:
    """Convert one request's usage. The wire counts cached tokens beside ``inputTokens``; we count all."""
    read = as_count(usage.get("cacheReadInputTokens"))
    written = as_count(usage.get("cacheWriteInputTokens"))
    tokens = as_count(usage.get("inputTokens")) + read + written
    return Usage(1, tokens, as_count(usage.get("outputTokens")), read, 0, written)


def pack_bytes(value: object, raw: bool = False) -> object:
    """Return a copy of `value` with bytes as ``{"$bytes": base64}``, to save it as JSON; ``json`` keys are unchanged.

    Args:
        value: A block, or a part of one.
        raw: True if text is base64 where the wire has bytes, as without boto3.

    >>> pack_bytes({"redactedContent": b"ab"}), pack_bytes({"source": {"bytes": "YWI="}}, raw=True)
    ({'redactedContent': {'$bytes': 'YWI='}}, {'source': {'bytes': {'$bytes': 'YWI='}}})
    """
    if isinstance(value, bytes):
        return {BYTES: base64.b64encode(value).decode()}
    if isinstance(value, dict):
        if raw and value.keys() == {"bytes"} and isinstance(value["bytes"], str):
            return {"bytes": {BYTES: value["bytes"]}}
        return {
            key: item if key == "json" else pack_bytes(item, raw) for key, item in value.items()
        }
    return [pack_bytes(item, raw) for item in value] if isinstance(value, list) else value


def unpack_bytes(value: object) -> object:
    """Reverse `pack_bytes`.

    >>> unpack_bytes({"redactedContent": {"$bytes": "YWI="}})
    {'redactedContent': b'ab'}
    """
    if isinstance(value, dict):
        if value.keys() == {BYTES}:
            return base64.b64decode(as_text(value[BYTES]))
        return {key: unpack_bytes(item) for key, item in value.items()}
    return [unpack_bytes(item) for item in value] if isinstance(value, list) else value


def append_bytes(before: object, piece: object) -> bytes:
    """Return `before` with a piece appended; a text piece, as without boto3, is base64."""
    more = piece if isinstance(piece, bytes) else base64.b64decode(as_text(piece))
    return (before if isinstance(before, bytes) else b"") + more


def media_form(block: Image | Audio | File) -> tuple[str, str]:
    """Return the wire's words for a block's kind and format, such as image and png.

    Empty if it has none.
    """
    if isinstance(block, Image):
        return "image" if block.media_type in _IMAGES else "", _IMAGES.get(block.media_type, "")
    for kind, forms in (("document", _DOCUMENTS), ("video", _VIDEOS), ("audio", _AUDIOS)):
        if block.media_type in forms:
            return kind, forms[block.media_type]
    return "", ""


def is_only_masked(trace: object) -> bool:
    """Return True if a guardrail's trace reports masked words of an answer and nothing blocked.

    >>> is_only_masked({"guardrail": {"outputAssessments": {"g": [{"action": "ANONYMIZED"}]}}})
    True
    >>> is_only_masked({"guardrail": {"inputAssessment": {"g": {"action": "BLOCKED"}}}})
    False
    """
    actions = set(_actions(trace))
    return "ANONYMIZED" in actions and "BLOCKED" not in actions


def _actions(value: object) -> Iterator[object]:
    """Yield every ``action`` in a trace."""
    if isinstance(value, dict):
        if isinstance(value.get("action"), str):
            yield value["action"]
        for item in value.values():
            yield from _actions(item)
    elif isinstance(value, list):
        for item in value:
            yield from _actions(item)
