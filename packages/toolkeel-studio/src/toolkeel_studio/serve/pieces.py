"""The text, the reasoning and the calls of a reply, piece by piece, each exactly once.

A reply arrives as deltas, then as a whole. A model that does not stream sends only the whole, and a
reader that comes late, or reads the journal, gets nothing else either.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from toolkeel import events
from toolkeel._records import entries
from toolkeel.messages import AssistantMessage
from toolkeel.model_interface import CallDelta, Delta, ReasoningDelta, TextDelta
from toolkeel_studio.serve.call_arguments import call_arguments
from toolkeel_studio.serve.contents import plain_text
from toolkeel_studio.serve.items import Item


class Piece(NamedTuple):
    """A piece of a reply.

    Args:
        kind: What it is a piece of.
        text: The next text, or the next text of a call's arguments.
        call_id: Of a call.
        name: Of the call's tool.
        is_first: True for the first piece of a call.
    """

    kind: Literal["text", "reasoning", "call"]
    text: str
    call_id: str = ""
    name: str = ""
    is_first: bool = False


class _Call:
    """A call whose deltas arrive; the first piece needs its id and name."""

    def __init__(self) -> None:
        self.id = self.name = self.unsent = ""
        self.is_announced = False


class Pieces:
    """Takes the items of a session's own run in order, and yields the pieces of each reply."""

    def __init__(self) -> None:
        self._calls: dict[int, _Call] = {}
        self._sent: dict[str, int] = {}
        """By kind, or by the id of a call: the number of characters that were yielded."""

    def take(self, item: Item) -> Iterator[Piece]:
        """Yield the pieces of the next item: of a complete reply, what the deltas left out."""
        match item.body:
            case events.Streamed(delta=delta):
                yield from self._take_delta(delta)
            case entries.ModelReplied(message=message):
                yield from self._take_rest(message)
            case entries.ModelAsked() | events.Retrying():  # what was streamed is withdrawn
                self._calls, self._sent = {}, {}
            case _:
                pass

    def _take_delta(self, delta: Delta) -> Iterator[Piece]:
        match delta:
            case TextDelta(text=text) if text:
                yield self._count("text", Piece("text", text))
            case ReasoningDelta(text=text) if text:
                yield self._count("reasoning", Piece("reasoning", text))
            case CallDelta():
                call = self._calls.setdefault(delta.index, _Call())
                call.id, call.name = call.id or delta.id, call.name or delta.name
                call.unsent += delta.arguments
                is_first = not call.is_announced
                if call.id and call.name and (is_first or call.unsent):
                    call.is_announced = True
                    piece = Piece("call", call.unsent, call.id, call.name, is_first)
                    call.unsent = ""
                    yield self._count(call.id, piece)
            case _:
                pass

    def _take_rest(self, message: AssistantMessage) -> Iterator[Piece]:
        thought = "".join(each.text for each in message.reasoning)
        if rest := thought[self._sent.get("reasoning", 0) :]:
            yield self._count("reasoning", Piece("reasoning", rest))
        if rest := plain_text(message.content)[self._sent.get("text", 0) :]:
            yield self._count("text", Piece("text", rest))
        for call in message.tool_calls:
            is_first = call.id not in self._sent
            rest = call_arguments(call)[self._sent.get(call.id, 0) :]
            if rest or is_first:
                yield self._count(call.id, Piece("call", rest, call.id, call.name, is_first))

    def _count(self, what: str, piece: Piece) -> Piece:
        self._sent[what] = self._sent.get(what, 0) + len(piece.text)
        return piece
