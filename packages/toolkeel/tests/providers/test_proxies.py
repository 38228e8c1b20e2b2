"""A proxy in front of the real provider: its own tools stay there once that was said, and where a
tool runs here instead, somebody is told."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from typing import Any

import pytest

from tests.providers.loopback import Json, answer, saying
from tests.providers.models import anthropic, chat, gemini, responses
from tests.providers.test_aliases import parts
from toolkeel import Agent, tool
from toolkeel.hosted import Hosted, Native
from toolkeel.providers.gemini.model import Gemini

SEARCH = Hosted(
    {
        "anthropic": Native({"type": "web_search_20250305", "name": "web_search"}),
        "openai-responses": Native({"type": "web_search"}),
        "gemini": Native({"google_search": {}}),
    }
)
OWN = {anthropic: "web_search_20250305", responses: "web_search", gemini: "google_search"}
"""What each provider calls its own search."""


@tool
def step(number: int) -> str:
    """Take a step."""
    return f"step {number}"


@tool("web_search", hosted=SEARCH)
def search(query: str) -> str:
    """Search the web."""
    return f"found {query} here"


ITEMS: dict[Callable[..., Any], list[Json]] = {
    anthropic: [
        {
            "type": "server_tool_use",
            "id": "srvtoolu_1",
            "name": "web_search",
            "input": {"query": "东京"},
        },
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
    ],
    responses: [
        {
            "type": "web_search_call",
            "id": "ws_1",
            "status": "completed",
            "action": {"type": "search", "query": "东京"},
        }
    ],
    gemini: [
        {"toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "id": "g1", "args": {"queries": ["东京"]}}},
        {"toolResponse": {"toolType": "GOOGLE_SEARCH_WEB", "id": "g1", "response": {}}},
    ],
}
"""What each provider says of a search that it made."""


def said(make: Callable[..., Any], last: bool) -> bytes:
    """A turn of the provider's: a search and a call, or its answer."""
    items = [] if last else ITEMS[make]
    if make is anthropic:
        use = {"type": "tool_use", "id": "t1", "name": "step", "input": {"number": 1}}
        content = [*items, {"type": "text", "text": "done"} if last else use]
        reason = "end_turn" if last else "tool_use"
        body: Json = {"type": "message", "content": content, "stop_reason": reason}
    elif make is responses:
        call = {"type": "function_call", "call_id": "c1", "name": "step"}
        text = {"type": "output_text", "text": "done", "annotations": []}
        output = [
            *items,
            {"type": "message", "role": "assistant", "content": [text]}
            if last
            else {**call, "arguments": '{"number": 1}'},
        ]
        body = {"object": "response", "status": "completed", "output": output}
    else:
        call = {"functionCall": {"name": "step", "args": {"number": 1}}}
        parts = [*items, {"text": "done"} if last else call]
        body = {
            "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}]
        }
    return answer(json.dumps(body))


def run(make: Callable[..., Any], **options: Any) -> list[Json]:
    """The requests of a run over a proxy."""
    with saying(said(make, False), said(make, True)) as server:
        agent = Agent(make(server, stream=False, **options), [search, step])
        assert asyncio.run(agent.run("go")).output == "done"
    return server.requests


def own_tools(make: Callable[..., Any], request: Json) -> list[Json]:
    return [one for one in request["tools"] if OWN[make] in one or one.get("type") == OWN[make]]


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [one.getMessage() for one in caplog.records if one.levelno == logging.WARNING]


@pytest.mark.parametrize("make", ITEMS)
def test_a_proxy_keeps_the_providers_own_tools_once_that_was_said(
    make: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    requests = run(make, hosts_tools=True)
    for request in requests:
        assert len(own_tools(make, request)) == 1
    sent_back = [*parts(requests[1])]
    assert all(item in sent_back for item in ITEMS[make])
    assert warnings(caplog) == []


@pytest.mark.parametrize("make", [anthropic, responses])
def test_a_tool_that_runs_here_since_nobody_said_is_told_once(
    make: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    for request in run(make):
        assert own_tools(make, request) == []
        assert "Search the web." in json.dumps(request["tools"])
    [told] = warnings(caplog)
    assert "web_search: run here" in told and "hosts_tools=True" in told


@pytest.mark.parametrize("make", ITEMS)
def test_a_server_that_is_said_to_have_no_tools_needs_no_warning(
    make: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    assert own_tools(make, run(make, hosts_tools=False)[0]) == []
    assert warnings(caplog) == []


def test_googles_tools_stay_behind_a_proxy_without_a_word() -> None:
    assert len(own_tools(gemini, run(gemini)[0])) == 1


def test_an_older_gemini_says_that_a_search_beside_functions_runs_here(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with saying(said(gemini, True)) as server:
        model = Gemini("gemini-2.5-flash", base_url=server.url, api_key="x", stream=False)
        asyncio.run(Agent(model, [search, step]).run("go"))
    assert own_tools(gemini, server.requests[0]) == []
    [told] = warnings(caplog)
    assert "web_search: run here" in told and "beside functions" in told


def test_where_no_provider_hosts_anything_nobody_is_warned(
    caplog: pytest.LogCaptureFixture,
) -> None:
    message = {"role": "assistant", "content": "done"}
    body = {"choices": [{"message": message, "finish_reason": "stop"}]}
    with saying(answer(json.dumps(body))) as server:
        asyncio.run(Agent(chat(server, stream=False), [search, step]).run("go"))
    assert warnings(caplog) == []
