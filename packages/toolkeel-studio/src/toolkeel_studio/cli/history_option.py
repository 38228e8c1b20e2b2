"""A history policy as people type it: ``turns:20`` or ``tokens:6000``."""

from __future__ import annotations

from typing import Annotated

import typer

from toolkeel.agent.history import HistoryPolicy
from toolkeel.sessions.history_policies import KeepTokens, KeepTurns
from toolkeel_studio.cli.exit_codes import UsageProblem

FORM = "turns:N|tokens:N"
HistoryOption = Annotated[
    str,
    typer.Option(
        "--history",
        metavar=FORM,
        help="How much of a long conversation the model is sent: its last turns, or tokens.",
    ),
]


def read_history(text: str) -> HistoryPolicy | None:
    """Return the policy that a text means, or None for "".

    Raises:
        UsageProblem: the text has another form.

    >>> read_history("turns:20").keep
    20
    """
    if not text:
        return None
    kind, _, number = text.partition(":")
    if kind not in ("turns", "tokens") or not number.isdecimal() or int(number) < 1:
        raise UsageProblem(f"--history {text!r}: expected {FORM}, such as turns:20 or tokens:6000")
    size = int(number)
    return KeepTurns(size, size) if kind == "turns" else KeepTokens(max(size, 2))
