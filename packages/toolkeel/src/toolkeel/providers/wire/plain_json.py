"""Conversions that every wire needs: plain dicts in, clean JSON text out."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeAlias, TypeVar

from pydantic_core import from_json

from toolkeel._records.record import NOTHING
from toolkeel.errors import ModelError

Json: TypeAlias = dict[str, object]
M = TypeVar("M")
K = TypeVar("K")
V = TypeVar("V")

MALFORMED = "malformed_arguments"
"""Key of the object that replaces arguments that are no JSON object."""
_LONG_NUMBER = 20
_EXCERPT = 1000
"""Most characters of invalid arguments that are sent back to the model."""


def plain(value: object) -> object:
    """Convert an SDK's object or JSON text to plain data, with nothing but what the server sent.

    Args:
        value: An object with ``model_dump`` (pydantic, so every OpenAI-like SDK), JSON text as
            str or bytes, or what JSON holds, which is returned as it is. JSON lines become a list.

    Raises:
        ModelError: if text is not JSON.

    >>> plain('{"a": 1}')
    {'a': 1}
    """
    if isinstance(value, (str, bytes, bytearray)):  # a union would be made each time
        try:
            return from_json(value)  # twice as fast, and the same where it says anything
        except (ValueError, TypeError):  # half a surrogate pair, an old encoding, no JSON
            return _parse_json(value)
    if isinstance(value, (dict, list)) or value is None:
        return value
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(warnings=False, exclude_unset=True)
    return dict(value) if isinstance(value, Mapping) else value


def _parse_json(text: str | bytes | bytearray) -> object:
    """Parse JSON text; several lines of it give a list.

    Raises:
        ModelError: if it is not JSON.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        if values := _parse_lines(text):
            return values
        start = text[:80]
        raise ModelError(f"the server sent something that is not JSON: {start!r}") from error


def _parse_lines(text: str | bytes | bytearray) -> list[object]:
    """Return the JSON values of several lines, as servers send events without blank lines; else an empty list."""
    # Lines of str end at U+2028, too, which JSON texts may contain.
    encoded = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    lines = [line for one in encoded.splitlines() if (line := one.strip())]
    try:
        values = [json.loads(line) for line in lines if line != b"[DONE]"]
    except (ValueError, RecursionError):
        return []
    return values if len(lines) > 1 else []


def as_dict(value: object) -> Json:
    """Return `value` if it is a dict, else an empty one: for optional parts of a reply."""
    return value if isinstance(value, dict) else {}


def parse_response(wire: str, reply: object) -> Json:
    """Parse a complete answer to a dict, empty for other JSON; raise `ModelError` for one of another wire.

    Read by the wrong wire, it would have no text and no calls.

    >>> reply = {"type": "message", "content": [], "stop_reason": "tool_use"}
    >>> parse_response("openai_chat", reply)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    toolkeel.errors.ModelError: this answer is read by toolkeel.providers.anthropic, ...
    """
    data = as_dict(plain(reply))
    for other, (keys, fixed) in _SHAPES.items():
        if (
            other != wire
            and keys <= data.keys()
            and all(data.get(key) == value for key, value in fixed.items())
        ):
            raise ModelError(f"this answer is read by toolkeel.providers.{other}, not by {wire}")
    return data


_SHAPES: Mapping[str, tuple[frozenset[str], Mapping[str, str]]] = {
    "openai_chat": (frozenset({"choices"}), {"object": "chat.completion"}),
    "openai_responses": (frozenset({"output"}), {"object": "response"}),
    "anthropic": (frozenset({"content", "stop_reason"}), {"type": "message"}),
    "bedrock": (frozenset({"output", "stopReason"}), {}),
    "gemini": (frozenset({"candidates"}), {}),
}
"""Keys and values that identify complete answers, a row for each wire."""

WIRES = frozenset(module.replace("_", "-") for module in _SHAPES)
"""Keys in the ``provider_options`` of messages and calls that hold one wire's own data.

Chat Completions keeps its data beside them.
"""


