"""File search with the parameters of the Agents SDK, here and at OpenAI."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from openai.types.responses import ToolParam
from pydantic import TypeAdapter

from toolkeel import SetupError, ToolCall, Toolset
from toolkeel.builtin.hosted_calls import collect_hosted_items
from toolkeel.messages import ToolMessage, UserMessage
from toolkeel.model_interface import ModelRequest
from toolkeel.providers import anthropic, openai_responses
from toolkeel_workspace.search.by_name import tools
from toolkeel_workspace.search.file_search import FileSearchTool
from toolkeel_workspace.search.stores import Source
from toolkeel_workspace.search.vector_store import VectorStore


@pytest.fixture
def docs(tmp_path: Path) -> str:
    path = tmp_path / "docs.sqlite"
    store = VectorStore(path)
    store.add(
        *(Source(f"{n}.md", f"# Part {n}\nwalrus facts {n}", "", {"n": n}) for n in range(12)),
        Source("zh.md", "# 海象\n海象生活在北极。"),
    )
    store.close()
    return str(path)


def searched(tool: FileSearchTool, query: str) -> ToolMessage:
    [message] = Toolset([tool]).run_sync([ToolCall("call_1", "file_search", {"query": query})])
    return message


def test_passages_are_given_with_where_they_stand(docs: str) -> None:
    message = searched(FileSearchTool([docs]), "海象在哪里生活")
    assert message.text.startswith("[1] zh.md > 海象 (score ")
    assert "海象生活在北极。" in message.text
    assert searched(FileSearchTool([docs]), "zebra").text.startswith("No passage was found")
    assert searched(FileSearchTool([docs]), " ").kind == "tool_error"


def test_a_store_is_named_by_a_path_object_too(docs: str) -> None:
    plain = Path(docs).rename(Path(docs).with_name("docs"))  # no name of a store, though it could
    assert searched(FileSearchTool([plain]), "海象").text.startswith("[1] zh.md")


def test_the_number_of_results_is_what_was_asked_for(docs: str) -> None:
    assert len(FileSearchTool([docs]).search("walrus")) == 8
    assert len(FileSearchTool([docs], 3).search("walrus")) == 3
    assert len(FileSearchTool([docs], 50).search("walrus")) == 12


def test_results_come_along_for_the_program_in_openais_form(docs: str) -> None:
    [item] = collect_hosted_items([searched(FileSearchTool([docs], 2, True), "walrus 3")])
    results: Any = item["results"]
    assert (item["type"], item["queries"], len(results)) == ("file_search_call", ["walrus 3"], 2)
    assert set(results[0]) == {"file_id", "filename", "score", "text", "attributes"}
    assert results[0]["filename"] == "3.md"
    [without] = collect_hosted_items([searched(FileSearchTool([docs]), "walrus 3")])
    assert without["results"] is None


def test_filters_and_threshold_hold(docs: str) -> None:
    few = FileSearchTool([docs], filters={"type": "lt", "key": "n", "value": 2})
    assert {hit.filename for hit in few.search("walrus")} == {"0.md", "1.md"}
    strict = FileSearchTool([docs], ranking_options={"score_threshold": 0.9})
    assert strict.search("walrus zebra giraffe") == []
    options = SimpleNamespace(ranker="auto", score_threshold=0.1)
    assert FileSearchTool([docs], ranking_options=options).search("walrus")


def test_several_stores_are_searched_as_one(docs: str, tmp_path: Path) -> None:
    other = VectorStore(tmp_path / "other.sqlite")
    other.add(Source("other.md", "walrus facts of another store"))
    other.close()
    both = FileSearchTool([docs, str(tmp_path / "other.sqlite")], 50)
    assert {hit.store for hit in both.search("walrus facts")} == {
        docs,
        str(tmp_path / "other.sqlite"),
    }


def test_what_is_here_is_searched_here_and_what_is_not_is_the_providers(docs: str) -> None:
    here, there = FileSearchTool([docs]), FileSearchTool(["vs_1"], 3, True)
    assert openai_responses.encode_tools(Toolset([here]))[0]["type"] == "function"
    assert openai_responses.encode_tools(Toolset([there]))[0]["type"] == "file_search"
    assert "input_schema" in anthropic.encode_tools(Toolset([there]))[0]
    missing = searched(there, "x")
    assert "The store 'vs_1' cannot be searched: there is no vector store" in missing.text
    with pytest.raises(SetupError, match="shall run at the provider"):
        anthropic.encode_tools(Toolset([FileSearchTool(["vs_1"], where="provider")]))


def test_openai_is_sent_its_own_search() -> None:
    tool = FileSearchTool(
        ["vs_1"],
        3,
        True,
        {
            "ranker": "auto",
            "score_threshold": 0.5,
            "hybrid_search": {"embedding_weight": 0.6, "text_weight": 0.4},
        },
        {"type": "and", "filters": [{"type": "eq", "key": "lang", "value": "zh"}]},
    )
    body = openai_responses.encode(ModelRequest([UserMessage("hi")], Toolset([tool])), "gpt-4.1")
    [sent] = body["tools"]  # type: ignore[misc]
    assert sent == {
        "type": "file_search",
        "vector_store_ids": ["vs_1"],
        "max_num_results": 3,
        "ranking_options": {
            "ranker": "auto",
            "score_threshold": 0.5,
            "hybrid_search": {"embedding_weight": 0.6, "text_weight": 0.4},
        },
        "filters": {"type": "and", "filters": [{"type": "eq", "key": "lang", "value": "zh"}]},
    }
    TypeAdapter(ToolParam).validate_python(sent)
    assert body["include"] == ["file_search_call.results"]
    [bare] = openai_responses.encode_tools(Toolset([FileSearchTool(["vs_1"])]))
    assert bare == {"type": "file_search", "vector_store_ids": ["vs_1"]}


def test_searches_side_by_side_do_not_disturb_each_other(docs: str) -> None:
    tool = FileSearchTool([docs], 1)
    calls = [ToolCall(str(n), "file_search", {"query": f"walrus {n % 12}"}) for n in range(60)]
    before = threading.active_count()
    messages = Toolset([tool]).run_sync(calls)
    assert [m.text.split()[1] for m in messages] == [f"{n % 12}.md" for n in range(60)]
    assert threading.active_count() < before + 100


def _meta(path: str) -> list[tuple[str, str]]:
    db = sqlite3.connect(path)
    try:
        return db.execute("SELECT * FROM meta").fetchall()
    finally:
        db.close()


def test_a_search_changes_nothing(docs: str) -> None:
    before = _meta(docs)
    FileSearchTool([docs], filters={"type": "lt", "key": "n", "value": 2}).search("walrus")
    assert _meta(docs) == before


def test_no_store_named_is_told() -> None:
    assert tools("docs, more")[0].name == "file_search"
    with pytest.raises(SetupError, match="needs a store"):
        tools()


def test_a_store_itself_is_searched_as_one_that_is_named(tmp_path: Path) -> None:
    store = VectorStore(tmp_path / "a.sqlite")
    store.add(Source("a.md", "walrus"))
    search = FileSearchTool([store])
    assert [hit.store for hit in search.search("walrus")] == ["a"]
    assert search.tool.name == "file_search" and "'a'" in repr(search)
    store.close()


def test_an_address_is_never_sent_to_a_provider() -> None:
    address = "postgresql://keel:secret@host/docs#handbook"
    for options in ({"where": "provider"}, {"vector_store_ids": [address, "vs_1"]}):
        search = FileSearchTool(**{"vector_store_ids": [address], **options})  # type: ignore[arg-type]
        with pytest.raises(SetupError, match="is searched from here") as told:
            search.tool
        assert "secret" not in str(told.value) + repr(search)
    assert FileSearchTool([address]).tool.name == "file_search"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"vector_store_ids": "vs_1"}, "give a list"),
        ({"vector_store_ids": []}, "give a list"),
        ({"max_num_results": 0}, "from 1 to 50"),
        ({"max_num_results": 51}, "from 1 to 50"),
        ({"filters": {"type": "x"}}, r"filters\.type"),
        ({"ranking_options": {"threshold": 1}}, "no key 'threshold'"),
        ({"ranking_options": {"score_threshold": 2}}, "is not from 0 to 1"),
        ({"ranking_options": {"hybrid_search": {"text_weight": -1}}}, "must not be negative"),
    ],
)
def test_a_parameter_that_will_not_do_is_refused(options: Any, told: str) -> None:
    with pytest.raises(SetupError, match=told):
        FileSearchTool(**{"vector_store_ids": ["vs_1"], **options})
