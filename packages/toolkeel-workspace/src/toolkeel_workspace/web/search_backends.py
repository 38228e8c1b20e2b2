"""Search services for `WebSearchTool` where the provider has no search.

Four services, one form of query and result.

Sources: https://docs.searxng.org/dev/search_api.html,
https://api-dashboard.search.brave.com/app/documentation/web-search/get-started,
https://docs.tavily.com/documentation/api-reference/endpoint/search, and the library `ddgs`.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol
from urllib.parse import urlsplit

from toolkeel._common.checked_arguments import checked
from toolkeel._common.needs_extra import needs_extra
from toolkeel._records.record import record
from toolkeel.errors import SetupError, ToolError
from toolkeel.providers.wire.plain_json import Json, as_dict, as_list, as_text
from toolkeel_workspace.sandbox.reachable_hosts import is_host_match
from toolkeel_workspace.web.service import parse_json, send_request

BRAVE_URL = "https://api.search.brave.com"
TAVILY_URL = "https://api.tavily.com"

_COUNTRIES_BY_LANGUAGE = (
    "zh CN SG TW HK; de DE AT CH; fr FR BE; es ES MX AR CL CO PE; pt BR PT; ja JP; ko KR; ru RU; "
    "it IT; nl NL; pl PL; sv SE; no NO; da DK; fi FI; tr TR; uk UA; cs CZ; el GR"
)
_LANGUAGES = {
    country: language
    for language, *countries in map(str.split, _COUNTRIES_BY_LANGUAGE.split(";"))
    for country in countries
}
"""The main language of a country's pages; else English."""


@record
class SearchQuery:
    """A search query.

    Args:
        text: As the model wrote it.
        count: Number of wanted results.
        country: Two letters (ISO 3166-1), or empty.
        allowed: Domains that results must be of; empty: any.
        blocked: Domains that results must not be of.
    """

    text: str
    count: int = 8
    country: str = ""
    allowed: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()

    @property
    def language(self) -> str:
        """Two letters: by the query's script if it shows the language, else by the country."""
        if re.search("[\u3040-\u30ff]", self.text):
            return "ja"
        if re.search("[\u4e00-\u9fff]", self.text):
            return "zh"
        return _LANGUAGES.get(self.country.upper(), "en")

    @property
    def text_with_sites(self) -> str:
        """The text with its domains as operators of search engines."""
        wanted = " OR ".join(f"site:{domain}" for domain in self.allowed)
        refused = " ".join(f"-site:{domain}" for domain in self.blocked)
        several = f"({wanted})" if len(self.allowed) > 1 else wanted
        return " ".join(part for part in (self.text, several, refused) if part)

    def is_wanted(self, url: str) -> bool:
        """Return true if a result is of a wanted domain."""
        try:
            host = (urlsplit(url).hostname or "").lower()
        except ValueError:  # one invalid address does not affect other results
            return False
        if any(_is_in_domain(host, domain) for domain in self.blocked):
            return False
        return not self.allowed or any(_is_in_domain(host, domain) for domain in self.allowed)


@record
class SearchResult:
    """One result.

    Args:
        url: Its address.
        title: Its title.
        text: Its text, shortened by the service.
        date: When it was published, as the service says; often empty.
    """

    url: str
    title: str = ""
    text: str = ""
    date: str = ""


class SearchBackend(Protocol):
    """Anything that answers a `SearchQuery`."""

    @property
    def name(self) -> str:
        """Name for people and errors."""
        ...

    async def search(self, question: SearchQuery) -> Sequence[SearchResult]:
        """Search and return results, the best first.

        Raises:
            ToolError: saying why the search failed.
        """
        ...


@checked
class Ddgs:
    """Public search engines through the library `ddgs`: without key and without guarantees.

    Args:
        engines: As `ddgs` names them: ``auto``, or some of ``duckduckgo,brave,...``.
        timeout: Seconds.
    """

    name = "ddgs"

    def __init__(self, engines: str = "auto", timeout: int = 10) -> None:
        self._engines = engines
        self._timeout = timeout

    async def search(self, question: SearchQuery) -> Sequence[SearchResult]:
        """See `SearchBackend`."""
        with needs_extra("web search with ddgs", "web"):
            import ddgs
            from ddgs.exceptions import DDGSException
        country = question.country.lower() or {"zh": "cn", "ja": "jp"}.get(question.language, "us")

        def ask() -> list[dict[str, Any]]:
            return ddgs.DDGS(timeout=self._timeout).text(
                question.text_with_sites,
                region=f"{country}-{question.language}",
                max_results=question.count,
                backend=self._engines,
            )

        try:
            results = await asyncio.to_thread(ask)
        except DDGSException as error:
            if "no results" in str(error).lower():
                return []
            why = str(error).partition("(")[0].strip()[:100] or type(error).__name__
            raise ToolError(f"The search engines cannot be asked now ({why}).") from None
        return [
            SearchResult(
                as_text(one.get("href")), as_text(one.get("title")), as_text(one.get("body"))
            )
            for one in results
        ]


