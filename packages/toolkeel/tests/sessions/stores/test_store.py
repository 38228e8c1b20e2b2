"""What sessions need of a store: each of them does the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Barrier, Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sessions.conftest import STORES
from tests.sessions.dict_store import DictStore
from toolkeel.sessions import Batch, NewPost, Sessions, SessionStore, Unchanged
from toolkeel.sessions.errors import SessionError
from toolkeel.sessions.stores.store import Row, Writer

SAID = NewPost(1.0, "ada", "message", "{}")


@pytest.fixture
def kept(store: str | DictStore) -> Iterator[SessionStore]:
    sessions = Sessions(store)
    yield sessions._storage.store
    sessions.close()


def rows(first: int, last: int, kind: str = "said") -> list[Row]:
    return [(seq, float(seq), kind, f'"{seq}"') for seq in range(first, last + 1)]


def test_entries_come_back_in_order_by_number_and_by_kind(kept: SessionStore) -> None:
    made = kept.create("s", "ada", 1.0, Batch(rows(1, 2), {"head": 2, "first": "hi"}))
    kept.append(made.id, Batch(rows(3, 5, "ended"), {"head": 5, "updated": 9.0}, 2)).result()
    assert list(kept.read(made.id, 1, 4)) == [*rows(2, 2), *rows(3, 4, "ended")]
    assert list(kept.read(made.id, 0, 5, "ended")) == rows(3, 5, "ended")
    assert list(kept.read(made.id, 5, 9)) == []
    info = kept.get(made.id)
    assert (info.head, info.first, info.created, info.updated) == (5, "hi", 1.0, 9.0)
    assert kept.find("s", "ada") == info == kept.list_sessions("s")[0]
    assert kept.find("", "ada") is None and kept.list_sessions("") == []


def test_a_batch_that_does_not_follow_the_last_entry_leaves_nothing(kept: SessionStore) -> None:
    made = kept.create("", "ada", 1.0, Batch(rows(1, 2), {"head": 2}))
    kept.post(made.id, SAID)
    taken = [kept.read_posts(made.id)[0].id]
    for batch in (
        Batch(rows(2, 3), {"head": 3}, 1, taken),
        Batch(rows(4, 4), {"head": 4}, 3, taken),
        Batch((), {"head": 2, "last": "x"}, 1, taken),
        Batch(rows(3, 3), {"head": 3}, 2, [*taken, 10**6]),
    ):
        with pytest.raises(SessionError):
            kept.append(made.id, batch).result()
        assert kept.get(made.id) == made and len(kept.read_posts(made.id)) == 1
        assert list(kept.read(made.id, 0, 9)) == rows(1, 2)


def test_a_post_leaves_the_inbox_with_its_entry(kept: SessionStore) -> None:
    made = kept.create("", "ada", 1.0, Batch())
    assert all(kept.post(made.id, NewPost(float(n), "ada", "message", "{}")) for n in range(3))
    first, second, third = kept.read_posts(made.id)
    assert first.id < second.id < third.id and (first.at, first.who) == (0.0, "ada")
    kept.append(made.id, Batch(rows(1, 1), {"head": 1}, 0, [second.id])).result()
    assert kept.read_posts(made.id) == [first, third]


def test_a_post_with_a_condition_is_added_if_nothing_of_its_kinds_came(kept: SessionStore) -> None:
    made = kept.create("", "ada", 1.0, Batch(rows(1, 2), {"head": 2}))
    kept.post(made.id, SAID)
    last = kept.read_posts(made.id)[-1].id
    assert not kept.post(made.id, SAID, Unchanged(1, last, "said", "message"))
    assert not kept.post(made.id, SAID, Unchanged(1, last, "", "cancel"))
    assert not kept.post(made.id, SAID, Unchanged(2, last - 1, "said", "message"))
    assert kept.post(made.id, SAID, Unchanged(1, last - 1, "ended", "cancel"))
    assert len(kept.read_posts(made.id)) == 2


def test_of_many_that_post_or_create_under_one_condition_one_is_first(kept: SessionStore) -> None:
    made, start, won = kept.create("", "ada", 1.0, Batch()), Barrier(8), list[str]()

    def race() -> None:
        start.wait()
        if kept.post(made.id, SAID, Unchanged(0, 0, "said", "message")):
            won.append("post")
        try:
            kept.create("", "new", 1.0, Batch())
            won.append("create")
        except SessionError:
            pass

    threads = [Thread(target=race) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sorted(won) == ["create", "post"]


def test_a_name_that_is_taken_is_found(kept: SessionStore) -> None:
    """Who creates a session second finds the first, however close together they are."""
    found: list[object] = []

    def race(name: str, start: Barrier) -> None:
        start.wait()
        try:
            found.append(kept.create("", name, 1.0, Batch()))
        except SessionError:
            found.append(kept.find("", name))

    for number in range(20):
        start = Barrier(4)
        threads = [Thread(target=race, args=(f"s{number}", start)) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    assert len(found) == 80
    assert None not in found


def test_a_fork_outlives_its_parent_and_its_parents_parent(kept: SessionStore) -> None:
    one = kept.create("", "one", 1.0, Batch(rows(1, 4), {"head": 4}))
    kept.post(one.id, SAID)
    two = kept.create("", "two", 2.0, Batch(rows(4, 5, "b"), {"head": 5}, 3), one)
    three = kept.create("", "three", 3.0, Batch(rows(5, 5, "c"), {"head": 5}, 4), two)
    for gone in (two.id, one.id):
        kept.delete(gone)
        expected = [*rows(1, 3), *rows(4, 4, "b"), *rows(5, 5, "c")]
        assert list(kept.read(three.id, 0, 5)) == expected
    assert [info.id for info in kept.list_sessions(None)] == [three.id]
    assert kept.read_posts(three.id) == []


def test_a_deleted_session_takes_nothing_and_its_name_is_free(kept: SessionStore) -> None:
    made = kept.create("", "ada", 1.0, Batch(rows(1, 1), {"head": 1}))
    with pytest.raises(SessionError, match="already"):
        kept.create("", "ada", 1.0, Batch())
    kept.delete(made.id)
    for attempt in (
        lambda: kept.get(made.id),
        lambda: kept.post(made.id, SAID),
        lambda: kept.delete(made.id),
        lambda: kept.append(made.id, Batch(rows(2, 2), {"head": 2}, 1)).result(),
    ):
        with pytest.raises(SessionError, match="deleted"):
            attempt()
    assert kept.create("", "ada", 1.0, Batch()).id != made.id


@pytest.mark.parametrize("store", STORES, indirect=True)
def test_a_writer_is_noted_and_shown(kept: SessionStore) -> None:
    made, writer = kept.create("", "ada", 1.0, Batch()), Writer(7, "host", "ada", "x.py", 3.0)
    assert kept.get_writer(made.id) is None and kept.try_lock(made.id)
    kept.set_writer(made.id, writer)
    kept.append(
        made.id, Batch(rows(1, 1), {"head": 1})
    ).result()  # what was written before is there
    assert kept.get_writer(made.id) == writer
    kept.unlock(made.id)


def test_what_a_store_does_faster_it_does_as_the_default(kept: SessionStore) -> None:
    one = kept.create("", "one", 1.0, Batch(rows(1, 900), {"head": 900}))
    two = kept.create("a", "two", 1.0, Batch(rows(701, 800), {"head": 800}, 700), one)
    assert kept.read_times(two.id, 790) == SessionStore.read_times(kept, two.id, 790)
    assert [seq for seq, _ in kept.read_times(two.id, 790)] == list(range(1, 791))
    for scope in ("", "a", "x"):
        found = SessionStore.count_other_sessions(kept, scope)
        assert kept.count_other_sessions(scope) == found


@given(st.lists(st.floats(0, 1e9), max_size=60), st.integers(1, 9))
def test_activity_counts_each_entry_once_in_the_order_of_time(
    gaps: list[float], parts: int
) -> None:
    times = [sum(gaps[: n + 1]) for n in range(len(gaps))]
    sessions = Sessions(DictStore())
    said = [(seq, at, "said", "{}") for seq, at in enumerate(times, 1)]
    sessions._storage.store.create("", "ada", 1.0, Batch(said, {"head": len(said)}))
    found = sessions["ada"].activity(parts)
    assert sum(count for _, count, _ in found) == len(said)
    assert [part for part, *_ in found] == sorted({part for part, *_ in found})
    assert all(0 <= part < parts for part, *_ in found)
    lasts = [last for *_, last in found]
    assert lasts == sorted(lasts) and lasts[-1:] == [len(said)][: len(found)]


def test_a_store_of_our_own_is_opened_twice_as_one(tmp_path: Path) -> None:
    store = DictStore()
    assert Sessions(store)._storage is Sessions(store)._storage
    assert Sessions(store)._storage is not Sessions(DictStore())._storage
    assert Sessions(store).path == Sessions(store).display_name == "the store"
