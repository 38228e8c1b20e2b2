"""What every wire format needs: plain dicts in, clean text out."""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeAlias, TypeVar

from pydantic_core import from_json

from toolkeel._records.record import NOTHING
from toolkeel.errors import ModelError

Json: TypeAlias = dict[str, object]
M = TypeVar("M")

_BRACKETS = re.compile(r"""\\(?:.|$)|[\[\](){}'"]""", re.DOTALL)
_EXCERPT = 1000
"""The most characters of unreadable arguments that are shown to the model again."""


def plain(value: object) -> object:
    """An SDK's object, JSON text or plain data as plain data, with what the server sent and no more.

    Args:
        value: An object with ``model_dump`` (pydantic, so every OpenAI-like SDK), JSON text as
            str or bytes, or what JSON holds, which is returned as it is.

    Raises:
        ModelError: if text is not JSON.

    >>> plain('{"a": 1}')
    {'a': 1}
    """
    if isinstance(value, (str, bytes, bytearray)):  # a union would be made each time
        try:
            return from_json(value)  # twice as fast, and the same where it says anything
        except (ValueError, TypeError):  # half a surrogate pair, an old encoding, no JSON
            return _loaded(value)
    if isinstance(value, (dict, list)) or value is None:
        return value
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(warnings=False, exclude_unset=True)
    return dict(value) if isinstance(value, Mapping) else value


def _loaded(text: str | bytes | bytearray) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        start = text[:80]
        raise ModelError(f"the server sent something that is not JSON: {start!r}") from error


def as_dict(value: object) -> Json:
    """`value` if it is a dict, else an empty one: for optional parts of a reply."""
    return value if isinstance(value, dict) else {}


def response_of(wire: str, reply: object) -> Json:
    """A whole answer, unless it is certainly one of another wire: read as one of this, it would
    say nothing and call nothing.

    Args:
        wire: Module of this package that reads it.
        reply: As dict, JSON text or SDK object.

    Raises:
        ModelError: naming the module that can read it.

    >>> said = {"type": "message", "content": [], "stop_reason": "tool_use"}
    >>> response_of("openai_chat", said)  # doctest: +ELLIPSIS
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
"""What tells whole answers apart: keys they have, and values of others. A row for each wire."""

WIRES = frozenset(module.replace("_", "-") for module in _SHAPES)
"""Keys in the ``provider_options`` of messages and calls under which one wire keeps what it wants back.

What Chat Completions wants back stands beside them.
"""


def by_word(rows: Mapping[M, str]) -> Mapping[str, M]:
    """What each word of a wire stands for.

    Args:
        rows: The words of one meaning, with blanks between them, by what they mean.

    >>> by_word({"stop": "end_turn stop_sequence", "length": "max_tokens"})["stop_sequence"]
    'stop'
    """
    return MappingProxyType({word: one for one, words in rows.items() for word in words.split()})


def given(**values: object) -> Json:
    """The keys of a body that anything is said about.

    >>> given(temperature=0.0, max_tokens=None)
    {'temperature': 0.0}
    """
    return {key: value for key, value in values.items() if value is not None}


def as_list(value: object) -> list[object]:
    """`value` if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def as_text(value: object) -> str:
    """`value` if it is text, else nothing."""
    return value if isinstance(value, str) else ""


def as_key(value: object) -> object:
    """`value` if it can be looked up, else its text: servers send odd indexes."""
    return value if isinstance(value, int | str | None) else str(value)


