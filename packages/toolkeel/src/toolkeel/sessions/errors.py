"""What can go wrong with sessions; for the developer."""

from __future__ import annotations

from toolkeel.errors import SetupError


class SessionError(SetupError):
    """Raised if a session is missing, or cannot be read or written. The message says why."""


class SessionBusy(SessionError):
    """Raised if another run, often of another process, writes to the session, which the message names."""


class SessionIdle(SessionError):
    """Raised if a run without a prompt finds nothing to do in the session."""


class SessionUnavailable(SessionError):
    """Raised if the database of the sessions cannot be reached now. The same may succeed later."""


class LaterTables(SessionError):
    """Raised if a later version of toolkeel has changed the tables. Only an upgrade helps."""


class DecisionRefused(SessionError):
    """Raised for a decision that cannot count in the session. The message says why."""
