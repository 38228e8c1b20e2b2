"""Search services, each asked as its API wants it, on a server that speaks it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from ddgs.engines.duckduckgo import Duckduckgo

from tests.builtin.webserver import Answer, Asked, always, response, serving
from toolkeel.errors import SetupError, ToolError
from toolkeel_workspace.web.search_backends import (
    Brave,
    Ddgs,
    SearchBackend,
    SearchQuery,
    SearchResult,
    SearXNG,
    Tavily,
    resolve_backend,
)
from toolkeel_workspace.web.service import MAX_RESPONSE_BYTES

OSLO = SearchQuery("weather 挪威", 3, "NO", ("yr.no", "met.no"), ("evil.example",))


def asked(
    answer: Answer, make: Callable[[str], SearchBackend], question: SearchQuery = OSLO
) -> Any:
    """What a backend found on such a server, and what it asked."""

    async def go() -> tuple[list[SearchResult], Asked]:
        async with serving(answer) as server:
            found = await make(server.url).search(question)
            return list(found), server.asked[0]

    return asyncio.run(go())


def as_json(body: object) -> Answer:
    return always(response(json.dumps(body, ensure_ascii=False), "application/json"))


def query(one: Asked) -> dict[str, str]:
    return {key: values[0] for key, values in parse_qs(urlsplit(one.path).query).items()}


def test_searxng_is_asked_for_json_in_the_language() -> None:
    rows = [
        {"url": "https://yr.no/1", "title": "Yr", "content": "sun", "publishedDate": "2026-01-02"},
        {"title": "no address"},
        "nonsense",
    ]
    found, one = asked(as_json({"results": rows}), SearXNG)
    assert found == [SearchResult("https://yr.no/1", "Yr", "sun", "2026-01-02")]
    assert urlsplit(one.path).path == "/search"
    assert query(one) == {
        "q": "weather 挪威 (site:yr.no OR site:met.no) -site:evil.example",
        "format": "json",
        "language": "zh-NO",
    }


def test_brave_is_asked_with_its_key_and_country() -> None:
    rows = {"web": {"results": [{"url": "https://yr.no", "title": "Yr", "description": "sun"}]}}
    found, one = asked(as_json(rows), lambda url: Brave("key", url))
    assert found == [SearchResult("https://yr.no", "Yr", "sun")]
    assert urlsplit(one.path).path == "/res/v1/web/search"
    assert one.headers["x-subscription-token"] == "key"
    assert query(one)["country"] == "NO"
    assert (query(one)["count"], query(one)["search_lang"]) == ("3", "zh-hans")


def test_tavily_is_asked_with_domains_of_its_own() -> None:
    rows = {"results": [{"url": "https://yr.no", "title": "Yr", "content": "sun", "score": 0.9}]}
    found, one = asked(as_json(rows), lambda url: Tavily("key", url))
    assert found == [SearchResult("https://yr.no", "Yr", "sun")]
    assert (one.method, one.path, one.headers["authorization"]) == ("POST", "/search", "Bearer key")
    assert json.loads(one.body) == {
        "query": "weather 挪威",
        "max_results": 3,
        "include_domains": ["yr.no", "met.no"],
        "exclude_domains": ["evil.example"],
    }


HITS = """<html><body><div class="result__body"><h2><a href="https://yr.no/oslo">Oslo</a></h2>
<a href="https://yr.no/oslo">晴 25 degrees</a></div></body></html>"""


def test_ddgs_reads_the_page_of_an_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    def make(url: str) -> Ddgs:
        monkeypatch.setattr(Duckduckgo, "search_url", f"{url}/html/")
        return Ddgs("duckduckgo")

    found, one = asked(always(response(HITS)), make)
    assert found == [SearchResult("https://yr.no/oslo", "Oslo", "晴 25 degrees")]
    form = parse_qs(one.body.decode())
    assert form["q"] == [OSLO.text_with_sites]
    assert form["l"] == ["no-zh"]


def test_ddgs_without_results_found_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def make(url: str) -> Ddgs:
        monkeypatch.setattr(Duckduckgo, "search_url", f"{url}/html/")
        return Ddgs("duckduckgo")

    assert asked(always(response("<html></html>")), make)[0] == []


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (
            always(response("no", status="401 Unauthorized")),
            r"refused the search: its key is wrong \(HTTP 401\)",
        ),
        (always(response("slow", status="429 Too Many")), "too many searches"),
        (always(response("oops", status="500 Error")), "HTTP status 500"),
        (always(response("<html>")), "did not send JSON"),
        (always(response("[" * 5000)), "did not send JSON"),
        (always(response(b" " * (MAX_RESPONSE_BYTES + 1))), "more than 8,388,608 bytes"),
        (always(b"nonsense\r\n\r\n"), "cannot be reached"),
    ],
)
def test_what_goes_wrong_is_told_without_the_key(answer: Answer, told: str) -> None:
    with pytest.raises(ToolError, match=told) as caught:
        asked(answer, lambda url: Brave("secret-key", url))
    assert "secret-key" not in caught.value.text


def test_an_answer_without_results_has_none() -> None:
    for body in ({}, {"results": None}, [], {"web": []}):
        assert asked(as_json(body), SearXNG)[0] == []


def test_a_server_that_is_not_there_is_told() -> None:
    with pytest.raises(ToolError, match="SearXNG cannot be reached"):
        asyncio.run(_search(SearXNG("http://127.0.0.1:9")))


async def _search(backend: SearchBackend) -> None:
    await backend.search(OSLO)


@pytest.mark.parametrize(
    ("text", "country", "language"),
    [("天気 です", "", "ja"), ("天气", "US", "zh"), ("vær", "NO", "no"), ("weather", "", "en")],
)
def test_the_language_is_that_of_the_question(text: str, country: str, language: str) -> None:
    assert SearchQuery(text, country=country).language == language


def test_domains_stand_for_all_below_them() -> None:
    assert OSLO.is_wanted("https://www.yr.no/x")
    assert not OSLO.is_wanted("https://notyr.no/")
    assert not OSLO.is_wanted("https://a.evil.example/")
    assert SearchQuery("x").is_wanted("https://anything.example")


def test_a_backend_is_found_by_name_and_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TAVILY_API_KEY", "BRAVE_API_KEY", "SEARXNG_URL"):
        monkeypatch.delenv(name, raising=False)
    assert resolve_backend("auto").name == "ddgs"
    with pytest.raises(SetupError, match="set BRAVE_API_KEY"):
        resolve_backend("brave")
    with pytest.raises(SetupError, match="set SEARXNG_URL"):
        resolve_backend("searxng")
    with pytest.raises(SetupError, match="no search backend 'bing'; there are auto, ddgs"):
        resolve_backend("bing")
    monkeypatch.setenv("SEARXNG_URL", "http://127.0.0.1:8888")
    assert resolve_backend("auto").name == "SearXNG"
    monkeypatch.setenv("BRAVE_API_KEY", "k")
    assert resolve_backend("auto").name == "Brave"
    mine = Ddgs()
    assert resolve_backend(mine) is mine
