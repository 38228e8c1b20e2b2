"""Errors as servers send them, over every wire: in place of an answer, inside a stream, by HTTP.

What an error means follows from its status, code, type and headers, never from its words; those
are for people, wherever the server put them.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime

from toolkeel.errors import ModelError, model_error
from toolkeel.providers.wire.plain_json import Json, as_dict, as_list, as_text, by_word, clean_text

STATUS: Mapping[str, int] = by_word(
    {
        400: "invalid_request_error context_length_exceeded validationexception",
        401: "authentication_error invalid_api_key",
        402: "billing_error",
        403: "permission_error",
        404: "not_found_error model_not_found",
        413: "request_too_large",
        424: "modelstreamerrorexception",
        429: "rate_limit_error rate_limit_exceeded insufficient_quota throttlingexception",
        500: "api_error internal_error internal_server_error server_error internalserverexception",
        503: "service_unavailable serviceunavailableexception",
        504: "timeout_error vector_store_timeout",
        529: "overloaded_error",
    }
)
"""The HTTP status of an error that has only a code, a type or a name; of ``invalid_…`` it is 400."""

NO_MONEY = "insufficient_quota"
"""The code of a 429 that does not pass by itself."""

_STATUS_KEYS = ("originalStatusCode", "code", "status", "status_code", "type")
_WORDS = (
    *("originalMessage", "message", "error", "detail", "errors", "msg", "error_message", "Message"),
    "title",
)


_ALONE = frozenset(
    {*_WORDS, *_STATUS_KEYS, "object", "param", "request_id", "requestId", "instance"}
)
"""What an error holds, and an envelope round an answer as well: so it must hold nothing else."""


def words_of(value: object, depth: int = 4) -> str:
    """What a server says in an error, wherever it puts it; empty if it says nothing.

    >>> words_of({"error": "no such model"}), words_of({"error": {"message": "busy"}})
    ('no such model', 'busy')
    >>> words_of({"detail": [{"loc": ["body"], "msg": "field required"}, {"msg": "too long"}]})
    'field required; too long'
    """
    if isinstance(value, str):
        return clean_text(value).strip()
    if isinstance(value, list) and depth:
        return "; ".join(filter(None, (words_of(one, depth - 1) for one in value[:8])))
    if not isinstance(value, dict) or not depth:
        return ""
    return next((said for key in _WORDS if (said := words_of(value.get(key), depth - 1))), "")


def incomplete_response(missing: str, data: object) -> ModelError:
    """The error that a server's answer is none, in the server's own words if it has any."""
    said = words_of(data)
    why = f": {said}" if said else f": {str(data)[:80]!r}"
    return ModelError(f"the server's answer has no {missing}{why}")


def status_of(error: Mapping[str, object], name: str = "") -> int | None:
    """The HTTP status that an error's code, status, type or name is or stands for.

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
    """Whether an event is an error in the place of one, as proxies and gateways send them on any wire.

    >>> is_error({"detail": "overloaded"}), is_error({"type": "message_start", "message": {}})
    (True, False)
    """
    unnamed = data.get("type", "error") == "error" and data.get("object", "error") == "error"
    return unnamed and bool(data.get("error") or (data.keys() <= _ALONE and words_of(data)))


def sent_error(data: Json, name: str = "") -> ModelError:
    """The error that a server sent in place of an answer, or of a part of one.

    Args:
        data: What it sent.
        name: What the error is called, if that does not stand in it.
    """
    error = as_dict(data.get("error")) or data
    called = (as_text(error.get(key)) for key in ("code", "type", "status"))
    said = words_of(data) or next(filter(None, called), name) or "the server sent an error"
    return model_error(
        said,
        status=status_of(error, name),
        retry_after=retry_delay(error),
        retryable=False if error.get("code") == NO_MONEY else None,
    )


def refused(
    status: int | None, body: object, headers: Mapping[str, str], words: str = ""
) -> ModelError:
    """The error that an HTTP answer is.

    Args:
        status: The answer's.
        body: As text, or as the JSON it is.
        headers: The answer's.
        words: What is said if the body has no words.
    """
    if isinstance(body, str):
        with suppress(ValueError, RecursionError):
            body = json.loads(body)
    error = as_dict(as_dict(body).get("error")) or as_dict(body)
    after = retry_after(headers)
    told = headers.get("x-amzn-errortype") or as_text(error.get("__type"))  # AWS's name for it
    name = told.partition(":")[0].rpartition("#")[2]
    return model_error(
        words_of(body)[:1000] or words or name or f"the server answered {status}",
        status=status_of({}, name) or status,
        retry_after=retry_delay(error) if after is None else after,
        retryable=False if error.get("code") == NO_MONEY else retry_advice(headers),
    )


def retry_advice(headers: Mapping[str, str]) -> bool | None:
    """What the server says of sending the request again, with OpenAI's and Anthropic's header.

    >>> retry_advice({"x-should-retry": "false"})
    False
    """
    return {"true": True, "false": False}.get(headers.get("x-should-retry", "").lower())


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds the server asks to wait: ``retry-after-ms``, or ``Retry-After`` (RFC 9110 10.2.3).

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
    """Seconds a server of Google's asks to wait, from the ``RetryInfo`` in an error's details.

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
