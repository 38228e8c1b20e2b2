"""Calls of hosted tools in a transcript, in one form, whoever ran them.

OpenAI reports its tools as items of the output, Anthropic as pairs of blocks, Gemini as parts and
metadata; a tool that ran here leaves a `ToolMessage`. `collect_hosted_items` returns all of them in the
form of OpenAI's items, such as ``web_search_call`` and ``file_search_call``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType

from toolkeel.messages import AssistantMessage, Message, ToolMessage
from toolkeel.providers.openai_responses.profile import CALLS
from toolkeel.providers.wire.plain_json import Json, as_dict, as_list, as_text

_NON_TOOL_ITEMS = frozenset({"message", "reasoning", *CALLS})
"""Items of an answer that tell of no tool of the server's."""


def collect_hosted_items(messages: Iterable[Message]) -> list[Json]:
    """Collect every use of a hosted tool, in order.

    Args:
        messages: A transcript, such as a run's `messages`.

    Returns:
        One dict per use: ``type`` (``web_search_call``, ``file_search_call``,
        ``code_interpreter_call``, ``image_generation_call``, ``mcp_call`` ...), ``id``, ``status``,
        and the fields of the type, as OpenAI's Responses API names them. Fields that another provider
        does not report are missing.

    >>> item = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
    >>> collect_hosted_items([ToolMessage("sunny", "call_1", "web_search", artifact=item)]) == [item]
    True
    """
    return [item for message in messages for item in _iter_items(message)]


def _iter_items(message: Message) -> Iterator[Json]:
    """Yield the uses of hosted tools in a message, as OpenAI's items."""
    if isinstance(message, ToolMessage):
        item = as_dict(message.artifact)
        if as_text(item.get("type")).endswith("_call") and item["type"] not in CALLS:
            yield item
    elif isinstance(message, AssistantMessage):
        for wire, read in _READERS.items():
            extra = message.provider_options.get(wire)
            if isinstance(extra, dict):
                yield from read(extra)


def _read_openai(extra: Json) -> Iterator[Json]:
    """Yield the items of hosted tools in an OpenAI reply's saved data."""
    for item in map(as_dict, as_list(extra.get("output"))):
        if item and item.get("type") not in _NON_TOOL_ITEMS:
            yield item


# — Anthropic: a block that uses, a block that results —


def _read_anthropic(extra: Json) -> Iterator[Json]:
    """Yield an item for each server tool call of a known kind in an Anthropic reply, with its result."""
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
        failed = _has_failed(result, content)
        done = (
            {"status": "failed" if failed else "completed"} if result else {"status": "searching"}
        )
        make = _SERVER_TOOLS.get(name)
        if make is not None:
            item = make(block, content)
            yield {"type": item.pop("type"), "id": block.get("id"), **done, **item}


def _has_failed(result: Json, content: object) -> bool:
    """Return true if a result is an error."""
    broken = as_text(as_dict(content).get("type")).endswith("_error")
    return broken or result.get("is_error") is True


def _make_search_item(block: Json, content: object) -> Json:
    """Return a web search as an item with its query and sources."""
    query = as_text(as_dict(block.get("input")).get("query"))
    sources = [
        {"type": "url", "url": one.get("url"), "title": one.get("title")}
        for one in map(as_dict, as_list(content))
        if one.get("type") == "web_search_result"
    ]
    return _make_search_call([query], sources)


def _make_search_call(queries: list[str], sources: list[Json]) -> Json:
    """Return a ``web_search_call`` with queries and sources."""
    query = queries[0] if queries else ""
    action = {"type": "search", "query": query, "queries": queries, "sources": sources}
    return {"type": "web_search_call", "action": action}


def _make_fetch_item(block: Json, content: object) -> Json:
    """Return a fetched page as an item, with its text if it came."""
    document = as_dict(as_dict(content).get("content"))
    text = as_text(as_dict(document.get("source")).get("data"))
    action = {"type": "open_page", "url": as_dict(block.get("input")).get("url")}
    return {"type": "web_search_call", "action": action, **({"text": text} if text else {})}


def _make_code_item(block: Json, content: object) -> Json:
    """Return a code execution as an item, with its output as logs."""
    arguments = as_dict(block.get("input"))
    code = as_text(arguments.get("code")) or as_text(arguments.get("command"))
    result = as_dict(content)
    logs = as_text(result.get("stdout")) + as_text(result.get("stderr"))
    return _make_code_call(code, logs)


def _make_code_call(code: str, logs: str) -> Json:
    """Return a ``code_interpreter_call`` with code and logs."""
    outputs = [{"type": "logs", "logs": logs}] if logs else []
    return {"type": "code_interpreter_call", "code": code, "outputs": outputs}


def _make_mcp_item(block: Json, content: object) -> Json:
    """Return a call of an MCP tool as an ``mcp_call`` item."""
    texts = [as_text(as_dict(one).get("text")) for one in as_list(content)]
    text = content if isinstance(content, str) else "\n".join(texts)
    return {
        "type": "mcp_call",
        "server_label": block.get("server_name"),
        "name": block.get("name"),
        "arguments": block.get("input"),
        "output": text,
    }


_SERVER_TOOLS: Mapping[str, Callable[[Json, object], Json]] = MappingProxyType(
    {
        "web_search": _make_search_item,
        "web_fetch": _make_fetch_item,
        "code_execution": _make_code_item,
        "bash_code_execution": _make_code_item,
        "mcp": _make_mcp_item,
    }
)


# — Gemini: parts, and metadata of the response —


def _read_gemini(extra: Json) -> Iterator[Json]:
    """Yield items for the searches, fetched pages and code in a Gemini reply."""
    grounds = as_dict(extra.get("groundingMetadata"))
    queries = [as_text(query) for query in as_list(grounds.get("webSearchQueries"))]
    chunks = [as_dict(as_dict(one).get("web")) for one in as_list(grounds.get("groundingChunks"))]
    sources: list[Json] = [
        {"type": "url", "url": one.get("uri"), "title": one.get("title")} for one in chunks if one
    ]
    if queries or sources:
        yield {"id": "", "status": "completed", **_make_search_call(queries, sources)}
    pages = as_dict(extra.get("urlContextMetadata"))
    for page in map(as_dict, as_list(pages.get("urlMetadata"))):
        fine = as_text(page.get("urlRetrievalStatus")).endswith("SUCCESS")
        action = {"type": "open_page", "url": page.get("retrievedUrl")}
        status = "completed" if fine else "failed"
        yield {"type": "web_search_call", "id": "", "status": status, "action": action}
    yield from _read_gemini_code([as_dict(part) for part in as_list(extra.get("parts"))])


def _read_gemini_code(parts: list[Json]) -> Iterator[Json]:
    """Yield an item for each code execution, paired with its result by order; ``failed`` without a result."""
    results = [
        as_dict(part["codeExecutionResult"]) for part in parts if "codeExecutionResult" in part
    ]
    codes = [as_dict(part["executableCode"]) for part in parts if "executableCode" in part]
    for number, code in enumerate(codes):
        result = results[number] if number < len(results) else {}
        fine = as_text(result.get("outcome")).endswith("OK")
        ran = _make_code_call(as_text(code.get("code")), as_text(result.get("output")))
        id = as_text(code.get("id"))
        yield {**ran, "id": id, "status": "completed" if fine else "failed"}


_READERS: Mapping[str, Callable[[Json], Iterator[Json]]] = MappingProxyType(
    {"openai-responses": _read_openai, "anthropic": _read_anthropic, "gemini": _read_gemini}
)
