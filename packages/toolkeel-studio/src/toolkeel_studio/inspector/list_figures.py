"""What pages read of complete sessions, each entry once: figures for the list, and definitions of tools."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import ClassVar, Generic, Protocol, TypeVar

from toolkeel._records.entries import Entry, ModelAsked, ModelReplied, RunBegan, RunEnded
from toolkeel.messages import Usage
from toolkeel.observe.stats import price_of_usage
from toolkeel.sessions.errors import SessionError, SessionUnavailable
from toolkeel.sessions.sessions import Sessions
from toolkeel.sessions.stores.store import SessionInfo


class EntryFold(Protocol):
    """A value that grows with the entries of a session.

    Attributes:
        kinds: Kinds of the entries that it takes; the others, such as results of calls, may be large.
    """

    kinds: ClassVar[tuple[str, ...]]

    def add(self, seq: int, entry: Entry) -> None:
        """Add the next entry of these kinds; `seq` is its number."""
        ...


F = TypeVar("F", bound=EntryFold)


class SessionReader(Generic[F]):
    """Values computed from sessions, each updated with what is new. Methods may be called from any thread.

    Args:
        sessions: The store of the sessions.
        make: Returns the value of a session without entries.
    """

    def __init__(self, sessions: Sessions, make: Callable[[], F]) -> None:
        self._sessions = sessions
        self._make = make
        self._known: dict[tuple[int, float], tuple[int, F]] = {}
        self._lock = threading.Lock()

    def read(self, info: SessionInfo) -> F:
        """Return the value up to the last entry of a session; what cannot be read is left out."""
        key = info.id, info.created
        with self._lock:
            head, value = self._known.get(key) or (0, self._make())
            if head < info.head:
                try:
                    session = self._sessions[info.name]
                    parts = [session.entries(head, info.head, kind) for kind in value.kinds]
                    for each in sorted((e for part in parts for e in part), key=lambda e: e.seq):
                        value.add(each.seq, each.entry)
                except SessionUnavailable:  # the next call reads it
                    return value
                except SessionError:  # deleted meanwhile, or an entry is damaged
                    pass
                self._known[key] = info.head, value
            return value

    def is_read(self, info: SessionInfo) -> bool:
        """Return True if `read` has read the session before, and so would not take long."""
        return (info.id, info.created) in self._known


class SessionFigures:
    """What the list of sessions shows of one besides its facts.

    Attributes:
        usage: Token usage by model, nested runs included.
        error: Why the last run ended, unless with an answer.
    """

    kinds: ClassVar[tuple[str, ...]] = (RunBegan.kind, ModelReplied.kind, RunEnded.kind)

    def __init__(self) -> None:
        self.usage: dict[str, Usage] = {}
        self.error = ""
        self._asked: dict[str, str] = {}  # model by run
        self._run = ""  # the last one that is not nested

    @property
    def models(self) -> str:
        """Names of the models that replied, the first one first; before any reply, of the one asked."""
        return ", ".join(filter(None, self.usage)) or self._asked.get(self._run, "")

    @property
    def cost(self) -> float | None:
        """Cost of all replies in US dollars; None if a model has no known price."""
        costs = [price_of_usage(model, usage) for model, usage in self.usage.items()]
        known = [cost for cost in costs if cost is not None]
        return sum(known) if known and len(known) == len(costs) else None

    def add(self, seq: int, entry: Entry) -> None:
        """Add the next entry; `seq` is its number."""
        match entry:
            case RunBegan():
                self._asked[entry.run] = entry.model
                if not entry.parent:
                    self._run, self.error = entry.run, ""
            case ModelReplied(message=message):
                model = message.model or self._asked.get(entry.run, "")
                self.usage[model] = self.usage.get(model, Usage()) + message.usage
            case RunEnded(error=error) if entry.run == self._run:
                self.error = error
            case _:
                pass


class SentTools:
    """The definitions of tools that the requests of a session sent."""

    kinds: ClassVar[tuple[str, ...]] = (ModelAsked.kind,)

    def __init__(self) -> None:
        self._texts: dict[str, list[tuple[int, str]]] = {}

    def add(self, seq: int, entry: Entry) -> None:
        """Add the next request; `seq` is its number."""
        if isinstance(entry, ModelAsked):
            for name, text in entry.definitions.items():
                self._texts.setdefault(name, []).append((seq, str(text)))

    def definition(self, tool: str, seq: int) -> dict[str, object] | None:
        """Return ``description`` and ``parameters`` of a tool as the request of entry `seq` sent them.

        Returns:
            None if they were not recorded: by an earlier version, or as one of too many.
        """
        known = [text for at, text in self._texts.get(tool, ()) if at <= seq]
        try:
            found = json.loads(known[-1])
        except (IndexError, ValueError, RecursionError):  # an imported session may hold anything
            return None
        is_definition = isinstance(found, dict) and isinstance(found.get("description"), str)
        return found if is_definition else None
