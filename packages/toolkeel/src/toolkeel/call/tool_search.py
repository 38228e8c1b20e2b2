"""The tool that finds tools by the words of their names, descriptions and parameters."""

from __future__ import annotations

import functools
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from toolkeel._common.split_words import cjk_characters, split_terms
from toolkeel._common.word_index import WordIndex
from toolkeel.call.toolset import HIDES_OTHERS, Toolset
from toolkeel.context import RunContext
from toolkeel.define.decorator import tool
from toolkeel.define.subschemas import properties_of
from toolkeel.define.tool import AnyTool, Tool
from toolkeel.errors import ToolError
from toolkeel.messages import ToolMessage

SEARCH = "search_tools"
NAME_WEIGHT = 3


def make_search_tool(
    tools: Toolset, is_enabled: Callable[[AnyTool], Awaitable[bool]], found: dict[str, AnyTool]
) -> AnyTool:
    """Make the tool `search_tools`.

    Args:
        tools: The tools that it searches.
        is_enabled: Returns True if a tool can be called now; others are not found.
        found: Receives the tools found, by name.
    """
    index = functools.cache(lambda: Index(tools))

    async def search_tools(query: str, limit: int = 5) -> list[dict[str, str]] | str:
        """Find tools by description. The tools found can be called from then on.

        Args:
            query: What the tool should do, in a few words.
            limit: How many tools to find at most.
        """
        if not query.strip():
            raise ToolError("The query is empty. Say in a few words what the tool should do.")
        matches = list[AnyTool]()
        for item in index().find(query, len(tools)):
            if len(matches) < max(1, min(limit, 20)) and await is_enabled(item):
                matches.append(item)
        found.update((item.name, item) for item in matches)
        if not matches:
            return f"No tool fits {query[:200]!r}. Try other words for what it should do."
        return [{"name": item.name, "description": item.description} for item in matches]

    made: Tool[..., Any] = tool(SEARCH, metadata={HIDES_OTHERS: True})(search_tools)
    return made


def names_found_before(run: RunContext) -> list[str]:
    """Return the names that earlier searches found, read from the transcript."""
    names = []
    for message in run.transcript:
        if isinstance(message, ToolMessage) and message.name == SEARCH and not message.failed:
            with suppress(ValueError, TypeError, KeyError):
                names += [str(item["name"]) for item in json.loads(message.text)]
    return names


def words(text: str) -> list[str]:
    """Split a text into the words that tools are found by.

    They are the terms of a search in documents and, since a name is short, each Chinese, Japanese
    or Korean character.

    >>> words("getHTTPWeather_now cities' 天气")
    ['gethttpweather', 'get', 'http', 'weather', 'now', 'citi', '天气', '天', '气']
    """
    return [*split_terms(text), *cjk_characters(text)]


class Index:
    """A search index of tools by the words of names, descriptions and parameters.

    Args:
        tools: The tools.
    """

    def __init__(self, tools: Iterable[AnyTool]) -> None:
        self._index = WordIndex((item, _words_of(item)) for item in tools)

    def find(self, query: str, limit: int = 5) -> list[AnyTool]:
        """Return at most `limit` tools that match a query's words, the best match first."""
        return self._index.find(words(query), limit)


def _words_of(item: AnyTool) -> Mapping[str, int]:
    """Return how often each word is in a tool's name, description and parameters; the name's count more."""
    counts = Counter(words(item.description))
    for word in words(item.name):
        counts[word] += NAME_WEIGHT
    for name, schema in properties_of(item.parameters).items():
        counts.update(words(str(name)))
        if isinstance(schema, Mapping):
            counts.update(words(str(schema.get("description", ""))))
    return counts
