"""How a command ends: its exit codes, and the mistake that `main` turns into one of them."""

from __future__ import annotations

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
"""Ctrl-C: 128 and the signal's number, as shells count."""

EPILOG = (
    "Exit codes: 0 done, 1 the tool or the model failed, 2 wrong usage, 3 a target, model or "
    "package cannot be used, 75 calls wait for approval, 130 interrupted."
)


class UsageProblem(Exception):
    """The command line is wrong in a way that only the command itself can see."""