def invert(rows: Mapping[M, str]) -> Mapping[str, M]:
    """Return a mapping from each server's word to its meaning.

    Args:
        rows: The words of each meaning, separated by blanks.

    >>> invert({"stop": "end_turn stop_sequence", "length": "max_tokens"})["stop_sequence"]
    'stop'
    """
    return MappingProxyType({word: one for one, words in rows.items() for word in words.split()})


def without_none(**values: object) -> Json:
    """Return the keyword arguments that are not None as a dict.

    >>> without_none(temperature=0.0, max_tokens=None)
    {'temperature': 0.0}
    """
    return {key: value for key, value in values.items() if value is not None}


def as_list(value: object) -> list[object]:
    """Return `value` if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def as_text(value: object) -> str:
    """Return `value` if it is text, else an empty string."""
    return value if isinstance(value, str) else ""


def as_id(value: object) -> str:
    """Return an id as text, also one that is an integer; empty if there is none, or Mistral's "null"."""
    return str(value) if type(value) is int else "" if value == "null" else as_text(value)


def as_parts(value: object) -> list[Json]:
    """Return content as a list of parts, which may be a lone part, or texts instead of parts.

    >>> as_parts(["a", {"type": "text", "text": "b"}, None]), as_parts("c")
    ([{'text': 'a'}, {'type': 'text', 'text': 'b'}], [{'text': 'c'}])
    """
    listed = value if isinstance(value, list) else [value]
    parts: list[Json] = [{"text": one} if isinstance(one, str) else as_dict(one) for one in listed]
    return [one for one in parts if one]


def as_key(value: object) -> object:
    """Return `value` if it is a usual dict key, else its text: servers send odd indexes."""
    return value if isinstance(value, int | str | None) else str(value)


def as_count(value: object) -> int:
    """Return a positive integer, also one that is text or a whole float; 0 for anything else.

    >>> as_count("3"), as_count(3.0), as_count(-3), as_count(None)
    (3, 3, 0, 0)
    """
    if (isinstance(value, str) and value.isdecimal() and len(value) < _LONG_NUMBER) or (
        isinstance(value, float) and value.is_integer()
    ):
        value = int(value)
    return value if type(value) is int and value > 0 else 0


def decode_base64(text: str) -> bytes:
    """Decode base64 text of either alphabet; empty if it is invalid.

    >>> decode_base64("YWI="), decode_base64("?")
    (b'ab', b'')
    """
    try:
        return base64.b64decode(text.replace("-", "+").replace("_", "/"), validate=True)
    except ValueError:
        return b""


def clean_text(text: str) -> str:
    r"""Remove what no JSON body survives: lone surrogates and NUL.

    Two halves of a surrogate pair become one character.

    >>> clean_text("cat \ud83d\udc31, half \ud83d, end\x00")
    'cat 🐱, half , end'
    """
    if text.isascii():
        return text.replace("\0", "") if "\0" in text else text
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore")
    return text.replace("\0", "")


