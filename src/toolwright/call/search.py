"""Finding tools among many: by the words of their names, descriptions and parameters."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from toolwright.define.tool import AnyTool

_WORD = re.compile(r"[a-z0-9]+|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
NAME_WEIGHT = 3


def words(text: str) -> list[str]:
    """The words of a text; of Chinese, Japanese and Korean, each pair of characters.

    >>> words("getWeather_now 查天气")
    ['get', 'weather', 'now', '查天', '天气']
    """
    found: list[str] = []
    for word in _WORD.findall(_HUMP.sub(" ", text).lower()):
        if word.isascii() or len(word) == 1:
            found.append(word)
        else:
            found += [word[i : i + 2] for i in range(len(word) - 1)]
    return found


class Index:
    """Tools by their words, ranked by how rare the words they share with a query are (BM25).

    Args:
        tools: What to find.
    """

    def __init__(self, tools: Iterable[AnyTool]) -> None:
        self._tools = list(tools)
        self._postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        self._lengths: list[int] = []
        for number, tool in enumerate(self._tools):
            counts = _words_of(tool)
            self._lengths.append(sum(counts.values()))
            for word, count in counts.items():
                self._postings[word].append((number, count))

    def find(self, query: str, limit: int = 5) -> list[AnyTool]:
        """The tools that fit best, best first."""
        scores: dict[int, float] = defaultdict(float)
        mean = sum(self._lengths) / len(self._lengths) if self._lengths else 1.0
        for word in set(words(query)):
            postings = self._postings.get(word, ())
            rarity = math.log(1 + (len(self._tools) + 1) / (len(postings) + 0.5))
            for number, count in postings:
                length = 0.25 + 0.75 * self._lengths[number] / mean
                scores[number] += rarity * count * 2.2 / (count + 1.2 * length)
        best = sorted(scores, key=lambda number: (-scores[number], number))
        return [self._tools[number] for number in best[:limit]]


def _words_of(tool: AnyTool) -> Mapping[str, int]:
    counts = Counter(words(tool.description))
    for word in words(tool.name):
        counts[word] += NAME_WEIGHT
    properties = tool.parameters.get("properties")
    if isinstance(properties, Mapping):
        for name, schema in properties.items():
            counts.update(words(str(name)))
            if isinstance(schema, Mapping):
                counts.update(words(str(schema.get("description", ""))))
    return counts
