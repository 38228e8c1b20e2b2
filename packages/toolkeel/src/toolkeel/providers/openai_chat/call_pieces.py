"""Decide which call a streamed piece belongs to.

By the specification a piece has its call's ``index``, and the first one its ``id`` and ``name``.
Imitators give every call index 0, change the id within a call, omit index or id, send the name late,
in pieces or every time, put one call under two indexes, use one id for two calls, or repeat pieces.
`CallTracker` finds the call by what can be trusted in each case:

1. a known id: that call;
2. a new id: a new call, except that a piece without a name continues the unfinished call at its
   index, whose id the server only changed;
3. no id, but a known index: the latest call at that index;
4. neither: the call at the same position of the list, or the open call, which got the last piece.

A name then shows if it is another call after all: a call with arguments already has its name.
Other arguments after complete ones wait until the next call or the end; then repeated ones and
placeholders are dropped, and the rest become calls of the same name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from toolkeel.model_interface import CallDelta
from toolkeel.providers.openai_chat.listed_calls import extra_keys, is_usual
from toolkeel.providers.openai_chat.open_call import CallPiece, OpenCall
from toolkeel.providers.wire.plain_json import (
    Json,
    arguments_text,
    as_dict,
    dumps,
)

_decode_one = json.JSONDecoder().raw_decode


class CallTracker:
    """Assigns the pieces of one reply to its calls."""

    def __init__(self) -> None:
        self._calls: list[OpenCall] = []
        self._by_id: dict[str, OpenCall] = {}
        self._by_index: dict[int, OpenCall] = {}
        self._open: OpenCall | None = None
        self._with_surplus: dict[OpenCall, None] = {}
        self._deferred: dict[int | None, CallPiece] = {}
        self._by_position: dict[int, OpenCall] = {}

    def feed(self, entry: Json, position: int | None = None) -> list[CallDelta]:
        """Add one element of ``delta.tool_calls`` to its call, or start a call with it. Return its new deltas.

        Args:
            entry: The element.
            position: Its index in the list; None if it is alone there.
        """
        more = self._continue_arguments(entry)
        if more is not None:
            return [more]
        function = as_dict(entry.get("function")) or as_dict(entry.get("custom"))
        piece = CallPiece(entry.get("index"), entry.get("id"), function)
        extra = extra_keys(entry)
        at = self._call_at(piece, position)
        if piece.is_empty:
            if at is None or not extra:
                return []
            return [CallDelta(at.call_index, provider_options=extra)]
        if self._defer_id(piece, at):
            return []
        call = self._find_call(piece, at)
        deltas: list[CallDelta] = []
        if call is None:
            deltas += self._split_surplus()
            call = self._new_call()
        self._open = call
        is_elsewhere = piece.index is None or self._by_index.get(piece.index) is not call
        starts_call = bool(piece.name) and is_elsewhere
        starts_call = starts_call and not (piece.index is None and piece.id)
        if piece.index is not None:
            self._by_index[piece.index] = call
        if position is not None:
            self._by_position[position] = call
        delta = self._extend_call(call, piece, extra, starts_call)
        if delta is not None:
            deltas.append(delta)
        return deltas

    def _continue_arguments(self, entry: Json) -> CallDelta | None:
        """Append arguments at a known index, the common case, and return their delta; None for another case."""
        index, function = entry.get("index"), entry.get("function")
        if type(index) is not int or type(function) is not dict or entry.get("id"):
            return None
        call, text = self._by_index.get(index), function.get("arguments")
        if call is None or call.surplus or type(text) is not str or function.get("name"):
            return None
        if not text or text.lstrip()[:1] == "{" or not is_usual(entry):
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

    def _call_at(self, piece: CallPiece, position: int | None) -> OpenCall | None:
        """Return the call at a piece's index or list position, else the open one, or None."""
        if piece.index is not None:
            return self._by_index.get(piece.index)
        listed = self._by_position.get(position) if position is not None else None
        if listed is None or piece.id or (listed.is_complete and not piece.is_blank):
            return self._open
        return listed if piece.name in ("", listed.name) else self._open

    def _defer_id(self, piece: CallPiece, at: OpenCall | None) -> bool:
        """Return True, and remember the id, if `piece` is a bare new id at a complete call's place.

        The next piece at that index decides if it starts a call, and gets the id.
        """
        is_bare = not piece.name and piece.is_blank
        held = self._deferred.get(piece.index)
        if held is not None and piece.id in ("", held.id):
            piece.text = piece.text or held.text
            if is_bare:
                held.text = piece.text
            elif piece.name or piece.starts_object:
                piece.id = self._deferred.pop(piece.index).id
            return is_bare
        is_new = piece.id != "" and piece.id not in self._by_id
        if is_bare and is_new and at is not None and at.id and at.is_complete:
            self._deferred[piece.index] = piece
            return True
        return False

    def _find_call(self, piece: CallPiece, at: OpenCall | None) -> OpenCall | None:
        """Return the call that `piece` belongs to, or None for a new one."""
        known = self._by_id.get(piece.id) if piece.id else None
        if known is not None:
            return None if self._is_another(known, piece) else known
        if piece.id:
            return at if at is not None and _continues(at, piece) else None
        if at is not None:
            return None if self._is_another(at, piece) else at
        stray = None if piece.name else self._unindexed_call(piece.index) or self._open
        return None if stray is None or stray.is_complete else stray

    def _unindexed_call(self, index: int | None) -> OpenCall | None:
        """Return the call that `index` counts to, if its own pieces had no index so far, else None."""
        if index is None or not 0 <= index < len(self._calls):
            return None
        return None if self._calls[index] in self._by_index.values() else self._calls[index]

    def _is_another(self, call: OpenCall, piece: CallPiece) -> bool:
        """Return True if the piece's name shows that it starts another call."""
        if not piece.name or not call.name or piece.name == call.name:
            return False
        elsewhere = piece.index is not None and piece.index not in self._by_index
        return call.has_arguments or elsewhere

    def _new_call(self) -> OpenCall:
        """Add a call to the reply, and return it."""
        call = OpenCall(len(self._calls))
        self._calls.append(call)
        return call

    def _extend_call(
        self, call: OpenCall, piece: CallPiece, extra: Mapping[str, object], starts_call: bool
    ) -> CallDelta | None:
        """Add a piece to its call; return the delta of what is new, or None if nothing is."""
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
            text = call.append(piece.text, replaces=not starts_call)
            if call.surplus:
                self._with_surplus[call] = None
        if not (id or name or text or extra):
            return None
        return CallDelta(call.call_index, id, name, text, extra)

    def _split_surplus(self) -> list[CallDelta]:
        """Add further calls, made of text after complete arguments, and return them; what is not JSON yet waits."""
        deltas = []
        for call in tuple(self._with_surplus):
            values = _parse_objects("".join(call.surplus))
            if values is None:
                continue
            del self._with_surplus[call]
            call.surplus.clear()
            known_texts = {arguments_text("".join(call.pieces))}
            known_texts |= set() if call.is_repeated else {"{}"}
            for text in map(dumps, values):
                if text not in known_texts:
                    known_texts.add(text)
                    deltas.append(
                        CallDelta(self._new_call().call_index, name=call.name, arguments=text)
                    )
        return deltas


def _continues(call: OpenCall, piece: CallPiece) -> bool:
    """Return True if a piece whose id is new is still part of the call found at its place.

    The caller has matched the index. The piece starts another call if it has another tool's name, brings
    text after complete arguments, or starts an object while arguments are under way (a piece with an
    index and no name may). A piece with a name must also continue the arguments of a call with an id.
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


def _parse_objects(text: str) -> list[Json] | None:
    """Return the JSON objects that `text` consists of (``null`` is an empty one), or None."""
    values, text, position = list[Json](), text.strip(), 0
    try:
        while position < len(text):
            value, position = _decode_one(text, position)
            if value is not None and not isinstance(value, dict):
                return None
            values.append(value or {})
            while text[position : position + 1].isspace():
                position += 1
    except (ValueError, RecursionError):
        return None
    return values
