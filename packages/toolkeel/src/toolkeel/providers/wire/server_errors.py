"""Errors of servers on every wire: instead of an answer, inside a stream, by HTTP status.

An error's status, code, type and headers decide its kind, never its text; the text is for people,
wherever the server put it.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Container, Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime

from toolkeel.errors import ModelError, ModelUnavailable, RequestTooLarge, model_error
from toolkeel.providers.context_overflow import find_overflow
from toolkeel.providers.wire.plain_json import (
    Json,
    as_dict,
    as_list,
    as_text,
    clean_text,
    dumps,
    invert,
)

STATUS: Mapping[str, int] = invert(
    {
        400: "invalid_request_error exceed_context_size_error context_length_exceeded "
        "validationexception",
        401: "authentication_error invalid_api_key",
        402: "billing_error",
        403: "permission_error",
        404: "not_found_error model_not_found",
        413: "request_too_large",
        424: "modelstreamerrorexception",
        429: "rate_limit_error rate_limit_exceeded insufficient_quota throttlingexception",
        500: "api_error internal_error internal_server_error server_error internalserverexception",
        503: "service_unavailable service_unavailable_error unavailable_error "
        "serviceunavailableexception",
        504: "timeout_error vector_store_timeout",
        529: "overloaded_error",
    }
)
"""HTTP status of an error that has only a code, a type or a name; ``invalid_…`` is 400."""

QUOTA_EXHAUSTED = "insufficient_quota"
"""Code of a 429 that waiting does not solve."""

LOADING = "loading model"
"""Text of llama.cpp's 503 while it loads its model."""

UNSUPPORTED = "requires --jinja"
"""Part of the text of llama.cpp's 500 for tools if it was started without templates."""

REJECTED_CALL = "tool_use_failed"
"""Groq's code for a call of the model that it could not read."""

_MISTAKES = frozenset(
    {"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE"}  # Gemini's
    | {"MALFORMED_TOOL_USE", "MALFORMED_MODEL_OUTPUT"}  # Bedrock's
)

_STATUS_KEYS = ("originalStatusCode", "code", "status", "status_code", "type")
_WORDS = (
    *("originalMessage", "message", "error", "detail", "errors", "msg", "error_message", "Message"),
    "title",
)


_MESSAGE = re.compile(
    r"(?!.*(?:finish|stop|done)).*(?:message|msg|reason|error|detail)", re.IGNORECASE
)
"""Name of a key that holds the text of an error; why a reply ended is none."""
MAX_GENERATION = 2000
"""Characters of a rejected call that go back to the model."""
_ERROR_KEYS = frozenset(
    {*_WORDS, *_STATUS_KEYS, "object", "param", "request_id", "requestId", "instance"}
    | {"failed_generation"}
)
"""Keys of an error. An envelope around an answer may have them too, so there must be no others."""


def error_text(value: object, depth: int = 4) -> str:
    """Return the text of a server's error, wherever it is, or an empty string if there is none.

    >>> error_text({"error": "no such model"}), error_text({"error": {"message": "busy"}})
    ('no such model', 'busy')
    >>> error_text({"detail": [{"loc": ["body"], "msg": "field required"}, {"msg": "too long"}]})
    'field required; too long'
    """
    if isinstance(value, str):
        return clean_text(value).strip()
    if isinstance(value, list) and depth:
        return "; ".join(filter(None, (error_text(one, depth - 1) for one in value[:8])))
    if not isinstance(value, dict) or not depth:
        return ""
    return next((text for key in _WORDS if (text := error_text(value.get(key), depth - 1))), "")


def nested_error_text(value: object, depth: int = 4) -> str:
    """Return the text of an error under keys of the server's own, or empty if there is none.

    >>> nested_error_text({"id": "1", "base_resp": {"status_code": 1008, "status_msg": "no balance"}})
    'no balance'
    """
    text = error_text(value)
    if text or not isinstance(value, dict) or not depth:
        return text
    texts = ((key, one) for key, one in value.items() if isinstance(one, str) and one.strip())
    text = next((clean_text(one).strip() for key, one in texts if _MESSAGE.match(key)), "")
    lists = (one for held in value.values() if isinstance(held, list) for one in held[:8])
    inner = (one for one in (*value.values(), *lists) if isinstance(one, dict))
    return text or next(filter(None, (nested_error_text(one, depth - 1) for one in inner)), "")


