"""What an agent asks of a session, so that it need not know what one is."""

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
from toolkeel.messages import Message
from toolkeel.model_interface import find_session

SAVED = b"within a session"
"""Signs the runs within a waiting one in its journal, which only its owner can write."""


@record
class Going:
    """Where a run of a session begins.

    Args:
        state: What was said so far, and what waits.
        said: What the person says now.
        decisions: Those that count for what waits.
        pending: What nobody has decided: the run waits for it, and does nothing.
        history: Says what of it the model is still shown, if the agent has no policy of its own.
        whole: All of the conversation, for who reads what is not shown.
    """

    state: RunState
    said: Sequence[Message]
    decisions: Sequence[Decision]
    pending: tuple[Ticket, ...] = ()
    history: HistoryPolicy | None = None
    whole: ShortenedTranscript | None = None


def inner_saved(left: RunState) -> str:
    """What a journal keeps of a run that waits beside its entries: what its limits have counted, and
    by which decisions the calls were let through that wait because runs within them do.
    """
    return RunState((), (), _let(left.inner), counts=left.counts).to_json(SAVED)


def _let(inner: Mapping[str, InnerRun]) -> dict[str, InnerRun]:
    states = {id: RunState((), (), _let(each.state.inner)) for id, each in inner.items()}
    return {id: InnerRun(states[id], each.decision) for id, each in inner.items()}


class Conversation(Protocol):
    """A session, as an agent sees it."""

    def going(
        self, run: RunContext, said: Sequence[Message], decisions: Sequence[Decision]
    ) -> AbstractAsyncContextManager[Going]:
        """Become its one writer for a run, which goes on from where the last one ended.

        Args:
            run: Takes its id, state and recorder from the session.
            said: What the person says; nothing, to go on with what waits.
            decisions: For calls that wait.
        """
        ...


Named: TypeAlias = str | Path | Conversation
"""A session by its name in the user's data folder, by the path of its file, or itself."""


def conversation(named: Named) -> Conversation:
    """The session that is meant.

    Raises:
        SetupError: nothing of that kind is a session.
    """
    if isinstance(named, str | Path):
        found: Conversation = find_session(named)
        return found
    if not hasattr(named, "going"):
        kind = type(named).__name__  # a `Sessions` holds many
        what = "give its name, a path, or one of Sessions(...): sessions['ada']"
        raise SetupError(
            f"{kind if hasattr(named, 'fork') else repr(named)[:80]} is no session; {what}"
        )
    return named
