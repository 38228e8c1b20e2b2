"""`toolkeel runs` and `toolkeel sessions` on a database of PostgreSQL, as an operator uses them."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from tests.durable.working import done_in, durable_of
from tests.sessions.postgres_server import Server, serving
from toolkeel.errors import SetupError
from toolkeel_studio.cli.runs import decide_command, schedules_command
from toolkeel_studio.durable import Durable

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as made:
        yield made


@pytest.fixture
def durable(server: Server, tmp_path: Path) -> Iterator[Durable]:
    """Runs whose worker is a thread of this process."""
    made, stop = durable_of(tmp_path, server.new_database()), threading.Event()
    worker = threading.Thread(target=lambda: made.work("one", stop=stop, drain=10))
    worker.start()
    yield made
    stop.set()
    worker.join(30)
    made.close()
    made.sessions.close()


def toolkeel(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "toolkeel", *words],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_waiting_run_is_found_decided_exported_and_pruned_from_the_command_line(
    durable: Durable, tmp_path: Path
) -> None:
    place = ("--database", durable.sessions.path)
    durable.start("pay 5", session="ada", scope="客", id="paying")
    assert durable.result("paying", 20).reason == "waiting"
    ended = toolkeel("runs", "list", "--status", "waiting", "--json", *place, cwd=tmp_path)
    [found] = json.loads(ended.stdout)
    assert (found["id"], found["scope"], found["prompt"]) == ("paying", "客", "pay 5")
    assert "客/ada" in toolkeel("runs", "list", *place, cwd=tmp_path).stdout
    shown = toolkeel("runs", "show", "paying", *place, cwd=tmp_path)
    assert "waiting" in shown.stdout and shown.returncode == 0
    [ticket] = durable.sessions.open("ada", "客").pending
    assert ticket.id[:8] in shown.stderr
    nothing = toolkeel("runs", "decide", "paying", *place, cwd=tmp_path)
    assert nothing.returncode == 2 and "--approve" in nothing.stderr
    decided = toolkeel("runs", "decide", "paying", "--approve", ticket.id, *place, cwd=tmp_path)
    assert durable.result(decided.stdout.strip(), 20).text == "Paid.", decided.stderr
    assert done_in(tmp_path) == ["paid 5"]
    exported = toolkeel("runs", "export", "paying", *place, cwd=tmp_path)
    assert json.loads(exported.stdout.splitlines()[-1])
    late = toolkeel("runs", "cancel", "paying", decided.stdout.strip(), *place, cwd=tmp_path)
    assert late.returncode == 1 and "a run that has ended stays as it is" in late.stderr
    refused = toolkeel("runs", "retry", "paying", *place, cwd=tmp_path)
    assert refused.returncode == 3 and "only a failed run" in refused.stderr
    assert "2 runs would be deleted" in toolkeel("runs", "prune", "0", *place, cwd=tmp_path).stderr
    assert toolkeel("runs", "prune", "0", "--really", *place, cwd=tmp_path).returncode == 0
    assert toolkeel("runs", "list", *place, cwd=tmp_path).stdout == ""
    assert toolkeel("runs", "delete", "客", "--really", *place, cwd=tmp_path).stdout == "ada\n"
    assert not durable.sessions.open("ada", "客").exists


def test_schedules_are_listed_and_removed_from_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = str(tmp_path / "talk.db")
    durable = durable_of(tmp_path, place)
    durable.schedule("0 8 * * *", "bills?", session="ada", scope="客", name="morning")
    durable.close()
    schedules_command(database=place)
    words = capsys.readouterr().out.rstrip("\n").split("  ")
    assert (words[:2], words[3:]) == (["morning", "0 8 * * *"], ["客/ada", "bills?"])
    with pytest.raises(SetupError, match="no schedule 'evening'"):
        schedules_command(["evening"], database=place)
    schedules_command(["morning"], database=place, as_json=True)
    assert capsys.readouterr().out == "[]\n"


def test_who_decides_second_is_told_the_decision_that_counts(
    durable: Durable, capsys: pytest.CaptureFixture[str]
) -> None:
    durable.start("pay 5", session="ada", id="paying")
    assert durable.result("paying", 20).reason == "waiting"
    session = durable.sessions["ada"]
    [ticket] = session.pending
    session.decide(ticket.approve(), "eve")
    with pytest.raises(typer.Exit) as ended:
        decide_command("paying", deny=[ticket.id], database=durable.sessions.path)
    id, told = capsys.readouterr()
    assert (ended.value.exit_code, told) == (1, "decided already by eve: approve\n")
    assert durable.result(id.strip(), 20).text == "Paid."


def test_a_run_is_cancelled_from_the_command_line_and_an_unknown_one_is_reported(
    durable: Durable, tmp_path: Path
) -> None:
    place = ("--database", durable.sessions.path)
    durable.start("pay 5", session="ada", id="paying")
    assert durable.result("paying", 20).reason == "waiting"
    ended = toolkeel("runs", "cancel", "paying", "--reason", "closed", *place, cwd=tmp_path)
    assert "cancelled" in ended.stdout, ended.stderr
    assert durable.result("paying", 5).reason == "cancelled"
    misspelled = toolkeel("runs", "list", "--status", "canceled", *place, cwd=tmp_path)
    assert misspelled.returncode == 2 and "queued, active, answered" in misspelled.stderr
    unknown = toolkeel("runs", "cancel", "other", *place, cwd=tmp_path)
    assert unknown.returncode == 3 and "there is no run 'other'" in unknown.stderr


def test_the_sessions_of_a_database_are_listed_shown_and_exported_and_no_folder_is_made(
    durable: Durable, tmp_path: Path
) -> None:
    place = ("--file", durable.sessions.path)
    durable.start("run 1", session="ada", id="1")
    assert durable.result("1", 20).reason == "answered"
    assert toolkeel("sessions", "list", *place, cwd=tmp_path).stdout.startswith("ada  ")
    assert "you: run 1\n" in toolkeel("sessions", "show", "ada", *place, cwd=tmp_path).stdout
    out = tmp_path / "ada.jsonl"
    toolkeel("sessions", "export", "ada", "-o", str(out), *place, cwd=tmp_path)
    assert out.stat().st_mode & 0o777 == 0o600
    assert toolkeel("stats", "ada", *place, cwd=tmp_path).returncode == 0
    assert {path.name for path in tmp_path.iterdir()} == {"ada.jsonl", "log"}


def test_a_place_where_nothing_is_or_of_another_database_is_refused_and_nothing_is_made(
    tmp_path: Path,
) -> None:
    for words, code, said in (
        (("runs", "list"), 2, "--database"),
        (("runs", "list", "-d", "none.db"), 2, "there is no file none.db.runs"),
        (("runs", "list", "-d", "mysql://me:secret@db/app"), 3, "--database: mysql: is no folder"),
        (("sessions", "list", "-f", "mysql://me:secret@db/app"), 3, "--file: mysql: is no folder"),
    ):
        ended = toolkeel(*words, cwd=tmp_path)
        assert (ended.returncode, said in ended.stderr) == (code, True), ended.stderr
        assert "secret" not in ended.stderr
    assert list(tmp_path.iterdir()) == []
