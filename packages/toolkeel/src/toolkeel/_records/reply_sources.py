"""Reads what a reply cites, from what its provider sent, in one form for every wire.

Decoders keep a provider's citations as they came, since some want them back. So the sources of every
stored reply are known, whichever version wrote it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from toolkeel._records.source_data import (
    Json,
    field,
    find_marks,
    make_source,
    number_of,
    object_in,
    objects_in,
    span_of,
)
from toolkeel.content import Source


def read_sources(text: str, options: Json) -> tuple[Source, ...]:
    """Return the sources of a reply in the provider's order, each once, with its places in the text.

    Args:
        text: The reply's text.
        options: The reply's ``provider_options``.

    >>> read_sources("Yes [1].", {"citations": ["https://a.example"]})
    (Source(url='https://a.example', title='', text='', id='', mark='[1]', spans=((4, 7),)),)
    """
    found: dict[object, Source] = {}
    for key, read in _READERS.items():
        for source in read(options[key], text) if options.get(key) else ():
            name: object = source.url or source.id or (source.title, source.text)
            if name in found and source.mark and found[name].mark not in ("", source.mark):
                name = (name, source.mark)  # another passage of one document
            found[name] = _joined(found[name], source) if name in found else source
    return tuple(found.values())


def _joined(one: Source, other: Source) -> Source:
    """Return two citations of one source as one: spans of both, texts joined, and missing fields filled."""
    spans = tuple(sorted({*one.spans, *other.spans}))
    text = one.text if not other.text or other.text in one.text else f"{one.text}\n{other.text}"
    names = {key: getattr(one, key) or getattr(other, key) for key in ("title", "id", "mark")}
    return replace(one, text=text.strip(), spans=spans, **names)


# — Chat Completions: keys of the answer and of its message —


def _numbered(wire: Any, text: str) -> Iterator[Source]:
    """Yield the sources of a list, as of Perplexity and xAI, with the places of the ``[1]`` marks for them."""
    marks = find_marks(text)
    for place, one in enumerate(wire if isinstance(wire, list) else (), 1):
        if isinstance(one, Mapping) and any(isinstance(one.get(key), int) for key in _STARTS):
            yield from _annotations([one], text)  # it names its own place
            continue
        texts: list[Mapping[str, Any] | str] = [one] if isinstance(one, str) else []
        for each in [*objects_in([one])] or texts:
            own = number_of(each) if isinstance(each, Mapping) else None
            mark, spans = marks.get(place if own is None else own, ("", ()))
            if source := make_source(each, spans, mark):
                yield source


_STARTS, _ENDS = ("start_index", "start"), ("end_index", "end")


def _annotations(wire: Any, text: str) -> Iterator[Source]:
    """Yield what annotations cite: a source each, Cohere's several, Mistral's by their ids."""
    for one in objects_in(wire):
        if one.get("type") == "file":  # OpenRouter's: a file of the request, as text
            continue
        cited = object_in(one, str(one.get("type"))) or one
        start, end = (
            next((cited[key] for key in keys if key in cited), None) for keys in (_STARTS, _ENDS)
        )
        span = span_of(start, end, text)
        if span and cited.get("text") == text[slice(*span[0])]:  # the reply's words
            cited = {key: value for key, value in cited.items() if key != "text"}
        for part in _cited_parts(cited):
            if source := make_source(part, span):
                yield source


def _cited_parts(cited: Json) -> list[Json]:
    """Return the sources of one annotation: Cohere's list, Mistral's ids, or itself."""
    ids = cited.get("reference_ids", cited.get("document_ids"))
    if isinstance(ids, list):
        return [{"id": each} for each in ids]
    return [
        {**part, **(object_in(part, "document") or object_in(part, "tool_output"))}
        for part in objects_in(cited.get("sources")) or [cited]
    ]


def _executed_tools(wire: Any, text: str) -> Iterator[Source]:
    """Yield what Groq's own tools found."""
    for tool in objects_in(wire):
        for key in ("search_results", "browser_results"):
            for one in objects_in(object_in(tool, key).get("results") or tool.get(key)):
                if source := make_source(one):
                    yield source


def _with_documents(wire: Any, text: str) -> Iterator[Source]:
    """Yield numbered sources, whose passages and addresses Open WebUI has in lists beside them."""
    flat: list[Any] = []
    for one in wire if isinstance(wire, list) else ():
        origin, passages = object_in(one, "source"), field(one, "document")
        about = next(iter(objects_in(field(one, "metadata"))), {})
        passage = passages[0] if isinstance(passages, list) and passages else ""
        flat.append({**origin, **about, "content": passage} if origin else one)
    yield from _numbered(flat, text)


def _vertex(key: str, wire: Any, text: str) -> Iterator[Source]:
    """Yield the sources of Gemini's metadata under a key, of which LiteLLM has a list."""
    for one in objects_in(wire if isinstance(wire, list) else [wire]):
        yield from _grounding({key: one}, text)


def _litellm(wire: Any, text: str) -> Iterator[Source]:
    """Yield the sources of Anthropic's and Bedrock's answers, as LiteLLM passes them on."""
    for one in objects_in(field(wire, "citations")):
        if source := make_source(one):
            yield source
    yield from _blocks({"content": field(wire, "web_search_results")}, text)
    cited = [{"citationsContent": one} for one in objects_in(field(wire, "citationsContent"))]
    yield from _converse({"content": cited}, text)


# — the other wires —


