"""A file of sessions: private, one thread that writes for all, readers that wait for nobody."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import wait
from pathlib import Path

import pytest

from toolkeel.sessions.errors import SessionError
from toolkeel.sessions.stores.sqlite import MEMORY, Database, shared_database


def _insert(key: str) -> object:
    def do(connection: sqlite3.Connection) -> str:
        connection.execute(
            "INSERT INTO item (namespace, key, value, created, updated) VALUES ('', ?, '1', 0, 0)",
            (key,),
        )
        return key

    return do


def _keys(data: Database) -> list[str]:
    return [
        k for [k] in data.read(lambda c: c.execute("SELECT key FROM item ORDER BY key").fetchall())
    ]


def test_what_was_written_is_there_after_the_file_was_closed(tmp_path: Path) -> None:
    data = Database(str(tmp_path / "a.db"))
    assert data.write_now(_insert("a")) == "a"
    data.close()
    data = Database(str(tmp_path / "a.db"))
    assert _keys(data) == ["a"]
    data.close()


def test_file_and_folder_are_their_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.db"
    data = Database(str(path))
    data.write_now(_insert("a"))
    modes = [stat.S_IMODE(p.stat().st_mode) for p in (path.parent, *sorted(path.parent.iterdir()))]
    data.close()
    assert modes == [0o700, 0o600, 0o600, 0o600]


def test_commits_are_synced_and_the_log_is_written_ahead(tmp_path: Path) -> None:
    data = Database(str(tmp_path / "a.db"))

    def pragmas(connection: sqlite3.Connection) -> list[object]:
        names = ("journal_mode", "synchronous", "secure_delete", "application_id", "user_version")
        return [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in names]

    assert data.write_now(pragmas) == ["wal", 2, 1, 0x746B656C, 1]
    data.close()


def test_one_that_fails_takes_no_other_of_its_transaction_along(tmp_path: Path) -> None:
    data = Database(str(tmp_path / "a.db"))
    hold, go = threading.Event(), threading.Event()

    def slow(connection: sqlite3.Connection) -> None:
        hold.set()
        go.wait(30)

    def fails(connection: sqlite3.Connection) -> None:
        _insert("half")(connection)  # type: ignore[operator]
        raise ValueError("no")

    first = data.write(slow)
    hold.wait(30)
    writes = [data.write(_insert("a")), data.write(fails), data.write(_insert("b"))]
    go.set()
    wait([first, *writes])
    assert isinstance(writes[1].exception(), ValueError)
    assert _keys(data) == ["a", "b"]
    data.close()


def test_what_waits_together_is_written_in_one_transaction(tmp_path: Path) -> None:
    data = Database(str(tmp_path / "a.db"))
    commits: list[int] = []
    data.write_now(lambda c: c.set_trace_callback(lambda s: commits.append(s == "COMMIT")))
    hold, go = threading.Event(), threading.Event()

    def slow(connection: sqlite3.Connection) -> None:
        hold.set()
        go.wait(30)

    first = data.write(slow)
    hold.wait(30)
    before = sum(commits)
    writes = [data.write(_insert(str(n))) for n in range(500)]
    go.set()
    wait([first, *writes])
    assert sum(commits) - before == 2  # the slow one's, and one for five hundred
    data.write_now(lambda c: c.set_trace_callback(None))
    data.close()


@pytest.mark.parametrize(
    ("statement", "told"),
    [("PRAGMA user_version = 99", "upgrade"), ("PRAGMA application_id = 7", "another program")],
)
def test_a_file_of_a_later_version_or_of_another_program_is_refused(
    tmp_path: Path, statement: str, told: str
) -> None:
    path = str(tmp_path / "a.db")
    Database(path).close()
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.close()
    with pytest.raises(SessionError, match=told):
        Database(path)


def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    path.write_text("my diary " * 1000)
    with pytest.raises(SessionError, match="cannot be opened"):
        Database(str(path))
    assert path.read_text() == "my diary " * 1000


def test_a_process_has_one_database_for_a_file_and_one_for_each_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    one = shared_database(str(path))
    os.symlink(path, tmp_path / "b.db")
    assert shared_database(str(tmp_path / "b.db")) is one
    one.close()
    again = shared_database(str(path))
    assert again is not one
    again.close()
    memory = [shared_database(MEMORY), shared_database(MEMORY)]
    assert memory[0] is not memory[1]
    for each in memory:
        each.close()


def test_nothing_is_written_to_a_closed_file(tmp_path: Path) -> None:
    data = Database(str(tmp_path / "a.db"))
    data.close()
    with pytest.raises(SessionError, match="closed"):
        data.write(_insert("a"))
    with pytest.raises(SessionError, match="closed"):
        _keys(data)


def test_a_file_that_is_gone_is_told_to_who_reads(tmp_path: Path) -> None:
    data = Database(str(tmp_path / "a.db"))
    (tmp_path / "a.db").rename(tmp_path / "b.db")
    with pytest.raises(SessionError, match="cannot be read"):
        _keys(data)
    data.close()


def test_a_forked_child_opens_the_file_anew(tmp_path: Path) -> None:
    program = f"""
        import os
        from toolkeel.sessions.errors import SessionError
        from toolkeel.sessions.stores.sqlite import shared_database
        path = {str(tmp_path / "a.db")!r}
        parent = shared_database(path)
        insert = "INSERT INTO item (namespace, key, value, created, updated) VALUES ('', ?, '', 0, 0)"
        parent.write_now(lambda c: c.execute(insert, ("parent",)).rowcount)
        child = os.fork()
        if not child:
            try:
                parent.write(print)
            except SessionError:
                shared_database(path).write_now(lambda c: c.execute(insert, ("child",)).rowcount)
                os._exit(0)
            os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        parent.write_now(lambda c: c.execute(insert, ("after",)).rowcount)
        print(*[k for [k] in parent.read(lambda c: c.execute("SELECT key FROM item").fetchall())])
    """
    words = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(program)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["after", "child", "parent"]


def test_several_processes_that_open_a_new_file_at_once_all_succeed(tmp_path: Path) -> None:
    program = "import sys; from toolkeel.sessions.stores.sqlite import Database; Database(sys.argv[1]).close()"
    words = [sys.executable, "-c", program, str(tmp_path / "a.db")]
    running = [subprocess.Popen(words) for _ in range(6)]
    assert [process.wait(60) for process in running] == [0] * 6


def test_a_full_disk_fails_the_write_and_leaves_all_before_it(tmp_path: Path) -> None:
    program = f"""
        import resource, signal
        from toolkeel.sessions.errors import SessionError
        from toolkeel.sessions.stores.sqlite import Database
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        data = Database({str(tmp_path / "a.db")!r})
        insert = "INSERT INTO item (namespace, key, value, created, updated) VALUES ('', ?, ?, 0, 0)"
        put = lambda n: data.write_now(lambda c: c.execute(insert, (f"{{n:04}}", "x" * 3000)).rowcount)
        for n in range(5):
            put(n)
        resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, resource.RLIM_INFINITY))
        kept = 5
        try:
            for n in range(5, 500):
                put(n)
                kept = n + 1
        except SessionError as error:
            print("told:", error)
        print("kept", kept, flush=True)
        import os; os._exit(0)
    """
    words = [sys.executable, "-c", textwrap.dedent(program)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    assert "cannot be written" in done.stdout
    data = Database(str(tmp_path / "a.db"))
    assert len(_keys(data)) == int(done.stdout.split()[-1])
    data.close()


def test_what_was_erased_is_in_none_of_the_files(tmp_path: Path) -> None:
    data = Database(str(tmp_path / "a.db"))
    for n in range(50):
        data.write_now(_insert(f"a most private text {n}"))
    data.write_now(lambda c: c.execute("DELETE FROM item").rowcount, erases=True)
    found = [p.name for p in tmp_path.iterdir() if b"most private" in p.read_bytes()]
    data.close()
    assert found == []


def test_erasing_says_so_if_the_log_cannot_be_cleared_and_who_writes_next_goes_on(
    tmp_path: Path,
) -> None:
    def refuses(action: int, what: str | None, *_: object) -> int:
        cleared = action == sqlite3.SQLITE_PRAGMA and what == "wal_checkpoint"
        return sqlite3.SQLITE_DENY if cleared else sqlite3.SQLITE_OK

    file = Database(str(tmp_path / "s.db"))
    file.writing.set_authorizer(refuses)
    with pytest.raises(SessionError, match="its text is in the log still"):
        file.write(lambda connection: None, erases=True).result(10)
    file.writing.set_authorizer(None)
    assert file.write(lambda connection: "written").result(10) == "written"
    file.close()


def test_erasing_says_so_if_a_reader_keeps_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolkeel.sessions.stores.sqlite.BUSY_SECONDS", 0.05)
    data = Database(str(tmp_path / "a.db"))
    data.write_now(_insert("a"))
    other = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
    other.execute("BEGIN")
    other.execute("SELECT * FROM item").fetchone()
    with pytest.raises(SessionError, match="another process reads on"):
        data.write_now(lambda c: c.execute("DELETE FROM item").rowcount, erases=True)
    other.close()
    assert _keys(data) == []
    data.close()
