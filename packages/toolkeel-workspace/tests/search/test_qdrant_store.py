"""What is Qdrant's alone; see test_stores.py for what holds for every store."""

from __future__ import annotations

from pathlib import Path

import pytest
from qdrant_client import QdrantClient

from tests.search.test_vector_store import Lengths
from toolkeel.errors import SetupError, ToolError
from toolkeel_workspace.search.qdrant_store import BATCH_SIZE, QdrantStore
from toolkeel_workspace.search.stores import Source


def test_a_store_lasts_beyond_its_client(tmp_path: Path) -> None:
    with QdrantStore(QdrantClient(path=str(tmp_path)), "docs", Lengths()) as store:
        store.add(Source("a.md", "walrus", "", {"标签": "猫"}))
    with QdrantStore(QdrantClient(path=str(tmp_path)), "docs", create=False) as store:
        assert (store.get_model(), len(store)) == ("lengths", 1)
        assert store.list_files()[0].attributes == {"标签": "猫"}
        with pytest.raises(SetupError, match="there is no vector store 'other'"):
            QdrantStore(store._client, "other", create=False)


def test_a_store_made_without_vectors_gets_none_later() -> None:
    client = QdrantClient(":memory:")
    QdrantStore(client, "docs").add(Source("a.md", "walrus"))
    with pytest.raises(SetupError, match="has no vectors, not of 'lengths': index another"):
        QdrantStore(client, "docs", Lengths())


def test_a_passage_that_is_gone_since_it_was_found_is_left_out() -> None:
    store = QdrantStore(QdrantClient(":memory:"), "docs")
    store.add(Source("a.md", "walrus"), Source("b.md", "walrus"))
    with store.view() as view:
        found = list(view.search_words(["walrus"], 10))
        store.remove("a.md")
        assert [one.name for _, one in view.read_passages(found)] == ["b.md"]


def test_a_large_file_is_sent_in_parts_and_replaced_whole() -> None:
    store = QdrantStore(QdrantClient(":memory:"), "docs")
    long = "".join(f"# Part {n}\ntext of part {n}\n" for n in range(2 * BATCH_SIZE + 10))
    store.add(Source("a.md", long))
    assert len(store) == 2 * BATCH_SIZE + 10
    store.add(Source("a.md", "short"))
    assert len(store) == 1


def test_what_a_crash_left_of_a_file_is_gone_when_the_file_is_put_in_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = QdrantStore(QdrantClient(":memory:"), "docs")
    store.add(Source("a.md", "old walrus", digest="1"))
    with monkeypatch.context() as patched, pytest.raises(ToolError, match="lost"):
        patched.setattr(store, "_delete_passages", _lost)
        store.add(Source("a.md", "new walrus", digest="2"))
    assert len(store) == 2
    store.add(Source("a.md", "newest walrus", digest="3"))
    assert (len(store), store.list_files()[0].digest) == (1, "3")


def _lost(*_: object) -> None:
    raise RuntimeError("the connection was lost")
