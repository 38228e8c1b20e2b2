"""Running a shell command for a model: live output, bounded text, and nothing left behind."""

from __future__ import annotations

import codecs
import os
import tempfile
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from toolwright.builtin.window import MAX_BYTES, MAX_LINES, human
from toolwright.engines.running import Finished
from toolwright.engines.sandbox import Sandbox
from toolwright.errors import ToolError
from toolwright.messages import ToolOutput

TIMEOUT = 120.0
"""Seconds a command may take unless it is said otherwise."""
MAX_TIMEOUT = 600.0
"""Most seconds that may be asked for."""
OUTPUT = "output:"
"""What the name of a command's whole output begins with, for a tool that reads it."""
MAX_OUTPUT = 64 << 20
"""Bytes of output after which a command is ended."""


class Tail:
    """Output as it comes: the end of it in memory, all of it in a file once it is long.

    Args:
        tell: Given the last lines, each time there are more.
        folder: Where the file is made.
    """

    def __init__(self, tell: Callable[[str], object], folder: str | None = None) -> None:
        self._tell = tell
        self._folder = folder
        self._pieces: deque[bytes] = deque()
        self._kept = 0
        self._file: BinaryIO | None = None
        self.path = ""
        self.bytes = 0
        self.newlines = 0
        self.last = b""

    def add(self, piece: bytes) -> None:
        """Take the next piece of output."""
        if not piece:
            return
        self.bytes += len(piece)
        self.newlines += piece.count(b"\n")
        self.last = piece[-1:]
        if self._file is None and self.bytes > MAX_BYTES:
            self._spill()
        self._pieces.append(piece)
        self._kept += len(piece)
        if self._file is not None:
            self._file.write(piece)
        while self._kept - len(self._pieces[0]) > 2 * MAX_BYTES:
            self._kept -= len(self._pieces.popleft())
        self._tell(self._recent())

    def _spill(self) -> None:
        descriptor, self.path = tempfile.mkstemp(prefix="output-", suffix=".txt", dir=self._folder)
        self._file = os.fdopen(descriptor, "wb")
        self._file.writelines(self._pieces)

    def _recent(self) -> str:
        end = b"".join(list(self._pieces)[-4:])[-2000:]
        return "\n".join(end.decode("utf-8", "replace").splitlines()[-5:])

    @property
    def lines(self) -> int:
        """How many lines there were."""
        return self.newlines + (self.last not in (b"", b"\n"))

    def close(self) -> None:
        """Close the file, if there is one, and drop it if all of it is shown anyway."""
        if self._file is not None:
            self._file.close()
            self._file = None
        whole = self.bytes <= MAX_BYTES and self.lines <= MAX_LINES
        if self.path and whole:
            with suppress(OSError):
                Path(self.path).unlink()
            self.path = ""

    def text(self) -> tuple[str, str]:
        """The last lines that may be shown, and a notice of what was left out, or nothing."""
        data = b"".join(self._pieces)
        lines = data.split(b"\n")
        ends = lines[-1] == b""
        body = lines[:-1] if ends else lines
        kept: deque[bytes] = deque()
        used = 0
        for line in reversed(body[-MAX_LINES:]):
            used += len(line) + 1
            if used > MAX_BYTES:
                break
            kept.appendleft(line)
        if body and not kept:
            return self._end_of_line(body[-1])
        text = b"\n".join(kept).decode("utf-8", "replace")
        if len(kept) == self.lines:
            return text, ""
        first = self.lines - len(kept) + 1
        return text, f"Lines {first} to {self.lines} of {self.lines} are shown{self._where()}"

    def _end_of_line(self, line: bytes) -> tuple[str, str]:
        end = line[-MAX_BYTES:]
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        start = next((i for i in range(min(4, len(end))) if end[i] & 0xC0 != 0x80), 0)
        text = decoder.decode(end[start:], True)
        return text, f"The last {human(len(end))} of line {self.lines} are shown{self._where()}"

    def _where(self) -> str:
        return f" ({human(self.bytes)} in all). All of it: {self._name()}" if self.path else "."

    def _name(self) -> str:
        if self._folder is None:
            return self.path
        return f'read(path="{OUTPUT}{Path(self.path).name}")'


async def run_command(
    sandbox: Sandbox,
    words: list[str],
    *,
    timeout: float | None = None,
    cwd: str | None = None,
    tail: Tail | None = None,
) -> ToolOutput:
    """Run a command to its end and say what came of it.

    Args:
        sandbox: What it may do.
        words: The command.
        timeout: Seconds; `TIMEOUT` by default, `MAX_TIMEOUT` at most.
        cwd: Where it starts.
        tail: What takes its output.

    Raises:
        ToolError: if it failed, was killed, or took too long: its output first, then why.
    """
    allowed = min(TIMEOUT if timeout is None else timeout, MAX_TIMEOUT)
    if allowed <= 0:
        raise ToolError("timeout counts from 1, in seconds.")
    tail = tail or Tail(lambda text: None)
    try:
        finished = await sandbox.run(
            words, timeout=allowed, cwd=cwd, sink=tail.add, max_output=MAX_OUTPUT
        )
    except OSError as error:
        raise ToolError(f"The command could not be started: {error.strerror}.") from None
    finally:
        tail.close()
    text, notice = tail.text()
    details: dict[str, object] = {
        "exit_code": finished.code,
        "signal": finished.signal or None,
        "ended": finished.ended,
        "seconds": round(finished.seconds, 3),
        "total_bytes": tail.bytes,
        "total_lines": tail.lines,
        "truncated": bool(notice),
        "full_output_path": tail.path or None,
        "sandbox": sandbox.backend,
    }
    why = _why(finished, allowed)
    parts = [text, f"[{notice}]" if notice else "", why]
    shown = "\n\n".join(part for part in parts if part)
    if why:
        raise ToolError(shown, details)
    return ToolOutput(shown or "(no output)", details=details)


def _why(finished: Finished, allowed: float) -> str:
    """Why it counts as failed; empty if it does not."""
    if finished.ended == "timeout":
        return f"Command timed out after {allowed:g} seconds; it and all it started were killed."
    if finished.ended == "output":
        return f"Command was killed after {human(MAX_OUTPUT)} of output."
    if finished.ended == "memory":
        return "Command was killed: its processes took more memory than they may have together."
    if finished.signal:
        return f"Command was killed by {finished.signal} (exit code {finished.code})."
    return f"Command exited with code {finished.code}." if finished.code else ""


def shell_words(command: str) -> list[str]:
    """The words that run a line of shell: in bash where there is one."""
    bash = next((path for path in ("/bin/bash", "/usr/bin/bash") if os.path.exists(path)), "")
    return [bash or "/bin/sh", "-c", command]
