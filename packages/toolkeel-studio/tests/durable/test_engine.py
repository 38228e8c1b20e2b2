"""What is asked of the queue from any process, and what becomes of a worker that is told to end."""

from __future__ import annotations

import base64
import json
import pickle
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.engine import make_url

from tests.durable.working import STEPS, done_in, working
from tests.waiting import until_sync
from toolkeel.errors import SetupError
from toolkeel.sessions.errors import SessionError
from toolkeel_studio.durable import Durable
from toolkeel_studio.durable.engine import RunQueue, address_of
from toolkeel_studio.durable.orders import RunOrder

pytestmark = pytest.mark.slow


def test_the_same_id_is_one_run_and_what_is_kept_of_it_is_json_of_its_owner_alone(
    make: Callable[..., Durable], tmp_path: Path
) -> None:
    durable = make()
    with pytest.raises(TimeoutError, match="enqueued"):
        durable.result(durable.start("run 1", id="same"), 0)
    durable.start("run 1", session="same", id="same")
    with pytest.raises(SetupError, match="'same' names a run with another prompt"):
        durable.start("run 2", session="same", id="same")
    with pytest.raises(SetupError, match="'same' names a run with other deps, model or limits"):
        durable.start("run 1", session="same", id="same", model="other")
    with working(durable):
        assert durable.result("same", 20).text == "all of run 1"
    texts = [message.text for message in durable.sessions["same"].messages]
    assert texts.count("run 1") == 1 and "run 2" not in texts
    place = tmp_path / "talk.db.runs"
    assert {stat.S_IMODE(p.stat().st_mode) for p in tmp_path.glob("talk.db*") if p.is_file()} == {
        0o600
    }
    with closing(sqlite3.connect(place)) as rows:
        kept = "\n".join(rows.iterdump())
    assert '"prompt":"run 1"' in kept and "portable_json" in kept
    assert "py_pickle" not in kept
    with pytest.raises(SetupError, match="no run 'other'"):
        durable.result("other")


class Opens:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return open, (str(self._path), "w")


def test_a_row_that_says_it_is_a_pickle_is_unpickled_by_nobody(
    make: Callable[..., Durable], tmp_path: Path
) -> None:
    """DBOS goes by what the row says, not by the serializer that it was given."""
    made = tmp_path / "unpickled"
    planted = base64.b64encode(pickle.dumps(Opens(made))).decode()
    durable = make()
    for id in ("planted", "good", "ended"):
        durable.start("run 1", id=id)
    with closing(sqlite3.connect(tmp_path / "talk.db.runs")) as rows, rows:
        rows.execute("UPDATE workflow_input SET inputs=? WHERE workflow_uuid <> 'good'", [planted])
        rows.execute("INSERT INTO workflow_output VALUES ('ended', ?, NULL, 1)", [planted])
        rows.execute("UPDATE workflow_status SET status='SUCCESS' WHERE workflow_uuid='ended'")
        rows.execute(
            "UPDATE workflow_status SET serialization='py_pickle' WHERE workflow_uuid <> 'good'"
        )
    for id in ("planted", "ended"):
        with pytest.raises(SetupError, match="cannot be read: it is another"):
            durable.start("run 1", id=id)
    with working(durable):
        assert durable.result("good", 20).text == "all of run 1"
        for id in ("planted", "ended"):
            with pytest.raises(SetupError, match="cannot be read: it is another"):
                durable.result(id, 20)
    assert not made.exists()


@pytest.mark.parametrize(
    ("row", "reason", "error"),
    [
        ({"reason": "answered", "id": "x", "text": "yes", "more": 1}, "answered", ""),
        ({"text": "yes"}, "failed", "its row cannot be read: it is another's"),
    ],
)
def test_a_row_that_says_more_or_less_than_how_a_run_ended_is_no_error_of_python(
    make: Callable[..., Durable], tmp_path: Path, row: object, reason: str, error: str
) -> None:
    durable = make()
    durable.start("run 1", id="ended")
    with closing(sqlite3.connect(tmp_path / "talk.db.runs")) as rows, rows:
        rows.execute("INSERT INTO workflow_output VALUES ('ended', ?, NULL, 1)", [json.dumps(row)])
        rows.execute("UPDATE workflow_status SET status='SUCCESS' WHERE workflow_uuid='ended'")
    found = durable.result("ended", 0)
    assert (found.id, found.reason, found.error) == ("ended", reason, error)


