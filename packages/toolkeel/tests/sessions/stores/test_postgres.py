"""PostgreSQL as the store: what is its own. The contract of all stores is in the other files' tests,
which run on both.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from threading import Event
from time import sleep

import psycopg
import pytest

from tests.sessions.postgres_server import Server, serving
from tests.sessions.silent_server import falling_silent, pooling
from tests.sessions.talking import opened, say
from tests.shared import PYTHONPATH
from tests.waiting import until_sync
from toolkeel import Agent, tool
from toolkeel._records.entries import RunEnded
from toolkeel.errors import MissingExtraError
from toolkeel.messages import UserMessage
from toolkeel.sessions import KeyValueStore, Session, Sessions
from toolkeel.sessions.errors import SessionBusy, SessionError, SessionUnavailable
from toolkeel.sessions.stores import postgres, postgres_connection, sql_tables
from toolkeel.testing.scripted import Scripted, call

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as made:
        yield made


@pytest.fixture
def address(server: Server) -> str:
    return server.new_database()


def python(script: str, *words: str) -> subprocess.Popen[str]:
    paths = f"import sys; sys.path[:0] = {PYTHONPATH.split(os.pathsep)!r}\n"
    started = [sys.executable, "-c", paths + script, *words]
    return subprocess.Popen(started, stdout=subprocess.PIPE, text=True)


def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def texts(session: Session) -> list[str]:
    return [m.text for m in session.messages if isinstance(m, UserMessage)]


WORKER = """
from toolkeel import Agent, tool, ToolContext
from toolkeel.sessions import Sessions
from toolkeel.testing.scripted import Scripted, call
import asyncio, resource

@tool
def mark(who: str, context: ToolContext[None]) -> str:
    "Mark."
    return context.update("marks", lambda marks: [*marks, who], [])[-1]

async def main():
    address, worker, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    sessions, room = Sessions(address), asyncio.Semaphore(20)
    async def one(n):
        async with room:
            name = f"{worker}-{n}"
            agent = Agent(Scripted([call("mark", {"who": name}), f"I am {name}"]), [mark])
            await agent.run(f"who is {name}", session=sessions[name])
    tenth = count // 10
    await asyncio.gather(*map(one, range(tenth)))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    await asyncio.gather(*map(one, range(tenth, count)))
    print(before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)

asyncio.run(main())
"""


def test_a_thousand_sessions_of_four_processes_do_not_cross(address: str) -> None:
    workers = [python(WORKER, address, str(n), "250") for n in range(4)]
    for worker in workers:
        before, after = map(int, worker.communicate()[0].split())
        assert worker.returncode == 0
        assert after < before + 60_000  # KiB: memory is flat
    sessions = Sessions(address)
    assert len(sessions.list()) == 1000
    for info in sessions.list():
        fold = sessions[info.name].load_state()
        assert fold.state == {"marks": [info.name]}
        assert fold.view.messages[0].text == f"who is {info.name}"
    sessions.close()


def test_a_process_has_five_connections_however_many_sessions_it_reads(address: str) -> None:
    sessions = Sessions(address)
    say(sessions["ada"], "one", "1")
    with ThreadPoolExecutor(30) as pool:
        heads = list(pool.map(lambda _: len(sessions["ada"].messages), range(300)))
    assert set(heads) == {2}
    counts = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
    found = sessions._storage.store.database.read(
        lambda connection: connection.execute(counts).fetchone()
    )
    assert found[0] <= 1 + postgres.READERS
    sessions.close()


HOLDER = """
from toolkeel import Agent, tool
from toolkeel.sessions import Sessions
from toolkeel.testing.scripted import Scripted, call
import time

@tool(timeout=600)
def hold() -> str:
    "Hold."
    print("held", flush=True)
    time.sleep(600)
    return "late"

Agent(Scripted([call("hold", {})]), [hold]).run_sync("go", session=Sessions(sys.argv[1])["ada"])
"""


def test_a_session_has_one_writer_among_processes_until_it_dies(address: str) -> None:
    holder = python(HOLDER, address)
    try:
        assert line_of(holder) == "held"
        sessions = Sessions(address)
        busy = sessions.open("ada", wait=False)
        with pytest.raises(SessionBusy, match=f"process {holder.pid} "):
            Agent(Scripted(["x"]), []).run_sync("me too", session=busy)
        assert sessions["ada"].writer is not None
    finally:
        holder.kill()
        holder.communicate()
    until_sync(lambda: sessions["ada"].writer is None)
    assert [ticket.call.name for ticket in sessions["ada"].pending] == []
    sessions.close()


ASKS = """
from toolkeel import Agent, tool
from toolkeel.sessions import Sessions
from toolkeel.testing.scripted import Scripted, call
import os, signal

@tool(approval=True)
def pay(amount: int) -> str:
    "Pay."
    return "never here"

end = Agent(Scripted([call("pay", {"amount": 5})]), [pay]).run_sync(
    "Pay 5.", session=Sessions(sys.argv[1])["ada"])
