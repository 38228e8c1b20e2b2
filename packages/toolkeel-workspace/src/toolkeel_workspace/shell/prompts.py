"""Detect that a program asks for input, so that the model is told how to answer it."""

from __future__ import annotations

import re

_NO_TERMINAL = re.compile(
    r"terminal is required|no tty present|is not a tty|could not read (?:Username|Password)"
    r"|terminal prompts disabled|Host key verification failed|EOF when reading a line"
    r"|(?:input|output) is not (?:from|to) a terminal|EOFError|cannot open /dev/tty|/dev/tty: No such device|askpass",
    re.IGNORECASE,
)
_PROMPT = re.compile(
    r"(?:[\[(](?:y|n|yes|no)(?:\s*/[^\])]*)?[\])]\s*[?:]?"
    r"|(?:password|passphrase|username|login|token)[^\n]{0,60}:"
    r"|:\s*\([^)\n]*\)|\?|[\w)\]'\"]:|\A(?:>>>|[^<>\n]{0,80}[>$#]))\s*\Z",
    re.IGNORECASE,
)
MAX_PROMPT = 200
"""Characters of a line that may be a prompt; a longer one is output."""


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


def explain_no_input(text: str, failed: bool) -> str:
    """Return a notice for a command that asked for input and got none; empty if it did not.

    Args:
        text: The output of a command that had no input.
        failed: True if it failed.
    """
    asked = find_prompt(text)
    if not failed or not (asked or _NO_TERMINAL.search(text[-4000:])):
        return ""
    about = f" ({asked})" if asked else ""
    return (
        f"It seems to have asked for input{about}, and commands have none. Use an option such as "
        "--yes or a file of answers, or start it with background=true and answer with job"
    )
