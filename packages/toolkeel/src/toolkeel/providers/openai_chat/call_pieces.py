"""Decide which call a streamed piece belongs to.

By the specification a piece has its call's ``index``, and the first one its ``id`` and ``name``.
Servers that imitate the wire give every call index 0, change the id within a call, omit index or id,
send the name late, in pieces or every time, put one call under two indexes, use one id for two calls,
or send everything twice. `CallTracker` finds the call by what can be trusted in each case:

1. a known id: that call;
2. a new id: a new call, except that a piece without a name continues the unfinished call at its
   index, whose id the server only changed;
3. no id, but a known index: the latest call at that index;
4. neither: the open call, which got the last piece.

A name then shows if it is another call after all: a call with arguments already has its name.
Arguments that follow complete arguments without any such sign wait until the next call or the end;
then repeated ones are dropped and others become calls of the same name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from toolkeel._records.record import NOTHING
from toolkeel.model_interface import CallDelta
from toolkeel.providers.wire.plain_json import (
    BracketScanner,
    Json,
    SurrogateJoiner,
    arguments_text,
    as_dict,
    as_text,
    clean,
    dumps,
)

_KNOWN_KEYS = frozenset({"index", "id", "type", "function", "custom"})
_PLACEHOLDERS = ("{}", "null")
"""Arguments that a proxy sends first and replaces at the same index, as in Anthropic's block start."""
_decode_one = json.JSONDecoder().raw_decode


class _Piece:
    """One element of ``delta.tool_calls``, with parts of any type."""

    __slots__ = ("id", "index", "name", "object", "text")

    def __init__(self, index: object, id: object, function: Json) -> None:
        arguments = function.get("arguments")
        if arguments is None:
            arguments = function.get("input")
        self.index = index if isinstance(index, int) else None
        self.id = as_text(id)
        self.name = as_text(function.get("name"))
        self.object: Json | None = arguments if isinstance(arguments, dict) else None
        self.text = "" if self.object is not None else arguments_text_of(arguments)

    @property
    def is_empty(self) -> bool:
        return not (self.id or self.name or self.text) and self.object is None

    @property
    def starts_object(self) -> bool:
        """True if the text may be the start of an object."""
        return self.text.lstrip().startswith("{")


class _OpenCall:
    """A call that is still arriving."""

    __slots__ = (
        "_end",
        "_first",
        "_scanned",
        "_surrogates",
        "call_index",
        "id",
        "name",
        "object",
        "pieces",
        "surplus",
    )

    def __init__(self, number: int) -> None:
        self.call_index = number
        self.id = ""
        self.name = ""
        self.pieces: list[str] = []
        self.object: Json | None = None
        self.surplus: list[str] = []
        """What came after the arguments were complete."""
        self._surrogates = SurrogateJoiner(keep_lone=True)
        self._end = BracketScanner('"')
        self._scanned = 0
        self._first: str | None = ""
        """The arguments without blanks, while they may still be a placeholder."""

    @property
    def has_arguments(self) -> bool:
        return bool(self.pieces) or bool(self.object)

    @property
    def is_complete(self) -> bool:
        """True if the arguments so far are a complete object; scans only new pieces."""
        if self.object:
            return True
        while self._scanned < len(self.pieces):
            self._end.feed(self.pieces[self._scanned])
            self._scanned += 1
        return self._end.end > 0

    def append(self, text: str, *, replaces: bool = True) -> str:
        """Append a piece of the arguments. Return what is certain and new.

        A piece after the end of the arguments does not belong to them, but arguments that were only a
        placeholder so far are replaced by it if `replaces` is True.
        """
        begins = text.lstrip()[:1] == "{"
        if begins and replaces and self.is_placeholder and not self.surplus:
            self.pieces, self._surrogates = [], SurrogateJoiner(keep_lone=True)
            self._end, self._scanned, self._first = BracketScanner('"'), 0, ""
        elif self.surplus or (self.pieces and begins and self.is_complete):
            self.surplus.append(text)
            return ""
        text = self._surrogates.feed(text)
        self.pieces.append(text)
        if self._first is None:
            return text
        self._first += "".join(text.split())
        if any(one.startswith(self._first) for one in _PLACEHOLDERS):
            return ""
        return self.release()

    @property
    def is_placeholder(self) -> bool:
        """True if the arguments so far may be replaced."""
        return self._first in _PLACEHOLDERS

    def release(self) -> str:
        """Return the arguments that were waiting, which are final now."""
        waiting, self._first = self._first, None
        return "" if waiting is None else "".join(self.pieces)

    def set_name(self, name: str) -> bool:
        """Set a name, a piece of one, or the same again. Return True if the name changed."""
        if name == self.name:
            return False
        self.name = name if name.startswith(self.name) else self.name + name
        return True


