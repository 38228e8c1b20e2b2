"""A session as JSONL and back: a header, then one entry a line, readable without this program.

Large values stand in the entries, so a file is whole by itself. Messages of the inbox follow as entries,
so that the next run of a copy takes them. Importing runs nothing: it checks
each line and writes it as the journal of a new session; a file that was cut counts up to its last
whole line. Who wrote the file decides nothing here: a call that waits in it waits for a person again.
"""

from __future__ import annotations

import json
from bisect import bisect
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import accumulate
from typing import Any, Final

from toolkeel._records.entries import (
    Checkpoint,
    Decided,
    Deferred,
    Entry,
    Forked,
    Permitted,
    Queued,
    Repeated,
    RunEnded,
    Waits,
)
from toolkeel._records.entries_json import dump_entry, load_entry
from toolkeel._records.messages_json import json_text, refuse_constant
from toolkeel._records.record import record
from toolkeel._records.record_json import DEPTH, Json, to_json_data
from toolkeel._records.tickets import new_id
from toolkeel.agent.run_state import RunState
from toolkeel.agent.session_interface import JOURNAL_KEY
from toolkeel.errors import SetupError
from toolkeel.messages import AssistantMessage, Message
from toolkeel.sessions.checkpoint import make_checkpoint
from toolkeel.sessions.errors import SessionError
from toolkeel.sessions.inbox import parse_messages
from toolkeel.sessions.journal import (
    EXCERPT_LENGTH,
    SessionJournal,
    Storage,
    apply_entries,
    make_excerpt,
    read_rows,
)
from toolkeel.sessions.journal_state import MESSAGE_ENTRIES, JournalState
from toolkeel.sessions.stores.artifacts import Artifacts
from toolkeel.sessions.stores.store import SessionInfo, SessionStore

FORMAT: Final = "toolkeel session"
VERSION: Final = 1
MAX_READS: Final = 100
"""Attempts to read a session's inbox while no run takes a message from it."""
DAMAGED: Final = "damaged"
"""Kind of a line that stands for an entry which could not be read; readers preserve it and skip it."""


def export_lines(storage: Storage, info: SessionInfo, *, has_inbox: bool = False) -> Iterator[str]:
    """Yield a session as lines of JSON: the header, one entry per line, and messages of its inbox if wanted.

    Checkpoints are left out; a damaged entry becomes a line of the kind `DAMAGED`.
    """
    info, posted = _read_inbox(storage.store, info) if has_inbox else (info, [])
    header = {
        "format": FORMAT,
        "version": VERSION,
        "name": info.name,
        "scope": info.scope,
        "created": info.created,
        "updated": info.updated,
    }
    yield json_text(header) + "\n"
    for seq, at, kind, text in read_rows(storage.store, info, 0, info.head):
        if kind != Checkpoint.kind:  # it names entries by number; a new one is made
            yield json_text({"at": at, **_export_entry(storage, seq, kind, text)}) + "\n"
    for at, entry in posted:
        yield json_text({"at": at, **dump_entry(entry)}) + "\n"


def _read_inbox(
    store: SessionStore, info: SessionInfo
) -> tuple[SessionInfo, list[tuple[float, Queued]]]:
    """Return the messages of a session's inbox as entries, with their times, and the session at that moment.

    Raises:
        ValueError: a message is damaged.
        SessionError: runs took messages in between each time.
    """
    posts = store.read_posts(info.id)
    for _ in range(MAX_READS):
        info, before = store.get(info.id), posts
        posts = store.read_posts(info.id)
        if {post.id for post in before} <= {post.id for post in posts}:  # no run has taken one
            found = parse_messages(before)
            return info, [(m.at, Queued("", m.id or new_id(), m.message, m.who)) for m in found]
    raise SessionError(
        f"the inbox of {info.name!r} changed during each of {MAX_READS} reads; export it again"
    )


def _export_entry(storage: Storage, seq: int, kind: str, text: str) -> Json:
    """Return an entry with all keys that it has; of a damaged one, what is left, with the kind `DAMAGED`."""
    try:
        data = storage.store.artifacts.load_entry(text)
        load_entry(data)
    except (ValueError, SessionError) as error:
        left = {"seq": seq, "was": kind, "error": str(error), "text": text}
        return {"v": VERSION, "kind": DAMAGED, **left}
    return data