def incomplete_response(missing: str, data: object) -> ModelError:
    """Build the error for an answer without a required key, with the server's text if it has any.

    It is retryable if the key is there but its list is empty, as busy servers send it. For a list that
    contains an error (Google), it is that error.
    """
    for one in map(as_dict, as_list(data)):
        if is_error(one):
            return reported_error(one)
    text = nested_error_text(data)
    why = f"the server's answer has no {missing}: {text or dumps(data)[:500]}"
    return ModelError(why) if text or missing not in as_dict(data) else empty_answer(why)


def empty_answer(description: str) -> ModelUnavailable:
    """Build the error for an answer with nothing in it; a retry tells the model that it was empty."""
    error = ModelUnavailable(description)
    error.mistake = "it was empty"
    return error


def known_word(word: object, known: Container[str]) -> str:
    """Return a server's word as `known` spells it, in whichever case, and with "-" for "_"; others unchanged.

    >>> known_word("STOP", {"stop"}), known_word("Odd", {"stop"})
    ('stop', 'Odd')
    """
    text = as_text(word)
    spelled = text.lower().replace("-", "_")
    return next((one for one in (text, spelled, text.upper()) if one in known), text)


def is_mistake(reason: str) -> bool:
    """Return True if a finish reason says that the provider rejected what the model wrote.

    Google's own server for the Chat Completions wire writes a word before Gemini's.

    >>> is_mistake("function_call_filter: MALFORMED_FUNCTION_CALL"), is_mistake("stop")
    (True, False)
    """
    return reason.rpartition(" ")[2].upper() in _MISTAKES


def model_mistake(description: str, status: int | None = None) -> ModelError:
    """Build the error, not retryable, for a reply that its provider rejected; its `mistake` is what the model is told."""
    error = model_error(
        f"the model's reply was refused by its provider: {description}",
        status=status,
        retryable=False,
    )
    error.mistake = description
    return error


def _rejected_call(error: Json, status: int | None) -> ModelError | None:
    """Build the error for a call that the provider could not read, or None for any other.

    Groq sends the call with it; Gemini's reasons arrive as codes where a proxy makes them errors.
    """
    code = as_text(error.get("code"))
    if code != REJECTED_CALL and not is_mistake(code):
        return None
    generated = error.get("failed_generation") or ""
    generated = generated if isinstance(generated, str) else dumps(generated)
    generated = clean_text(generated)[:MAX_GENERATION]
    return model_mistake(f"{error_text(error)} {generated}".strip() or code, status)


def _innermost_error(data: object) -> Json:
    """Return the error in a server's JSON; the provider's own, where a router has it inside another.

    OpenRouter has it as ``metadata.raw``, LiteLLM and others as JSON in the message.
    """
    error = as_dict(as_dict(data).get("error")) or as_dict(data)
    for _ in range(3):
        places = (
            as_dict(error.get("metadata")).get("raw"),
            error.get("message"),
            error.get("error"),
        )
        inner = next(filter(None, map(_error_inside, places)), None)
        if inner is None:
            break
        error = inner
    return error


def _error_inside(value: object) -> Json:
    """Return the error that a text has as JSON, or that an object is; an empty one if there is none."""
    if isinstance(value, str) and "{" in value:
        with suppress(ValueError, RecursionError):
            value, _ = _DECODER.raw_decode(value, value.index("{"))
    fields = as_dict(value)
    named = fields.get("error")
    if isinstance(named, dict):
        return named
    is_bare = isinstance(fields.get("message"), str) and fields.keys() & {"code", "type", "status"}
    return fields if is_bare or (isinstance(named, str) and named) else {}


_DECODER = json.JSONDecoder()


def status_of(error: Mapping[str, object], name: str = "") -> int | None:
    """Return the HTTP status that an error's code, status, type or name means; None if none does.

    >>> status_of({"code": "429"}), status_of({"type": "server_error", "code": None})
    (429, 500)
    """
    for code in (*map(error.get, _STATUS_KEYS), name):
        number = (
            int(code) if isinstance(code, str) and code.isdecimal() and len(code) == 3 else code
        )
        if isinstance(number, int) and 400 <= number < 600:
            return number
        word = as_text(code).lower()
        if word in STATUS or word.startswith("invalid_"):
            return STATUS.get(word, 400)
    return None


