"""Two sessions side by side: totals, events, and where they differ."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import TypeAlias

from toolkeel._records.record import record
from toolkeel.observe.wording import dollars
from toolkeel.sessions.session import Session
from toolkeel_studio.inspector.page_items import MessageItem
from toolkeel_studio.inspector.run_summary import story_cost
from toolkeel_studio.inspector.session_view import ReplyItem, Story, fold_story

Line: TypeAlias = tuple[str, str]
"""One line of a session: its kind and its text."""
Row: TypeAlias = tuple[Line | None, Line | None]
"""Two lines side by side; None if a session has no matching line."""


@record
class Comparison:
    """The comparison of two sessions.

    Args:
        a: Name of the first session.
        b: Name of the second session.
        totals: Both totals by label, the cost in US dollars; None if a total is not known.
        rows: The lines of both sessions in order.
    """

    a: str
    b: str
    totals: Mapping[str, tuple[float | None, float | None]]
    rows: list[Row]

    @property
    def differ(self) -> bool:
        """True if the two sessions have any line that differs."""
        return any(one != two for one, two in self.rows)

    def sums(self) -> Iterator[tuple[str, ...]]:
        """Yield the totals as text: label, first, second, and the difference."""
        for word, (a, b) in self.totals.items():
            nothing = "unknown" if word == "cost" else "not measured"
            shown = dollars if word == "cost" else _number
            by = share = ""
            if a is not None and b is not None and shown(a) != shown(b):
                by = f"{'-' if b < a else '+'}{shown(abs(b - a))}"
                share = f" ({(b - a) / a:+.0%})" if a else ""
            yield word, *(nothing if n is None else shown(n) for n in (a, b)), by + share


def compare(a: Session, b: Session) -> Comparison:
    """Compare the texts, calls and results of two sessions; times and ids are ignored.

    Raises:
        SessionError: One of the sessions does not exist.
    """
    one, two = (fold_story(session.entries()) for session in (a, b))
    counted = _counts(two)
    totals = {word: (number, counted[word]) for word, number in _counts(one).items()}
    return Comparison(a.name, b.name, totals, list(_rows(list(_lines(one)), list(_lines(two)))))


def _number(value: float) -> str:
    return f"{value:,}"


def _counts(story: Story) -> dict[str, float | None]:
    calls = list(story.calls())
    return {
        "turns": len(story.turns),
        "requests": sum(isinstance(item, ReplyItem) for item in story.items),
        "calls": len(calls),
        "failed": sum(called.status == "failed" for called in calls),
        "tokens": story.usage.total_tokens or None,
        "cost": story_cost(story),
    }


def _lines(story: Story) -> Iterator[Line]:
    """Yield the lines of a story, without times and ids."""
    for item in story.items:
        if isinstance(item, MessageItem):
            yield ("instructions" if item.how == "system" else "you"), item.text
        elif not isinstance(item, ReplyItem):
            yield item.word, item.text
        else:
            if item.message is not None and item.message.text:
                yield "model", item.message.text
            for called in item.calls:
                arguments = called.arguments
                if not isinstance(arguments, str):
                    arguments = json.dumps(arguments, sort_keys=True, ensure_ascii=False)
                yield "call", f"{called.call.name}({arguments})"
                if called.inside is not None:
                    yield from _lines(called.inside)
                yield called.status, called.result.text if called.result is not None else ""


def _rows(a: list[Line], b: list[Line]) -> Iterator[Row]:
    """Yield equal lines side by side, and between them lines of the same kind."""
    for _, i, j, k, m in SequenceMatcher(None, a, b).get_opcodes():
        left, right = a[i:j], b[k:m]
        kinds = [[word for word, _ in side] for side in (left, right)]
        for _, n, o, p, q in SequenceMatcher(None, kinds[0], kinds[1]).get_opcodes():
            yield from zip_longest(left[n:o], right[p:q])
