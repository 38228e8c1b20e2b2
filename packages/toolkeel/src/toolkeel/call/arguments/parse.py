"""Parsing argument text into one JSON object, with errors that show the model the place.

Strict first: what RFC 8259 leaves open is refused, because JSON parsers disagree about it and a tool
must not run on a guess (a repeated key, NaN, a number that overflows, half a surrogate pair). Only
text that is no JSON at all is repaired, in three declared ways, and the result names the repairs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import NoReturn

from pydantic_core import from_json, to_json

from toolkeel._records.record import record
from toolkeel.call.arguments.strict_reparse import needs_strict_check
from toolkeel.errors import MalformedArguments

MAX_SIZE = 10_000_000
"""Most characters of text."""
MAX_DEPTH = 100
"""Most arrays and objects within each other, the outermost counted."""
MAX_DIGITS = 4300
"""Most digits of one integer: as many as Python itself takes by default."""


@record
class Parsed:
    """Arguments as the model sent them.

    Args:
        value: The object.
        repairs: Names of the repairs, in order: "control_characters" (raw line
            breaks and the like within strings), "code_fence", "double_encoded".
    """

    value: dict[str, object]
    repairs: tuple[str, ...] = ()


def parse_arguments(raw: str) -> Parsed:
    """Parse arguments strictly, and repair invalid JSON if that needs no guess. Return both.

    Empty text, blank text and `null` mean no arguments.

    Raises:
        MalformedArguments: the text is no JSON object; with position and a short excerpt for the model.

    >>> parse_arguments('{"city": "北京"}')
    Parsed(value={'city': '北京'}, repairs=())
    >>> parse_arguments('```json\\n{"n": 1}\\n```')
    Parsed(value={'n': 1}, repairs=('code_fence',))
    """
    if len(raw) > MAX_SIZE:
        raise too_large(len(raw))
    if not raw or raw.isspace():
        return Parsed({})
    if (quick := _parse_fast(raw)) is not None:
        return Parsed(quick)
    try:
        value = parse_json(raw)
    except json.JSONDecodeError as error:
        return _repair(raw) or _not_json(raw, error)
    if value is None:
        return Parsed({})
    if type(value) is dict:
        return Parsed(value)
    return _repair(raw) or _not_an_object(value)


def too_large(size: int) -> MalformedArguments:
    """Return the error for a text of `size` characters, which is more than `MAX_SIZE`."""
    return MalformedArguments(
        f"The arguments are too large: {size:,} characters, at most {MAX_SIZE:,}. "
        "Send less, or split the call."
    )


def _parse_fast(raw: str) -> dict[str, object] | None:
    """Return the object if pydantic-core certainly reads the same as the strict parser, or None."""
    size = len(raw)
    if size > MAX_DIGITS:
        return None
    if size > MAX_DEPTH and raw.count("[") + raw.count("{") > MAX_DEPTH:
        return None
    try:
        value = from_json(raw)
    except (ValueError, TypeError):  # of half a surrogate pair it says the latter
        return None
    return value if type(value) is dict and not needs_strict_check(raw, value) else None


def object_to_text(raw: object) -> str:
    """Return arguments as JSON text. Text is returned unchanged, and not checked.

    Args:
        raw: Text, a mapping, or None for no arguments.

    Raises:
        MalformedArguments: the arguments have another type, or no representation in JSON.

    >>> object_to_text({"city": "北京"})
    '{"city":"北京"}'
    """
    if isinstance(raw, str):
        return raw
    if raw is None:
        return ""
    if not isinstance(raw, Mapping):
        raise MalformedArguments(f"The arguments must be a JSON object, not {_kind(raw)}.")
    try:
        return to_json(dict(raw)).decode()
    except ValueError as error:  # a cycle, half a surrogate pair, an object that is not data
        reason = str(error).split("\n", 1)[0]
        reason = _HALF_PAIR if "surrogates not allowed" in reason else reason[:120]
        raise MalformedArguments(f"The arguments cannot be written as JSON: {reason}") from error


# — strict —


class _Refused(Exception):
    """Raised by a hook of the scanner, which knows the offending text but not its position."""

    def __init__(self, reason: str, text: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.text = text


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return the object of these members, or raise `_Refused` if a key is repeated."""
    value = dict(pairs)
    if len(value) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in value if keys.count(key) > 1)
        raise _Refused(f"the key {_quoted(twice)} is repeated")
    return value


