"""Agents and sessions for the tests of this chapter."""

from __future__ import annotations

from toolkeel import Agent, tool
from toolkeel.agent.result import RunResult
from toolkeel.sessions import Session, Sessions
from toolkeel.sessions.journal import SessionJournal, load_state
from toolkeel.testing.scripted import Line, Scripted


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def agent(*lines: Line, tools: tuple[object, ...] = (add,)) -> Agent:
    """One that answers with these lines."""
    return Agent(Scripted(lines), list(tools))  # type: ignore[arg-type]


def say(session: Session, text: str, *lines: Line) -> RunResult:
    """One turn of a session."""
    return agent(*lines).run_sync(text, session=session)


def opened(sessions: Sessions, name: str = "ada") -> SessionJournal:
    """The journal of a session, for its writer."""
    session = sessions[name]
    info, kept = session._find_or_make(), session._storage
    fold = load_state(kept.store, info)
    return SessionJournal(kept.store, info, fold)