def as_count(value: object) -> int:
    """`value` if it is a count, else 0."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def decoded_base64(text: str) -> bytes:
    """The bytes of base64 text, whichever alphabet; none if it is not.

    >>> decoded_base64("YWI="), decoded_base64("?")
    (b'ab', b'')
    """
    try:
        return base64.b64decode(text.replace("-", "+").replace("_", "/"), validate=True)
    except ValueError:
        return b""


def clean_text(text: str) -> str:
    """`text` without what no JSON body survives: lone surrogates and NUL.

    Two halves of a surrogate pair become the one character they stand for.

    >>> clean_text("cat \\ud83d\\udc31, half \\ud83d, end\\x00")
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
    """`value` as a request can hold it: clean texts, and no numbers that are not JSON.

    >>> clean({"a": ["half \\ud83d", float("inf")]})
    {'a': ['half ', None]}
    """
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        return {clean_text(str(key)): clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [clean(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def extra_under(wire: str, kept: Json) -> Mapping[str, object]:
    """The ``provider_options`` of a message or call in which `wire` keeps what it wants back."""
    return {wire: clean(kept)} if kept else NOTHING


class TextPieces:
    """Text that comes in pieces, where a piece may end inside a surrogate pair.

    Args:
        keep_lone: Leave lone surrogates and NUL in, for a reader that shall see and refuse them.
    """

    __slots__ = ("_half", "_keep_lone")

    def __init__(self, *, keep_lone: bool = False) -> None:
        self._half = ""
        self._keep_lone = keep_lone

    def feed(self, text: str) -> str:
        """`text` with its pairs joined; the first half of one at the end waits for the other."""
        if self._half:
            text, self._half = self._half + text, ""
        elif text.isascii() and "\0" not in text:
            return text
        if "\ud800" <= text[-1:] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        if not self._keep_lone:
            return clean_text(text)
        if text.isascii():
            return text
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


class Brackets:
    """Finds where the outermost brackets of a text end that comes in pieces.

    Args:
        quotes: What strings in it, which may hold brackets, stand between.

    Attributes:
        end: How many characters there are up to the end; 0 as long as it is not there.
    """

    __slots__ = ("_depth", "_escaping", "_quote", "_quotes", "_read", "end")

    def __init__(self, quotes: str) -> None:
        self._quotes = quotes
        self._quote = ""
        self._depth = self._read = self.end = 0
        self._escaping = ""

    def feed(self, piece: str) -> None:
        """Read on."""
        start = self._read - len(self._escaping)
        text, self._escaping = self._escaping + piece, ""
        self._read = start + len(text)
        for match in _BRACKETS.finditer(text):
            token = match.group()
            if token == "\\":
                self._escaping = token
            elif self._quote:
                self._quote = "" if token == self._quote else self._quote
            elif token in self._quotes:
                self._quote = token
            elif token in "()[]{}":
                self._depth += 1 if token in "([{" else -1
                if self._depth <= 0 and not self.end:
                    self.end = start + match.end()


def dumps(value: object) -> str:
    """`value` as compact JSON text, Unicode as it is, without what `clean_text` removes."""
    text = _ENCODER.encode(value)
    if "\\u0000" in text:
        text = _ENCODER.encode(_without_nul(value))
    return clean_text(text)


def _without_nul(value: object) -> object:
    if isinstance(value, str):
        return value.replace("\0", "")
    if isinstance(value, Mapping):
        return {_without_nul(key): _without_nul(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nul(item) for item in value]
    return value


def arguments_text(arguments: str | Mapping[str, object]) -> str:
    """A call's arguments as JSON text of an object, for sending a past call back.

    What the model wrote is parsed and written anew, since a raw broken text makes servers
    refuse the whole conversation. Text that is no JSON object is wrapped in one, so that the
    model still sees what it wrote.

    >>> arguments_text(' {"city" : "\\\\u6771\\\\u4eac"} ')
    '{"city":"東京"}'
    >>> arguments_text("null"), arguments_text('"{\\\\"a\\\\": 1}"')
    ('{}', '{"a":1}')
    >>> arguments_text('{"city": "Par')
    '{"malformed_arguments":"{\\\\"city\\\\": \\\\"Par"}'
    """
    if not isinstance(arguments, str):
        arguments = dumps(dict(arguments))
    if not arguments or arguments.isspace():
        return "{}"
    try:
        value = _parsed(arguments)
        if isinstance(value, str):
            value = _parsed(value)
        if value is None or isinstance(value, dict):
            return dumps(value or {})
    except (ValueError, RecursionError):
        pass
    shown = arguments[:_EXCERPT] + "…" * (len(arguments) > _EXCERPT)
    return dumps({"malformed_arguments": shown})


def arguments_object(arguments: str | Mapping[str, object]) -> Json:
    """`arguments_text` as the object it is the text of, for wires that carry objects.

    >>> arguments_object('{"city": "Par')
    {'malformed_arguments': '{"city": "Par'}
    """
    value: Json = json.loads(arguments_text(arguments))
    return value


def parsed_input(text: str) -> Json:
    """The input of a block that goes back unchanged: an object, whatever was sent."""
    try:
        return as_dict(plain(text))
    except ModelError:
        return {}


def input_text(value: object) -> str:
    """The arguments of a call that came whole, as text; none at all are an empty object.

    >>> input_text({"city": "東京"}), input_text(None)
    ('{"city":"東京"}', '{}')
    """
    if isinstance(value, str):
        return value if value.strip() else "{}"
    return "{}" if value is None else dumps(value)


def _parsed(text: str) -> object:
    """The JSON value of `text`.

    Raises:
        ValueError, RecursionError: if it has none that can be sent.
    """
    return _DECODER.decode(text)


def _refuse(constant: str) -> object:
    raise ValueError(f"{constant} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text} is too large")
    return number


_DECODER = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite)


def _as_text(value: object) -> str:
    """What JSON has no form for: bytes as base64, all else as Python writes it."""
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)


_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_as_text)
