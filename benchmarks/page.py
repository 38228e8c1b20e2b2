"""The page with the figures: ``docs/project/performance.md`` and its plots."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot

Table = Mapping[str, Mapping[str, float]]
BEGIN, END = "<!-- figures: make bench -->", "<!-- end of figures -->"

TITLES = {
    "W1": "Import what defines a tool (W1)",
    "W2": "Define a tool of six parameters, with its schema (W2)",
    "W3": "Give the schemas of 100 tools again, as each request does (W3)",
    "W4": "Answer one call, from JSON text to message (W4)",
    "W5": "Answer many calls of one turn, 10 ms each (W5)",
    "W6": "A turn of the agent loop, by how many turns came before (W6)",
    "W7": "What is kept (W7)",
    "W6b": "The bytes of the next request (W6b)",
    "W8": "Arguments streamed in pieces of 20 characters, a look after each (W8)",
    "W9": "What each feature costs (W9)",
    "W10": "A call of a server's tool through the protocol's own client (W10)",
    "scale": "Large numbers",
}


def write(measured: dict[str, Any], folder: Path) -> None:
    """Put tables and plots into the page; what stands around them stays."""
    numbers: dict[str, Table] = measured["numbers"]
    parts = [_machine(measured["versions"])]
    parts += [f"### {TITLES[name]}\n\n{_table(rows)}" for name, rows in numbers.items() if rows]
    parts += [f"![{title}]({file})" for title, file in plots(numbers, folder)]
    page = folder / "performance.md"
    text = page.read_text("utf-8")
    figures = f"{BEGIN}\n\n" + "\n\n".join(parts) + f"\n\n{END}"
    page.write_text(re.sub(f"{BEGIN}.*{END}", lambda _: figures, text, flags=re.S), "utf-8")


def _machine(versions: Mapping[str, str]) -> str:
    known = ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))
    return (
        f"Python {platform.python_version()} on {platform.system()} {platform.machine()}, "
        f"{os.cpu_count()} cores. {known}."
    )


def _table(rows: Table) -> str:
    """Peers as columns, each number with its ratio to the limit, or else to the SDK we stand on."""
    base = next((name for name in ("limit", "mcp") if name in rows), "")
    names = list(dict.fromkeys(name for row in rows.values() for name in row))
    lines = [f"| | {' | '.join(rows)} |", f"|---|{'---:|' * len(rows)}"]
    for name in names:
        least = rows.get(base, {}).get(name)
        cells = [_cell(name, row.get(name), least, peer == base) for peer, row in rows.items()]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(name: str, value: float | None, least: float | None, is_base: bool) -> str:
    if value is None:
        return "–"
    text = amount(value) if name.startswith("bytes") else duration(value)
    return text if least is None or is_base else f"{text} ({value / least:,.2f}×)"


def amount(size: float) -> str:
    """Bytes as people read them.

    >>> amount(750.2), amount(123_456_789)
    ('750 B', '123.5 MB')
    """
    return f"{size / 1e6:,.1f} MB" if size >= 1e6 else f"{size:,.0f} B"


def duration(seconds: float) -> str:
    """Three digits and the unit that fits.

    >>> duration(0.0000123), duration(0.5)
    ('12.3 µs', '500 ms')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size or unit == "µs":
            return f"{seconds / size:.3g} {unit}"
    raise AssertionError


def plots(numbers: Mapping[str, Table], folder: Path) -> list[tuple[str, str]]:
    """Draw what is there to draw; titles and files."""
    wanted: list[tuple[str, str, str, Callable[[Any, Table], None]]] = [
        ("W6", "Time of a turn by the turns before it", "turns", _turns),
        ("W5", "Time of a turn by its calls of 10 ms", "calls", _sizes),
        ("W9", "One call with one more thing switched on", "features", _bars),
    ]
    drawn = []
    for workload, title, file, draw in wanted:
        if numbers.get(workload):
            figure, axes = pyplot.subplots(figsize=(7, 4), layout="constrained")
            draw(axes, numbers[workload])
            axes.set_title(title)
            name = f"performance-{file}.svg"
            figure.savefig(folder / name, metadata={"Date": None})
            pyplot.close(figure)
            drawn.append((title, name))
    return drawn


def _curves(axes: Any, rows: Table, pattern: str) -> None:
    for peer, row in rows.items():
        found = [
            (int(m[1]), value) for name, value in row.items() if (m := re.fullmatch(pattern, name))
        ]
        axes.plot(*zip(*found, strict=True), marker="o", label=peer)
    axes.set(xscale="log", yscale="log", ylabel="seconds")
    axes.legend()
    axes.grid(alpha=0.3)


def _turns(axes: Any, rows: Table) -> None:
    _curves(axes, rows, r"turn (\d+)")
    axes.set_xlabel("turns")


def _sizes(axes: Any, rows: Table) -> None:
    _curves(axes, rows, r"(\d+) waiting")
    axes.set_xlabel("calls in the turn")


def _bars(axes: Any, rows: Table) -> None:
    [row] = rows.values()
    axes.barh(list(row), [value * 1e6 for value in row.values()])
    axes.invert_yaxis()
    axes.set_xlabel("µs")
