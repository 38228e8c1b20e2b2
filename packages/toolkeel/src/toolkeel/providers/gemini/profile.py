"""What Gemini's wire takes and says: options, finish reasons, parts and their signatures, usage."""

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
from toolkeel.providers.wire.part_order import Kind
from toolkeel.providers.wire.plain_json import Json, as_count, as_text, by_word, plain
from toolkeel.providers.wire.reasoning_ownership import Asked, is_own, model_family, same_model
from toolkeel.providers.wire.tools import Tools, WireTools

WIRE: Final = "gemini"

SENTINEL = "skip_thought_signature_validator"
"""Stands for the signature of a call that another model made (provider quirk Q45).

Gemini 3 refuses calls without one; Google documents this one for transcripts from elsewhere.
Vertex AI does not take it.
"""


REASONS: Mapping[str, FinishReason] = by_word(
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
LEGACY: Mapping[object, str] = MappingProxyType(
    dict[object, str](enumerate((*_NUMBERED, "PROHIBITED_CONTENT", "SPII"), 1))
)
"""Finish reasons as older servers of Vertex number them; another number is an error."""

_GENERATION = re.compile(r"gemini-(\d+)")
_REVISION = re.compile(r"-\d{3}$")


@record
class GeminiProfile(Asked):
    """What a model behind this wire and its server take.

    Args:
        vertex: Whether Vertex AI is asked, which takes no stand-in for a missing signature.
    """

    vertex: bool = False

    def hosts(self, tools: Tools) -> bool:
        """Whether these tools may be its own: before Gemini 3, not beside functions."""
        if not self.hosting or (self.generation >= 3 and not self.vertex):
            return self.hosting
        given = () if isinstance(tools, WireTools) else tools
        return all(native_of(tool, "gemini") for tool in given)

    @property
    def generation(self) -> int:
        """Which Gemini it is; the third if its name does not say, since the latest are."""
        found = _GENERATION.search(model_family(self.model))
        return int(found[1]) if found else 3

    def owns(self, message: AssistantMessage) -> bool:
        """Whether a reply is this model's own; a revision behind its name makes no other of it."""
        asked, answered = _REVISION.sub("", self.model), _REVISION.sub("", message.model)
        return is_own(message, WIRE, self) or bool(answered and same_model(asked, answered))


def wire_form(value: object) -> object:
    """`value` as plain data with the wire's names: google-genai's objects have Python's, and so has
    what their ``model_dump`` makes of them."""
    dump = getattr(value, "model_dump", None)
    if not callable(dump):
        data = plain(value)
        if isinstance(data, dict) and _is_servers(data):
            return data
        try:
            return with_wire_names(data)
        except RecursionError as error:
            raise ModelError("the server sent JSON that is too deep to be read") from error
    hidden = {"sdk_http_response": True, "automatic_function_calling_history": True}
    return dump(mode="json", by_alias=True, exclude_none=True, exclude=hidden)


_RESPONSE_KEYS = frozenset(
    {"candidates", "usageMetadata", "modelVersion", "responseId", "promptFeedback", "error"}
    | {"createTime"}
)
"""What an answer's pieces hold, as the server names it."""


def _is_servers(data: Json) -> bool:
    """Whether an answer has the server's names."""
    told = data.get("candidates")
    first = told[0] if isinstance(told, list) and told else None
    named = isinstance(first, dict) and "finish_reason" in first
    return not named and data.keys() <= _RESPONSE_KEYS


def with_wire_names(value: object) -> object:
    """Plain data with the wire's names instead of Python's; bytes are base64, None is left out.

    >>> with_wire_names({"function_call": {"name": "f", "args": {"a_b": 1}, "id": None}})
    {'functionCall': {'name': 'f', 'args': {'a_b': 1}}}
    """
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, list):
        return [with_wire_names(one) for one in value]
    if not isinstance(value, dict):
        return value
    named: Json = {}
    for key, one in value.items():
        name = _PYTHON.sub(lambda found: found[1].upper(), key) if "_" in key else key
        if one is not None:
            named[name] = one if key in ("args", "response") else with_wire_names(one)
    return named


_PYTHON = re.compile("_([a-z])")


def kind_of(part: Json) -> Kind:
    """What a part is in a layout; a text that is more than text is ``other``."""
    if "functionCall" in part:
        return "call"
    return "text" if part.keys() == {"text"} else "other"


def spoken(part: Json) -> str:
    """The text that a part says; nothing if it only thinks or is something else."""
    return "" if part.get("thought") else as_text(part.get("text"))


def signature_of(part: Json) -> str:
    """A part's signature in standard base64, however it was written; empty if there is none."""
    given = as_text(part.get("thoughtSignature")).replace("-", "+").replace("_", "/")
    signature = "" if given == SENTINEL.replace("_", "/") else given
    try:
        base64.b64decode(signature, validate=True)
    except (ValueError, binascii.Error):
        return ""
    return signature


def usage_of(usage: Json) -> Usage:
    """One request's tokens; what was thought counts as output, what tools of the server read as input."""
    thought = as_count(usage.get("thoughtsTokenCount"))
    return Usage(
        1,
        as_count(usage.get("promptTokenCount")) + as_count(usage.get("toolUsePromptTokenCount")),
        as_count(usage.get("candidatesTokenCount")) + thought,
        as_count(usage.get("cachedContentTokenCount")),
        thought,
    )
