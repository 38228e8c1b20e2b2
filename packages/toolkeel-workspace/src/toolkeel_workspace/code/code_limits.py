"""What every way of running code has in common: its limits, and what comes of a run."""

from __future__ import annotations

import ast
from collections.abc import Awaitable
from typing import Protocol

from toolkeel._records.record import record
from toolkeel.content import Image
from toolkeel.context import ToolContext

MAX_CODE = 100_000
"""Characters of code that are taken."""


@record
class CodeLimits:
    """What code may use at most.

    Args:
        seconds: Of computing, for one call; time in tools is not counted.
        total: Seconds one call may take with everything, tools included.
        memory: Bytes.
        recursion: Calls within calls.
        output: Characters of what it prints; the rest is dropped, and the result says so.
        calls: Calls of tools, for one call.
        files: Bytes it may write into its folder, for one call.
        images: Pictures that are given back, for one call.
    """

    seconds: float = 10.0
    total: float = 120.0
    memory: int = 256 << 20
    recursion: int = 500
    output: int = 20_000
    calls: int = 100
    files: int = 64 << 20
    images: int = 8


@record
class Ran:
    """What came of one piece of code.

    Args:
        text: What it printed, and its last value.
        error: The exception it ended with, as Python shows it; empty if it ended well.
        images: Pictures it showed.
        lost: Why what earlier code had made is gone; empty if it is there.
    """

    text: str
    error: str = ""
    images: tuple[Image, ...] = ()
    lost: str = ""


class Interpreter(Protocol):
    """Something that runs code and remembers what it has made."""

    def run(self, code: str, call: ToolContext[object]) -> Awaitable[Ran]:
        """Run a piece of code."""
        ...

    def aclose(self) -> Awaitable[None]:
        """End it."""
        ...


class Printed:
    """Collects what code prints, up to a limit.

    >>> printed = Printed(5)
    >>> printed.add("abc")
    >>> printed.add("defgh")
    >>> printed.text()
    'abcde\\n[3 more characters were dropped: print less]'
    """

    def __init__(self, limit: int) -> None:
        self._pieces: list[str] = []
        self._left = limit
        self._dropped = 0

    def add(self, text: str) -> None:
        """Take more of it."""
        kept = text[: self._left]
        self._left -= len(kept)
        self._dropped += len(text) - len(kept)
        if kept:
            self._pieces.append(kept)

    def text(self) -> str:
        """All that was kept, and what was not."""
        text = "".join(self._pieces)
        if not self._dropped:
            return text
        return f"{text}\n[{self._dropped} more characters were dropped: print less]"


def showing(code: str) -> str:
    """The code with its last value printed, as notebooks do; as it is if it does not parse.

    It is printed where it runs, so a huge value never leaves.

    >>> print(showing("x = 2\\nx * 3"))
    x = 2
    _shown_ = (x * 3)
    if _shown_ is not None: print(repr(_shown_))
    """
    try:
        body = ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return code
    if not body or not isinstance(body[-1], ast.Expr):
        return code
    last = body[-1]
    lines = code.encode().splitlines(keepends=True)
    start = sum(map(len, lines[: last.lineno - 1])) + last.col_offset
    source = ast.get_source_segment(code, last) or ""
    head = code.encode()[:start].decode()
    return f"{head}_shown_ = ({source})\nif _shown_ is not None: print(repr(_shown_))"
