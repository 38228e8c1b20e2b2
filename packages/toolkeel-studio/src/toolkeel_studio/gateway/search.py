"""Tool search, where there are too many tools to list.

Below some hundred tools a list costs less than a search. Above, clients are told of one tool that
searches; what it finds is listed from then on, and every tool can be called by its name all along.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import mcp_types as types

from toolkeel._common.word_index import WordIndex
from toolkeel.call.tool_search import words

NAME = "search_tools"
MAX_RESULTS = 8

DEFINITION = types.Tool(
    name=NAME,
    title="Search tools",
    description=(
        "Find tools by what they do. There are too many to list; those that are found can be "
        "called by their names from then on."
    ),
    input_schema={
        "type": "object",
        "properties": {"query": {"type": "string", "description": "Words for what to do."}},
        "required": ["query"],
        "additionalProperties": False,
    },
    annotations=types.ToolAnnotations(
        read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
    ),
)


def search_tools(
    query: str, tools: Mapping[str, types.Tool], limit: int = MAX_RESULTS
) -> list[types.Tool]:
    """Return the tools that match the most rare words of the query, best first.

    Args:
        query: Words.
        tools: By public name.
        limit: How many at most.
    """
    index = WordIndex(
        (tool, Counter(words(f"{name} {name} {tool.title or ''} {tool.description or ''}")))
        for name, tool in tools.items()
    )
    return index.find(words(query), limit)


def query_of(params: Mapping[str, Any]) -> str | None:
    """Return the query of a search call, or None if it has none."""
    arguments = params.get("arguments")
    query = arguments.get("query") if isinstance(arguments, Mapping) else None
    return query if isinstance(query, str) else None


def search_result(tools: Iterable[types.Tool]) -> dict[str, Any]:
    """Return the definitions of found tools as a call result."""
    found = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]
    text = json.dumps(found, ensure_ascii=False) if found else "no tool fits; try other words"
    return {"content": [{"type": "text", "text": text}]}
