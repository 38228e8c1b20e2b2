"""What somebody changed in a call before it ran."""

from __future__ import annotations

from collections.abc import Mapping

from toolkeel._records.record import record


@record
class Edit:
    """A change that somebody made to a call.

    Args:
        by: Who: ``a person``, ``the guard small``, ``a step``.
        arguments: All arguments afterwards, as JSON; secrets are masked.
        changes: What is different, one phrase each: ``amount from 500 to 5``.
        told: Whether the model is told: of steps it is not, which are part of the program.
    """

    by: str
    arguments: Mapping[str, object]
    changes: tuple[str, ...]
    told: bool = True
