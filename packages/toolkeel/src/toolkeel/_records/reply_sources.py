"""Reads what a reply cites, from what its provider sent, in one form for every wire.

Decoders keep a provider's citations as they came, since some want them back. So the sources of every
stored reply are known, whichever version wrote it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from toolkeel.content import Source

Json = Mapping[str, Any]
_MARK = re.compile(r"\[(\d{1,3})\]")


def read_sources(text: str, options: Json) -> tuple[Source, ...]:
    """Return the sources of a reply in the provider's order, each once, with its places in the text.

    Args:
        text: The reply's text.
        options: Its ``provider_options``.

    >>> read_sources("Yes [1].", {"citations": ["https://a.example"]})
    (Source(url='https://a.example', title='', text='', id='', mark='[1]', spans=((4, 7),)),)
    """
    found: dict[object, Source] = {}
    for key, read in _READERS.items():
        wire = options.get(key)
        if not isinstance(wire, list if key in _LISTS else Mapping):
            continue
        for source in read(wire, text):
            name = source.url or source.id or (source.title, source.text)
            found[name] = _joined(found[name], source) if name in found else source
    return tuple(found.values())


def _joined(one: Source, other: Source) -> Source:
    """Return one source as two places of a reply describe it."""
    spans = tuple(sorted({*one.spans, *other.spans}))
    text = one.text if not other.text or other.text in one.text else f"{one.text}\n{other.text}"
    names = {key: getattr(one, key) or getattr(other, key) for key in ("title", "id", "mark")}
    return replace(one, text=text.strip(), spans=spans, **names)


def _source(data: Any, spans: tuple[tuple[int, int], ...] = (), mark: str = "") -> Source | None:
    """Return the source that a citation, a search result or an address describes."""
    if isinstance(data, str):
        return Source(data, mark=mark, spans=spans) if data else None
    if not isinstance(data, Mapping):
        return None
    url, title, text, name = (_first(data, keys) for keys in (_URLS, _TITLES, _TEXTS, _IDS))
    return Source(url, title, text, name, mark, spans) if url or title or text or name else None


_URLS = ("url", "uri", "source")
_TITLES = ("title", "document_title", "filename")
_TEXTS = ("cited_text", "snippet", "text")
_IDS = ("file_id", "document_index", "id")


def _first(data: Json, keys: tuple[str, ...]) -> str:
    found = (data.get(key) for key in keys)
    return next((str(one) for one in found if isinstance(one, (str, int)) and str(one)), "")


def _items(value: object) -> list[Json]:
    """Return the objects of a list, which may not be one."""
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def _span(start: object, end: object, text: str) -> tuple[tuple[int, int], ...]:
    """Return a place of the text; none if it lies outside."""
    inside = isinstance(start, int) and isinstance(end, int) and 0 <= start < end <= len(text)
    return ((start, end),) if inside else ()  # type: ignore[return-value]


# — one wire —


def _numbered(wire: Any, text: str) -> Iterator[Source]:
    """Yield addresses or results whose place in the list is a mark in the text: Perplexity, xAI."""
    places: dict[int, list[tuple[int, int]]] = {}
    for match in _MARK.finditer(text):
        places.setdefault(int(match[1]), []).append(match.span())
    for number, one in enumerate(wire if isinstance(wire, list) else (), 1):
        mark = f"[{number}]" if number in places else ""
        if source := _source(one, tuple(places.get(number, ())), mark):
            yield source


def _chat_annotations(wire: Any, text: str) -> Iterator[Source]:
    for one in _items(wire):
        cited = one.get(str(one.get("type")))
        cited = cited if isinstance(cited, Mapping) else one
        span = _span(cited.get("start_index"), cited.get("end_index"), text)
        if source := _source(cited, span):
            yield source


def _responses(wire: Any, text: str) -> Iterator[Source]:
    offset = 0
    for item in _items(wire.get("output")):
        action = item.get("action")
        results = action.get("sources") if isinstance(action, Mapping) else item.get("results")
        for one in _items(results):
            if source := _source(one):
                yield source
        for part in _items(item.get("content")) if item.get("type") == "message" else ():
            for source in _chat_annotations(part.get("annotations"), str(part.get("text", ""))):
                moved = [(start + offset, end + offset) for start, end in source.spans]
                yield replace(source, spans=tuple(moved))
            offset += len(str(part.get("text", "")))


def _blocks(wire: Any, text: str) -> Iterator[Source]:
    """Yield the sources of Anthropic's blocks: a text's citations are about all of it."""
    offset = 0
    for block in _items(wire.get("content")):
        if block.get("type") == "text":
            said = str(block.get("text", ""))
            start = text.find(said, offset)
            span = _span(start, start + len(said), text)
            offset = span[0][1] if span else offset
            found = [(one, span) for one in _items(block.get("citations"))]
        else:
            found = [(one, ()) for one in _items(block.get("content"))]
            found = [one for one in found if one[0].get("url")]
        for one, place in found:
            if source := _source(one, place):
                yield source


def _converse(wire: Any, text: str) -> Iterator[Source]:
    offset = 0
    for block in _items(wire.get("content")):
        cited = block.get("citationsContent")
        cited = cited if isinstance(cited, Mapping) else {}
        said = "".join(str(one.get("text", "")) for one in _items(cited.get("content")))
        start = text.find(said, offset)
        span = _span(start, start + len(said), text)
        offset = span[0][1] if span else offset
        for one in _items(cited.get("citations")):
            web = (
                one.get("location", {}).get("web")
                if isinstance(one.get("location"), Mapping)
                else {}
            )
            passages = [str(each.get("text", "")) for each in _items(one.get("sourceContent"))]
            address = web if isinstance(web, Mapping) else {}
            data = {**address, "title": one.get("title"), "text": "\n".join(passages)}
            if source := _source(data if address else {**data, "id": one.get("source")}, span):
                yield source


def _grounding(wire: Any, text: str) -> Iterator[Source]:
    """Yield Gemini's chunks; its places count bytes, so the cited text itself is looked up."""
    data = _inner(wire, "groundingMetadata")
    places = _supported_places(data, text)
    for number, chunk in enumerate(_items(data.get("groundingChunks"))):
        inner = next((one for one in chunk.values() if isinstance(one, Mapping)), chunk)
        if source := _source(inner, tuple(places.get(number, ()))):
            yield source
    for page in _items(_inner(wire, "urlContextMetadata").get("urlMetadata")):
        if source := _source(page.get("retrievedUrl")):
            yield source
    cited = _inner(wire, "citationMetadata")
    for one in _items(cited.get("citationSources") or cited.get("citations")):
        if source := _source(one, _span(one.get("startIndex", 0), one.get("endIndex"), text)):
            yield source