def clean(value: object) -> object:
    r"""Return `value` as JSON can hold it: clean texts, and None for infinite numbers.

    >>> clean({"a": ["half \ud83d", float("inf")]})
    {'a': ['half ', None]}
    """
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        return _with_clean_keys({str(key): clean(item) for key, item in value.items()})
    if isinstance(value, list | tuple):
        return [clean(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _with_clean_keys(value: Mapping[K, V]) -> dict[K | str, V]:
    r"""Return `value` with clean keys. A key that would become another's ends with "\ufffd"."""
    dirty = [key for key in value if isinstance(key, str) and clean_text(key) != key]
    used: set[K | str] = {*value}
    used.difference_update(dirty)
    names: dict[object, str] = {}
    for key in dirty:
        names[key] = clean_text(key)
        while names[key] in used:
            names[key] += "\ufffd"
        used.add(names[key])
    return {names.get(key, key): item for key, item in value.items()}


def wire_options(wire: str, content: Json) -> Mapping[str, object]:
    """Return ``{wire: content}`` to use as ``provider_options``, or an empty mapping without content."""
    return {wire: clean(content)} if content else NOTHING


def dumps(value: object) -> str:
    """Serialize `value` as compact JSON in Unicode, without what `clean_text` removes; bytes as base64."""
    text = _ENCODER.encode(value)
    if "\\u0000" in text or clean_text(text) != text:
        text = clean_text(_ENCODER.encode(_with_clean_texts(value)))
    return text


def _with_clean_texts(value: object) -> object:
    """Return `value` with every text and key cleaned, at any depth."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, Mapping):
        return _with_clean_keys({key: _with_clean_texts(item) for key, item in value.items()})
    if isinstance(value, list | tuple):
        return [_with_clean_texts(item) for item in value]
    return value


def arguments_text(arguments: str | Mapping[str, object]) -> str:
    r"""Return a call's arguments as JSON text of an object, for sending a past call back.

    The model's text is parsed and written again, since broken text makes servers refuse the complete
    conversation. Text that is not a JSON object is wrapped in one, so that the model can still read it.

    >>> arguments_text(' {"city" : "\\u6771\\u4eac"} ')
    '{"city":"東京"}'
    >>> arguments_text("null"), arguments_text('"{\\"a\\": 1}"')
    ('{}', '{"a":1}')
    >>> arguments_text('{"city": "Par')
    '{"malformed_arguments":"{\\"city\\": \\"Par"}'
    """
    if not isinstance(arguments, str):
        arguments = dumps(dict(arguments))
    if not arguments or arguments.isspace():
        return "{}"
    try:
        value = _parse_strictly(arguments)
        if isinstance(value, str):
            value = _parse_strictly(value)
        if value is None or isinstance(value, dict):
            return dumps(value or {})
    except (ValueError, RecursionError):
        pass
    shown = arguments[:_EXCERPT] + "…" * (len(arguments) > _EXCERPT)
    return dumps({MALFORMED: shown})


def arguments_object(arguments: str | Mapping[str, object]) -> Json:
    """Return a call's arguments as an object, corrected as by `arguments_text`, for wires that carry objects.

    >>> arguments_object('{"city": "Par')
    {'malformed_arguments': '{"city": "Par'}
    >>> arguments_object("null"), arguments_object('"{}"'), arguments_object("")
    ({}, {}, {})
    """
    value: Json = json.loads(arguments_text(arguments))
    return value


def parse_object(text: str) -> Json:
    """Parse JSON text to an object; any other text gives an empty one."""
    try:
        return as_dict(plain(text))
    except ModelError:
        return {}


def arguments_piece(value: object) -> str:
    """Return a piece of a call's arguments as text, whatever JSON value it is; None is empty."""
    if isinstance(value, str):
        return value
    return "" if value is None else dumps(value)


def complete_arguments_text(value: object) -> str:
    """Return the arguments of a call that arrived complete, as text; none is an empty object.

    >>> complete_arguments_text({"city": "東京"}), complete_arguments_text(None)
    ('{"city":"東京"}', '{}')
    """
    if isinstance(value, str):
        return value if value.strip() else "{}"
    return "{}" if value is None else dumps(value)


def _parse_strictly(text: str) -> object:
    """Parse JSON text.

    Raises:
        ValueError, RecursionError: if its value cannot be sent.
    """
    return _DECODER.decode(text)


def _reject_constant(constant: str) -> object:
    """Raise `ValueError` for ``NaN`` and ``Infinity``."""
    raise ValueError(f"{constant} is not JSON")


def _parse_finite(text: str) -> float:
    """Return a number as a float.

    Raises:
        ValueError: if it is too large for one.
    """
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text} is too large")
    return number


_DECODER = json.JSONDecoder(parse_constant=_reject_constant, parse_float=_parse_finite)


def _encode_other(value: object) -> str:
    """Return a value that JSON cannot express as text: bytes as base64, anything else by ``str``."""
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)


_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_encode_other)
