"""The order in which waiting runs come: fair between scopes, within limits, a session's in turn."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from tests.sessions.postgres_server import Server, serving
from toolkeel_studio.durable.engine import JOURNAL, RunQueue, address_of
from toolkeel_studio.durable.fair_queue import FairQueue, ScopeLimits
from toolkeel_studio.durable.orders import RunOrder

pytestmark = pytest.mark.slow


class Rows:
    """A queue and the rows of it that a worker would see, without a worker.

    Args:
        place: Of the database.
    """

    def __init__(self, place: str) -> None:
        self._place, self.queue = place, RunQueue(place, "clerk")

    def put(self, id: str, scope: str = "", session: str = "", priority: int = 0) -> None:
        order = RunOrder(
            id=id, session=session or id, scope=scope, prompt="", since=0, priority=priority
        )
        self.queue.put(order)

    def chooser(self, **limits: float) -> FairQueue:
        return FairQueue(address_of(self._place), "clerk", JOURNAL, ScopeLimits(**limits))  # type: ignore[arg-type]

    def moved(self) -> list[str]:
        """Ids in the queue that the engine reads."""
        rows = self.queue.client.list_workflows(queue_name="clerk", load_input=False)
        return sorted(row.workflow_id for row in rows)

    def set(self, status: str, *ids: str, started: str = "NULL") -> None:
        """Do to rows what the engine does when it takes or ends runs."""
        fair = self.chooser()
        with fair._engine.connect() as connection:
            for id in ids:
                sql = f"UPDATE {fair._table} SET status = :status, started_at_epoch_ms = {started} WHERE workflow_uuid = :id"
                connection.execute(sa.text(sql), {"status": status, "id": id})
        fair.close()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as made:
        yield made


@pytest.fixture(params=["sqlite", "postgres"])
def rows(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Rows]:
    if request.param == "sqlite":
        made = Rows(str(tmp_path / "runs.db"))
    else:
        server: Server = request.getfixturevalue("server")
        made = Rows(server.new_database())
    yield made
    made.queue.close()


def take(rows: Rows, fair: FairQueue, room: int = 1) -> list[str]:
    """Move so many runs, and let the engine take them. Return their ids."""
    before = set(rows.moved())
    fair.move_next(room, "w")
    new = sorted(set(rows.moved()) - before)
    rows.set("PENDING", *new)
    return new


def test_a_flood_of_one_scope_delays_another_until_one_place_is_free(rows: Rows) -> None:
    fair = rows.chooser()
    for n in range(12):
        rows.put(f"a{n:02}", "a")
    assert take(rows, fair, 4) == ["a00", "a01", "a02", "a03"]
    for n in range(3):
        rows.put(f"b{n}", "b")
    rows.put("c0", "c")
    rows.set("SUCCESS", "a00")
    assert take(rows, fair) == ["b0"]  # of those with none in progress, the one that waits longest
    assert take(rows, fair) == ["c0"]
    assert take(rows, fair) == ["b1"]
    assert take(rows, fair) == ["b2"]
    assert take(rows, fair, 2) == ["a04", "a05"]
    fair.close()


def test_a_scope_alone_has_all_the_room_and_gives_it_up_as_others_come(rows: Rows) -> None:
    fair = rows.chooser()
    for n in range(40):
        rows.put(f"a{n:02}", "a")
    running = take(rows, fair, 6)
    assert len(running) == 6
    for n in range(40):
        rows.put(f"b{n:02}", "b")
    for _ in range(12):
        rows.set("SUCCESS", running.pop(0))
        running += take(rows, fair)
    assert Counter(id[0] for id in running) == {"a": 3, "b": 3}
    fair.close()


def test_the_highest_priority_comes_first_in_its_scope_and_a_session_keeps_its_order(
    rows: Rows,
) -> None:
    fair = rows.chooser()
    rows.put("low", "a")
    rows.put("first", "a", "talk", priority=1)
    rows.put("second", "a", "talk", priority=1000)
    rows.put("high", "a", priority=7)
    rows.put("other", "b", priority=1000)
    assert take(rows, fair) == ["high"]
    assert take(rows, fair) == ["other"]  # no priority takes another scope's turn
    assert take(rows, fair) == ["first"]
    assert take(rows, fair, 5) == ["low"]
    rows.set("SUCCESS", "first")
    assert take(rows, fair, 5) == ["second"]
    fair.close()


def test_limits_of_a_scope_hold_for_all_workers_together(rows: Rows) -> None:
    one, other = (rows.chooser(in_progress=2) for _ in range(2))
    for n in range(5):
        rows.put(f"a{n}", "a")
        rows.put(f"b{n}", "b")
    assert take(rows, one, 3) == ["a0", "a1", "b0"]
    assert take(rows, other, 9) == ["b1"]
    rows.set("SUCCESS", "a0")
    assert take(rows, other, 9) == ["a2"]
    one.close()
    other.close()


def test_of_a_scope_no_more_runs_begin_in_a_second_than_its_limit(rows: Rows) -> None:
    fair = rows.chooser(per_second=3)
    for n in range(8):
        rows.put(f"a{n}", "a")
    now = (
        "CAST(1000 * extract(epoch FROM clock_timestamp()) AS BIGINT)"
        if fair._is_postgres
        else "CAST(1000 * (julianday('now') - 2440587.5) * 86400 AS INTEGER)"
    )
    fair.move_next(9, "w")
    assert rows.moved() == ["a0", "a1", "a2"]
    rows.set("SUCCESS", "a0", "a1", started=f"{now} + 60000")  # within this second, for long enough
    rows.set("SUCCESS", "a2", started=f"{now} - 1001")
    fair.move_next(9, "w")
    assert rows.moved() == ["a0", "a1", "a2", "a3"]
    fair.close()


def test_workers_that_choose_at_once_never_take_one_run_twice_nor_two_of_a_session(
    rows: Rows,
) -> None:
    for n in range(60):
        rows.put(f"{n:02}", "ab"[n % 2], f"talk {n % 7}")
    choosers = [rows.chooser(in_progress=5) for _ in range(4)]
    barrier = threading.Barrier(4)

    def choose(fair: FairQueue) -> None:
        barrier.wait(10)
        for _ in range(3):
            fair.move_next(4, "w")

    threads = [threading.Thread(target=choose, args=(fair,)) for fair in choosers]
    for each in threads:
        each.start()
    for each in threads:
        each.join(60)
    moved = [row for id in rows.moved() if (row := rows.queue.status(id))]
    sessions = Counter(row.queue_partition_key for row in moved)
    assert moved and set(sessions.values()) == {1}
    scopes = Counter(str(row.authenticated_user) for row in moved)
    assert max(scopes.values()) <= 5
    for fair in choosers:
        fair.close()


def test_what_was_cancelled_or_is_of_another_version_is_left_alone(rows: Rows) -> None:
    fair = rows.chooser()
    rows.put("cancelled")
    rows.put("later")
    rows.put("good")
    rows.queue.client.cancel_workflow("cancelled")
    with fair._engine.connect() as connection:
        sql = f"UPDATE {fair._table} SET application_version = 'journal-999' WHERE workflow_uuid = 'later'"
        connection.execute(sa.text(sql))
    fair.move_next(9, "w")
    assert rows.moved() == ["good"]
    fair.close()


def test_the_order_is_by_turns_whatever_comes_in_which_order(rows: Rows) -> None:
    """All that waits is taken at last, and in each prefix no scope is two turns ahead of another."""
    sizes = {"a": 9, "b": 1, "c": 4}
    for scope, size in sizes.items():
        for n in range(size):
            rows.put(f"{scope}{n}", scope)
    fair, order = rows.chooser(), list[str]()
    while new := take(rows, fair):
        order += new
    seen: defaultdict[str, int] = defaultdict(int)
    for id in order:
        behind = [seen[s] for s, size in sizes.items() if seen[s] < size]
        assert seen[id[0]] == min(behind)
        seen[id[0]] += 1
    assert dict(seen) == sizes
    fair.close()
