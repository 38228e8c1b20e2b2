"""Limits and results common to all interpreters."""

from __future__ import annotations

import ast
from collections.abc import Awaitable
from typing import Protocol

from toolkeel._records.record import record
from toolkeel.content import Image
from toolkeel.context import ToolContext

MAX_CODE_CHARS = 100_000
"""Most characters of code."""


@record
class CodeLimits:
    """Limits on code.

    Args:
        compute_seconds: Of computing, per call; time in tools is not counted.
        total_seconds: For one call with everything, tools included.
        memory_bytes: Memory.
        max_recursion: Nested function calls.
        output_chars: Printed characters; the rest is dropped, and the result says so.
        max_tool_calls: Calls of tools, per call.
        written_bytes: Written into its folder, per call.
        max_images: Returned pictures, per call.
    """

    compute_seconds: float = 10.0
    total_seconds: float = 120.0
    memory_bytes: int = 256 << 20
    max_recursion: int = 500
    output_chars: int = 20_000
    max_tool_calls: int = 100
    written_bytes: int = 64 << 20
    max_images: int = 8


@record
class ExecutionResult:
    """The result of one piece of code.

    Args:
        text: What it printed, and its last value.
        error: The exception that ended it, as Python shows it; empty if it succeeded.
        images: Pictures it showed.
        restart_reason: Why the interpreter was restarted and its variables lost; empty if they remain.
    """

    text: str
    error: str = ""
    images: tuple[Image, ...] = ()
    restart_reason: str = ""


class Interpreter(Protocol):
    """Something that runs code and remembers its variables."""

    def run(self, code: str, call: ToolContext[object]) -> Awaitable[ExecutionResult]:
        """Run a piece of code."""
        ...

    def aclose(self) -> Awaitable[None]:
        """End the interpreter."""
        ...


class OutputBuffer:
    r"""Collects what code prints, up to a limit.

    >>> printed = OutputBuffer(5)
    >>> printed.add("abc")
    >>> printed.add("defgh")
    >>> printed.text()
    'abcde\n[3 more characters were dropped: print less]'
    """

    def __init__(self, limit: int) -> None:
        self._pieces: list[str] = []
        self._remaining = limit
        self._dropped = 0

    def add(self, text: str) -> None:
        """Append text, as far as it fits."""
        part = text[: self._remaining]
        self._remaining -= len(part)
        self._dropped += len(text) - len(part)
        if part:
            self._pieces.append(part)

    def text(self) -> str:
        """Return the collected text, with a note on what was dropped."""
        text = "".join(self._pieces)
        if not self._dropped:
            return text
        return f"{text}\n[{self._dropped} more characters were dropped: print less]"


def print_last_value(code: str) -> str:
    r"""Return the code with its last value printed, as in notebooks; unchanged if it does not parse.

    The value is printed where the code runs, so that a huge one never leaves.

    >>> print(print_last_value("x = 2\nx * 3"))
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
