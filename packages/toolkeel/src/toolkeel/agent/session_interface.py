"""The session as an agent uses it, without knowing its implementation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol, TypeAlias

from toolkeel._records.record import record
from toolkeel._records.tickets import Decision, Ticket
from toolkeel.agent.history import HistoryPolicy, ShortenedTranscript
from toolkeel.agent.run_state import InnerRun, RunState
from toolkeel.context import RunContext
from toolkeel.errors import SetupError
from toolkeel.events import EndReason
from toolkeel.messages import Message
from toolkeel.model_interface import find_session

JOURNAL_KEY = b"within a session"
"""Signs the runs within a waiting one in its journal, which only its owner can write."""


@record
class SessionStart:
    """The state of a session from which a run starts.

    Args:
        state: The transcript so far, and what waits.
        new_messages: The person's new messages.
        decisions: Decisions that match waiting calls.
        pending: Undecided tickets: if there are any, the run does nothing and waits.
        history: The session's history policy, for agents without one.
        full_transcript: The complete conversation, to read omitted parts.
        ended: Why the last run ended, if there is nothing to do: this run only repeats its result.
    """

    state: RunState
    new_messages: Sequence[Message]
    decisions: Sequence[Decision]
    pending: tuple[Ticket, ...] = ()
    history: HistoryPolicy | None = None
    full_transcript: ShortenedTranscript | None = None
    ended: EndReason | None = None


def dump_inner_runs(left: RunState) -> str:
    """Return as JSON what journal entries lack of a waiting run's inner runs.

    That is the counts of its limits, and the decisions that approved calls with waiting inner runs.
    """
    return RunState((), (), _keep_approvals(left.inner), counts=left.counts).to_json(JOURNAL_KEY)


def _keep_approvals(inner: Mapping[str, InnerRun]) -> dict[str, InnerRun]:
    """Return the inner runs with their approvals and counts only, without transcripts."""
    states = {id: RunState((), (), _keep_approvals(each.state.inner)) for id, each in inner.items()}
    return {id: InnerRun(states[id], each.decision) for id, each in inner.items()}


class Place(Protocol):
    """A run's place in the order of a session's runs; a context manager that leaves it at the end."""

    def __enter__(self) -> Place: ...
    def __exit__(self, *_: object) -> None: ...

    async def wait(self) -> None:
        """Wait until the runs before this one wait for the session's lock, or have left."""

    def leave(self) -> None:
        """Let the next run continue. May be repeated."""


class Conversation(Protocol):
    """A session, as the agent's loop uses it."""

    def take_place(self) -> Place:
        """Take the next place in the order of the session's runs in this process, for `open_run`.

        Raises:
            SetupError: Python is ending.
        """
        ...

    def open_run(
        self,
        run: RunContext,
        said: Sequence[Message],
        decisions: Sequence[Decision],
        place: Place | None = None,
    ) -> AbstractAsyncContextManager[SessionStart]:
        """Lock the session for a run that continues it.

        Args:
            run: Receives its id, state and recorder from the session.
            said: The person's messages; empty to resume what waits.
            decisions: Decisions for waiting calls.
            place: The run's place; by default it takes the next one when the context is entered.

        Raises:
            SetupError: another run has the session, there is nothing to do in it, or it cannot be
                read or written; at the end of the context, if its last entries cannot be.
        """
        ...


SessionReference: TypeAlias = str | Path | Conversation
"""A session by its name in the user's data folder, by the path of its file, or itself."""


def resolve_session(named: SessionReference) -> Conversation:
    """Return the session for a name, a path or a session object.

    Raises:
        SetupError: the value is none of these.
    """
    if isinstance(named, str | Path):
        found: Conversation = find_session(named)
        return found
    if not hasattr(named, "open_run"):
        kind = type(named).__name__  # a `Sessions` holds many
        what = "give its name, a path, or one of Sessions(...): sessions['ada']"
        raise SetupError(
            f"{kind if hasattr(named, 'fork') else repr(named)[:80]} is no session; {what}"
        )
    return named
