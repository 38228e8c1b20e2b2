"""What goes wrong with sessions is for the developer, and one handler catches it."""

from __future__ import annotations

from toolkeel import SetupError
from toolkeel.sessions.errors import SessionBusy, SessionError


def test_who_catches_setup_errors_catches_those_of_sessions_too() -> None:
    assert issubclass(SessionBusy, SessionError)
    assert issubclass(SessionError, SetupError)
