"""Finding tools where there are too many to list (tool search).

Below some hundred tools a list costs less than a search. Above, clients are told of one tool that
searches; what it finds is listed from then on, and every tool can be called by its name all along.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

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
    """The tools whose names and descriptions hold most of the query's rare words, best first.

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
