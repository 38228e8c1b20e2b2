"""Who searches the web for `WebSearchTool` where no provider does.

Four services, one question and one form of answer.

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
from toolkeel_workspace.sandbox.reachable_hosts import is_below
from toolkeel_workspace.web.service import json_of, status_and_body

BRAVE_URL = "https://api.search.brave.com"
TAVILY_URL = "https://api.tavily.com"

_SPOKEN = (
    "zh CN SG TW HK; de DE AT CH; fr FR BE; es ES MX AR CL CO PE; pt BR PT; ja JP; ko KR; ru RU; "
    "it IT; nl NL; pl PL; sv SE; no NO; da DK; fi FI; tr TR; uk UA; cs CZ; el GR"
)
_LANGUAGES = {
    country: language
    for language, *countries in map(str.split, _SPOKEN.split(";"))
    for country in countries
}
"""The language most pages of a country are in; English otherwise."""


@record
class SearchQuery:
    """What is searched for.

    Args:
        text: As the model wrote it.
        count: How many results are wanted.
        country: Two letters (ISO 3166-1), or nothing.
        allowed: Domains that results must be of; none: any.
        blocked: Domains that results must not be of.
    """

    text: str
    count: int = 8
    country: str = ""
    allowed: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()

    @property
    def language(self) -> str:
        """Two letters: that of the question if its script says, else that of the country."""
        if re.search("[\u3040-\u30ff]", self.text):
            return "ja"
        if re.search("[\u4e00-\u9fff]", self.text):
            return "zh"
        return _LANGUAGES.get(self.country.upper(), "en")

    @property
    def with_sites(self) -> str:
        """The text with its domains as operators that search engines know."""
        wanted = " OR ".join(f"site:{domain}" for domain in self.allowed)
        refused = " ".join(f"-site:{domain}" for domain in self.blocked)
        several = f"({wanted})" if len(self.allowed) > 1 else wanted
        return " ".join(part for part in (self.text, several, refused) if part)

    def wants(self, url: str) -> bool:
        """Whether a result is of a domain that is wanted."""
        try:
            host = (urlsplit(url).hostname or "").lower()
        except ValueError:  # of one result: the others are wanted all the same
            return False
        if any(_is_of(host, domain) for domain in self.blocked):
            return False
        return not self.allowed or any(_is_of(host, domain) for domain in self.allowed)


@record
class Found:
    """One result.

    Args:
        url: Where it is.
        title: What it is called.
        text: What it says, shortened by the service.
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
        """For people and errors."""
        ...

    async def search(self, question: SearchQuery) -> Sequence[Found]:
        """Results, the best first.

        Raises:
            ToolError: saying why there are none to be had.
        """
        ...


@checked
class Ddgs:
    """Public search engines, through the library `ddgs`: no key, and no promise either.

    Args:
        engines: Which, as `ddgs` names them: ``auto``, or some of ``duckduckgo,brave,...``.
        timeout: Seconds.
    """

    name = "ddgs"

    def __init__(self, engines: str = "auto", timeout: int = 10) -> None:
        self._engines = engines
        self._timeout = timeout

    async def search(self, question: SearchQuery) -> Sequence[Found]:
        """See `SearchBackend`."""
        with needs_extra("web search with ddgs", "web"):
            import ddgs
            from ddgs.exceptions import DDGSException
        country = question.country.lower() or {"zh": "cn", "ja": "jp"}.get(question.language, "us")

        def ask() -> list[dict[str, Any]]:
            return ddgs.DDGS(timeout=self._timeout).text(
                question.with_sites,
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
            Found(as_text(one.get("href")), as_text(one.get("title")), as_text(one.get("body")))
            for one in results
        ]


@checked
class SearXNG:
    """A SearXNG server, which must have JSON among its ``search.formats``.

    Args:
        base_url: Where it is; the environment's ``SEARXNG_URL`` by default.
        timeout: Seconds.

    Raises:
        SetupError: if neither says where it is.
    """

    name = "SearXNG"

    def __init__(self, base_url: str = "", timeout: float = 10) -> None:
        self._url = (base_url or os.environ.get("SEARXNG_URL", "")).rstrip("/")
        if not self._url:
            raise SetupError("SearXNG: give base_url=, or set SEARXNG_URL")
        self._timeout = timeout

    async def search(self, question: SearchQuery) -> Sequence[Found]:
        """See `SearchBackend`."""
        country = question.country.upper()
        params = {
            "q": question.with_sites,
            "format": "json",
            "language": f"{question.language}-{country}" if country else question.language,
        }
        data = await _fetch_json(
            self.name, "GET", f"{self._url}/search", self._timeout, params=params
        )
        return _rows_as_found(data.get("results"), "content", "publishedDate")


