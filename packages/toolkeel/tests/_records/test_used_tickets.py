"""A ticket that was decided is noted where other processes see it, and serves once for all."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from toolkeel import Agent, SetupError, tool
from toolkeel._records import used_tickets
from toolkeel._records.tickets import EXTERNAL_LIFETIME, new_id
from toolkeel._records.used_tickets import mark_decided
from toolkeel.testing.scripted import Scripted, call


def test_a_ticket_is_noted_once(tmp_path: Path) -> None:
    one, other = new_id(), new_id()
    folder = tmp_path / "new" / "decided"
    mark_decided(folder, [one])
    mark_decided(folder, [other])
    with pytest.raises(SetupError, match="served already"):
        mark_decided(folder, [new_id(), one])


def test_of_many_at_once_one_wins(tmp_path: Path) -> None:
    ticket, won, lost = new_id(), [], []
    together = threading.Barrier(8)

    def note() -> None:
        together.wait()
        try:
            mark_decided(tmp_path, [ticket])
            won.append(1)
        except SetupError:
            lost.append(1)

    threads = [threading.Thread(target=note) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(won), len(lost)) == (1, 7)


@pytest.mark.parametrize("id", ["../escaped", "", "A" * 32, "0" * 31, "0" * 32 + "\n"])
def test_what_is_no_id_names_no_file(tmp_path: Path, id: str) -> None:
    folder = tmp_path / "decided"
    with pytest.raises(SetupError, match="no ticket"):
        mark_decided(folder, [id])
    assert not folder.exists()


def test_a_folder_that_cannot_be_written_means_no(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", "utf-8")
    with pytest.raises(SetupError, match="cannot be noted"):
        mark_decided(tmp_path / "file", [new_id()])


def test_marks_that_nobody_needs_any_more_go_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(used_tickets, "MAX_MARKS", 1)
    old, young = new_id(), new_id()
    mark_decided(tmp_path, [old, young])
    (tmp_path / "notes.txt").write_text("mine", "utf-8")
    long_ago = time.time() - 3 * EXTERNAL_LIFETIME
    for name in (old, "notes.txt"):
        os.utime(tmp_path / name, (long_ago, long_ago))
    mark_decided(tmp_path, [new_id()])
    assert {path.name for path in tmp_path.iterdir()} >= {young, "notes.txt"}
    assert not (tmp_path / old).exists()


def test_a_clock_that_was_ahead_for_a_while_lets_no_decision_serve_again(tmp_path: Path) -> None:
    ticket = new_id()
    mark_decided(tmp_path, [ticket])
    long_ago = time.time() - 3 * EXTERNAL_LIFETIME
    os.utime(tmp_path / ticket, (long_ago, long_ago))  # as it looks from there
    mark_decided(tmp_path, [new_id()])
    with pytest.raises(SetupError, match="served already"):
        mark_decided(tmp_path, [ticket])


def test_where_one_of_several_was_used_the_others_stay_unused(tmp_path: Path) -> None:
    used, other = new_id(), new_id()
    mark_decided(tmp_path, [used])
    with pytest.raises(SetupError, match="served already"):
        mark_decided(tmp_path, [other, used])
    mark_decided(tmp_path, [other])


@pytest.mark.parametrize("folder", [None, "decided"])
def test_agents_of_two_processes_that_share_a_folder_run_an_approved_call_once(
    folder: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLKEEL_DATA", str(tmp_path))
    ran = []

    @tool(approval=True)
    def remove(path: str) -> str:
        """Remove a file."""
        ran.append(path)
        return "removed"

    def agent(*replies: object) -> Agent:
        return Agent(Scripted(replies), [remove], used_tickets=folder and tmp_path / folder)  # type: ignore[arg-type]

    state = agent(call("remove", {"path": "a"})).run_sync("tidy").state
    decision = state.pending[0].approve()
    assert agent("Done.").run_sync(state, decisions=[decision]).reason == "answered"
    used_tickets._spent.clear()  # what another process knows
    with pytest.raises(SetupError, match="served already"):
        agent("Done.").run_sync(state, decisions=[decision])
    assert ran == ["a"]