print(end.reason, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_run_that_waits_is_moved_to_another_store_and_runs_its_call_once(
    address: str, tmp_path: Path, server: Server
) -> None:
    file = str(tmp_path / "talk.db")
    process = python(ASKS, file)
    assert line_of(process) == "waiting"
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    paid: list[int] = []

    @tool(approval=True)
    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return f"paid {amount}"

    places = [file, address, server.new_database(), str(tmp_path / "elsewhere" / "moved.db")]
    for source, target in pairwise(places):
        there, here = Sessions(source), Sessions(target)
        here.import_(there.export("ada"), "ada")
        there.close()
        here.close()
    moved = Sessions(places[-1])
    [ticket] = moved["ada"].pending
    for number in range(2):
        model = Scripted(["Paid."])
        agent = Agent(model, [pay])
        end = agent.run_sync(None, session=moved["ada"], decisions=[ticket.approve()])
        assert (end.output, len(model.requests)) == ("Paid.", 0 if number else 1)
    assert paid == [5]
    moved.close()


def test_a_server_that_restarts_is_connected_to_again_and_nothing_is_lost() -> None:
    with serving() as server:
        address = server.new_database()
        sessions, store = Sessions(address), KeyValueStore(address)
        say(sessions["ada"], "one", "1")
        store.put(("a",), "k", {"v": 1})
        server.stop()
        server.start()
        say(sessions["ada"], "two", "2")
        item = store.get(("a",), "k")
        assert item is not None and item.value == {"v": 1}
        assert texts(sessions["ada"]) == ["one", "two"]

        @tool
        def restart() -> str:
            """Restart the server while a run goes on."""
            server.stop()
            server.start()
            return "restarted"

        agent = Agent(Scripted([call("restart", {}), "still here"]), [restart])
        assert agent.run_sync("three", session=sessions["ada"]).output == "still here"
        assert texts(sessions["ada"]) == ["one", "two", "three"]
        assert sessions["ada"].writer is None
        sessions.close()


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ada:hush@127.0.0.1:9/none?connect_timeout=5",
        "postgresql://127.0.0.1:9/none?user=ada&password=hush&connect_timeout=5",
        "postgresql://127.0.0.1:9/none?connect_timeout=5&password=x@hush",
        "postgresql://ada:%zzhush@127.0.0.1:9/none",
        "postgresql://ada:hush@[::1/none",
    ],
)
def test_what_goes_wrong_is_told_without_the_password(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SessionError, match=r"cannot be (opened|read)") as caught:
        Sessions(address)
    assert "hush" not in str(caught.value)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtraError, match=re.escape("toolkeel[postgres]")):
        Sessions("postgres://127.0.0.1:9/none")


def test_of_two_stores_that_write_the_same_none_ends_in_an_error(address: str) -> None:
    one, two = KeyValueStore(address), KeyValueStore(f"{address}&application_name=two")
    begin = {one: Event(), two: Event()}

    def slowly(value: dict[str, object]) -> dict[str, object]:
        sleep(0.5)  # meanwhile the other has begun
        return {"n": 1}

    with ThreadPoolExecutor(4) as pool:
        for store, told in begin.items():  # what is asked meanwhile is one transaction each
            store._database.write(lambda _, told=told: told.wait(10))
        asked = [
            pool.submit(one.put, ("a",), "row", {"n": 1}),
            pool.submit(two.change, ("a",), "third", slowly),
        ]
        sleep(0.2)
        asked += [
            pool.submit(one.change, ("a",), "other", slowly),
            pool.submit(two.put, ("a",), "row", {"n": 2}),
        ]
        sleep(0.2)
        begin[two].set()
        sleep(0.2)
        begin[one].set()
        for each in asked:
            each.result(30)
    one.close()
    two.close()


