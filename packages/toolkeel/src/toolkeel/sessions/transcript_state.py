"""The transcript of a session or nested run, computed from entries, and what requests show of it."""

from __future__ import annotations

from bisect import insort

from toolkeel._records import entries
from toolkeel.agent.history import Cut, HistoryView
from toolkeel.agent.transcript import last_turn
from toolkeel.messages import Message, ToolCall


class TranscriptState:
    """The transcript after some entries.

    Args:
        is_nested: True for that of a nested run, which continues from all of it: cuts are only listed.

    Attributes:
        view: The messages that the model is shown next.
        entry_numbers: Number of the entry of each message in `view`; 0 for a replacement.
        cuts: Replacements that the model is shown for parts of the transcript.
    """

    def __init__(self, *, is_nested: bool = False) -> None:
        self.view = HistoryView()
        self.entry_numbers: list[int] = []
        self.cuts: list[Cut] = []
        self._is_nested = is_nested
        self._positions: list[int] = []
        """Positions of the calls that have a result in the last turn."""

    def position_of(self, call: ToolCall) -> int:
        """Return the index of an unanswered call in the last reply.

        Raises:
            StopIteration: the call, as this object, is not in it.
        """
        calls = last_turn(self.view.messages)[0]
        return next(index for index, each in enumerate(calls) if each is call)

    def begin_turn(self) -> None:
        """Forget the results so far: those that follow belong to another reply."""
        self._positions.clear()

    def add_message(self, seq: int, message: Message) -> None:
        """Append a message to the view, with the number of its entry."""
        self.view.add(message)
        self.entry_numbers.append(seq)

    def insert_result(self, seq: int, entry: entries.CallEnded | entries.Deferred) -> None:
        """Insert a result, with the number of its entry, among those of its turn, in the order of the calls."""
        insort(self._positions, entry.position)
        behind = len(self._positions) - 1 - self._positions.index(entry.position)
        place = len(self.view.messages) - behind
        self.add_message(seq, entry.message)
        self.view.messages.insert(place, self.view.messages.pop())
        self.entry_numbers.insert(place, self.entry_numbers.pop())

    def cut(self, cut: Cut) -> None:
        """Replace a part of the transcript in requests, and add the cut in place of those inside it.

        A nested run only adds the cut: its complete transcript stays in view.
        """
        if not self._is_nested:
            start, stop = self.view.span(cut)
            self.view.apply_cut(cut)
            self.entry_numbers[start:stop] = [0] * len(cut.messages)
        self.cuts = [c for c in self.cuts if not (cut.start <= c.start and c.stop <= cut.stop)]
        self.cuts.append(cut)
