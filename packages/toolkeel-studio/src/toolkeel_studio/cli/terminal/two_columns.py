"""Two sessions on a screen: in two columns if they fit, else one below the other."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from itertools import chain, groupby, zip_longest

from toolkeel.observe.wording import count, escaped, one_line
from toolkeel_studio.cli.terminal.streams import DIM, GREEN, RED, styled
from toolkeel_studio.cli.terminal.text import fit, padded, table, wrapped
from toolkeel_studio.inspector.compare import Comparison, Line

COLUMNS = 100
"""Cells from which on there is room for two columns."""
FEW = 4
"""Rows that are the same, one after the other, of which none is left out."""


def compare_lines(found: Comparison, width: int | None) -> Iterator[str]:
    """Yield what two sessions have in common and where they differ, for people.

    Args:
        found: The comparison.
        width: Cells of a line; None for no limit.
    """
    yield from table(("", "a", "b", "difference"), list(found.sums()))
    yield ""
    yield from _row(("a", found.a), ("b", found.b), width)
    for changed, group in groupby(found.rows, lambda row: row[0] != row[1]):
        rows = [_row(*row, width) for row in group]
        if width is not None and not changed and len(rows) > FEW:
            omission = f"  … {count(len(rows) - 2, 'line')} the same"
            rows[1:-1] = [[styled(omission, DIM, sys.stdout)]]
        yield from chain.from_iterable(rows)
    if not found.differ:
        yield styled("No difference.", GREEN, sys.stdout)


def _row(a: Line | None, b: Line | None, width: int | None) -> list[str]:
    """Format one row; differences have a mark, since colors may be invisible."""
    if width is None or width < COLUMNS:
        room, column = width and width - 2, 0
    else:
        room = column = width // 2 - 3
    if a == b:
        return [f"  {line}" for line in _lines(a, width and width - 2, short=True)]
    one, two = (
        [styled(f"{mark} {padded(line, column)}", style, sys.stdout) for line in _lines(side, room)]
        for mark, style, side in (("-", RED, a), ("+", GREEN, b))
    )
    if not column:
        return [*one, *two]
    return [
        f"{left}  {right}" for left, right in zip_longest(one, two, fillvalue=" " * (column + 2))
    ]


def _lines(line: Line | None, room: int | None, *, short: bool = False) -> Iterable[str]:
    if line is None:
        return []
    text = ": ".join(line)
    if room is None:
        return escaped(text).split("\n")
    if short:
        return [fit(one_line(text), room)]
    lines = escaped(text).expandtabs(4).split("\n")
    return chain.from_iterable(wrapped(each, room) for each in lines)
