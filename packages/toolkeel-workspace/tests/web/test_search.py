"""Web search with the parameters of the Agents SDK, here and at providers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from openai.types.responses import ToolParam
from pydantic import TypeAdapter

from toolkeel import Agent, SetupError, ToolCall, Toolset, tool
from toolkeel.builtin.hosted_calls import collect_hosted_items
from toolkeel.effects import acts, reads
from toolkeel.messages import ToolMessage, UserMessage
from toolkeel.model_interface import ModelRequest
from toolkeel.providers import anthropic, gemini, openai_chat, openai_responses
from toolkeel.testing.scripted import Scripted, call
from toolkeel_workspace.web.search import (
    RESULT_SIZES,
    UserLocation,
    WebSearchTool,
    WebSearchToolFilters,
)
from toolkeel_workspace.web.search_backends import SearchQuery, SearchResult

OSLO = UserLocation(city="Oslo", country="NO", timezone="Europe/Oslo")


class Library:
    """A backend that knows a few pages, and remembers what it was asked."""

    name = "library"

    def __init__(self) -> None:
        self.asked: list[SearchQuery] = []

    async def search(self, question: SearchQuery) -> Sequence[SearchResult]:
        self.asked.append(question)
        long = "word " * 1000
        pages = [
            SearchResult("https://evil.example/", "Evil", "x"),
            SearchResult("http://[no-address", "Bad"),
        ]
        pages += [
            SearchResult(f"https://d{n}.example/", f"Page {n}", long, "2026-01-02")
            for n in range(20)
        ]
        return pages if question.text != "nothing" else []


def searched(tool: WebSearchTool, query: str = "天气") -> ToolMessage:
    [message] = Toolset([tool]).run_sync([ToolCall("call_1", "web_search", {"query": query})])
    return message


@pytest.mark.parametrize("size", ["low", "medium", "high"])
def test_the_context_size_says_how_much_the_model_reads(size: Any) -> None:
    count, length = RESULT_SIZES[size]
    message = searched(WebSearchTool(search_context_size=size, backend=Library()))
    assert f"{count}. Page {count - 2} (2026-01-02)" in message.text
    assert f"{count + 1}. " not in message.text
    assert count * length / 2 < len(message.text) < count * (length + 200)


def test_filters_and_location_reach_the_backend_and_hold_for_what_it_finds() -> None:
    library = Library()
    filters = WebSearchToolFilters(blocked_domains=["evil.example"])
    tool = WebSearchTool(OSLO, filters, backend=library)
    message = searched(tool)
    assert library.asked == [SearchQuery("天气", 8, "NO", (), ("evil.example",))]
    assert "Evil" not in message.text and "Bad" not in message.text
    assert "The user is in Oslo, NO." in tool.tool.description
    only = searched(WebSearchTool(filters={"allowed_domains": ["d3.example"]}, backend=library))
    assert only.details["shown"] == 1


def test_the_result_has_the_form_of_openais_item() -> None:
    [item] = collect_hosted_items([searched(WebSearchTool(backend=Library()))])
    action: Any = item["action"]
    assert (item["type"], item["id"], item["status"]) == ("web_search_call", "call_1", "completed")
    assert (action["type"], action["query"], len(action["sources"])) == ("search", "天气", 8)
    assert action["sources"][1] == {"type": "url", "url": "https://d0.example/", "title": "Page 0"}


def test_nothing_found_is_said_so() -> None:
    assert (
        "Nothing was found for 'nothing'"
        in searched(WebSearchTool(backend=Library()), "nothing").text
    )
    assert searched(WebSearchTool(backend=Library()), " ").kind == "tool_error"


def test_openai_is_sent_its_own_search() -> None:
    tool = WebSearchTool(OSLO, WebSearchToolFilters(["yr.no"]), "high")
    request = ModelRequest([UserMessage("hi")], Toolset([tool]))
    body = openai_responses.encode(request, "gpt-4.1")
    [sent] = body["tools"]  # type: ignore[misc]
    assert sent == {
        "type": "web_search",
        "search_context_size": "high",
        "user_location": {
            "type": "approximate",
            "city": "Oslo",
            "country": "NO",
            "timezone": "Europe/Oslo",
        },
        "filters": {"allowed_domains": ["yr.no"]},
    }
    TypeAdapter(ToolParam).validate_python(sent)
    assert body["include"] == ["web_search_call.action.sources"]
    [bare] = openai_responses.encode_tools(Toolset([WebSearchTool()]))
    assert (bare["filters"], bare["user_location"]) == (None, None)


def test_anthropic_and_gemini_are_sent_theirs() -> None:
    blocked = WebSearchTool(OSLO, {"blocked_domains": ["evil.example"]})
    [claude] = anthropic.encode_tools(Toolset([blocked]))
    assert claude == {
        "type": "web_search_20250305",
        "name": "web_search",
        "blocked_domains": ["evil.example"],
        "user_location": {
            "type": "approximate",
            "city": "Oslo",
            "country": "NO",
            "timezone": "Europe/Oslo",
        },
    }
    assert gemini.encode_tools(Toolset([WebSearchTool()])) == [{"google_search": {}}]


def test_what_a_provider_has_no_word_for_is_searched_here() -> None:
    blocked = Toolset([WebSearchTool(filters={"blocked_domains": ["evil.example"]})])
    assert openai_responses.encode_tools(blocked)[0]["type"] == "function"
    assert "functionDeclarations" in gemini.encode_tools(blocked)[0]
    assert openai_chat.encode_tools(blocked)[0]["type"] == "function"
    both = Toolset([WebSearchTool(filters=WebSearchToolFilters(["a.b"], ["x.a.b"]))])
    assert "input_schema" in anthropic.encode_tools(both)[0]
    there = WebSearchTool(filters={"allowed_domains": ["a.b"]}, where="provider")
    for wire in (gemini, openai_chat):
        with pytest.raises(SetupError, match="web_search shall run at the provider"):
            wire.encode_tools(Toolset([there]))  # type: ignore[attr-defined]


def test_before_gemini_3_googles_search_does_not_stand_beside_functions() -> None:
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    alone, mixed = Toolset([WebSearchTool()]), Toolset([WebSearchTool(), add])

    def sent(tools: Toolset, model: str) -> Any:
        return gemini.encode(ModelRequest([UserMessage("hi")], tools), model)

    assert sent(alone, "gemini-2.5-pro")["tools"] == [{"google_search": {}}]
    assert len(sent(mixed, "gemini-2.5-pro")["tools"][0]["functionDeclarations"]) == 2
    third = sent(mixed, "gemini-3-pro")
    assert third["tools"][1] == {"google_search": {}}
    assert third["toolConfig"] == {"includeServerSideToolInvocations": True}


def test_a_search_goes_to_the_provider_that_was_chosen_and_what_it_finds_is_a_strangers() -> None:
    @tool(effects=reads(private=True))
    def mailbox() -> str:
        """Read the mail."""
        return "secret"

    @tool(effects=acts("to"))
    def send(to: str) -> str:
        """Send."""
        return "sent"

    search = WebSearchTool(backend=Library())
    turns = [call("mailbox", {}), call("web_search", {"query": "secret"}), "done"]
    assert Agent(Scripted(turns), [mailbox, search]).run_sync("go").output == "done"
    turns = [call("web_search", {"query": "x"}), call("send", {"to": "eve@evil.example"}), "done"]
    assert Agent(Scripted(turns), [search, send]).run_sync("go").reason == "waiting"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"search_context_size": "huge"}, "expected 'low' or 'medium' or 'high', got 'huge'"),
        ({"user_location": {"town": "Oslo"}}, "user_location: no key town"),
        ({"filters": {"domains": []}}, "filters: no key domains"),
        ({"backend": "bing"}, "no search backend"),
    ],
)
def test_a_parameter_that_will_not_do_is_refused(options: Any, told: str) -> None:
    with pytest.raises(SetupError, match=told):
        WebSearchTool(**options)
