"""Definitions of tools as text: of any tool, and of no more than a number of them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from toolkeel import tool
from toolkeel._records.tool_definitions import MAX_DEFINITIONS, definition_texts


@tool
def ping(times: int = 1) -> str:
    """Answer 猫."""
    return "pong"


@dataclass(slots=True)
class Plain:
    """A definition without weak references and hash."""

    name: str
    description: str = ""
    parameters: dict[str, object] = field(default_factory=dict)
    provider_options: dict[str, object] = field(default_factory=dict)


def test_a_definition_has_description_and_schema() -> None:
    for _ in range(2):
        [(name, text)] = definition_texts([ping]).items()
        assert name == "ping" and "猫" in text
        assert json.loads(text) == {"description": "Answer 猫.", "parameters": ping.parameters}


def test_the_definitions_of_the_first_tools_alone_are_texts() -> None:
    texts = definition_texts([Plain(f"t{n}") for n in range(MAX_DEFINITIONS + 5)])
    assert len(texts) == MAX_DEFINITIONS and f"t{MAX_DEFINITIONS}" not in texts