def test_an_id_or_a_schedule_never_belongs_to_two_scopes(make: Callable[..., Durable]) -> None:
    durable = make()
    durable.start("run 1", scope="ada", id="same")
    durable.start("run 1", scope="ada", id="same")
    with pytest.raises(SetupError, match="'same' names a run of another session"):
        durable.start("run 1", scope="bob", id="same")
    with pytest.raises(SetupError, match="needs name="):
        durable.schedule("* * * * *", "run 1", session="talk", scope="ada")
    for scope in ("ada", "bob"):
        durable.schedule("* * * * *", "run 1", session="talk", scope=scope, name=f"{scope}'s talk")


@pytest.mark.parametrize("name", ["who?mode=memory.db", "a#b.db", "100%41.db"])
def test_the_tables_are_in_the_file_of_that_name_whatever_it_is_called(
    tmp_path: Path, name: str
) -> None:
    queue = RunQueue(str(tmp_path / name), "agent")
    queue.close()
    assert {path.name.removesuffix("-wal").removesuffix("-shm") for path in tmp_path.iterdir()} == {
        name
    }
    with closing(sqlite3.connect(tmp_path / name)) as rows:
        assert rows.execute("SELECT count(*) FROM sqlite_master").fetchone() > (5,)


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me:p%20w%2Fs%40@a:1,b,[::1]:3/app?target_session_attrs=read-write",
        "postgres://%2Ftmp%2Fx/数据库?options=-c%20search_path%3Dx",
        "postgresql:///app?host=/tmp/x%20y&user=me",
        "postgresql://me@a,b/app?port=5433",
    ],
)
def test_the_engine_and_libpq_read_the_same_in_any_address(address: str) -> None:
    wanted, made = conninfo_to_dict(address), address_of(address)
    if "port" in wanted:
        wanted["port"] = {"5433": "5433,5433"}.get(str(wanted["port"]), "1,5432,3")
    _, engines = PGDialect_psycopg().create_connect_args(make_url(made))
    for found in (conninfo_to_dict(made), engines):
        assert {key: found[key] for key in wanted} == wanted


def test_an_address_that_names_no_database_is_refused_without_its_password() -> None:
    for address in ("postgresql://me:secret@a", "postgresql://me:secret%zz@a/app"):
        with pytest.raises(SessionError, match="address of the") as refused:
            address_of(address)
        assert "secret" not in str(refused.value)


def test_an_address_of_another_database_makes_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SessionError, match="mysql: is no folder"):
        RunQueue("mysql://me:secret@db/app")
    assert not list(tmp_path.iterdir())


def test_sessions_of_two_scopes_never_wait_for_each_other_whatever_they_are_called(
    tmp_path: Path,
) -> None:
    """One of ``ada`` could be named so that it stood in the place of one of somebody else's."""
    queue = RunQueue(str(tmp_path / "q.db"), "keel")
    for number, (scope, session) in enumerate([("ada", "bob/talk"), ("ada/bob", "talk")]):
        queue.put(RunOrder(id=str(number), session=session, scope=scope, prompt="", since=0))
    keys = {each.queue_partition_key for each in queue.client.list_workflows()}
    queue.close()
    assert len(keys) == 2


def test_a_run_that_waits_in_the_queue_or_goes_on_is_cancelled(
    make: Callable[..., Durable], tmp_path: Path
) -> None:
    durable = make(pause=0.2)
    durable.start("run 1", session="ada", id="goes on")
    durable.start("run 2", session="ada", id="waits")
    with working(durable):
        until_sync(lambda: len(done_in(tmp_path)) >= 2)
        assert durable._queue.status("waits").status == "ENQUEUED"  # type: ignore[union-attr]
        durable.cancel("waits")
        durable.cancel("goes on", "closing time")
        until_sync(lambda: durable.sessions["ada"].writer is None)
    assert [durable.result(id, 1).reason for id in ("goes on", "waits")] == ["cancelled"] * 2
    assert durable.sessions["ada"].info.ended == "cancelled"
    assert len(done_in(tmp_path)) < STEPS
    durable.cancel("waits")  # it has ended: nothing happens


def test_a_schedule_says_something_at_its_times_until_it_is_ended(
    make: Callable[..., Durable],
) -> None:
    durable = make()
    with pytest.raises(SetupError, match="no times in UTC; write minute hour day"):
        durable.schedule("every day", "run 1", session="ada")
    durable.schedule("* * * * * *", "run 1", session="ada")

    def times() -> int:
        found = durable.sessions["ada"]
        return [m.text for m in found.messages].count("run 1") if found.exists else 0

    with working(durable):
        until_sync(lambda: times() >= 2)
        durable.unschedule("ada")
    assert durable._queue.client.list_schedules() == []
