"""Detect that a program asks for input, so that the model is told how to answer it."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from toolkeel.executors.memory_used import list_tree

_NO_TERMINAL = re.compile(
    r"terminal is required|no tty present|is not a tty|could not read (?:Username|Password)"
    r"|terminal prompts disabled|Host key verification failed|EOF when reading a line"
    r"|EOFError|cannot open /dev/tty|/dev/tty: No such device|askpass",
    re.IGNORECASE,
)
_FULL_SCREEN = re.compile(
    r"(?:input|output) is not (?:from|to) a terminal|failed tty get|error opening terminal"
    r"|must be (?:run|attached to) (?:in |from )?a (?:terminal|tty)",
    re.IGNORECASE,
)
_READ_COMMAND = re.compile(
    r"\A(?:[^|<]*(?:[;&\n({]|\b(?:do|then|if|while|until)\s))?\s*"
    r"read\s+(?:-\w+\s+)*?-\w*p\s*(?P<quote>['\"])(?P<prompt>[^|<]*?)(?P=quote)[^|<]*\Z"
)
_READ_CALLS = {b"0", b"63"}  # the numbers of read: on x86-64, on ARM
_PROMPT = re.compile(
    r"(?:[\[(](?:y|n|yes|no)(?:\s*/[^\])]*)?[\])]\s*[?:]?"
    r"|(?:password|passphrase|username|login|token)[^\n]{0,60}:"
    r"|:\s*\([^)\n]*\)|\?|[\w)\]'\"]:|\A(?:>>>|[^<>\n]{0,80}[>$#]))\s*\Z",
    re.IGNORECASE,
)
MAX_PROMPT = 200
"""Characters of a line that may be a prompt; a longer one is output."""
MAX_COMMAND = 1000
"""Characters of a command in which ``read`` is looked for."""
MAX_OUTPUT = 4000
"""Characters at the end of the output that are searched for complaints about a missing terminal."""
_NEEDS_TERMINAL = (
    "It seems to need a terminal, and commands have none. Use a program that works line by line: the "
    "tools read and edit instead of an editor, an option such as -m for a message, --batch or --no-pager."
)


def find_prompt(text: str) -> str:
    r"""Return the last line of output if it looks like a question to a person, or an empty text.

    Args:
        text: Output. A line that has ended is none.

    >>> find_prompt("Need to install: create-vite@6\nOk to proceed? (y) ")
    'Ok to proceed? (y)'
    >>> find_prompt("Overwrite? [y/N] "), find_prompt("Password: "), find_prompt("done.")
    ('Overwrite? [y/N]', 'Password:', '')
    """
    line = text.rpartition("\n")[2]
    is_prompt = bool(line.strip()) and len(line) <= MAX_PROMPT and _PROMPT.search(line) is not None
    return line.strip() if is_prompt else ""


def reads_input(process: int) -> bool:
    """Return True if a process, or one that it started, waits to read its standard input.

    False where ``/proc`` does not show it.

    Args:
        process: The id of the process.
    """
    tree = list_tree(process)
    stdin = next((name for each in tree if (name := _name_stdin(each))), "")
    return any(_name_stdin(each) == stdin and _is_reading(each) for each in tree if stdin)


def _name_stdin(process: int) -> str:
    """Return the kernel's name of the pipe that is a process's standard input; empty for no pipe."""
    with suppress(OSError):
        name = os.readlink(f"/proc/{process}/fd/0")
        return name if name.startswith(("pipe:", "socket:")) else ""
    return ""


def _is_reading(process: int) -> bool:
    with suppress(OSError, ValueError):
        number, descriptor, *_ = Path(f"/proc/{process}/syscall").read_bytes().split()
        return number in _READ_CALLS and descriptor == b"0x0"
    return False


def describe_wait(process: int, text: str, line: str) -> str:
    """Return a sentence about the input that a running command waits for; empty if it waits for none.

    Args:
        process: The id of its process.
        text: Its output since the last look.
        line: Its last line of output, which has not ended.
    """
    if _FULL_SCREEN.search(text):
        return _NEEDS_TERMINAL
    if reads_input(process):
        asked = line.strip()[-MAX_PROMPT:]
        return f"It seems to wait for input{f': {asked!r}' * bool(asked)}."
    asked = find_prompt(line)
    return f"It seems to wait for input: {asked!r}." if asked else ""


def explain_no_input(line: str, text: str, failed: bool) -> str:
    """Return a notice for a command that asked for input and got none; empty if it did not.

    Args:
        line: The command, which had no input.
        text: Its output.
        failed: True if it failed.
    """
    if failed and _FULL_SCREEN.search(text):
        return _NEEDS_TERMINAL.removesuffix(".")
    silent = _READ_COMMAND.search(line) if len(line) <= MAX_COMMAND else None
    asked = silent["prompt"] if silent else find_prompt(text)
    if not silent and (not failed or not (asked or _NO_TERMINAL.search(text[-MAX_OUTPUT:]))):
        return ""
    about = f" ({asked})" if asked else ""
    return (
        f"It seems to have asked for input{about}, and commands have none. Use an option such as "
        "--yes or a file of answers, or start it with background=true and answer with job"
    )
