"""Search for tools by the words of their names, descriptions and parameters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from toolkeel._common.split_words import cjk_characters, split_terms
from toolkeel._common.word_index import WordIndex
from toolkeel.define.subschemas import properties_of
from toolkeel.define.tool import AnyTool

NAME_WEIGHT = 3


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
        self._index = WordIndex((tool, _words_of(tool)) for tool in tools)

    def find(self, query: str, limit: int = 5) -> list[AnyTool]:
        """Return at most `limit` tools that match a query's words, the best match first."""
        return self._index.find(words(query), limit)


def _words_of(tool: AnyTool) -> Mapping[str, int]:
    counts = Counter(words(tool.description))
    for word in words(tool.name):
        counts[word] += NAME_WEIGHT
    for name, schema in properties_of(tool.parameters).items():
        counts.update(words(str(name)))
        if isinstance(schema, Mapping):
            counts.update(words(str(schema.get("description", ""))))
    return counts
