"""Exit codes, and the usage mistakes that `main` turns into one of them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

OK = 0
FAILED = 1
"""The tool or the model failed, or the run ended without an answer."""
USAGE = 2
"""The command line itself is wrong."""
SETUP = 3
"""What it names cannot be used: a bad target, an unknown model, a missing package."""
SUSPENDED = 75
"""Calls wait for a person's approval: ``EX_TEMPFAIL`` of sysexits.h."""
INTERRUPTED = 130
UNREAD = 141
TERMINATED = 143
"""Ctrl-C, SIGPIPE, SIGTERM: 128 and the signal's number, as shells count."""

EPILOG = (
    "Exit codes: 0 done, 1 the tool or the model failed, 2 wrong usage, 3 a target, model or "
    "package cannot be used, 75 calls wait for approval, 130 interrupted, 141 no reader of stdout, "
    "143 terminated."
)
OPTIONS: dict[str, Any] = {
    "no_args_is_help": True,
    "add_completion": False,
    "rich_markup_mode": None,
    "epilog": EPILOG,
}
"""Of a group of commands."""


class UsageProblem(Exception):
    """The command line is wrong in a way that only the command itself can see."""


def too_many_words(command: str, words: Sequence[str]) -> UsageProblem:
    """Make the error for words that are no option where one prompt, or nothing, was expected.

    >>> str(too_many_words("run", ["what", "is", "2+2"]))
    "the prompt is one word for the shell, in quotes: toolkeel run 'what is 2+2'"
    >>> str(too_many_words("run", ["my_tools.py", "add 2 and 3"]))
    "tools go with -t: toolkeel run 'add 2 and 3' -t my_tools.py"
    """
    targets = [word for word in words if word.partition(":")[0].endswith((".py", ".json"))]
    prompt = " ".join(word for word in words if word not in targets)
    command_line = shlex.join(
        ["toolkeel", command, *([prompt] if prompt and command == "run" else [])]
    )
    if targets:
        return UsageProblem(f"tools go with -t: {command_line} {shlex.join(['-t', *targets])}")
    if command == "run":
        return UsageProblem(f"the prompt is one word for the shell, in quotes: {command_line}")
    return UsageProblem(f"{command} takes options alone, then what you type: {command_line}")