@checked
class Brave:
    """Brave's search service.

    Args:
        api_key: The environment's ``BRAVE_API_KEY`` by default.
        base_url: Where it is.
        timeout: Seconds.

    Raises:
        SetupError: if there is no key.
    """

    name = "Brave"

    def __init__(self, api_key: str = "", base_url: str = BRAVE_URL, timeout: float = 10) -> None:
        self._key = _key("Brave", api_key, "BRAVE_API_KEY")
        self._url = base_url.rstrip("/")
        self._timeout = timeout

    async def search(self, question: SearchQuery) -> Sequence[Found]:
        """See `SearchBackend`."""
        params = {
            "q": question.with_sites,
            "count": str(min(question.count, 20)),
            "search_lang": {"zh": "zh-hans", "ja": "jp"}.get(question.language, question.language),
            "text_decorations": "false",
        }
        if question.country:
            params["country"] = question.country.upper()
        headers = {"X-Subscription-Token": self._key, "Accept": "application/json"}
        url, more = f"{self._url}/res/v1/web/search", {"params": params, "headers": headers}
        data = await _fetch_json(self.name, "GET", url, self._timeout, **more)
        return _rows_as_found(as_dict(data.get("web")).get("results"), "description", "page_age")


@checked
class Tavily:
    """Tavily's search service.

    Args:
        api_key: The environment's ``TAVILY_API_KEY`` by default.
        base_url: Where it is.
        timeout: Seconds.

    Raises:
        SetupError: if there is no key.
    """

    name = "Tavily"

    def __init__(self, api_key: str = "", base_url: str = TAVILY_URL, timeout: float = 15) -> None:
        self._key = _key("Tavily", api_key, "TAVILY_API_KEY")
        self._url = base_url.rstrip("/")
        self._timeout = timeout

    async def search(self, question: SearchQuery) -> Sequence[Found]:
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
        return _rows_as_found(data.get("results"), "content", "published_date")


_BACKENDS: Mapping[str, Callable[[], SearchBackend]] = MappingProxyType(
    {"ddgs": Ddgs, "searxng": SearXNG, "brave": Brave, "tavily": Tavily}
)


def backend_of(wanted: SearchBackend | str) -> SearchBackend:
    """The backend itself, or the one of that name; ``auto`` is the first the environment is set
    up for: Tavily, Brave, SearXNG, else ddgs.

    Raises:
        SetupError: if there is none of that name, or its key is missing.
    """
    if not isinstance(wanted, str):
        return wanted
    if wanted == "auto":
        given: dict[str, Callable[[], SearchBackend]]
        given = {"TAVILY_API_KEY": Tavily, "BRAVE_API_KEY": Brave, "SEARXNG_URL": SearXNG}
        ready = (made for name, made in given.items() if os.environ.get(name))
        return next(ready, Ddgs)()
    if wanted not in _BACKENDS:
        raise SetupError(f"no search backend {wanted!r}; there are auto, {', '.join(_BACKENDS)}")
    return _BACKENDS[wanted]()


async def _fetch_json(name: str, method: str, url: str, timeout: float, **more: Any) -> Json:
    """A service's JSON object.

    Raises:
        ToolError: if there is none.
    """
    status, body = await status_and_body(name, method, url, timeout, **more)
    if status != 200:
        raise ToolError(f"{name} refused the search: {_reason(status)}.")
    return as_dict(json_of(name, body))


def _reason(status: int) -> str:
    known = {401: "its key is wrong", 403: "it does not allow it", 429: "too many searches"}
    return f"{known[status]} (HTTP {status})" if status in known else f"HTTP status {status}"


def _rows_as_found(results: object, text: str, date: str) -> list[Found]:
    rows = [as_dict(one) for one in as_list(results)]
    return [
        Found(
            as_text(one.get("url")),
            as_text(one.get("title")),
            as_text(one.get(text)),
            as_text(one.get(date)),
        )
        for one in rows
        if as_text(one.get("url"))
    ]


def _key(service: str, given: str, variable: str) -> str:
    key = given or os.environ.get(variable, "")
    if not key:
        raise SetupError(f"{service}: no API key; set {variable} or pass api_key=")
    return key


def _is_of(host: str, domain: str) -> bool:
    domain = domain.lower().strip("/")
    return host == domain or is_below(host, f"*.{domain}")
