"""A folder in a store: only what changed is read again, what is gone is taken out."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.search.test_document_text import PAGE, pdf
from toolkeel.errors import SetupError
from toolkeel_workspace.search import indexing
from toolkeel_workspace.search.indexing import MAX_BYTES, IndexReport, index_folder
from toolkeel_workspace.search.vector_store import VectorStore


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.md").write_text("# A\nalpha")
    (folder / "sub" / "page.html").write_text(PAGE)
    (folder / "paper.pdf").write_bytes(pdf("a paper about walruses"))
    (folder / "tool.py").write_text("def walrus(): pass\n")
    return folder


@pytest.fixture
def store(tmp_path: Path) -> VectorStore:
    return VectorStore(tmp_path / "s.sqlite")


def counts(report: IndexReport) -> tuple[int, int, int, int]:
    return report.added, report.changed, report.unchanged, report.removed


def names(store: VectorStore) -> list[str]:
    return [file.name for file in store.list_files()]


def test_files_of_every_kind_are_put_in(docs: Path, store: VectorStore) -> None:
    seen: list[tuple[int, int, str]] = []
    report = index_folder(store, docs, on_progress=lambda *told: seen.append(told))
    assert counts(report) == (4, 0, 0, 0)
    assert names(store) == ["a.md", "paper.pdf", "sub/page.html", "tool.py"]
    assert [told[:2] for told in seen] == [(1, 4), (2, 4), (3, 4), (4, 4)]
    page = store.list_files()[2]
    assert page.attributes == {"path": "sub/page.html", "extension": ".html"}


def test_only_what_changed_is_read_again(docs: Path, store: VectorStore) -> None:
    index_folder(store, docs)
    before = {file.name: file.file_id for file in store.list_files()}
    generation = store.generation
    assert counts(index_folder(store, docs)) == (0, 0, 4, 0)
    assert store.generation == generation
    (docs / "a.md").write_text("# A\nbeta and more")
    (docs / "new.txt").write_text("new")
    (docs / "tool.py").unlink()
    os.utime(docs / "paper.pdf", ns=(1, 1))
    assert counts(index_folder(store, docs)) == (1, 1, 2, 1)
    assert names(store) == ["a.md", "new.txt", "paper.pdf", "sub/page.html"]
    assert store.list_files()[0].file_id == before["a.md"]
    assert counts(index_folder(store, docs)) == (0, 0, 4, 0)


def test_what_is_hidden_linked_made_by_others_or_no_text_stays_out(
    docs: Path, store: VectorStore, tmp_path: Path
) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    (docs / "link.txt").symlink_to(tmp_path / "secret.txt")
    (docs / "folder").symlink_to(tmp_path)
    (docs / ".env").write_text("KEY=1")
    for folder in (".git", "node_modules", "__pycache__"):
        (docs / folder).mkdir()
        (docs / folder / "x.txt").write_text("x")
    (docs / "program").write_bytes(b"\x7fELF\0\0")
    (docs / "broken.pdf").write_bytes(b"%PDF-1.7 broken")
    os.mkfifo(docs / "pipe")
    with (docs / "huge.txt").open("wb") as huge:
        huge.truncate(MAX_BYTES + 1)
    report = index_folder(store, docs)
    assert counts(report) == (4, 0, 0, 0)
    assert set(report.skipped) == {"program", "broken.pdf", "huge.txt"}
    assert "more than" in report.skipped["huge.txt"]


def test_a_file_that_stops_being_text_is_taken_out(docs: Path, store: VectorStore) -> None:
    index_folder(store, docs)
    (docs / "a.md").write_bytes(b"\0\0")
    assert counts(index_folder(store, docs)) == (0, 0, 3, 1)


def test_two_folders_share_a_store(docs: Path, store: VectorStore, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.md").write_text("another alpha")
    index_folder(store, docs)
    assert counts(index_folder(store, other)) == (1, 0, 0, 0)
    assert "other/a.md" in names(store)
    assert counts(index_folder(store, docs)) == (0, 0, 4, 0)
    assert counts(index_folder(store, other)) == (0, 0, 1, 0)


def test_the_program_gives_attributes(docs: Path, store: VectorStore) -> None:
    index_folder(store, docs, describe=lambda path: {"size": path.stat().st_size, "语言": "中文"})
    assert store.list_files()[0].attributes["语言"] == "中文"


def test_a_folder_that_is_not_there_is_told(store: VectorStore, tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="there is no folder"):
        index_folder(store, tmp_path / "missing")


def test_pipes_and_links_are_not_read_even_if_they_come_after_the_look(
    docs: Path, store: VectorStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T2, T3"""
    (docs.parent / "secret.txt").write_text("canary")
    os.mkfifo(docs / "pipe.txt")
    (docs / "link.txt").symlink_to(docs.parent / "secret.txt")
    with (docs / "sparse.txt").open("wb") as file:
        file.truncate(1 << 40)
    report = index_folder(store, docs)
    assert report.added == 4 and list(report.skipped) == ["sparse.txt"]
    late = [docs / "pipe.txt", docs / "link.txt"]
    monkeypatch.setattr(indexing, "_iter_files", lambda root: iter(late))
    report = index_folder(store, docs)
    assert report.added == 0
    assert sorted(report.skipped) == ["link.txt", "pipe.txt"]


class _Counting:
    """An embedder that counts what it is asked."""

    model = "counting"
    asked = 0

    def embed(self, texts: Sequence[str]) -> Any:
        self.asked += len(texts)
        return np.full((len(texts), 2), math.sqrt(0.5), np.float32)


def test_what_was_put_in_without_vectors_gets_them_once_there_is_a_model(
    docs: Path, tmp_path: Path
) -> None:
    path, embedder = tmp_path / "s.sqlite", _Counting()
    with VectorStore(path) as store:
        index_folder(store, docs)
    with VectorStore(path, embedder) as store:
        assert store.list_without_vectors() == set(names(store))
        assert counts(index_folder(store, docs)) == (0, 4, 0, 0)
        assert (store.list_without_vectors(), embedder.asked) == (frozenset(), len(store))
        assert counts(index_folder(store, docs)) == (0, 0, 4, 0)
        assert embedder.asked == len(store)
