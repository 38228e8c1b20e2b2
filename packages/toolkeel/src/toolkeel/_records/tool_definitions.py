"""Definitions of tools as the journal records them: description and schema, as JSON text."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from weakref import WeakKeyDictionary

from toolkeel._records.messages_json import json_text
from toolkeel._records.record_json import to_json_data
from toolkeel.model_interface import ToolDefinition

MAX_DEFINITIONS = 200
"""Number of tools of a request whose definitions are recorded."""
_texts: WeakKeyDictionary[ToolDefinition, str] = WeakKeyDictionary()


def definition_texts(tools: Sequence[ToolDefinition]) -> dict[str, str]:
    """Return the definitions of the first `MAX_DEFINITIONS` tools as JSON texts, by name of the tool."""
    return {tool.name: _definition_text(tool) for tool in tools[:MAX_DEFINITIONS]}


def _definition_text(tool: ToolDefinition) -> str:
    """Return a tool's definition as JSON text, made once for each tool that takes weak references."""
    known = None
    with suppress(TypeError):
        known = _texts.get(tool)
    if known is None:
        fields = {"description": tool.description, "parameters": to_json_data(tool.parameters)}
        known = json_text(fields)
        with suppress(TypeError):
            _texts[tool] = known
    return known
