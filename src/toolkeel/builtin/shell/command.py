"""Running a shell command for a model: live output, bounded text, and nothing left behind."""

from __future__ import annotations

import asyncio
import codecs
import copy
import functools
import os
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, BinaryIO

from toolkeel._records.kept_results import KEPT, KeptResults
from toolkeel.builtin.files.line_window import MAX_BYTES, MAX_LINES, human
from toolkeel.builtin.shell.git_identity import git_identity
from toolkeel.builtin.shell.terminal_output import TerminalOutput
from toolkeel.call.body.stopped_text import told
from toolkeel.context import ToolContext
from toolkeel.effects import Effects, Resource
from toolkeel.engines.process_tree import Finished, NotStarted
from toolkeel.engines.sandbox.confine import Sandbox
from toolkeel.engines.sandbox.secret_files import SecretFiles
from toolkeel.errors import Cancelled, ToolError
from toolkeel.messages import ToolOutput

TIMEOUT = 120.0
"""Seconds a command may take unless it is said otherwise."""
MAX_TIMEOUT = 600.0
"""Most seconds that may be asked for."""
PLAIN = {"TERM": "dumb", "NO_COLOR": "1", "PAGER": "cat", "GIT_PAGER": "cat"}
"""Variables that tell programs there is no terminal."""
MAX_OUTPUT = 64 << 20
"""Bytes of output after which a command is ended."""


class Tail:
    """Output as it comes: the end of it in memory, all of it in a file once it is long.

    What only a terminal understands is taken out first, see `TerminalOutput`.

    Args:
        tell: Given the last lines, each time there are more.
        kept: Where long output is kept.
    """

    def __init__(self, tell: Callable[[str], object], kept: KeptResults = KEPT) -> None:
        self._tell = tell
        self._results = kept
        self._plain = TerminalOutput()
        self._pieces: deque[bytes] = deque()
        self._kept = 0
        self._file: BinaryIO | None = None
        self._lost = False
        self.name = ""
        self.bytes = 0
        self.newlines = 0
        self.last = b""

    def add(self, piece: bytes) -> None:
        """Take the next piece of output."""
        self._take(self._plain.feed(piece))
        self._tell(self._recent())

    def _take(self, piece: bytes) -> None:
        if not piece:
            return
        self.bytes += len(piece)
        self.newlines += piece.count(b"\n")
        self.last = piece[-1:]
        self._pieces.append(piece)
        self._kept += len(piece)
        if self._file is not None:
            self._spill([piece])
        elif not self._lost and (self.bytes > MAX_BYTES or self.newlines > MAX_LINES):
            self._begin()
        while self._kept - len(self._pieces[0]) > 2 * MAX_BYTES:
            self._kept -= len(self._pieces.popleft())

    def _begin(self, spare: bool = False) -> None:
        """Begin to keep all of it."""
        try:
            self.name, self._file = self._results.create(spare=spare)
        except OSError:
            self._lost = True
        else:
            self._spill(list(self._pieces))

    def _spill(self, pieces: list[bytes]) -> None:
        """Write on; if the disk is full, elsewhere, and if that is full, too, no more."""
        assert self._file is not None
        place = self._file.tell()
        try:
            self._file.writelines(pieces)
            self._file.flush()
        except OSError:
            full, name = self._file, self.name
            try:
                self.name, self._file = self._results.create(spare=True)
                full.seek(0)
                self._file.write(full.read(place))
                self._file.writelines(pieces)
                self._file.flush()
            except OSError:
                self._lost = True
                self._results.drop(name)
                self._results.drop(self.name)
                self.name, self._file = "", None
            else:
                self._results.drop(name)
            with suppress(OSError):
                full.close()

    def _recent(self) -> str:
        end = (b"".join(list(self._pieces)[-4:]) + self._plain.line)[-2000:]
        return "\n".join(end.decode("utf-8", "replace").splitlines()[-5:])

    @property
    def lines(self) -> int:
        """How many lines there were."""
        return self.newlines + (self.last not in (b"", b"\n"))

    @property
    def path(self) -> str:
        """The file that holds all of it, if it is kept."""
        found = self._results.find(self.name) if self.name else None
        return str(found) if found else ""

    def close(self) -> None:
        """Close the file, if there is one, and drop it if all of it is shown anyway."""
        self._take(self._plain.end())
        if self._file is not None:
            self._file.close()
            self._file = None
            self._results.settle()
        if self.name and self.bytes <= MAX_BYTES and self.lines <= MAX_LINES:
            self._results.drop(self.name)
            self.name = ""

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
        """How much there is in all, and where."""
        size = f" ({human(self.bytes)} in all)"
        if self._lost:
            return f"{size}. The rest is lost: there was no room to keep it."
        if not self.name:
            return "."
        return f'{size}. All of it is kept: path="{self.name}"'


def without_terminal(sandbox: Sandbox) -> Sandbox:
    """The same sandbox, whose commands know that nobody looks at colours, and who commits."""
    made = copy.copy(sandbox)
    who = git_identity(sandbox.roots[0]) if sandbox.backend != "none" else {}
    made.env = {**PLAIN, **who, **sandbox.env}
    return made


