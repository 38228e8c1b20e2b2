"""Constants and options of Gemini's wire: finish reasons, parts, signatures, usage, profile."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from toolkeel._records.record import record
from toolkeel.errors import ModelError
from toolkeel.hosted import native_of
from toolkeel.messages import AssistantMessage, FinishReason, Usage
from toolkeel.model_interface import ReasoningEffort
from toolkeel.providers.wire.part_order import Kind
from toolkeel.providers.wire.plain_json import Json, as_count, as_text, invert, plain
from toolkeel.providers.wire.reasoning_ownership import (
    ModelProfile,
    is_own,
    is_same_model,
    model_family,
)
from toolkeel.providers.wire.tools import Tools, WireTools

WIRE: Final = "gemini"

SENTINEL = "skip_thought_signature_validator"
"""Stands for the signature of a call that another model made (provider quirk Q45).

Gemini 3 refuses calls without one; Google documents this one for transcripts from elsewhere.
Vertex AI does not take it.
"""


REASONS: Mapping[str, FinishReason] = invert(
    {
        "stop": "STOP FUNCTION_CALL",
        "length": "MAX_TOKENS CONTINUATION",
        "refusal": "ESCALATION",
        "filtered": "SAFETY RECITATION LANGUAGE BLOCKLIST PROHIBITED_CONTENT SPII MODEL_ARMOR "
        "IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION",
    }
)
"""Why an answer ends; any other reason, such as MALFORMED_FUNCTION_CALL, is an error."""

_NUMBERED = ("STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "OTHER", "BLOCKLIST")
NUMBERED_REASONS: Mapping[object, str] = MappingProxyType(
    dict[object, str](enumerate((*_NUMBERED, "PROHIBITED_CONTENT", "SPII"), 1))
)
"""Finish reasons as older servers of Vertex number them; another number is an error."""

_GENERATION = re.compile(r"gemini-(\d+)")
_REVISION = re.compile(r"-\d{3}$")


_BUDGETS: Mapping[str, int] = MappingProxyType(
    {
        "none": 0,
        "minimal": 1024,
        "low": 2048,
        "medium": 8192,
        "high": 16_384,
        "xhigh": 24_576,
        "max": 24_576,
    }
)
"""Tokens for reasoning before Gemini 3; the most that all of these models take is 24,576."""


@record
class GeminiProfile(ModelProfile):
    """What a model behind this wire and its server accept.

    Args:
        vertex: True for Vertex AI, which accepts no placeholder for a missing signature.
    """

    vertex: bool = False

    def can_host(self, tools: Tools) -> bool:
        """Return True if the server runs its own tools here: on Vertex and before Gemini 3, not beside functions."""
        if not self.hosting or (self.generation >= 3 and not self.vertex):
            return self.hosting
        listed = () if isinstance(tools, WireTools) else tools
        return all(native_of(tool, "gemini") for tool in listed)

    @property
    def generation(self) -> int:
        """Generation of the model; 3 if its name has no number, since the latest are."""
        found = _GENERATION.search(model_family(self.model))
        return int(found[1]) if found else 3

    @property
    def can_reason(self) -> bool:
        """True for models that reason, which are those since 2.5."""
        return self.generation >= 3 or "gemini-2.5" in model_family(self.model)

    def thinking(self, effort: ReasoningEffort | None) -> Json | None:
        """Return ``thinkingConfig``: a level as of Gemini 3, before that a budget.

        None without an effort, or if the model cannot reason.

        >>> GeminiProfile("gemini-3-flash").thinking("none")
        {'thinkingLevel': 'minimal'}
        >>> GeminiProfile("gemini-2.5-flash").thinking("low")
        {'thinkingBudget': 2048}
        """
        if effort is None or not self.can_reason:
            return None
        is_pro = "pro" in model_family(self.model)
        if self.generation < 3:
            return {"thinkingBudget": 128 if is_pro and effort == "none" else _BUDGETS[effort]}
        least = "low" if is_pro else "minimal"  # the large models cannot reason less
        level = {"none": least, "minimal": least, "xhigh": "high", "max": "high"}
        return {"thinkingLevel": level.get(effort, effort)}

    def is_own(self, message: AssistantMessage) -> bool:
        """Return True if a reply is from this model; a revision suffix does not matter."""
        asked, answered = _REVISION.sub("", self.model), _REVISION.sub("", message.model)
        return is_own(message, WIRE, self) or bool(answered and is_same_model(asked, answered))


def to_wire_names(value: object) -> object:
    """Convert `value` to plain data with the wire's names.

    google-genai's objects have Python's names, and so has the output of their ``model_dump``.

    Raises:
        ModelError: the data is nested too deeply.
    """
    dump = getattr(value, "model_dump", None)
    if not callable(dump):
        data = plain(value)
        if isinstance(data, dict) and _has_wire_names(data):
            return data
        try:
            return rename_keys(data)
        except RecursionError as error:
            raise ModelError("the server sent JSON that is too deep to be read") from error
    hidden = {"sdk_http_response": True, "automatic_function_calling_history": True}
    return dump(mode="json", by_alias=True, exclude_none=True, exclude=hidden)


_RESPONSE_KEYS = frozenset(
    {"candidates", "usageMetadata", "modelVersion", "responseId", "promptFeedback", "error"}
    | {"createTime"}
)
"""What an answer's pieces hold, as the server names it."""


