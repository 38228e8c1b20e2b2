"""``toolkeel index``: a folder becomes a store that the tool finds."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.commandline import Terminal, readable, toolkeel
from toolkeel_workspace.search.embeddings import Embeddings
from toolkeel_workspace.search.vector_store import VectorStore


def docs(folder: Path) -> Path:
    made = folder / "docs"
    made.mkdir()
    for number in range(5):
        (made / f"{number}.md").write_text(f"# Part {number}\n海象 walrus {number}", "utf-8")
    (made / "program").write_bytes(b"\0\0")
    return made


def test_a_folder_is_indexed_and_searched_by_a_model(tmp_path: Path) -> None:
    docs(tmp_path)
    env = {"XDG_DATA_HOME": str(tmp_path / "data")}
    first = toolkeel("index", "docs", cwd=tmp_path, env=env)
    assert first.code == 0
    assert "5 files, 5 passages in " in first.out
    assert "5 added, 0 changed, 0 unchanged, 0 removed, 1 skipped" in first.out
    assert 'toolkeel run -t file_search:stores=docs "..."' in first.out
    assert "skipped program: It is application/octet-stream" in first.err
    again = toolkeel("index", "docs", "--json", cwd=tmp_path, env=env)
    assert json.loads(again.out)["unchanged"] == 5
    query = ("call", "file_search:stores=docs", "file_search", "query=海象 3")
    found = toolkeel(*query, cwd=tmp_path, env=env)
    assert found.out.startswith("[1] 3.md > Part 3 (score 1.00)"), found


def test_folders_of_one_name_share_a_store_and_that_is_told(tmp_path: Path) -> None:
    env = {"XDG_DATA_HOME": str(tmp_path / "data")}
    for place in ("one", "two"):
        (tmp_path / place).mkdir()
        docs(tmp_path / place)
    assert "other folders" not in toolkeel("index", "one/docs", cwd=tmp_path, env=env).err
    second = toolkeel("index", "two/docs", cwd=tmp_path, env=env)
    assert "the store holds 5 files of other folders, too: see --store" in second.err
    own = toolkeel("index", "two/docs", "--store", "two", cwd=tmp_path, env=env)
    assert "other folders" not in own.err


def test_a_folder_with_spaces_in_its_name_gives_a_store_that_can_be_named(tmp_path: Path) -> None:
    docs(tmp_path).rename(tmp_path / "my 文档 (new)")
    env = {"XDG_DATA_HOME": str(tmp_path / "data")}
    told = toolkeel("index", "my 文档 (new)", cwd=tmp_path, env=env).out
    assert (tmp_path / "data/toolkeel/stores/my-文档-new.sqlite").is_file()
    assert "file_search:stores=my-文档-new" in told
    query = ("call", "file_search:stores=my-文档-new,max_num_results=2", "query=海象")
    assert toolkeel(*query, cwd=tmp_path, env=env).out.count("score") == 2


def test_a_store_may_be_a_path(tmp_path: Path) -> None:
    docs(tmp_path)
    ended = toolkeel("index", "docs", "--store", "./my.sqlite", cwd=tmp_path)
    assert (ended.code, (tmp_path / "my.sqlite").is_file()) == (0, True)


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    env = {"XDG_DATA_HOME": str(tmp_path)}
    ended = toolkeel("index", "missing", cwd=tmp_path, env=env)
    assert (ended.code, "there is no folder 'missing' to index" in ended.err) == (3, True)
    assert not list(tmp_path.rglob("*.sqlite"))
    model = ("--embeddings", "x", "--base-url", "http://127.0.0.1:9/v1")
    docs(tmp_path)
    ended = toolkeel("index", "docs", *model, cwd=tmp_path, env=env)
    assert (ended.code, "embedding server cannot be asked" in ended.err) == (3, True)


def test_what_gets_no_vectors_in_a_store_that_has_some_is_told(tmp_path: Path) -> None:
    docs(tmp_path)
    env = {"XDG_DATA_HOME": str(tmp_path)}
    assert "has vectors" not in toolkeel("index", "docs", cwd=tmp_path, env=env).err
    with VectorStore(tmp_path / "toolkeel/stores/docs.sqlite", Embeddings("tiny", "http://x/v1")):
        pass
    told = toolkeel("index", "docs", cwd=tmp_path, env=env).err
    assert "the store has vectors of tiny: what is new has none without --embeddings" in told


def test_a_person_sees_a_bar(tmp_path: Path) -> None:
    docs(tmp_path)
    terminal = Terminal(["index", "docs"], tmp_path, env={"XDG_DATA_HOME": str(tmp_path)})
    ended = terminal.end()
    assert "Indexing" in readable(ended.err)
    assert "5 files, 5 passages" in readable(ended.err)
