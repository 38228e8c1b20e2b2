"""Show tables and figures that tools return: a bounded text or a picture for the model.

The object itself is the result's artifact. Of a table, ``details["table"]`` has the rows that pages show.
No library is imported here: the objects bring their own.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

from toolkeel.content import Image
from toolkeel.messages import ToolOutput

MAX_ROWS = 50
"""Rows of a table that a model reads."""
MAX_COLUMNS = 50
"""Columns of a table that a model and people see."""
MAX_CELL = 200
"""Characters of one cell."""
MAX_DETAILS = 50_000
"""Characters of the rows that people see."""


def show_pandas(frame: Any) -> ToolOutput:
    """Show a pandas DataFrame: its shape, the types of its columns, and its first rows as CSV.

    An index that only counts the rows is left out.
    """
    index, rows = frame.index, frame.iloc[: 10 * MAX_ROWS, :MAX_COLUMNS]
    counts = type(index).__name__ == "RangeIndex" and index.name is None
    names = [] if counts else [_join(name) if name else "index" for name in index.names]
    kinds = [str(dtype) for dtype in frame.dtypes.iloc[:MAX_COLUMNS]]
    body = rows.astype(object).itertuples(index=not counts, name=None)
    if not counts and index.nlevels > 1:
        body = ((*row[0], *row[1:]) for row in body)
    columns = [*names, *map(_join, rows.columns)]
    types = [*([""] * len(names)), *kinds]
    return _show_table(frame, columns, types, body, frame.shape)


def show_polars(frame: Any) -> ToolOutput:
    """Show a polars DataFrame: its shape, the types of its columns, and its first rows as CSV."""
    columns = frame.columns[:MAX_COLUMNS]
    types = [str(dtype) for dtype in frame.dtypes[:MAX_COLUMNS]]
    rows = frame.select(columns).head(10 * MAX_ROWS).rows()
    return _show_table(frame, columns, types, rows, frame.shape)


def show_arrow(table: Any) -> ToolOutput:
    """Show a pyarrow Table: its shape, the types of its columns, and its first rows as CSV."""
    part = table.slice(0, 10 * MAX_ROWS).select(range(min(table.num_columns, MAX_COLUMNS)))
    types = [str(field.type) for field in part.schema]
    rows = zip(*(column.to_pylist() for column in part.columns), strict=True)
    return _show_table(table, part.column_names, types, rows, table.shape)


def show_figure(figure: Any) -> ToolOutput:
    """Show a matplotlib Figure as a PNG picture."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", bbox_inches="tight")
    return ToolOutput(Image(buffer.getvalue(), "image/png"), figure)


def show_axes(axes: Any) -> ToolOutput:
    """Show the figure of matplotlib Axes as a PNG picture."""
    return ToolOutput(show_figure(axes.figure).content, axes)


def show_picture(picture: Any) -> ToolOutput:
    """Show a Pillow Image as a PNG picture."""
    buffer = io.BytesIO()
    picture.save(buffer, format="PNG")
    return ToolOutput(Image(buffer.getvalue(), "image/png"), picture)


def _show_table(
    table: object,
    columns: Sequence[str],
    types: Sequence[str],
    rows: Iterable[Sequence[object]],
    shape: tuple[int, int],
) -> ToolOutput:
    """Show the first rows of a table.

    Args:
        table: The table, which becomes the artifact.
        columns: Names of the columns that are shown.
        types: Their types; empty for those of an index.
        rows: Rows, from the first one on.
        shape: Number of all rows and of all columns, without an index.
    """
    names = [_shorten(str(name)) for name in columns]
    shown, size = list[list[str]](), 0
    for row in rows:
        cells = ["" if _is_missing(cell) else _shorten(str(cell)) for cell in row]
        size += sum(map(len, cells))
        if size > MAX_DETAILS:
            break
        shown.append(cells)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([names, *shown[:MAX_ROWS]])
    described = ", ".join(
        f"{name} ({kind})" if kind else f"{name} (index)"
        for name, kind in zip(names, types, strict=True)
    )
    head = f"{_count(shape[0], 'row')}, {_count(shape[1], 'column')}{': ' * bool(names)}{described}"
    notes = []
    if shape[0] > len(shown[:MAX_ROWS]):
        notes.append(f"rows 1 to {len(shown[:MAX_ROWS])} of {shape[0]:,}")
    if shape[1] > MAX_COLUMNS:
        notes.append(f"columns 1 to {MAX_COLUMNS} of {shape[1]:,}")
    end = f"\n[Shown: {', '.join(notes)}]" if notes else ""
    details = {"table": {"columns": names, "rows": shown, "total_rows": shape[0]}}
    return ToolOutput(f"{head}\n\n{text.getvalue()}{end}".strip(), table, details)


def _join(name: object) -> str:
    """Return the name of a column, also of several levels, as one text."""
    return "/".join(map(str, name)) if isinstance(name, tuple) else str(name)


def _is_missing(cell: object) -> bool:
    """Return True for None, NaN, and what pandas has in their place."""
    is_nan = isinstance(cell, float) and cell != cell
    return cell is None or is_nan or type(cell).__name__ in ("NaTType", "NAType")


def _shorten(text: str) -> str:
    return text if len(text) <= MAX_CELL else f"{text[: MAX_CELL - 1]}…"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"