def _has_wire_names(data: Json) -> bool:
    """Return True if the keys of an answer are the server's, and those of its first candidate are not Python's.

    Of the candidate only its own keys and those of its parts are looked at.
    """
    candidates = data.get("candidates")
    first = candidates[0] if isinstance(candidates, list) and candidates else None
    content = first.get("content") if isinstance(first, dict) else None
    parts = content.get("parts") if isinstance(content, dict) else None
    objects = [first, *parts] if isinstance(parts, list) else [first]
    named = any("_" in key for each in objects if isinstance(each, dict) for key in each)
    return not named and data.keys() <= _RESPONSE_KEYS


def rename_keys(value: object) -> object:
    """Rename Python's keys to the wire's; bytes become base64, None is dropped.

    >>> rename_keys({"function_call": {"name": "f", "args": {"a_b": 1}, "id": None}})
    {'functionCall': {'name': 'f', 'args': {'a_b': 1}}}
    """
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, list):
        return [rename_keys(one) for one in value]
    if not isinstance(value, dict):
        return value
    named: Json = {}
    for key, one in value.items():
        name = _UNDERSCORE.sub(lambda found: found[1].upper(), key) if "_" in key else key
        if one is not None:
            named[name] = one if key in ("args", "response") else rename_keys(one)
    return named


_UNDERSCORE = re.compile("_([a-z])")


def kind_of(part: Json) -> Kind:
    """Return a part's kind in a layout: call, text, or other, as thoughts and text with further keys are."""
    if "functionCall" in part:
        return "call"
    return "text" if part.keys() == {"text"} else "other"


def spoken_text(part: Json) -> str:
    """Return the text of a part, or an empty string for a thought or anything else."""
    return "" if part.get("thought") else as_text(part.get("text"))


def signature_of(part: Json) -> str:
    """Return a part's signature in standard base64; empty for none, an invalid one or our placeholder."""
    listed = as_text(part.get("thoughtSignature")).replace("-", "+").replace("_", "/")
    signature = "" if listed == SENTINEL.replace("_", "/") else listed
    try:
        base64.b64decode(signature, validate=True)
    except (ValueError, binascii.Error):
        return ""
    return signature


def parse_usage(usage: Json) -> Usage:
    """Convert one request's usage; thoughts count as output, input of server tools as input."""
    thought = as_count(usage.get("thoughtsTokenCount"))
    return Usage(
        1,
        as_count(usage.get("promptTokenCount")) + as_count(usage.get("toolUsePromptTokenCount")),
        as_count(usage.get("candidatesTokenCount")) + thought,
        as_count(usage.get("cachedContentTokenCount")),
        thought,
    )
