"""The parts of Gemini's contents: what an SDK's object says as the wire does, signatures, usage."""

from __future__ import annotations

import base64
import binascii

from toolwright.messages import Usage
from toolwright.providers.layout import Kind
from toolwright.providers.wire import Json, as_count, as_dict, as_list, as_text, plain

WIRE = "gemini"

SENTINEL = "skip_thought_signature_validator"
"""Stands for the signature of a call that another model made (provider quirk Q45).

Gemini 3 refuses calls without one; Google documents this one for transcripts from elsewhere.
Vertex AI does not take it.
"""


def wire_form(reply: object) -> object:
    """`reply` as plain data with the wire's names: google-genai's objects have Python's."""
    dump = getattr(reply, "model_dump", None)
    if not callable(dump):
        return plain(reply)
    hidden = {"sdk_http_response": True, "automatic_function_calling_history": True}
    data: object = dump(mode="json", by_alias=True, exclude_none=True, exclude=hidden)
    return data


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
    signature = as_text(part.get("thoughtSignature")).replace("-", "+").replace("_", "/")
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


def retry_delay(error: Json) -> float | None:
    """Seconds the server asks to wait, from the ``RetryInfo`` in an error's details.

    >>> retry_delay({"details": [{"@type": "x/google.rpc.RetryInfo", "retryDelay": "7.5s"}]})
    7.5
    """
    for detail in map(as_dict, as_list(error.get("details"))):
        delay = as_text(detail.get("retryDelay"))
        if delay.endswith("s"):
            try:
                return max(0.0, float(delay[:-1]))
            except ValueError:
                continue
    return None
