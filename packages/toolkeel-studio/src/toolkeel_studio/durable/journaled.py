"""One durable run, as the journal of its session knows it.

The engine may start a run twice: a worker died, or another took over. So the state of a run is in the
journal alone. Its prompt carries the run's id and is posted once. Calls with an outcome do not run
again. How the run ended is read from the entries.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final

from pydantic_core import to_json

from toolkeel._records.entries import (
    CallEnded,
    ModelReplied,
    Queued,
    RunBegan,
    RunEnded,
    Steered,
    Unqueued,
)
from toolkeel._records.record import record
from toolkeel.agent.agent import Agent
from toolkeel.sessions.errors import SessionError
from toolkeel.sessions.journal import StoredEntry
from toolkeel.sessions.session import Session
from toolkeel.sessions.sessions import Sessions
from toolkeel_studio.durable.orders import DECIDED, RETRY, RunOrder

WITH_TEXT: Final = ("answered", "returned")
"""Ends of a run that has an answer."""


@record
class DurableResult:
    """The result of a durable run.

    Args:
        id: Id of the run.
        session: Name of its session.
        reason: As `RunResult.reason`; ``waiting`` if a person must decide first.
        text: The answer as text; JSON if an output type is set.
        error: What went wrong, if anything.
        scope: Scope of the session.
    """

    id: str
    session: str
    reason: str
    text: str = ""
    error: str = ""
    scope: str = ""


async def run_order(
    agent: Agent[Any, Any], sessions: Sessions, order: RunOrder, options: dict[str, Any]
) -> dict[str, str]:
    """Run an order to its end, or resume it.

    Args:
        agent: The agent.
        sessions: The sessions.
        order: The order.
        options: Options of `Agent.run`.

    Returns:
        Reason, text and error of the end.

    Raises:
        SessionError: the session cannot be read or written now; try again.
    """
    session = sessions.open(order["session"], order["scope"])
    session.resumes_only = True  # a run that is canceled meanwhile does not continue
    if (ended := await asyncio.to_thread(_deliver_prompt, session, order)) is not None:
        return ended
    try:
        result = await agent.run(None, session=session, **options)
    except SessionError:
        if (ended := await asyncio.to_thread(_end, session, order)) is None:
            raise
        return ended
    except Exception as problem:  # it is in the journal, if the run had started
        return _end_fields("failed", error=f"{type(problem).__name__}: {problem}")
    return _end_fields(result.reason, result.output if result.has_output else "", result.limit)


def current_end(sessions: Sessions, order: RunOrder) -> dict[str, str] | None:
    """Return how the run of an order has ended according to the journal, or None if it has not."""
    session = sessions.open(order["session"], order["scope"])
    return _end(session, order) if session.exists else None


def stored_entries(sessions: Sessions, order: RunOrder) -> list[StoredEntry]:
    """Return the entries of an order's session since the order was made."""
    return _entries(sessions.open(order["session"], order["scope"]), order)


def is_delivered(sessions: Sessions, order: RunOrder) -> bool:
    """Return True if the prompt of an order is in its session, taken by a run or not."""
    session = sessions.open(order["session"], order["scope"])
    if order["prompt"] is None or not session.exists:
        return False
    posted = any(message.who == order["id"] for message in session.inbox)
    return posted or _message_of(_entries(session, order), order) is not None


def cancel_order(sessions: Sessions, order: RunOrder, reason: str) -> None:
    """Cancel the run of an order, in any condition: queued, active or waiting.

    Its prompt is posted first if it was not, so that a worker that starts it later finds it withdrawn.
    """
    session = sessions.open(order["session"], order["scope"])
    if order["prompt"] is None:
        session.cancel(reason)
    else:
        session.say_once(order["prompt"], order["id"], order["since"])
        session.cancel_message(order["id"], reason)


def _end_fields(reason: str, answer: object = "", error: str = "") -> dict[str, str]:
    text = answer if isinstance(answer, str) else to_json(answer, fallback=str).decode()
    return {"reason": reason, "text": text, "error": error}


def _deliver_prompt(session: Session, order: RunOrder) -> dict[str, str] | None:
    """Post the prompt once. Return how the run has ended if it has."""
    if order["prompt"] is None:
        return (
            None if session.exists else _end_fields("failed", error=f"no session {session.name!r}")
        )
    if session.say_once(order["prompt"], order["id"], order["since"]):
        return None
    return _end(session, order)


def _entries(session: Session, order: RunOrder) -> list[StoredEntry]:
    return session.entries(order["since"]) if session.exists else []


def _message_of(entries: Sequence[StoredEntry], order: RunOrder) -> Queued | None:
    """Return the entry that took the prompt of an order from the inbox, or None."""
    found = (e.entry for e in entries if isinstance(e.entry, Queued) and e.entry.who == order["id"])
    return next(found, None)


def _joined(entries: Sequence[StoredEntry], taken: Queued) -> Steered | Unqueued | None:
    """Return the entry by which a message joined a run or was withdrawn, or None."""
    found = (e.entry for e in entries if isinstance(e.entry, Steered | Unqueued))
    return next((each for each in found if each.id == taken.id), None)


def _end(session: Session, order: RunOrder) -> dict[str, str] | None:
    """Return how the run that took the order has ended, or None if it has not."""
    entries = _entries(session, order)
    if order["prompt"] is None:
        fold = session.load_state()
        run = _resumed_run(entries, order) or fold.last_run.run
        if not entries and fold.reason not in ("", "waiting"):  # another process has continued it
            text = fold.view.messages[-1].text if fold.reason in WITH_TEXT else ""
            return _end_fields(fold.reason, text)
    elif (taken := _message_of(entries, order)) is None:
        return None
    elif (joined := _joined(entries, taken)) is None or isinstance(joined, Unqueued):
        return None if joined is None else _end_fields("cancelled")
    else:
        run = joined.run
    return _end_of_run(entries, run)


def _resumed_run(entries: Sequence[StoredEntry], order: RunOrder) -> str:
    """Return the run that a decision or a retry has resumed, if another has begun since; else an empty text."""
    if not order["id"].startswith((DECIDED, RETRY)):
        return ""  # it may have been queued while yet another run was active
    ended = ""
    for each in (stored.entry for stored in entries):
        if isinstance(each, RunEnded):
            ended = each.run
        elif isinstance(each, RunBegan) and not each.parent:
            return ended or each.run
    return ""


def _end_of_run(entries: Sequence[StoredEntry], run: str) -> dict[str, str] | None:
    """Return how a run has ended by its entries, or None if it has not, or has continued since."""
    end: dict[str, str] | None = None
    text = ""
    for each in (s.entry for s in entries if getattr(s.entry, "run", None) == run):
        match each:
            case RunBegan():
                end = None
            case ModelReplied(message=message):
                end, text = None, message.text or text
            case CallEnded(message=result):
                text = result.text
            case RunEnded(reason=reason, error=error):
                end = _end_fields(reason, text if reason in WITH_TEXT else "", error)
    return end
