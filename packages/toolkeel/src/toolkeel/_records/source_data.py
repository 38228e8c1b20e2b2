"""Builds a source from what a provider says of it, and finds the marks of sources in a text.

Providers name the same things differently: an address is a ``url``, ``uri`` or ``link``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from toolkeel.content import Source

Json = Mapping[str, Any]
Spans = tuple[tuple[int, int], ...]
_MARKS = (
    re.compile(r"\[(?:ref_|doc|citation:|web:|\^)(\d{1,3})\^?\]"),
    re.compile(r"\[(\d{1,3})\]"),
)
"""Marks of numbered sources; in a text with the first form, the second is something else."""
_URLS = ("url", "uri", "link", "sourceUri")
_TITLES = ("title", "document_title", "filename", "name")
_TEXTS = ("cited_text", "snippet", "text", "content", "summary", "description")
_IDS = ("file_id", "filepath", "document_index", "id")


def make_source(data: Any, spans: Spans = (), mark: str = "") -> Source | None:
    """Return the source of a citation, a search result or an address; None if nothing names it.

    >>> make_source({"link": "https://a.example", "title": "A", "media": "news"}).url
    'https://a.example'
    """
    if isinstance(data, str):
        return Source(data, mark=mark, spans=spans) if data else None
    if not isinstance(data, Mapping):
        return None
    url, title, text, name = (_first(data, keys) for keys in (_URLS, _TITLES, _TEXTS, _IDS))
    origin = _first(data, ("source",))  # Anthropic's: an address or an id; others': a search engine
    url = url or (origin if "://" in origin else "")
    name = name or (origin if not url and data.get("type") == "search_result_location" else "")
    return Source(url, title, text, name, mark, spans) if url or title or text or name else None


def _first(data: Json, keys: tuple[str, ...]) -> str:
    """Return the first value under the keys that is a non-empty text or an integer, as text; else ""."""
    found = (data.get(key) for key in keys)
    return next((str(one) for one in found if isinstance(one, (str, int)) and str(one)), "")


def find_marks(text: str) -> Mapping[int, tuple[str, Spans]]:
    """Return the marks of a text with their places, by number; ``[1]`` only if there is no ``[ref_1]`` or the like.

    >>> find_marks("a[0] is cold [ref_1].")
    {1: ('[ref_1]', ((13, 20),))}
    """
    found = next((hits for one in _MARKS if (hits := [*one.finditer(text)])), [])
    marks: dict[int, tuple[str, Spans]] = {}
    for match in found:
        mark, spans = marks.get(int(match[1]), (match[0], ()))
        marks[int(match[1])] = (mark, (*spans, match.span()))
    return marks


def number_of(result: Json) -> int | None:
    """Return the number under ``index`` or GLM's ``refer``, which may be text such as "3" or "ref_3"; else None."""
    number = result.get("index", result.get("refer"))
    if isinstance(number, str):
        number = number.removeprefix("ref_")
        number = int(number) if number.isdecimal() else None
    return number if isinstance(number, int) and not isinstance(number, bool) else None


def objects_in(value: object) -> list[Json]:
    """Return the objects of a list, and of lists in it; none if it is something else."""
    if not isinstance(value, list):
        return []
    flat = [each for one in value for each in (one if isinstance(one, list) else [one])]
    return [one for one in flat if isinstance(one, Mapping)]


def field(data: Any, key: str) -> Any:
    """Return what an object has under a key; None if it is no object."""
    return data.get(key) if isinstance(data, Mapping) else None


def object_in(data: Any, key: str) -> Json:
    """Return the object under a key; an empty one if there is none."""
    found = field(data, key)
    return found if isinstance(found, Mapping) else {}


def span_of(start: object, end: object, text: str) -> Spans:
    """Return a place of the text; none if it lies outside."""
    inside = isinstance(start, int) and isinstance(end, int) and 0 <= start < end <= len(text)
    return ((start, end),) if inside else ()  # type: ignore[return-value]
