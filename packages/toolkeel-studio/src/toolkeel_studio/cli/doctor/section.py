"""A section of ``toolkeel doctor``: a list of checks.

A section is a function without arguments that inspects one side of the machine, changes nothing,
never fails, and says how to get what is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias

from toolkeel._records.record import NOTHING, record

State = Literal["ok", "missing", "problem"]
"""``missing`` is nothing wrong: it is only not there; a ``problem`` will get in the way."""


@record
class Check:
    """One thing that was looked at.

    Args:
        name: What it is.
        state: How it is.
        text: What was found, on one line.
        next: What to do about it; empty if nothing has to be done.
        data: The same for programs.
    """

    name: str
    state: State
    text: str
    next: str = ""
    data: Mapping[str, object] = NOTHING


@record
class Section:
    """Checks that belong together.

    Args:
        title: Its heading.
        checks: In the order in which they are shown.
        next: What to do that no single check says.
    """

    title: str
    checks: Sequence[Check]
    next: Sequence[str] = ()


Look: TypeAlias = Callable[[], Section]
"""Makes a section."""