def _inner(data: Json, key: str) -> Json:
    """Return the object under a key; an empty one if there is none."""
    found = data.get(key)
    return found if isinstance(found, Mapping) else {}


def _supported_places(data: Json, text: str) -> Mapping[int, list[tuple[int, int]]]:
    """Return the places of the text that each chunk supports, by the chunk's number."""
    places: dict[int, list[tuple[int, int]]] = {}
    for support in _items(data.get("groundingSupports")):
        segment = _inner(support, "segment")
        said = str(segment.get("text", ""))
        start = _byte_position(text, segment, said) if said else -1
        numbers = support.get("groundingChunkIndices")
        for number in numbers if isinstance(numbers, list) else ():
            if isinstance(number, int):
                places.setdefault(number, []).extend(_span(start, start + len(said), text))
    return places


def _byte_position(text: str, segment: Json, said: str) -> int:
    """Return where a segment begins, in characters; where its text is first, if its bytes are wrong."""
    number = segment.get("startIndex", 0)
    number = number if isinstance(number, int) else 0
    start = len(text.encode()[:number].decode("utf-8", "ignore"))
    return start if text.startswith(said, start) else text.find(said)


_READERS: Mapping[str, Callable[[Any, str], Iterator[Source]]] = {
    "citations": _numbered, "search_results": _numbered, "annotations": _chat_annotations,
    "openai-responses": _responses, "anthropic": _blocks, "bedrock": _converse, "gemini": _grounding,
}  # fmt: skip
"""Keys of a reply's ``provider_options`` that hold sources."""
_LISTS = frozenset({"citations", "search_results", "annotations"})
"""Those of them that are lists; the others are one wire's own data."""