class CallTracker:
    """Assigns the pieces of one reply to its calls."""

    def __init__(self) -> None:
        self._calls: list[_OpenCall] = []
        self._by_id: dict[str, _OpenCall] = {}
        self._by_index: dict[int, _OpenCall] = {}
        self._open: _OpenCall | None = None
        self._with_surplus: dict[_OpenCall, None] = {}
        self._deferred_ids: dict[int | None, str] = {}

    def feed(self, entry: Json) -> list[CallDelta]:
        """Read one element of ``delta.tool_calls``. Return its new deltas."""
        more = self._continue_arguments(entry)
        if more is not None:
            return [more]
        function = as_dict(entry.get("function")) or as_dict(entry.get("custom"))
        piece = _Piece(entry.get("index"), entry.get("id"), function)
        extra = extra_keys(entry)
        if piece.is_empty:
            at = self._open if piece.index is None else self._by_index.get(piece.index)
            return (
                [CallDelta(at.call_index, provider_options=extra)]
                if at is not None and extra
                else []
            )
        if self._defer_id(piece):
            return []
        call = self._find_call(piece)
        deltas: list[CallDelta] = []
        if call is None:
            deltas += self._split_surplus()
            call = self._new_call()
        self._open = call
        if piece.index is not None:
            self._by_index[piece.index] = call
        delta = self._extend_call(call, piece, extra)
        if delta is not None:
            deltas.append(delta)
        return deltas

    def _continue_arguments(self, entry: Json) -> CallDelta | None:
        """Handle the most frequent case: arguments at a known index, and nothing else."""
        index, function = entry.get("index"), entry.get("function")
        if type(index) is not int or type(function) is not dict or entry.get("id"):
            return None
        call, text = self._by_index.get(index), function.get("arguments")
        if call is None or call.surplus or type(text) is not str or function.get("name"):
            return None
        if not text or text.lstrip()[:1] == "{" or not entry.keys() <= _KNOWN_KEYS:
            return None
        self._open = call
        return CallDelta(call.call_index, arguments=call.append(text))

    def finish(self) -> list[CallDelta]:
        """Return the remaining deltas: arguments sent as objects, and surplus arguments."""
        deltas = []
        for call in self._calls:
            if call.object is not None and (not call.pieces or call.is_placeholder):
                call.pieces = [dumps(call.object)]
            if text := call.release():
                deltas.append(CallDelta(call.call_index, arguments=text))
        deltas += self._split_surplus()
        deltas += [
            CallDelta(one.call_index, arguments="".join(one.surplus)) for one in self._with_surplus
        ]
        return deltas

    def _defer_id(self, piece: _Piece) -> bool:
        """Return True, and remember the id, if `piece` is a bare new id at a complete call's index.

        It may start the next call, whose name comes late, or end the same call; the next piece at that index
        decides, and gets the id.
        """
        if not piece.id:
            if piece.index in self._deferred_ids and (piece.starts_object or piece.name):
                piece.id = self._deferred_ids.pop(piece.index)
            return False
        at = self._open if piece.index is None else self._by_index.get(piece.index)
        bare = not (piece.name or piece.text) and piece.object is None
        if bare and at is not None and at.id and piece.id not in self._by_id and at.is_complete:
            self._deferred_ids[piece.index] = piece.id
            return True
        return False

    def _find_call(self, piece: _Piece) -> _OpenCall | None:
        """Return the call that `piece` belongs to, or None for a new one."""
        known = self._by_id.get(piece.id) if piece.id else None
        at = self._open if piece.index is None else self._by_index.get(piece.index)
        if known is not None:
            return None if self._is_another(known, piece) else known
        if piece.id:
            return at if at is not None and _continues(at, piece) else None
        if at is not None:
            return None if self._is_another(at, piece) else at
        stray = self._open if not piece.name else None
        return None if stray is None or stray.is_complete else stray

    def _is_another(self, call: _OpenCall, piece: _Piece) -> bool:
        """Return True if the piece's name shows that it starts another call."""
        if not piece.name or not call.name or piece.name == call.name:
            return False
        elsewhere = piece.index is not None and piece.index not in self._by_index
        return call.has_arguments or elsewhere

    def _new_call(self) -> _OpenCall:
        call = _OpenCall(len(self._calls))
        self._calls.append(call)
        return call

    def _extend_call(
        self, call: _OpenCall, piece: _Piece, extra: Mapping[str, object]
    ) -> CallDelta | None:
        id = name = text = ""
        if piece.id:
            if not call.id:
                id = call.id = piece.id
            if id or piece.text or piece.name:
                self._by_id[piece.id] = call
        if piece.name and call.set_name(piece.name):
            name = call.name
        if piece.object is not None:
            call.object = {**(call.object or {}), **piece.object}
        if piece.text:
            named = piece.name and piece.index is None and not piece.id
            text = call.append(piece.text, replaces=not named)
            if call.surplus:
                self._with_surplus[call] = None
        if not (id or name or text or extra):
            return None
        return CallDelta(call.call_index, id, name, text, extra)

    def _split_surplus(self) -> list[CallDelta]:
        """Turn text after complete arguments into further calls, where it is valid."""
        deltas = []
        for call in tuple(self._with_surplus):
            values = _objects("".join(call.surplus))
            if values is None:
                continue
            del self._with_surplus[call]
            call.surplus.clear()
            known_texts = {arguments_text("".join(call.pieces))}
            for text in map(dumps, values):
                if text not in known_texts:
                    known_texts.add(text)
                    deltas.append(
                        CallDelta(self._new_call().call_index, name=call.name, arguments=text)
                    )
        return deltas