def _constant(text: str) -> NoReturn:
    """Raise `_Refused`: NaN and Infinity are not JSON."""
    raise _Refused(f"{text} is not JSON", text)


def _float(text: str) -> float:
    """Return a number as a float, or raise `_Refused` if that is infinite."""
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise _Refused("a number is too large", text)
    return value


def _whole(text: str) -> int:
    """Return an integer, or raise `_Refused` for a text of more than `MAX_DIGITS` characters."""
    if len(text) > MAX_DIGITS:
        raise _Refused(f"an integer has more than {MAX_DIGITS} digits", text[:20])
    return int(text)


# By two flags: an integer of too many digits fits in, for which int() would need quadratic time, and
# raw control characters may stand in strings.
_DECODERS = {
    (long, lenient): json.JSONDecoder(
        object_pairs_hook=_object,
        parse_float=_float,
        parse_constant=_constant,
        parse_int=_whole if long else int,
        strict=not lenient,
    )
    for long in (False, True)
    for lenient in (False, True)
}


def parse_json(raw: str, control_characters: bool = False) -> object:
    """Parse any JSON value. Refuse input that JSON parsers read differently.

    Args:
        raw: The text.
        control_characters: True to allow unescaped control characters in strings.

    Raises:
        json.JSONDecodeError: the text is not JSON; it may be repaired.
        MalformedArguments: the text is JSON that is never accepted, such as a repeated key.
    """
    if raw.count("[") + raw.count("{") > MAX_DEPTH:
        _check_depth(raw)
    try:
        value: object = _DECODERS[len(raw) > MAX_DIGITS, control_characters].decode(raw)
    except _Refused as refused:
        raise _malformed(raw, refused.reason, _find(raw, refused.text)) from None
    except RecursionError:
        raise _malformed(raw, "it is nested too deeply") from None
    except json.JSONDecodeError:
        raise
    except ValueError:  # the host has set a lower limit for digits
        raise _malformed(raw, "an integer has too many digits") from None
    _check_surrogates(raw, value)
    return value


# A string, closed or cut off; the rest of the text has no quotes.
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"?', re.S)
_HALF_PAIR = "a string holds half a surrogate pair"
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
# All that may stand before the first half pair.
_SURROGATE_PAIRS = re.compile(
    r"(?:(?!\\u)\\.|\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u(?![dD][89a-fA-F])|[^\\])*+", re.S
)


def _check_depth(raw: str) -> None:
    """Raise `MalformedArguments` if a text nests lists and objects more than `MAX_DEPTH` levels deep."""
    depth = 0
    for position, character in _outside_strings(raw, r"[\[\]{}]"):
        depth += 1 if character in "[{" else -1
        if depth > MAX_DEPTH:
            raise _malformed(raw, f"it is nested more than {MAX_DEPTH} levels deep", position)


def _outside_strings(raw: str, wanted: str) -> Iterator[tuple[int, str]]:
    """Yield the matches of a pattern outside strings, with their positions."""
    for match in re.finditer(f"{_STRING.pattern}|{wanted}", raw, re.S):
        if match[0][0] != '"':
            yield match.start(), match[0]


def _check_surrogates(raw: str, value: object) -> None:
    """Raise `MalformedArguments` for half a surrogate pair, which cannot be written as UTF-8."""
    try:
        raw.encode()
    except UnicodeEncodeError as error:
        raise _malformed(raw, _HALF_PAIR, error.start) from None
    if not _SURROGATE.search(raw):
        return
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        pairs = _SURROGATE_PAIRS.match(raw)
        raise _malformed(raw, _HALF_PAIR, pairs.end() if pairs else None) from None


