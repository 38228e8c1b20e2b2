"""What hosted tools did in a transcript, in one form, whoever ran them.

OpenAI tells of its tools in items of the answer, Anthropic in pairs of blocks, Gemini in parts
and beside them; a tool that ran here leaves a `ToolMessage`. `hosted_items` tells all of them in
the form of OpenAI's items, such as ``web_search_call`` and ``file_search_call``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType

from toolkeel.messages import AssistantMessage, Message, ToolMessage
from toolkeel.providers.openai_responses.profile import CALLS
from toolkeel.providers.wire.plain_json import Json, as_dict, as_list, as_text

_OWN = frozenset({"message", "reasoning", *CALLS})
"""Items of an answer that tell of no tool of the server's."""


def hosted_items(messages: Iterable[Message]) -> list[Json]:
    """Every use of a hosted tool, in order.

    Args:
        messages: A transcript, such as a run's `messages`.

    Returns:
        One dict a use: ``type`` (``web_search_call``, ``file_search_call``,
        ``code_interpreter_call``, ``image_generation_call``, ``mcp_call`` ...), ``id``,
        ``status``, and what belongs to the type, as OpenAI's Responses API names it. What another
        provider does not tell is left out.

    >>> item = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
    >>> hosted_items([ToolMessage("sunny", "call_1", "web_search", artifact=item)]) == [item]
    True
    """
    return [item for message in messages for item in _items(message)]


def _items(message: Message) -> Iterator[Json]:
    if isinstance(message, ToolMessage):
        item = as_dict(message.artifact)
        if as_text(item.get("type")).endswith("_call") and item["type"] not in CALLS:
            yield item
    elif isinstance(message, AssistantMessage):
        for wire, read in _READERS.items():
            extra = message.provider_options.get(wire)
            if isinstance(extra, dict):
                yield from read(extra)


def _openai(extra: Json) -> Iterator[Json]:
    for item in map(as_dict, as_list(extra.get("output"))):
        if item and item.get("type") not in _OWN:
            yield item


# — Anthropic: a block that uses, a block that results —


def _anthropic(extra: Json) -> Iterator[Json]:
    blocks = [as_dict(block) for block in as_list(extra.get("content"))]
    results = {block["tool_use_id"]: block for block in blocks if "tool_use_id" in block}
    for block in blocks:
        kind = block.get("type")
        if kind == "server_tool_use":
            name = as_text(block.get("name"))
        elif kind == "mcp_tool_use":
            name = "mcp"
        else:
            continue
        result = as_dict(results.get(block.get("id")))
        content = result.get("content")
        failed = _failed(result, content)
        done = (
            {"status": "failed" if failed else "completed"} if result else {"status": "searching"}
        )
        make = _SERVER_TOOLS.get(name)
        if make is not None:
            told = make(block, content)
            yield {"type": told.pop("type"), "id": block.get("id"), **done, **told}


def _failed(result: Json, content: object) -> bool:
    broken = as_text(as_dict(content).get("type")).endswith("_error")
    return broken or result.get("is_error") is True


def _search(block: Json, content: object) -> Json:
    query = as_text(as_dict(block.get("input")).get("query"))
    sources = [
        {"type": "url", "url": one.get("url"), "title": one.get("title")}
        for one in map(as_dict, as_list(content))
        if one.get("type") == "web_search_result"
    ]
    return _searched([query], sources)


def _searched(queries: list[str], sources: list[Json]) -> Json:
    query = queries[0] if queries else ""
    action = {"type": "search", "query": query, "queries": queries, "sources": sources}
    return {"type": "web_search_call", "action": action}


def _fetch(block: Json, content: object) -> Json:
    document = as_dict(as_dict(content).get("content"))
    text = as_text(as_dict(document.get("source")).get("data"))
    action = {"type": "open_page", "url": as_dict(block.get("input")).get("url")}
    return {"type": "web_search_call", "action": action, **({"text": text} if text else {})}


def _code(block: Json, content: object) -> Json:
    given = as_dict(block.get("input"))
    code = as_text(given.get("code")) or as_text(given.get("command"))
    result = as_dict(content)
    logs = as_text(result.get("stdout")) + as_text(result.get("stderr"))
    return _ran(code, logs)


def _ran(code: str, logs: str) -> Json:
    outputs = [{"type": "logs", "logs": logs}] if logs else []
    return {"type": "code_interpreter_call", "code": code, "outputs": outputs}


def _mcp(block: Json, content: object) -> Json:
    said = [as_text(as_dict(one).get("text")) for one in as_list(content)]
    text = content if isinstance(content, str) else "\n".join(said)
    return {
        "type": "mcp_call",
        "server_label": block.get("server_name"),
        "name": block.get("name"),
        "arguments": block.get("input"),
        "output": text,
    }


_SERVER_TOOLS: Mapping[str, Callable[[Json, object], Json]] = MappingProxyType(
    {
        "web_search": _search,
        "web_fetch": _fetch,
        "code_execution": _code,
        "bash_code_execution": _code,
        "mcp": _mcp,
    }
)


# — Gemini: parts, and what stands beside the answer —


def _gemini(extra: Json) -> Iterator[Json]:
    grounds = as_dict(extra.get("groundingMetadata"))
    queries = [as_text(query) for query in as_list(grounds.get("webSearchQueries"))]
    chunks = [as_dict(as_dict(one).get("web")) for one in as_list(grounds.get("groundingChunks"))]
    sources: list[Json] = [
        {"type": "url", "url": one.get("uri"), "title": one.get("title")} for one in chunks if one
    ]
    if queries or sources:
        yield {"id": "", "status": "completed", **_searched(queries, sources)}
    pages = as_dict(extra.get("urlContextMetadata"))
    for page in map(as_dict, as_list(pages.get("urlMetadata"))):
        fine = as_text(page.get("urlRetrievalStatus")).endswith("SUCCESS")
        action = {"type": "open_page", "url": page.get("retrievedUrl")}
        status = "completed" if fine else "failed"
        yield {"type": "web_search_call", "id": "", "status": status, "action": action}
    yield from _gemini_code([as_dict(part) for part in as_list(extra.get("parts"))])


def _gemini_code(parts: list[Json]) -> Iterator[Json]:
    results = [
        as_dict(part["codeExecutionResult"]) for part in parts if "codeExecutionResult" in part
    ]
    codes = [as_dict(part["executableCode"]) for part in parts if "executableCode" in part]
    for number, code in enumerate(codes):
        result = results[number] if number < len(results) else {}
        fine = as_text(result.get("outcome")).endswith("OK")
        ran = _ran(as_text(code.get("code")), as_text(result.get("output")))
        id = as_text(code.get("id"))
        yield {**ran, "id": id, "status": "completed" if fine else "failed"}


_READERS: Mapping[str, Callable[[Json], Iterator[Json]]] = MappingProxyType(
    {"openai-responses": _openai, "anthropic": _anthropic, "gemini": _gemini}
)