def _continues(call: _OpenCall, piece: _Piece) -> bool:
    """Return True if a piece whose id is new is still part of the call found at its place.

    The caller has matched the index already. The piece starts another call if it has another tool's
    name, if it brings text after arguments that are complete, or if it starts an object while
    arguments are under way (a piece with an index and no name may). A piece with a name and a call
    with an id must also bring text that continues the arguments.
    """
    if not call.id:
        same_name = not piece.name or not call.name or piece.name == call.name
        return same_name and not (piece.text and call.is_complete)
    if piece.name:
        inside = call.has_arguments and piece.text != "" and not piece.starts_object
        return piece.name == call.name and inside and not call.is_complete
    if call.is_complete:
        return not piece.text
    return piece.index is not None or not (call.has_arguments and piece.starts_object)


def _objects(text: str) -> list[Json] | None:
    """Return the JSON objects that `text` consists of, or None if it has anything else."""
    values: list[Json] = []
    text = text.strip()
    position = 0
    try:
        while position < len(text):
            value, position = _decode_one(text, position)
            if not isinstance(value, dict):
                return None
            values.append(value)
            while text[position : position + 1].isspace():
                position += 1
    except (ValueError, RecursionError):
        return None
    return values


def arguments_text_of(arguments: object) -> str:
    """Return a call's arguments as text, from any JSON value."""
    if isinstance(arguments, str):
        return arguments
    return "" if arguments is None else dumps(arguments)


def extra_keys(entry: Json) -> Mapping[str, object]:
    """Return a call's unusual keys, which are sent back with it."""
    extra = {key: entry[key] for key in entry if key not in _KNOWN_KEYS and entry[key] is not None}
    if entry.get("type") not in (None, "", "function"):
        extra["type"] = entry["type"]
    return as_dict(clean(extra)) or NOTHING
