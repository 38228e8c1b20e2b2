"""What a person has permitted for a session beyond one call: to list, and to take back."""

from __future__ import annotations

from toolkeel._records.entries import Permitted
from toolkeel._records.taint_sources import REVOKED, SESSION, Permit
from toolkeel.sessions.journal_state import JournalState
from toolkeel.sessions.session import Session
from toolkeel.sessions.sessions import Sessions


def session_permits(session: Session) -> list[Permit]:
    """Return the permits of a session, the oldest first; empty if it does not exist."""
    permits = session.load_state().permits if session.exists else ()
    return [permit for permit in permits if permit.reach == SESSION]


def revoke_permit(sessions: Sessions, name: str, permit: Permit, *, scope: str = "") -> None:
    """Take a permit of a session back: from the next run on its calls need approval again.

    It writes an entry to the session also if the session has no such permit.

    Raises:
        SessionBusy: a run of the session is active. SessionError: it cannot be written.
    """

    def revoked(state: JournalState) -> list[Permitted]:
        """Return the entry that takes the permit back."""
        return [Permitted(state.last_run.run, REVOKED, permit.name, permit.value)]

    sessions.append(name, revoked, scope=scope)
