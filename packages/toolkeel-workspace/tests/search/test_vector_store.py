"""One SQLite file of texts: what goes in comes out, and nothing is left behind."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolkeel.errors import SetupError, ToolError
from toolkeel_workspace.search.stores import Source
from toolkeel_workspace.search.vector_store import VectorStore


class Lengths:
    """An embedder whose meaning is the length of a text."""

    model = "lengths"

    def embed(self, texts: Sequence[str]) -> np.ndarray:  # type: ignore[type-arg]
        return np.array(
            [[1.0, 0.0] if len(text) > 50 else [0.0, 1.0] for text in texts], np.float32
        )


class Broken(Lengths):
    def embed(self, texts: Sequence[str]) -> np.ndarray:  # type: ignore[type-arg]
        raise ToolError("no vectors today")


def words(store: VectorStore) -> set[str]:
    """What the index of words holds."""
    with store.read_transaction() as db:
        return {row[0] for row in db.execute("SELECT term FROM vocabulary")}


def check(path: Path) -> None:
    """SQLite's own check of the file and of the index in it."""
    db = sqlite3.connect(path)
    assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    db.close()


def test_files_are_put_in_replaced_and_taken_out(tmp_path: Path) -> None:
    store = VectorStore(tmp_path / "a" / "s.sqlite")
    first, _ = store.add(
        Source("a.md", "alpha beta", "Title", {"year": 2024, "标签": "猫"}, "stamp", "digest"),
        Source("b.md", "# Gamma\ndelta"),
    )
    assert words(store) >= {"alpha", "beta", "titl", "gamma", "delta"}
    a, _ = store.list_files()
    assert (a.name, a.stamp, a.digest, a.attributes["标签"]) == ("a.md", "stamp", "digest", "猫")
    before = store.generation
    assert store.add(Source("a.md", "epsilon")) == [first]
    assert store.generation != before
    assert "alpha" not in words(store)
    assert store.remove("a.md", "b.md", "c.md") == 2
    assert (len(store), words(store), store.list_files()) == (0, set(), [])
    store.close()
    check(tmp_path / "a" / "s.sqlite")


NAMES = st.sampled_from(["a", "b", "c"])
STEPS = st.lists(st.tuples(NAMES, st.none() | st.text(max_size=40)), max_size=12)


@settings(max_examples=30)
@given(STEPS)
def test_after_any_steps_the_index_is_what_it_would_be_made_anew(
    steps: list[tuple[str, str | None]],
) -> None:
    """A contentless index is only right if all that was put in was taken out."""
    used, fresh, now = VectorStore(":memory:"), VectorStore(":memory:"), {}
    try:
        for name, text in steps:
            now.pop(name, None)
            if text is None:
                used.remove(name)
            else:
                used.add(Source(name, text))
                now[name] = text
        fresh.add(*(Source(name, text) for name, text in now.items()))
        assert words(used) == words(fresh)
        assert len(used) == len(fresh)
    finally:
        used.close()
        fresh.close()


def test_nothing_is_changed_if_there_are_no_vectors(tmp_path: Path) -> None:
    store = VectorStore(tmp_path / "s.sqlite", Broken())
    with pytest.raises(ToolError, match="no vectors today"):
        store.add(Source("a.md", "alpha"))
    assert (len(store), store.list_files()) == (0, [])
    store.close()


def test_vectors_of_two_models_are_not_mixed(tmp_path: Path) -> None:
    VectorStore(tmp_path / "s.sqlite", Lengths()).close()

    class Other(Lengths):
        model = "other"

    with pytest.raises(SetupError, match="has vectors of 'lengths', not of 'other'"):
        VectorStore(tmp_path / "s.sqlite", Other())
    VectorStore(tmp_path / "s.sqlite").close()


def test_what_is_no_store_is_told(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="there is no vector store"):
        VectorStore(tmp_path / "missing.sqlite", create=False)
    (tmp_path / "text.sqlite").write_text("hello " * 200)
    with pytest.raises(SetupError, match="is no vector store"):
        VectorStore(tmp_path / "text.sqlite")
    store = VectorStore(tmp_path / "old.sqlite")
    with store.write_transaction() as db:
        db.execute("UPDATE meta SET value = '0' WHERE key = 'format'")
    store.close()
    with pytest.raises(SetupError, match="made by another version"):
        VectorStore(tmp_path / "old.sqlite")


def test_a_store_is_read_while_another_writes(tmp_path: Path) -> None:
    writer, reader = VectorStore(tmp_path / "s.sqlite"), VectorStore(tmp_path / "s.sqlite")

    def write() -> None:
        for number in range(30):
            writer.add(Source(f"{number}.md", f"word{number} " * 50))

    thread = threading.Thread(target=write)
    thread.start()
    seen = []
    while thread.is_alive():
        seen.append(len(reader))
    thread.join()
    assert len(reader) == 30
    assert seen == sorted(seen)
    writer.close()
    reader.close()


def test_text_that_no_database_holds_is_cleaned(tmp_path: Path) -> None:
    store = VectorStore(tmp_path / "s.sqlite")
    store.add(Source("a.md", "half \ud83d end"))
    assert words(store) >= {"half", "end"}
    store.close()


def test_a_store_is_closed_at_the_end_of_its_block(tmp_path: Path) -> None:
    with VectorStore(tmp_path / "docs.sqlite") as store:
        store.add(Source("a", "walrus"))
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        words(store)


def test_after_a_transaction_that_sqlite_ended_itself_its_error_is_told_and_the_next_works(
    tmp_path: Path,
) -> None:
    store = VectorStore(tmp_path / "s.sqlite")
    with pytest.raises(OSError, match="full"), store.write_transaction() as db:
        db.execute("ROLLBACK")  # as on a full disk
        raise OSError("full")
    store.add(Source("a.md", "alpha"))
    assert [each.name for each in store.list_files()[0:1]] == ["a.md"]
