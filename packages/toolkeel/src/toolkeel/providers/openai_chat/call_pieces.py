"""Which call a streamed piece belongs to.

By the book a piece carries its call's ``index``, and the first one its ``id`` and ``name``.
Servers that imitate the wire give every call index 0, change the id in mid-call, leave index or
id out, send the name late, in pieces or every time, put one call under two indexes, use one id
for two calls, or say everything twice. `CallTracker` looks for the call by what can be trusted
in each case:

1. an id seen before: that call;
2. a new id: a new call, except that a piece without a name goes on with the unfinished call at
   its index, whose id the server only changed its mind about;
3. no id, but an index seen before: the latest call at that index;
4. neither: the open call, the last one that got something.

A name then says whether it is another call after all: one that has begun its arguments has its
name already. Arguments that follow complete arguments without any such sign wait until the next
call or the end; then those that say the same again are dropped and others become calls of the
same name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from toolkeel._records.record import NOTHING
from toolkeel.model_interface import CallDelta
from toolkeel.providers.wire.plain_json import (
    Brackets,
    Json,
    TextPieces,
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
    """One element of ``delta.tool_calls``, whatever types its parts have."""

    __slots__ = ("id", "index", "name", "object", "text")

    def __init__(self, index: object, id: object, function: Json) -> None:
        arguments = function.get("arguments")
        if arguments is None:
            arguments = function.get("input")
        self.index = index if isinstance(index, int) else None
        self.id = as_text(id)
        self.name = as_text(function.get("name"))
        self.object: Json | None = arguments if isinstance(arguments, dict) else None
        self.text = "" if self.object is not None else text_of_arguments(arguments)

    @property
    def says_nothing(self) -> bool:
        return not (self.id or self.name or self.text) and self.object is None

    @property
    def begins(self) -> bool:
        """Whether the text may be the start of an object."""
        return self.text.lstrip().startswith("{")


class _OpenCall:
    """A call whose pieces are still coming."""

    __slots__ = (
        "_end",
        "_first",
        "_pairs",
        "_scanned",
        "id",
        "more",
        "name",
        "number",
        "object",
        "pieces",
    )

    def __init__(self, number: int) -> None:
        self.number = number
        self.id = ""
        self.name = ""
        self.pieces: list[str] = []
        self.object: Json | None = None
        self.more: list[str] = []
        """What came after the arguments were complete."""
        self._pairs = TextPieces(keep_lone=True)
        self._end = Brackets('"')
        self._scanned = 0
        self._first: str | None = ""
        """The arguments without blanks, while they may still be a placeholder."""

    @property
    def started(self) -> bool:
        return bool(self.pieces) or bool(self.object)

    @property
    def complete(self) -> bool:
        """Whether the arguments so far are a whole object. Costs what came since last asked."""
        if self.object:
            return True
        while self._scanned < len(self.pieces):
            self._end.feed(self.pieces[self._scanned])
            self._scanned += 1
        return self._end.end > 0

    def take(self, text: str, *, replaces: bool = True) -> str:
        """Keep a piece of the arguments; return what is certain and new.

        A piece after the end of the arguments is no part of them, but arguments that were only a
        placeholder so far make room for it if it `replaces` them.
        """
        begins = text.lstrip()[:1] == "{"
        if begins and replaces and self.is_placeholder and not self.more:
            self.pieces, self._pairs = [], TextPieces(keep_lone=True)
            self._end, self._scanned, self._first = Brackets('"'), 0, ""
        elif self.more or (self.pieces and begins and self.complete):
            self.more.append(text)
            return ""
        text = self._pairs.feed(text)
        self.pieces.append(text)
        if self._first is None:
            return text
        self._first += "".join(text.split())
        if any(one.startswith(self._first) for one in _PLACEHOLDERS):
            return ""
        return self.release()

    @property
    def is_placeholder(self) -> bool:
        """Whether the arguments so far may be replaced."""
        return self._first in _PLACEHOLDERS

    def release(self) -> str:
        """Return the arguments that were held back, which stay as they are from now on."""
        held, self._first = self._first, None
        return "" if held is None else "".join(self.pieces)

    def set_name(self, name: str) -> bool:
        """Take a name, a piece of one, or the same again; True if the name changed."""
        if name == self.name:
            return False
        self.name = name if name.startswith(self.name) else self.name + name
        return True


class CallTracker:
    """Sorts the pieces of one reply's calls."""

    def __init__(self) -> None:
        self._calls: list[_OpenCall] = []
        self._by_id: dict[str, _OpenCall] = {}
        self._by_index: dict[int, _OpenCall] = {}
        self._open: _OpenCall | None = None
        self._overfull: dict[_OpenCall, None] = {}
        self._heads: dict[int | None, str] = {}

    def feed(self, entry: Json) -> list[CallDelta]:
        """Take one element of ``delta.tool_calls``; give what it says that is new."""
        more = self._more_arguments(entry)
        if more is not None:
            return [more]
        function = as_dict(entry.get("function")) or as_dict(entry.get("custom"))
        piece = _Piece(entry.get("index"), entry.get("id"), function)
        extra = extra_of(entry)
        if piece.says_nothing:
            at = self._open if piece.index is None else self._by_index.get(piece.index)
            return (
                [CallDelta(at.number, provider_options=extra)] if at is not None and extra else []
            )
        if self._waits(piece):
            return []
        call = self._find(piece)
        deltas: list[CallDelta] = []
        if call is None:
            deltas += self._settle_more()
            call = self._new()
        self._open = call
        if piece.index is not None:
            self._by_index[piece.index] = call
        delta = self._fill(call, piece, extra)
        if delta is not None:
            deltas.append(delta)
        return deltas

    def _more_arguments(self, entry: Json) -> CallDelta | None:
        """The one case by the book that comes often: arguments at a known index, nothing else."""
        index, function = entry.get("index"), entry.get("function")
        if type(index) is not int or type(function) is not dict or entry.get("id"):
            return None
        call, text = self._by_index.get(index), function.get("arguments")
        if call is None or call.more or type(text) is not str or function.get("name"):
            return None
        if not text or text.lstrip()[:1] == "{" or not entry.keys() <= _KNOWN_KEYS:
            return None
        self._open = call
        return CallDelta(call.number, arguments=call.take(text))

    def finish(self) -> list[CallDelta]:
        """What could not be said earlier: arguments sent as objects, and what came too much."""
        deltas = []
        for call in self._calls:
            if call.object is not None and (not call.pieces or call.is_placeholder):
                call.pieces = [dumps(call.object)]
            if text := call.release():
                deltas.append(CallDelta(call.number, arguments=text))
        deltas += self._settle_more()
        deltas += [CallDelta(one.number, arguments="".join(one.more)) for one in self._overfull]
        return deltas

    def _waits(self, piece: _Piece) -> bool:
        """Whether `piece` is a bare new id at the index of a complete call.

        It may be the next call's head, whose name comes late, or the same call's last word; what
        comes next at that index tells, and gets the id.
        """
        if not piece.id:
            if piece.index in self._heads and (piece.begins or piece.name):
                piece.id = self._heads.pop(piece.index)
            return False
        at = self._open if piece.index is None else self._by_index.get(piece.index)
        bare = not (piece.name or piece.text) and piece.object is None
        if bare and at is not None and at.id and piece.id not in self._by_id and at.complete:
            self._heads[piece.index] = piece.id
            return True
        return False

    def _find(self, piece: _Piece) -> _OpenCall | None:
        """The call that `piece` belongs to; None for a new one."""
        known = self._by_id.get(piece.id) if piece.id else None
        at = self._open if piece.index is None else self._by_index.get(piece.index)
        if known is not None:
            return None if self._renamed(known, piece) else known
        if piece.id:
            return at if at is not None and _goes_on(at, piece) else None
        if at is not None:
            return None if self._renamed(at, piece) else at
        stray = self._open if not piece.name else None
        return None if stray is None or stray.complete else stray

    def _renamed(self, call: _OpenCall, piece: _Piece) -> bool:
        """Whether the piece's name shows that it starts another call."""
        if not piece.name or not call.name or piece.name == call.name:
            return False
        elsewhere = piece.index is not None and piece.index not in self._by_index
        return call.started or elsewhere

    def _new(self) -> _OpenCall:
        call = _OpenCall(len(self._calls))
        self._calls.append(call)
        return call

    def _fill(
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
            text = call.take(piece.text, replaces=not named)
            if call.more:
                self._overfull[call] = None
        if not (id or name or text or extra):
            return None
        return CallDelta(call.number, id, name, text, extra)

    def _settle_more(self) -> list[CallDelta]:
        """Calls out of what came after complete arguments, where it is readable."""
        deltas = []
        for call in tuple(self._overfull):
            values = _objects("".join(call.more))
            if values is None:
                continue
            del self._overfull[call]
            call.more.clear()
            said = {arguments_text("".join(call.pieces))}
            for text in map(dumps, values):
                if text not in said:
                    said.add(text)
                    deltas.append(CallDelta(self._new().number, name=call.name, arguments=text))
        return deltas


def _goes_on(call: _OpenCall, piece: _Piece) -> bool:
    """Whether a piece with a new id is one of `call`'s nevertheless."""
    if not call.id:
        same_name = not piece.name or not call.name or piece.name == call.name
        return same_name and not (piece.text and call.complete)
    if piece.name:
        inside = call.started and piece.text != "" and not piece.begins
        return piece.name == call.name and inside and not call.complete
    if call.complete:
        return not piece.text
    return piece.index is not None or not (call.started and piece.begins)


def _objects(text: str) -> list[Json] | None:
    """The JSON objects that `text` is made of; None if it is made of anything else."""
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


def text_of_arguments(arguments: object) -> str:
    """A call's arguments as text, whatever JSON value the server made of them."""
    if isinstance(arguments, str):
        return arguments
    return "" if arguments is None else dumps(arguments)


def extra_of(entry: Json) -> Mapping[str, object]:
    """What a call carries beside the usual: it goes back with the call."""
    extra = {key: entry[key] for key in entry if key not in _KNOWN_KEYS and entry[key] is not None}
    if entry.get("type") not in (None, "", "function"):
        extra["type"] = entry["type"]
    return as_dict(clean(extra)) or NOTHING
