"""Finding tools among many: by the words of their names, descriptions and parameters."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from toolkeel._common.word_index import WordIndex
from toolkeel.define.subschemas import properties_of
from toolkeel.define.tool import AnyTool

_EAST = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_WORD = re.compile(rf"[{_EAST}]+|[^\W_{_EAST}]+")
_EAST_WORD = re.compile(rf"[{_EAST}]")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
NAME_WEIGHT = 3


def words(text: str) -> list[str]:
    """The words of a text, without a plural's s; of Chinese, Japanese and Korean, each character
    and each pair of them.

    >>> words("getHTTPWeather_now cities' names 天气")
    ['get', 'http', 'weather', 'now', 'citie', 'name', '天', '气', '天气']
    """
    found: list[str] = []
    for word in _WORD.findall(_HUMP.sub(" ", text).casefold()):
        if _EAST_WORD.match(word):
            found += [*word, *(word[i : i + 2] for i in range(len(word) - 1))]
        elif len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
            found.append(word[:-1])
        else:
            found.append(word)
    return found


class Index:
    """Tools by their words, the rare ones of a query counting most.

    Args:
        tools: What to find.
    """

    def __init__(self, tools: Iterable[AnyTool]) -> None:
        self._index = WordIndex((tool, _words_of(tool)) for tool in tools)

    def find(self, query: str, limit: int = 5) -> list[AnyTool]:
        """Return the tools that fit a query best, the best first."""
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
