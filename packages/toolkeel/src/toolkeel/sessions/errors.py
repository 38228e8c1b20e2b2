"""What can go wrong with sessions; for the developer."""

from __future__ import annotations

from toolkeel.errors import SetupError


class SessionError(SetupError):
    """A session cannot be read or written, or is not there; the text says which and why."""


class SessionBusy(SessionError):
    """Somebody else writes to the session; the text says who."""
