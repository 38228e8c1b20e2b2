"""What tools remember: by namespace and key, as JSON, for as long as it shall be kept."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.messages_made import JSON
from toolkeel import Agent, ToolContext, tool
from toolkeel.sessions import KeyValueStore
from toolkeel.sessions.errors import SessionError
from toolkeel.sessions.tool_memory import SEPARATOR
from toolkeel.testing.scripted import Scripted, call


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(
    params=["memory", "file", pytest.param("postgres", marks=pytest.mark.slow)],
)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[KeyValueStore]:
    path: str | Path = ":memory:" if request.param == "memory" else tmp_path / "store.db"
    if request.param == "postgres":
        path = request.getfixturevalue("postgres").new_database()
    made = KeyValueStore(path, clock=Clock())
    yield made
    made.close()


NAME = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters=SEPARATOR), min_size=1, max_size=5
)
PLACE = st.lists(NAME, max_size=3).map(tuple)


@given(st.dictionaries(st.tuples(PLACE, NAME), st.dictionaries(NAME, JSON, max_size=2), max_size=6))
def test_whatever_was_put_is_got_and_found_below_its_namespaces(
    values: dict[tuple[tuple[str, ...], str], dict[str, Any]],
) -> None:
    store = KeyValueStore(":memory:")
    kept = {}
    for (place, key), value in values.items():
        try:
            store.put(place, key, value)
        except SessionError:  # half a surrogate pair has no text form
            continue
        kept[place, key] = value
    for (place, key), value in kept.items():
        item = store.get(place, key)
        assert item is not None
        assert (item.namespace, item.key, item.value) == (place, key, value)
    for place in {place[:n] for place, _ in kept for n in range(4)}:
        found = {(item.namespace, item.key) for item in store.search(place, limit=99)}
        assert found == {(p, key) for p, key in kept if p[: len(place)] == place}
    store.close()


def test_a_neighbour_whose_name_begins_alike_is_not_below(store: KeyValueStore) -> None:
    store.put(("users", "ada"), "k", {})
    store.put(("users", "adam"), "k", {})
    assert [item.namespace for item in store.search(("users", "ada"))] == [("users", "ada")]


@pytest.mark.parametrize(
    "name", ["a' OR 1=1 --", '"; DROP TABLE item; --', "a.b", "$", "北京", "%"]
)
def test_no_name_is_anything_but_a_name(store: KeyValueStore, name: str) -> None:
    store.put((name,), name, {name: name})
    store.put(("other",), "x", {"y": 1})
    assert [item.key for item in store.search((name,), {name: name})] == [name]
    assert store.search((name,), {name: 1}) == []
    assert store.search(("other",), {name: name}) == []
    assert store.delete((name,), name)
    assert not store.delete((name,), name)
    assert store.get(("other",), "x") is not None


def test_a_search_finds_the_latest_first_and_no_more_than_asked(store: KeyValueStore) -> None:
    for n in range(20):
        store._clock.now += 1  # type: ignore[attr-defined]
        store.put(("n",), str(n), {"even": n % 2 == 0, "n": n})
    found = store.search(("n",), {"even": True}, limit=3)
    assert [item.value["n"] for item in found] == [18, 16, 14]
    assert store.search(("n",), {"even": 1}) == []  # true is not 1


def test_what_shall_not_last_is_gone_in_time(store: KeyValueStore) -> None:
    store.put(("n",), "short", {"a": 1}, seconds=10)
    store.put(("n",), "long", {"a": 1})
    store._clock.now += 10  # type: ignore[attr-defined]
    assert store.get(("n",), "short") is None
    assert [item.key for item in store.search(("n",))] == ["long"]
    assert [store.delete(("n",), key) for key in ("short", "long")] == [False, True]


def test_many_are_put_all_or_none_and_a_put_keeps_when_it_began(store: KeyValueStore) -> None:
    with pytest.raises(SessionError, match="'b' is no JSON object"):
        store.put_all(("n",), {"a": {"x": 1}, "b": {"x": object()}})
    assert store.get_all(("n",), ["a", "b"]) == {}
    store.put_all(("n",), {"a": {"x": 1}, "b": {"x": 2}})
    store._clock.now += 5  # type: ignore[attr-defined]
    store.put(("n",), "a", {"x": 3})
    found = store.get_all(("n",), ["a", "b", "c"])
    assert {key: (item.value["x"], item.updated - item.created) for key, item in found.items()} == {
        "a": (3, 5.0),
        "b": (2, 0.0),
    }


@pytest.mark.parametrize(
    "value", [{"x": float("nan")}, {"x": {1}}, {1: "x"}, {"x": (1,)}, {"x": "\ud83d"}]
)
def test_what_would_come_back_as_something_else_is_refused(
    store: KeyValueStore, value: Any
) -> None:
    with pytest.raises(SessionError, match="no JSON object"):
        store.put(("n",), "k", value)


@pytest.mark.parametrize("key", [5, None, "half \ud83d"])
def test_what_is_no_key_is_refused_whatever_is_done_with_it(store: KeyValueStore, key: Any) -> None:
    for act in (
        lambda: store.get(("a",), key),
        lambda: store.put(("a",), key, {}),
        lambda: store.change(("a",), key, lambda value: value),
        lambda: store.delete(("a",), key),
    ):
        with pytest.raises(SessionError, match="no key; give a text"):
            act()


def test_a_time_that_is_no_number_is_refused(store: KeyValueStore) -> None:
    with pytest.raises(SessionError, match="seconds='1': give a number"):
        store.put(("a",), "k", {}, seconds="1")  # type: ignore[arg-type]


@pytest.mark.parametrize("namespace", ["users", ("",), (5,), (f"a{SEPARATOR}b",), ("\ud83d",)])
def test_what_is_no_namespace_is_refused(store: KeyValueStore, namespace: Any) -> None:
    with pytest.raises(SessionError, match="no namespace"):
        store.get(namespace, "k")


def test_tools_of_different_runs_share_it(store: KeyValueStore) -> None:
    @tool
    def remember(fact: str, context: ToolContext[Any]) -> str:
        """Remember."""
        assert isinstance(context.store, KeyValueStore)
        context.store.put(("facts",), fact, {"fact": fact})
        return str(len(context.store.search(("facts",))))

    for n in range(2):
        model = Scripted([call("remember", {"fact": f"f{n}"}), "ok"])
        result = Agent(model, [remember]).run_sync("go", store=store)
        assert result.messages[2].text == str(n + 1)


def test_it_is_there_after_a_restart_and_forgets_from_the_disk(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = KeyValueStore(path)
    store.put(("n",), "k", {"text": "very private"})
    store.close()
    store = KeyValueStore(path)
    assert store.get(("n",), "k") is not None
    store.delete(("n",), "k")
    found = [p.name for p in tmp_path.iterdir() if b"very private" in p.read_bytes()]
    store.close()
    assert found == []


COUNTING = """
import sys
from toolkeel.sessions import KeyValueStore
store = KeyValueStore(sys.argv[1])
for _ in range(25):
    store.change(("n",), "x", lambda value: {"n": value.get("n", 0) + 1})
    store.change(("n",), "x", lambda value: None)
store.close()
"""


def test_changes_of_several_processes_lose_none(store: KeyValueStore) -> None:
    store.change(("n",), "x", lambda value: {"n": 100, **value})
    path = store._database.path
    others = [] if path == ":memory:" else [COUNTING] * 3
    started = [subprocess.Popen([sys.executable, "-c", each, path]) for each in others]
    assert [each.wait(60) for each in started] == [0] * len(others)
    found = store.get(("n",), "x")
    assert found is not None and found.value == {"n": 100 + 25 * len(others)}
