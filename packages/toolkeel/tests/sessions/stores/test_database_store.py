"""A store in SQL: large values with the entries that name them."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolkeel.sessions import Batch
from toolkeel.sessions.errors import SessionError
from toolkeel.sessions.stores.database_store import SqliteStore
from toolkeel.sessions.stores.postgres import open_store


def test_large_values_live_as_long_as_an_entry_names_them(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "talk.db"))
    large, row = {"d" * 64: b"large"}, (1, 1.0, "said", "{}")
    one = store.create("", "one", 1.0, Batch([row], {"head": 1}, large=large))
    two = store.create("", "two", 1.0, Batch((), {"head": 1}, 1), one)
    store.delete(one.id)
    assert store.artifacts.find("d" * 64) == b"large"
    store.delete(two.id)
    assert store.artifacts.find("d" * 64) is None
    store.close()


def test_a_path_has_one_store_and_each_place_in_memory_its_own(tmp_path: Path) -> None:
    path = str(tmp_path / "talk.db")
    assert open_store(path) is open_store(path)
    memory = [open_store(":memory:"), open_store(":memory:")]
    assert isinstance(memory[0], SqliteStore) and memory[0] is not memory[1]
    open_store(path).close()
    with pytest.raises(SessionError, match="closed"):
        memory[0].close()
        memory[0].list_sessions(None)