def import_lines(
    storage: Storage, to: tuple[str, str], lines: Iterable[str], last: Entry | None = None
) -> SessionInfo:
    """Create a session from the lines of `export_lines`.

    Its tickets have new ids. Decisions that have not been acted on, and permits, are left out, since
    anybody may have written them.

    Args:
        storage: The store of the new session.
        to: Scope and name of the new session; the name must be free.
        lines: The header, then the entries.
        last: A further entry, if the copy is a fork.

    Raises:
        SessionError: the lines are no session, or of a later version, or an entry is damaged.
    """
    rows = iter(lines)
    _check_header(next(rows, ""))
    entries = list(_entries(rows))
    undone = apply_entries(JournalState(), enumerate((e for e, _ in entries), 1)).decisions
    journal = SessionJournal(storage.store, None, JournalState())
    tickets: dict[str, str] = {}
    try:
        for entry, data in entries:
            if isinstance(entry, RunEnded):  # a fact of the session, not only JSON
                entry.reason.encode()
            is_open = isinstance(entry, Decided) and entry.decision.ticket in undone
            if not (is_open or isinstance(entry, Permitted)):  # anybody may have written them
                journal.append(_renew(entry, tickets), data)
        if last is not None:
            journal.append(last)
        if journal.state.is_at_rest:
            journal.append(make_checkpoint(journal.state))
        return journal.commit_new(*to)
    except (ValueError, OverflowError) as error:  # what a store has no room for
        raise SessionError(f"the entries cannot be kept: {error}") from None


def _renew(entry: Entry, tickets: dict[str, str]) -> Entry:
    """Return an entry of a copy: its tickets have new ids, so that no decision fits two sessions.

    A saved run in it loses approvals and permits, as `RunState.from_json` without a key.

    Args:
        entry: The entry as exported.
        tickets: The new ids by the old ones; ids made here are added.
    """
    if isinstance(entry, Repeated):
        return replace(entry, tickets=tuple(tickets.get(id, id) for id in entry.tickets))
    if isinstance(entry, Waits | Deferred):
        id = tickets.setdefault(entry.ticket.id, new_id())
        return replace(entry, ticket=replace(entry.ticket, id=id))
    if isinstance(entry, Decided) and entry.decision.ticket in tickets:
        decision = replace(entry.decision, ticket=tickets[entry.decision.ticket])
        return replace(entry, decision=decision)
    if isinstance(entry, RunEnded) and isinstance(entry.output, str):
        with suppress(SetupError):  # without a key it is read without its approvals
            return replace(entry, output=RunState.from_json(entry.output).to_json(JOURNAL_KEY))
    return entry


def _check_header(line: str) -> None:
    """Raise `SessionError` unless a line is the header of an export of a known version."""
    try:
        header: Any = json.loads(line)
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise SessionError("the file does not begin with the header of a session")
    if header.get("version") != VERSION:
        raise SessionError(
            f"the file has version {header.get('version')!r:.40}, and this is made for {VERSION}"
        )


def _entries(lines: Iterable[str]) -> Iterator[tuple[Entry, Json]]:
    """Yield each entry and its JSON, or raise SessionError at a damaged line; skip a truncated last line."""
    for number, (line, is_last) in enumerate(_mark_last(lines), 2):
        try:
            data = json.loads(line, parse_constant=refuse_constant)
            data.pop("at", None)
            if to_json_data(data, 2 * DEPTH) != data:
                raise ValueError(f"a value is no number, or lies deeper than {2 * DEPTH}")
            entry = load_entry(data)
        except (ValueError, AttributeError, RecursionError) as error:
            if is_last and not line.endswith("\n"):
                return
            raise SessionError(f"line {number} is no entry: {error}"[:300]) from None
        if not isinstance(entry, Checkpoint | Forked):
            yield entry, data


def _mark_last(lines: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Yield each line with a flag that is True for the last."""
    rows = iter(lines)
    line = next(rows, None)
    while line is not None:
        following = next(rows, None)
        yield line, following is None
        line = following


SEARCHED_KINDS = tuple(each.kind for each in MESSAGE_ENTRIES)
"""Entries with a message that a search reads."""


@record
class SearchMatch:
    """A message that a search has found.

    Args:
        session: The `SessionInfo` of its session.
        seq: Number of its entry.
        at: When it was written, in seconds since the epoch.
        text: The part of it around the first word that was searched for.
    """

    session: SessionInfo
    seq: int
    at: float
    text: str


def search_entries(storage: Storage, info: SessionInfo, words: list[str]) -> Iterator[SearchMatch]:
    """Yield the messages of a session that contain every word; the words are case-folded."""
    for seq, at, kind, body in read_rows(storage.store, info, 0, info.head):
        said = text_of_entry(storage.store.artifacts, body) if kind in SEARCHED_KINDS else ""
        folded = said.casefold()
        if said and all(word in folded for word in words):
            ends = list(accumulate(len(each.casefold()) for each in said))  # ß becomes two letters
            start = max(0, bisect(ends, folded.find(words[0])) - EXCERPT_LENGTH // 2)
            yield SearchMatch(info, seq, at, make_excerpt(said[start:]))


def text_of_entry(artifacts: Artifacts, body: str) -> str:
    """Return the text of a stored entry's message, with the arguments of its calls; empty if it cannot be read."""
    try:
        message: Message = load_entry(artifacts.load_entry(body)).message  # type: ignore[union-attr]
    except (ValueError, SessionError):
        return ""
    calls = message.tool_calls if isinstance(message, AssistantMessage) else ()
    made = (each.arguments for each in calls)
    return " ".join(
        [message.text, *(a if isinstance(a, str) else json_text(dict(a)) for a in made)]
    )
