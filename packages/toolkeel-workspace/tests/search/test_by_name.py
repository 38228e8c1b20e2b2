"""File search named on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolkeel.builtin.catalog import load_builtin
from toolkeel.errors import SetupError, ToolError
from toolkeel_workspace.search.by_name import tools
from toolkeel_workspace.search.stores import Source
from toolkeel_workspace.search.vector_store import VectorStore


def test_numbers_may_be_given_as_text(tmp_path: Path) -> None:
    with VectorStore(tmp_path / "a.sqlite") as store:
        store.add(*(Source(f"{n}.md", f"walrus {n}") for n in range(5)))
    [search] = load_builtin("file_search", stores=str(tmp_path / "a.sqlite"), max_num_results="2")
    assert str(search.invoke({"query": "walrus"}).content).count("score") == 2


@pytest.mark.parametrize("wrong", ["0", "51", "many", "-1", ""])
def test_a_number_that_will_not_do_is_told(wrong: str) -> None:
    with pytest.raises(SetupError, match="from 1 to 50"):
        tools(stores="docs", max_num_results=wrong)


def test_an_embedding_model_may_be_named(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="file_search needs a store"):
        tools(embeddings="tiny")
    path = tmp_path / "a.sqlite"
    with VectorStore(path) as store:
        store.add(Source("a.md", "walrus"))
    [search] = tools(stores=str(path), embeddings="tiny", base_url="http://127.0.0.1:9/v1")
    with pytest.raises(ToolError, match="embedding server cannot be asked"):
        search.invoke({"query": "walrus"})