async def run_command(
    sandbox: Sandbox,
    words: list[str],
    *,
    timeout: float | None = None,
    cwd: str | None = None,
    tail: Tail | None = None,
    context: ToolContext[Any] | None = None,
) -> ToolOutput:
    """Run a command to its end and say what came of it.

    Args:
        sandbox: What it may do.
        words: The command.
        timeout: Seconds; `TIMEOUT` by default, `MAX_TIMEOUT` at most.
        cwd: Where it starts.
        tail: What takes its output.
        context: The call's; else what came until it is cancelled is told to nobody.

    Raises:
        ToolError: if it failed, was killed, or took too long: its output first, then why.
        Cancelled: if the run was: likewise.
    """
    allowed = min(TIMEOUT if timeout is None else timeout, MAX_TIMEOUT)
    if allowed <= 0:
        raise ToolError("timeout counts from 1, in seconds.")
    tail = tail or Tail(lambda text: None)
    read = _reading(sandbox, words, context)
    try:
        finished = await without_terminal(sandbox).run(
            words, timeout=allowed, cwd=cwd, sink=tail.add, max_output=MAX_OUTPUT
        )
    except NotStarted as error:
        raise ToolError(f"The command could not be started: {error.strerror}.") from None
    except asyncio.CancelledError:
        if context is None or not context.cancel.cancelled:
            raise
        raise _cancelled(tail, context, read) from None
    finally:
        tail.close()
    text, notice = tail.text()
    why = _why(finished, allowed)
    parts = [text, f"[{notice}]" if notice else "", why]
    shown = "\n\n".join(part for part in parts if part)
    details = {**_details(finished, tail, bool(notice), sandbox), **read(shown)}
    if why:
        raise ToolError(shown, details)
    return ToolOutput(shown or "(no output)", details=details)


def _reading(
    sandbox: Sandbox, words: list[str], context: ToolContext[Any] | None
) -> Callable[[str], dict[str, object]]:
    """What tells, of what a command said, which files with secrets it has read."""
    line = words[-1] if _TELLING in words else " ".join(words)
    name = context.tool_name if context else ""
    return functools.partial(SecretFiles.below(*sandbox.roots).read_by, line, tool=name)


def _cancelled(
    tail: Tail, context: ToolContext[Any], read: Callable[[str], dict[str, object]]
) -> Cancelled:
    """What is told of a command that was cancelled: its output so far first."""
    tail.close()
    text, notice = tail.text()
    stopped = told(context, "cancelled", None, "stopped")
    shown = "\n\n".join(filter(None, [text, notice and f"[{notice}]", stopped.text]))
    kept = {"truncated": bool(notice), "full_output_path": tail.path or None}
    return Cancelled(shown, {**stopped.details, **kept, **read(shown)})


def _details(
    finished: Finished, tail: Tail, truncated: bool, sandbox: Sandbox
) -> dict[str, object]:
    return {
        "exit_code": finished.code,
        "signal": finished.signal or None,
        "ended": finished.ended,
        "seconds": round(finished.seconds, 3),
        "total_bytes": tail.bytes,
        "total_lines": tail.lines,
        "truncated": truncated,
        "full_output_path": tail.path or None,
        "sandbox": sandbox.backend,
    }


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


def command_effects(sandbox: Sandbox) -> Effects:
    """What a command in a sandbox can do: it writes all of the roots, or reads them.

    Without walls it may touch any file.
    """
    walls = sandbox.backend != "none"
    roots = tuple(Resource(f"file:{root}") for root in sandbox.roots)
    reads = sandbox.mode == "read-only" and not sandbox.network
    outside = sandbox.network or not walls
    return Effects(read_only=reads, open_world=outside, resources=roots if walls else ("file:",))


def described(sandbox: Sandbox) -> str:
    """What a command has there, for the description of the tool that runs it."""
    if sandbox.backend == "none":
        return "It runs without a sandbox, with the person's own files and network."
    changes = "can be changed" if sandbox.mode == "workspace" else "can be read, not changed"
    roots = " and ".join(str(root) for root in sandbox.roots)
    network = "The network can be used." if sandbox.network else "There is no network."
    return (
        f"It runs in a sandbox: {roots} {changes}, the system's programs can be run. HOME and "
        f"TMPDIR are an empty folder that is gone when the command has ended. {network}"
    )


_TELLING = """exec 3>&2 2>/dev/null
"$0" -c "$1" 2>&3 3>&-
code=$? left=
for each in /proc/[0-9]*; do
  pid=${each#/proc/}
  [ "$pid" = 1 ] || [ "$pid" = $$ ] || {
    read -r state < "$each/stat" && read -r name < "$each/comm" || continue
    case $state in *") Z "*) ;; *) left="$left${left:+, }$name" ;; esac
  }
done
[ -z "$left" ] || printf '\\n[Still running when it had ended, and killed: %s]\\n' "$left"
exit $code
"""


def shell_words(command: str) -> list[str]:
    """The words that run a line of shell: in bash where there is one."""
    bash = next((path for path in ("/bin/bash", "/usr/bin/bash") if os.path.exists(path)), "")
    return [bash or "/bin/sh", "-c", command]


def telling_words(sandbox: Sandbox, command: str) -> list[str]:
    """The same, by a shell that says at the end what the command has left running.

    That can be told only where the command's processes are by themselves.
    """
    shell, option, line = shell_words(command)
    if sandbox.backend != "bubblewrap":
        return [shell, option, line]
    return [shell, option, _TELLING, shell, line]