@checked
class SearXNG:
    """A SearXNG server, which must have JSON among its ``search.formats``.

    Args:
        base_url: Its address; by default ``SEARXNG_URL``.
        timeout: Seconds.

    Raises:
        SetupError: if there is no address.
    """

    name = "SearXNG"

    def __init__(self, base_url: str = "", timeout: float = 10) -> None:
        self._url = (base_url or os.environ.get("SEARXNG_URL", "")).rstrip("/")
        if not self._url:
            raise SetupError("SearXNG: give base_url=, or set SEARXNG_URL")
        self._timeout = timeout

    async def search(self, question: SearchQuery) -> Sequence[SearchResult]:
        """See `SearchBackend`."""
        country = question.country.upper()
        params = {
            "q": question.text_with_sites,
            "format": "json",
            "language": f"{question.language}-{country}" if country else question.language,
        }
        data = await _fetch_json(
            self.name, "GET", f"{self._url}/search", self._timeout, params=params
        )
        return _parse_results(data.get("results"), "content", "publishedDate")


@checked
class Brave:
    """Brave's search service.

    Args:
        api_key: By default ``BRAVE_API_KEY``.
        base_url: Its address.
        timeout: Seconds.

    Raises:
        SetupError: if there is no key.
    """

    name = "Brave"

    def __init__(self, api_key: str = "", base_url: str = BRAVE_URL, timeout: float = 10) -> None:
        self._key = _require_key("Brave", api_key, "BRAVE_API_KEY")
        self._url = base_url.rstrip("/")
        self._timeout = timeout

    async def search(self, question: SearchQuery) -> Sequence[SearchResult]:
        """See `SearchBackend`."""
        params = {
            "q": question.text_with_sites,
            "count": str(min(question.count, 20)),
            "search_lang": {"zh": "zh-hans", "ja": "jp"}.get(question.language, question.language),
            "text_decorations": "false",
        }
        if question.country:
            params["country"] = question.country.upper()
        headers = {"X-Subscription-Token": self._key, "Accept": "application/json"}
        url, more = f"{self._url}/res/v1/web/search", {"params": params, "headers": headers}
        data = await _fetch_json(self.name, "GET", url, self._timeout, **more)
        return _parse_results(as_dict(data.get("web")).get("results"), "description", "page_age")


@checked
class Tavily:
    """Tavily's search service.

    Args:
        api_key: By default ``TAVILY_API_KEY``.
        base_url: Its address.
        timeout: Seconds.

    Raises:
        SetupError: if there is no key.
    """

    name = "Tavily"

    def __init__(self, api_key: str = "", base_url: str = TAVILY_URL, timeout: float = 15) -> None:
        self._key = _require_key("Tavily", api_key, "TAVILY_API_KEY")
        self._url = base_url.rstrip("/")
        self._timeout = timeout

    async def search(self, question: SearchQuery) -> Sequence[SearchResult]:
        """See `SearchBackend`."""
        body = {
            "query": question.text,
            "max_results": min(question.count, 20),
            "include_domains": list(question.allowed),
            "exclude_domains": list(question.blocked),
        }
        headers = {"Authorization": f"Bearer {self._key}"}
        url, more = f"{self._url}/search", {"json": body, "headers": headers}
        data = await _fetch_json(self.name, "POST", url, self._timeout, **more)
        return _parse_results(data.get("results"), "content", "published_date")


_BACKENDS: Mapping[str, Callable[[], SearchBackend]] = MappingProxyType(
    {"ddgs": Ddgs, "searxng": SearXNG, "brave": Brave, "tavily": Tavily}
)


def resolve_backend(wanted: SearchBackend | str) -> SearchBackend:
    """Return the backend itself, or the one of that name.

    ``auto`` is the first that the environment configures: Tavily, Brave, SearXNG, else ddgs.

    Raises:
        SetupError: if there is none of that name, or its key is missing.
    """
    if not isinstance(wanted, str):
        return wanted
    if wanted == "auto":
        configured: dict[str, Callable[[], SearchBackend]]
        configured = {"TAVILY_API_KEY": Tavily, "BRAVE_API_KEY": Brave, "SEARXNG_URL": SearXNG}
        ready = (made for name, made in configured.items() if os.environ.get(name))
        return next(ready, Ddgs)()
    if wanted not in _BACKENDS:
        raise SetupError(f"no search backend {wanted!r}; there are auto, {', '.join(_BACKENDS)}")
    return _BACKENDS[wanted]()


async def _fetch_json(name: str, method: str, url: str, timeout: float, **more: Any) -> Json:
    """Request a JSON object from a service.

    Raises:
        ToolError: if the service refuses or sends something else.
    """
    status, body = await send_request(name, method, url, timeout, **more)
    if status != 200:
        raise ToolError(f"{name} refused the search: {_describe_status(status)}.")
    return as_dict(parse_json(name, body))


def _describe_status(status: int) -> str:
    known = {401: "its key is wrong", 403: "it does not allow it", 429: "too many searches"}
    return f"{known[status]} (HTTP {status})" if status in known else f"HTTP status {status}"


def _parse_results(results: object, text: str, date: str) -> list[SearchResult]:
    rows = [as_dict(one) for one in as_list(results)]
    return [
        SearchResult(
            as_text(one.get("url")),
            as_text(one.get("title")),
            as_text(one.get(text)),
            as_text(one.get(date)),
        )
        for one in rows
        if as_text(one.get("url"))
    ]


def _require_key(service: str, api_key: str, variable: str) -> str:
    key = api_key or os.environ.get(variable, "")
    if not key:
        raise SetupError(f"{service}: no API key; set {variable} or pass api_key=")
    return key


def _is_in_domain(host: str, domain: str) -> bool:
    domain = domain.lower().strip("/")
    return host == domain or is_host_match(host, f"*.{domain}")