def _find(raw: str, text: str) -> int | None:
    """Return the position of `text` outside strings, or None if it is not there."""
    found = next(_outside_strings(raw, re.escape(text)), None) if text else None
    return found[0] if found else None


# — repairs —

_FENCE = re.compile(r"\s*```[\w-]*[ \t]*\r?\n?(\{.*\})\s*```\s*", re.S)


def _repair(raw: str) -> Parsed | None:
    """Apply the declared repairs, to a text within a text as well. Return None if none applied or the result is no object.

    Raises `MalformedArguments` for JSON that is never accepted.
    """
    repairs: list[str] = []
    fence = _FENCE.fullmatch(raw)
    if fence:
        repairs.append("code_fence")
        raw = fence[1]
    value = _mend(raw, repairs)
    if isinstance(value, str):
        repairs.append("double_encoded")
        value = _mend(value, repairs)
    return Parsed(value, tuple(dict.fromkeys(repairs))) if type(value) is dict and repairs else None


def _mend(raw: str, repairs: list[str]) -> object:
    """Parse a text, at last with raw control characters, and add the repair. Return None if both fail.

    Raises `MalformedArguments` for JSON that is never accepted.
    """
    try:
        return parse_json(raw)
    except json.JSONDecodeError:
        pass
    try:
        value = parse_json(raw, control_characters=True)
    except json.JSONDecodeError:
        return None
    repairs.append("control_characters")
    return value


# — errors for the model —

_EXCERPT = 30


def _not_json(raw: str, error: json.JSONDecodeError) -> NoReturn:
    """Raise `MalformedArguments` for a parser's error, with its place in `raw`."""
    reason = error.msg[:1].lower() + error.msg[1:]
    if error.msg == "Extra data":
        reason = "there is text after the object"
    raise _malformed(raw, reason, error.pos) from None


def _not_an_object(value: object) -> NoReturn:
    """Raise `MalformedArguments` for arguments that are JSON but no object."""
    raise MalformedArguments(
        f"The arguments must be one JSON object, not {_kind(value)}. Send an object."
    )


def _malformed(raw: str, reason: str, position: int | None = None) -> MalformedArguments:
    """Return the error for text that is not JSON: the reason, and the place if it is known.

    `position` is an index into `raw`.
    """
    where = ""
    details: dict[str, object] = {"reason": reason}
    if position is not None:
        line = raw.count("\n", 0, position) + 1
        column = position - raw.rfind("\n", 0, position)
        where = f" at line {line}, column {column}, near {_excerpt(raw, position)}"
        details |= {"line": line, "column": column, "position": position}
    text = f"The arguments are not valid JSON: {reason}{where}. Send one valid JSON object."
    return MalformedArguments(text, details)


def _excerpt(raw: str, position: int) -> str:
    """Return the text around a position, in one printable line with backticks."""
    start, end = max(0, position - _EXCERPT), position + _EXCERPT
    cut = raw[start:end].encode("utf-8", "replace").decode()
    cut = "".join(c if c.isprintable() else " " for c in cut).strip()
    return f"`{'…' if start else ''}{cut}{'…' if end < len(raw) else ''}`"


def _quoted(text: str) -> str:
    """Return a text as a JSON string, of at most 60 characters."""
    text = text.encode("utf-8", "replace").decode()
    return json.dumps(text if len(text) <= 60 else text[:59] + "…", ensure_ascii=False)


_KINDS: Mapping[type, str] = {
    str: "a string", bool: "a boolean", int: "a number", float: "a number",
    list: "a list", dict: "an object", type(None): "null",
}  # fmt: skip


def _kind(value: object) -> str:
    """Return the JSON type of a value in words, such as "a list"."""
    return _KINDS.get(type(value), f"a {type(value).__name__}")