def _responses(wire: Any, text: str) -> Iterator[Source]:
    """Yield the sources of a Responses reply: search results, then annotations of its texts."""
    offset = 0
    for item in objects_in(field(wire, "output")):
        action = object_in(item, "action")
        results = action.get("sources") or item.get("results") or item.get("contents")
        opened = [action] if action.get("url") else []
        for one in [*objects_in(results), *opened]:
            if source := make_source(one):
                yield source
        for part in objects_in(item.get("content")) if item.get("type") == "message" else ():
            for source in _annotations(part.get("annotations"), str(part.get("text", ""))):
                moved = [(start + offset, end + offset) for start, end in source.spans]
                yield replace(source, spans=tuple(moved))
            offset += len(str(part.get("text", "")))


def _blocks(wire: Any, text: str) -> Iterator[Source]:
    """Yield the sources of Anthropic's blocks. The span of a citation is the text of its block."""
    offset = 0
    for block in objects_in(field(wire, "content")):
        if block.get("type") == "text":
            said = str(block.get("text", ""))
            start = text.find(said, offset)
            span = span_of(start, start + len(said), text)
            offset = span[0][1] if span else offset
            found = [(one, span) for one in objects_in(block.get("citations"))]
        else:  # results of a search, or the one page that was fetched
            page = object_in(block, "content")
            about = {"url": page.get("url"), "title": object_in(page, "content").get("title")}
            found = [(one, ()) for one in objects_in(block.get("content")) or [about]]
            found = [one for one in found if one[0].get("url")]
        for one, place in found:
            if source := make_source(one, place):
                yield source


def _converse(wire: Any, text: str) -> Iterator[Source]:
    """Yield the sources of Bedrock's cited content, with spans found by the cited text."""
    offset = 0
    for block in objects_in(field(wire, "content")):
        cited = object_in(block, "citationsContent")
        said = "".join(str(one.get("text", "")) for one in objects_in(cited.get("content")))
        start = text.find(said, offset)
        span = span_of(start, start + len(said), text)
        offset = span[0][1] if span else offset
        for one in objects_in(cited.get("citations")):
            passages = [str(each.get("text", "")) for each in objects_in(one.get("sourceContent"))]
            about = {"title": one.get("title"), "text": "\n".join(passages)}
            if source := make_source({**about, **_location_fields(one)}, span):
                yield source


def _location_fields(citation: Json) -> Json:
    """Return fields that locate what Bedrock cites: those of a web page, else a `url`, else a document's `id` or number."""
    location = object_in(citation, "location")
    if web := object_in(location, "web"):
        return web
    inner = next((one for one in location.values() if isinstance(one, Mapping)), {})
    number = inner.get("documentIndex", inner.get("searchResultIndex"))
    origin = citation.get("source")
    key = "url" if isinstance(origin, str) and "://" in origin else "id"
    return {key: origin if origin else number}


def _grounding(wire: Any, text: str) -> Iterator[Source]:
    """Yield Gemini's sources: grounding chunks, pages read by URL, and citations."""
    data = object_in(wire, "groundingMetadata")
    places = _supported_places(data, text)
    for number, chunk in enumerate(objects_in(data.get("groundingChunks"))):
        inner = next((one for one in chunk.values() if isinstance(one, Mapping)), chunk)
        if source := make_source(inner, tuple(places.get(number, ()))):
            yield source
    for page in objects_in(object_in(wire, "urlContextMetadata").get("urlMetadata")):
        if source := make_source(page.get("retrievedUrl")):
            yield source
    cited = object_in(wire, "citationMetadata")
    for one in objects_in(cited.get("citationSources") or cited.get("citations")):
        if source := make_source(one, span_of(one.get("startIndex", 0), one.get("endIndex"), text)):
            yield source


def _supported_places(data: Json, text: str) -> Mapping[int, list[tuple[int, int]]]:
    """Return the spans of the text that each grounding chunk supports, by the chunk's index."""
    places: dict[int, list[tuple[int, int]]] = {}
    for support in objects_in(data.get("groundingSupports")):
        segment = object_in(support, "segment")
        said = str(segment.get("text", ""))
        start = _byte_position(text, segment, said) if said else -1
        numbers = support.get("groundingChunkIndices")
        for number in numbers if isinstance(numbers, list) else ():
            if isinstance(number, int):
                places.setdefault(number, []).extend(span_of(start, start + len(said), text))
    return places


def _byte_position(text: str, segment: Json, said: str) -> int:
    """Return the character position of a segment given in bytes, or that of its text if they are wrong."""
    number = segment.get("startIndex", 0)
    number = number if isinstance(number, int) else 0
    start = len(text.encode()[:number].decode("utf-8", "ignore"))
    return start if text.startswith(said, start) else text.find(said)


_READERS: Mapping[str, Callable[[Any, str], Iterator[Source]]] = {
    "citations": _numbered,
    "search_results": _numbered,
    "references": _numbered,
    "web_search": _numbered,
    "search_info": lambda wire, text: _numbered(field(wire, "search_results"), text),
    "context": lambda wire, text: _numbered(field(wire, "citations"), text),
    "sources": _with_documents,
    "annotations": _annotations,
    "executed_tools": _executed_tools,
    "provider_specific_fields": _litellm,
    "vertex_ai_grounding_metadata": partial(_vertex, "groundingMetadata"),
    "vertex_ai_url_context_metadata": partial(_vertex, "urlContextMetadata"),
    "vertex_ai_citation_metadata": partial(_vertex, "citationMetadata"),
    "openai-responses": _responses,
    "anthropic": _blocks,
    "bedrock": _converse,
    "gemini": _grounding,
}
"""Readers by the key of a reply's ``provider_options`` that holds sources."""
