"""A saved run as a file: written once, its owner's alone, used once."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path

import pytest

from toolkeel import RunState, SetupError, UserMessage
from toolkeel._common.data_folder import state_folder
from toolkeel._records import used_tickets as decided
from toolkeel._records.tickets import Ticket
from toolkeel_studio.cli.exit_codes import UsageProblem
from toolkeel_studio.cli.suspended_run import (
    Saved,
    check_writable,
    claim,
    format_heading,
    keep,
    load,
    save,
    short_id,
)


def ticket(id: str) -> Ticket:
    return Ticket(id, "c1", "write", {"text": "猫"}, "d" * 64, time.time() + 60)


FIRST, SECOND = "a1" + "0" * 30, "a1" + "f" * 30
STATE = RunState((UserMessage("hi"),), (ticket(FIRST), ticket(SECOND)))


@pytest.fixture(autouse=True)
def xdg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))


def test_a_run_comes_back_with_its_decisions(tmp_path: Path) -> None:
    path = save(STATE, "r1", tmp_path / "s.json")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert RunState.from_json(path.read_text("utf-8")) == STATE
    yes, no = STATE.pending[0].approve(), STATE.pending[1].deny("不行")
    keep(path, Saved(STATE, {FIRST: yes, SECOND: no}))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    again = load(path)
    assert (again.state, again.decisions) == (STATE, {FIRST: yes, SECOND: no})
    assert again.undecided == []


def test_a_file_is_never_overwritten(tmp_path: Path) -> None:
    path = save(STATE, "r1", tmp_path / "s.json")
    with pytest.raises(SetupError, match="cannot be saved"):
        save(STATE, "r1", path)
    with pytest.raises(UsageProblem, match="exists already"):
        check_writable(path)
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(UsageProblem, match="exists already"):
        check_writable(tmp_path / "link")


def test_states_lie_where_xdg_says_and_a_relative_folder_counts_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert save(STATE, "r1", None) == tmp_path / "xdg" / "toolkeel" / "runs" / "r1.json"
    monkeypatch.setenv("XDG_STATE_HOME", "here")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert state_folder() == tmp_path / ".local" / "state" / "toolkeel"


def test_a_beginning_names_a_ticket_if_it_is_long_enough_and_the_only_one() -> None:
    saved = Saved(STATE, {})
    assert saved.ticket("a1000") is STATE.pending[0]
    assert short_id(saved.ticket(SECOND)) == "a1ffffff"
    for wrong in ("", "a1", "a1f", "b1000", FIRST + "0"):
        with pytest.raises(UsageProblem, match="there are: a1000000, a1ffffff"):
            saved.ticket(wrong)


def test_a_claimed_file_is_gone_and_its_decisions_serve_no_copy(tmp_path: Path) -> None:
    saved = Saved(STATE, {FIRST: STATE.pending[0].approve()})
    path = save(STATE, "r1", tmp_path / "s.json")
    copy = save(STATE, "r1", tmp_path / "copy.json")
    claim(path, saved)
    for use in (lambda: claim(path, saved), lambda: load(path), lambda: keep(path, saved)):
        with pytest.raises(SetupError, match="was used already"):
            use()
    with pytest.raises(SetupError, match="has served already"):
        claim(copy, saved)
    assert sorted(each.name for each in tmp_path.iterdir()) == [
        *("copy.json.used", "s.json.used", "xdg")
    ]


def test_marks_of_tickets_that_have_expired_are_swept_but_for_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim(save(STATE, "r1", tmp_path / "a"), Saved(STATE, {FIRST: STATE.pending[0].approve()}))
    folder = state_folder() / "decided"
    assert [mark.name for mark in folder.iterdir()] == [FIRST]
    (folder / ("b" * 32)).touch()
    os.utime(folder / FIRST, (0, 0))
    monkeypatch.setattr(decided, "time", lambda: time.time() + 3 * decided.EXTERNAL_LIFETIME)
    monkeypatch.setattr(decided, "MAX_MARKS", 1)
    claim(save(STATE, "r1", tmp_path / "b"), Saved(STATE, {}))
    assert [mark.name for mark in folder.iterdir()] == ["b" * 32]


@pytest.mark.parametrize("text", ["", "[]", "3", '{"decisions": []}', "[" * 10000, "\x00"])
def test_what_is_no_saved_run_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "s.json"
    path.touch(0o600)
    path.write_text(text, "utf-8")
    with pytest.raises(SetupError):
        load(path)


def test_a_folder_and_a_file_that_is_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_bytes(b"\xff\xfe")
    for wrong in (path, tmp_path):
        with pytest.raises(SetupError, match="cannot be read"):
            load(wrong)


def test_the_terms_of_a_run_are_kept_with_it_and_the_run_is_read_without_them(
    tmp_path: Path,
) -> None:
    path = save(STATE, "r1", tmp_path / "s.json", ["-t", "tools.py"])
    assert load(path).terms == ["-t", "tools.py"]
    keep(path, load(path))
    assert load(path).terms == ["-t", "tools.py"]
    assert RunState.from_json(path.read_text("utf-8")) == STATE


def test_a_file_that_is_exchanged_while_it_is_looked_at_is_not_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = save(STATE, "r1", tmp_path / "s.json")
    before = path.stat()
    path.chmod(0o666)  # as another's would be
    with monkeypatch.context() as patched:
        patched.setattr(Path, "stat", lambda *_, **__: before)
        with pytest.raises(SetupError, match="somebody else"):
            load(path)


def test_a_heading_shows_what_cannot_be_seen() -> None:
    unseen = Ticket("0" * 32, "1", "wr\u200bite", {}, "", 0.0, "rule: ask \u202ewrite\n+ more")
    assert (
        format_heading(unseen)
        == r"00000000  wr\u200bite waits for approval (rule: ask \u202ewrite):"
    )
