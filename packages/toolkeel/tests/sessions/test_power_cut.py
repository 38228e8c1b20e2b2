"""A power cut: what was acknowledged is there, and what is there is a beginning. Syncs are counted."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from random import Random
from shutil import rmtree
from typing import Any

import pytest

from tests.sessions.disk import Disk, Op, record
from tests.sessions.work_recorded import TALK
from toolkeel import Agent, tool
from toolkeel._records.entries import CallIntended, ModelAsked, call_key_of
from toolkeel.sessions import Sessions
from toolkeel.sessions.journal import StoredEntry
from toolkeel.testing.scripted import Scripted

Work = tuple[Path, list[Op]]
FRAME = 24
"""Bytes of the head of a page in the log; its page follows at once."""


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Work:
    """What some work does to its folder."""
    folder = tmp_path_factory.mktemp("disk") / "work"
    folder.mkdir()
    return folder, record(["-m", "tests.sessions.work_recorded", str(folder)], folder)


def acks_of(op: Op) -> list[list[object]]:
    """What is relied on from this op on."""
    if not op.path.endswith("/acks"):
        return []
    return [json.loads(line) for line in op.data.splitlines()]


def syncs_between(ops: Sequence[Op], first: str, last: str) -> Iterator[int]:
    """How often the journal was synced between two acknowledgements."""
    count: int | None = None
    for op in ops:
        whats = [what for _, what, _ in acks_of(op)]
        if last in whats and count is not None:
            yield count
            count = None
        if first in whats:
            count = 0
        elif op.kind == "s" and count is not None:
            count += 1


def test_a_turn_costs_two_synced_commits_whatever_came_before(work: Work) -> None:
    """One before its bodies start, one before the next request; a large value has its own files."""
    ops = work[1]
    assert Counter(syncs_between(ops, "asked", "intended")) == {1: 10}
    outcomes = Counter(syncs_between(ops, "intended", "asked"))
    assert outcomes.pop(4) == 1  # with the first large value: its file, its folder, that above
    assert outcomes.pop(2, 0) <= 1  # of calls at once, each outcome is written as it comes
    assert set(outcomes) == {1}
    assert Counter(syncs_between(ops, "asked", "ended")) == {1: 5}


@tool
def work_again(n: int) -> str:
    """Stand for what was killed."""
    return "again"


class Found:
    """What is there after a power cut.

    Args:
        folder: Where.
    """

    def __init__(self, folder: Path) -> None:
        self._sessions = Sessions(folder / TALK)
        self.entries = {
            info.name: self._sessions[info.name].entries() for info in self._sessions.list()
        }

    def check(self, acks: Sequence[Sequence[Any]]) -> None:
        """All that was relied on is there."""
        gone = {name: what for name, what, _ in acks if what in ("deleting", "deleted")}
        for name, what, value in acks:
            if name not in gone:
                getattr(self, f"_{what}")(name, self.entries.get(name, []), value)
        assert not any(name in self.entries for name, what in gone.items() if what == "deleted")

    def _asked(self, name: str, found: list[StoredEntry], shown: int) -> None:
        assert any(isinstance(each.entry, ModelAsked) for each in found)
        assert len(self._sessions[name].messages) >= shown

    def _intended(self, name: str, found: list[StoredEntry], key: str) -> None:
        calls = [each.entry for each in found if isinstance(each.entry, CallIntended)]
        assert key in map(call_key_of, calls)

    def _ended(self, name: str, found: list[StoredEntry], head: int) -> None:
        assert len(found) >= head

    def _said(self, name: str, found: list[StoredEntry], text: str) -> None:
        session = self._sessions[name]
        assert text in {said for _, said in session.unread} | {m.text for m in session.messages}

    def go_on(self) -> None:
        """Each session goes on to an answer."""
        for name in self.entries:
            result = Agent(Scripted(["answer"]), [work_again]).run_sync(
                "well?", session=self._sessions[name], approver=lambda ticket: ticket.deny()
            )
            assert (result.reason, result.output) == ("answered", "answer")

    def close(self) -> None:
        """Let go of the file, and see that it is whole."""
        self._sessions.close()
        with closing(sqlite3.connect(self._sessions.path)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def cut_power(work: Work, into: Path, luck: Random | None) -> int:
    """Cut the power at many moments; what is found each time is a longer beginning of the same.

    Args:
        work: What was done.
        into: Where what is left is put.
        luck: Says which of what was not synced is there, at every moment; without it nothing is,
            and the moments are those at which something was acknowledged.

    Returns:
        How many moments there were.
    """
    disk, acks, count = Disk(work[0]), list[list[object]](), 0
    known: dict[str, list[StoredEntry]] = {}
    for op in work[1]:
        disk.see(op)
        acks += acks_of(op)
        if op.path.endswith("-shm") or len(op.data) == FRAME or (luck is None and not acks_of(op)):
            continue
        count += 1
        folder = into / f"{count}"
        disk.cut_power(folder, luck or Random(0), luck.choice((0.2, 0.5, 0.9)) if luck else 0)
        found = Found(folder)
        found.check(acks)
        for name, entries in found.entries.items():
            longest = known.get(name, [])
            shorter = min(len(longest), len(entries))
            assert longest[:shorter] == entries[:shorter]
            known[name] = max(longest, entries, key=len)
        if luck is None:
            found.go_on()
        found.close()
        rmtree(folder)
    live = Found(work[0])
    assert live.entries["ada"] == known["ada"]
    live.close()
    return count


def test_what_was_acknowledged_is_there_after_a_power_cut_and_goes_on(
    work: Work, tmp_path: Path
) -> None:
    assert cut_power(work, tmp_path, None) > 30


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_at_each_write_sectors_may_be_lost_and_what_is_left_is_a_beginning(
    work: Work, tmp_path: Path, seed: int
) -> None:
    assert cut_power(work, tmp_path, Random(seed)) > 200