def is_error(data: Json) -> bool:
    """Return True if an event is an error in place of an answer, as proxies send them on any wire.

    >>> is_error({"detail": "overloaded"}), is_error({"type": "message_start", "message": {}})
    (True, False)
    """
    kinds = (as_text(data.get(key) or "error") for key in ("type", "object"))
    if not all(kind.endswith("error") for kind in kinds):
        return False
    return bool(data.get("error") or (data.keys() <= _ERROR_KEYS and error_text(data)))


def has_failed_status(data: Json) -> bool:
    """Return True if the status beside an answer says that it is none, as MiniMax's does on any wire."""
    return bool(as_dict(data.get("base_resp")).get("status_code"))


def reported_error(data: Json, name: str = "") -> ModelError:
    """Build the error that a server sent instead of an answer, or of a part of one.

    Args:
        data: The server's JSON.
        name: Name of the error, if it is not in `data`.
    """
    error = _innermost_error(data)
    called = (as_text(error.get(key)) for key in ("code", "type", "status"))
    status = status_of(error, name) or status_of(as_dict(data.get("error")), name)
    if (rejected := _rejected_call(error, status)) is not None:
        return rejected
    text = error_text(error) or error_text(data) or next(filter(None, called), name)
    text = text or nested_error_text(data) or "the server sent an error"
    return _build_error(error, status, text, retry_delay(error), None)


def response_error(
    status: int | None, body: object, headers: Mapping[str, str], words: str = ""
) -> ModelError:
    """Build the error for an HTTP answer.

    Args:
        status: Status of the answer.
        body: Its body, as text or JSON.
        headers: Its headers.
        words: Text for a body without any.
    """
    if isinstance(body, str):
        with suppress(ValueError, RecursionError):
            body = json.loads(body.strip().removeprefix("data:"))  # some errors are events
    error = _innermost_error(body)
    if (rejected := _rejected_call(error, status)) is not None:
        return rejected
    after = retry_after(headers)
    header = headers.get("x-amzn-errortype") or as_text(error.get("__type"))  # AWS's name for it
    name = header.partition(":")[0].rpartition("#")[2]
    text = (
        (error_text(error) or error_text(body))[:1000]
        or words
        or name
        or nested_error_text(body)[:1000]
        or f"the server answered {status}"
    )
    after = retry_delay(error) if after is None else after
    return _build_error(error, status_of({}, name) or status, text, after, should_retry(headers))


def _build_error(
    error: Json, status: int | None, text: str, after: float | None, advice: bool | None
) -> ModelError:
    """Build the error of a server that reported `error`.

    Args:
        error: The server's JSON.
        status: HTTP status, or None if unknown.
        text: The error's text.
        after: Seconds to wait, or None if the server asked for none.
        advice: True or False if the server's headers say if a retry makes sense.
    """
    if (overflow := find_overflow(error, status, text)) is not None:
        too_large = RequestTooLarge(text, status=status)
        too_large.tokens, too_large.token_limit = overflow.tokens, overflow.limit
        return too_large
    is_final = error.get("code") == QUOTA_EXHAUSTED or status == 501
    if is_final or (status == 500 and UNSUPPORTED in text):
        advice = False
    built = model_error(text, status=status, retry_after=after, retryable=advice)
    built.is_loading = status == 503 and text.strip().lower() == LOADING
    return built


def should_retry(headers: Mapping[str, str]) -> bool | None:
    """Return what OpenAI's or Anthropic's header says about a retry, or None without one.

    >>> should_retry({"x-should-retry": "false"})
    False
    """
    return {"true": True, "false": False}.get(headers.get("x-should-retry", "").lower())


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait by ``retry-after-ms`` or ``Retry-After`` (RFC 9110 10.2.3), or None.

    >>> retry_after({"retry-after": "7"})
    7.0
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * unit
        except ValueError:
            continue
        if math.isfinite(seconds) and seconds >= 0:
            return seconds
    try:
        return max(0.0, parsedate_to_datetime(headers["retry-after"]).timestamp() - time.time())
    except (KeyError, ValueError, TypeError, OverflowError):
        return None


def retry_delay(error: Json) -> float | None:
    """Return the seconds to wait by Google's ``RetryInfo`` in an error's details, or None.

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