def test_older_tables_are_brought_up_to_date_and_later_ones_refused_also_when_it_reconnects(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = server.new_database()
    old = Sessions(address)
    say(old["ada"], "one", "1")
    with monkeypatch.context() as later:
        steps = (*sql_tables.STEPS, "ALTER TABLE session ADD COLUMN color TEXT DEFAULT 'red';")
        later.setattr(sql_tables, "STEPS", steps)
        later.setattr(postgres, "STEPS", steps)
        new = Sessions(f"{address}&application_name=new")
        say(new["ada"], "two", "2")
        say(old["ada"], "three", "3")  # it goes on beside the new one
        assert texts(new["ada"]) == ["one", "two", "three"]
        new.close()
    connection = postgres_connection.PostgresConnection(address)
    assert connection.execute("SELECT name, color FROM session").fetchall() == [("ada", "red")]
    connection.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    connection.close()
    with pytest.raises(SessionError, match="upgrade toolkeel"):
        old["ada"].say("four")
    old.close()
    with pytest.raises(SessionError, match=r"tables of version 2.*upgrade toolkeel"):
        Sessions(address)


def test_two_writers_that_both_believe_to_be_the_one_are_kept_apart(address: str) -> None:
    """As after a connection was lost: the numbers of the entries let one of them go on."""
    sessions = Sessions(address)
    say(sessions["ada"], "one", "1")
    first, second = opened(sessions), opened(sessions)
    first.append(RunEnded("r", "answered"))
    second.append(RunEnded("r", "answered"))
    first.commit_now()
    with pytest.raises(SessionError, match="somebody else has written"):
        second.commit_now()
    sessions.close()


def test_no_lock_is_left_of_an_attempt_or_a_release_that_a_lost_connection_cut_short(
    address: str,
) -> None:
    store, go = postgres.open_store(address), Event()
    assert isinstance(store, postgres.PostgresStore)
    other = psycopg.connect(address, autocommit=True)

    def is_free(session: int) -> bool:
        sql = "SELECT pg_try_advisory_lock(%s, %s)"
        [row] = other.execute(sql, (sql_tables.APPLICATION, session))
        return bool(row[0])

    def die(connection: sqlite3.Connection) -> None:
        connection.execute("SELECT pg_terminate_backend(pg_backend_pid())")

    with ThreadPoolExecutor() as pool:
        store.database.write(lambda _: go.wait(60), separate=True)
        attempt = pool.submit(store.try_lock, 1)  # in one transaction with what is written next
        until_sync(lambda: not store.database._works.empty())
        store.database.write(die)
        go.set()
        with pytest.raises(SessionError, match="cannot be written"):
            attempt.result(60)
    assert store.try_lock(2)  # connects again
    until_sync(lambda: is_free(1))
    go.clear()
    store.database.write(lambda _: go.wait(60), separate=True)
    died = store.database.write(die, separate=True)
    store.unlock(2)
    go.set()
    assert died.exception(60)
    assert store.try_lock(3)
    until_sync(lambda: is_free(2))
    assert not is_free(3)
    store.unlock(3)
    other.close()
    store.database.close()


def test_nul_characters_are_kept_where_a_text_of_the_server_cannot_hold_them(address: str) -> None:
    sessions = Sessions(address)
    say(sessions["ada"], "a\0b", "c\0d")
    assert texts(sessions["ada"]) == ["a\0b"]
    assert sessions["ada"].info.first == "a b"
    sessions.close()


def test_a_connection_that_falls_silent_ends_its_statements_and_leaves_no_lock_behind(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_connection, "PROMPT_SECONDS", 0.3)
    going, go = Event(), Event()

    @tool
    def wait() -> str:
        """Wait."""
        going.set()
        return str(go.wait(30))

    with falling_silent(address) as (place, silence), ThreadPoolExecutor() as pool:
        sessions, elsewhere = Sessions(place), Sessions(address)
        say(sessions["bob"], "one", "yes")
        agent = Agent(Scripted([call("wait"), "yes"]), [wait])
        run = pool.submit(agent.run_sync, "one", session=sessions["ada"])
        assert going.wait(30)
        silence.fall()
        assert texts(sessions["bob"]) == ["one"]  # on a new connection
        go.set()
        assert run.result(30).reason == "answered"
        say(elsewhere["ada"], "two", "yes")
        assert texts(sessions["ada"]) == ["one", "two"]
        sessions.close()
        elsewhere.close()


def test_a_loop_ends_although_the_database_never_answers(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loop goes on meanwhile, and `asyncio.run` waits for the reading threads at its end."""
    monkeypatch.setattr(postgres_connection, "PROMPT_SECONDS", 0.5)
    monkeypatch.setattr(postgres, "BUSY_SECONDS", 0.5)

    async def ask(sessions: Sessions) -> int:
        turns, agent = 0, Agent(Scripted(["yes"]))
        run = asyncio.create_task(agent.run("two", session=sessions["ada"]))
        while not run.done():
            turns += 1
            await asyncio.sleep(0.01)
        with pytest.raises(SessionError):
            await run
        return turns

    with falling_silent(address) as (place, silence):
        sessions = Sessions(f"{place}?connect_timeout=2")
        say(sessions["ada"], "one", "yes")
        silence.fall()
        silence.serve = lambda path, client: silence.clients.append(client)  # type: ignore[method-assign]
        assert asyncio.run(ask(sessions)) > 10
        sessions.close()


def test_a_proxy_that_pools_transactions_is_refused_and_one_that_pools_sessions_is_not(
    address: str,
) -> None:
    Sessions(address).close()
    for in_turn in (False, True):
        with pooling(address, transactions=True, in_turn=in_turn) as place:
            with pytest.raises(SessionError, match="write the address of the server itself"):
                Sessions(place)
            plain = psycopg.connect(place, autocommit=True)  # on a connection that was used before
            [path] = plain.execute("SHOW search_path", prepare=False).fetchone() or [""]
            assert "toolkeel" not in path
            plain.close()
    with pooling(address, transactions=False) as place:
        sessions = Sessions(place)
        say(sessions["ada"], "one", "yes")
        assert texts(sessions["ada"]) == ["one"]
        sessions.close()


def test_a_server_that_is_away_is_distinct_from_one_that_refuses(server: Server) -> None:
    place = server.new_database()
    with pytest.raises(SessionUnavailable, match="cannot be opened"):
        Sessions("postgresql://keel@127.0.0.1:1/keel")
    with pytest.raises(SessionError, match="cannot be opened") as refused:
        Sessions(re.sub(r"/keel\d+", "/nothing", place))
    assert not isinstance(refused.value, SessionUnavailable)
