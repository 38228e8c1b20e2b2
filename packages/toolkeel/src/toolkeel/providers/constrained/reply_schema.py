"""The schema of a constrained reply: one of these calls, or an answer.

It is sent as ``response_format``. Servers turn it into a grammar, and small models write lists and
texts without an end wherever a grammar allows it, so both are bounded. What not every server's grammar
expresses is left out; the tool checks it anyway.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from toolkeel._records.record import record
from toolkeel.define.dialect.normal_form import (
    ANNOTATIONS,
    Node,
    map_objects,
    name_of,
    normalize,
    ref_to,
)
from toolkeel.define.names import wire_names
from toolkeel.model_interface import ModelRequest, OutputFormat, ToolDefinition

MAX_CHARS = 1500
"""Longest text in a call whose schema has no ``maxLength``; llama.cpp's own grammars take 2,000."""
MAX_ITEMS = 32
"""Longest list in a call whose schema has no ``maxItems``."""
ANSWER = "answer"
"""Name of the function that stands for an answer, unless a tool has it."""

_UNCERTAIN = ANNOTATIONS | {
    *("not", "if", "then", "else", "uniqueItems", "contains", "minContains", "maxContains"),
    *("propertyNames", "dependentRequired", "dependentSchemas", "unevaluatedProperties"),
    *("unevaluatedItems", "patternProperties", "minProperties", "maxProperties", "multipleOf"),
    *("contentEncoding", "contentMediaType", "contentSchema"),
}
"""Keywords that some server's grammar refuses."""
_FORMATS = frozenset({"date", "time", "date-time", "uuid"})
"""Formats that every server's grammar knows."""


_ANSWER_IN_WORDS = "Answer the person in words, when no other function helps."
_ANSWER_IN_FORM = "Give the final answer, when no other function is needed."


@record
class AnswerFunction:
    """The function that a model calls to answer.

    Args:
        name: Its name.
        key: Its parameter.
        schema: JSON Schema of the parameter.
        description: What the model reads.
    """

    name: str
    key: str
    schema: Mapping[str, Any]
    description: str

    @property
    def parameters(self) -> dict[str, Any]:
        """JSON Schema of the arguments."""
        return {"type": "object", "properties": {self.key: self.schema}, "required": [self.key]}


def reply_schema(request: ModelRequest) -> Node:
    """Return the schema of a reply to a request with tools.

    ``tool_choice``, other than ``none``, decides which calls it has and if an answer is allowed.
    """
    choice = request.settings.tool_choice
    defs: dict[str, Node] = {}
    branches = [
        _call_branch(alias, tool, defs)
        for alias, tool in named_tools(request.tools)
        if choice in (None, "auto", "required", tool.name)
    ]
    if choice in (None, "auto"):
        branches.append(_answer_branch(request, defs))
    schema: Node = branches[0] if len(branches) == 1 else {"anyOf": branches}
    return {**schema, "$defs": defs} if defs else schema


def named_tools(tools: Iterable[ToolDefinition]) -> list[tuple[str, ToolDefinition]]:
    """Return each tool with the alias that stands for it in the prompt and in replies."""
    listed = list(tools)
    aliases = wire_names([tool.name for tool in listed])
    return [(aliases[tool.name], tool) for tool in listed]


def answer_function(tools: Iterable[ToolDefinition], output: OutputFormat | None) -> AnswerFunction:
    """Return the function that stands for an answer, with a name that no tool has.

    A reply begins alike with a call and with an answer: a model that had to begin an answer in
    another way answered questions that it had tools for.

    Args:
        tools: The tools beside it.
        output: The answer's form; None for text.
    """
    taken = {alias for alias, _ in named_tools(tools)}
    name = ANSWER
    while name in taken:
        name += "_"
    if output is None:
        return AnswerFunction(name, "text", {"type": "string"}, _ANSWER_IN_WORDS)
    return AnswerFunction(name, "value", output.schema, _ANSWER_IN_FORM)


def _call_branch(alias: str, tool: ToolDefinition, defs: dict[str, Node]) -> Node:
    """Return the schema of a call of one tool; its definitions are added to `defs`."""
    arguments = _constrain(tool.parameters, f"{alias}.", defs)
    return _closed_object({"name": {"const": alias}, "arguments": arguments})


def _answer_branch(request: ModelRequest, defs: dict[str, Node]) -> Node:
    """Return the schema of an answer; its definitions are added to `defs`."""
    output = request.settings.output
    answer = answer_function(request.tools, output)
    prefix = f"{answer.name}."
    value = dict(answer.schema) if output is None else _constrain(output.schema, prefix, defs)
    return _closed_object(
        {"name": {"const": answer.name}, "arguments": _closed_object({answer.key: value})}
    )


def _closed_object(properties: Mapping[str, Node]) -> Node:
    """Return the schema of an object with exactly these properties, all required."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _constrain(schema: Mapping[str, object], prefix: str, defs: dict[str, Node]) -> Node:
    """Return a schema with bounded texts and lists; add its definitions to `defs`, under a prefix."""
    node, _ = normalize(schema)
    for name, definition in node.pop("$defs", {}).items():
        defs[prefix + name] = _bound(definition, prefix)
    bounded = _bound(node, prefix)
    return bounded if isinstance(bounded, dict) else {}


def _bound(node: Any, prefix: str) -> Any:
    """Return a copy of a schema with maximum lengths, without rarely supported keywords."""
    if not isinstance(node, dict):
        return node
    bounded = {key: value for key, value in node.items() if key not in _UNCERTAIN}
    if "oneOf" in bounded and "anyOf" not in bounded:
        bounded["anyOf"] = bounded.pop("oneOf")
    if "$ref" in bounded:
        bounded["$ref"] = ref_to(prefix + name_of(bounded["$ref"]))
    if bounded.get("format", "date") not in _FORMATS:
        del bounded["format"]
    if not {"enum", "const", "pattern", "format", "$ref", "anyOf", "allOf"} & bounded.keys():
        types = bounded.get("type", ())
        types = (types,) if isinstance(types, str) else types
        if "string" in types:
            bounded.setdefault("maxLength", MAX_CHARS)
        if "array" in types:
            bounded.setdefault("maxItems", max(MAX_ITEMS, bounded.get("minItems", 0)))
            bounded.setdefault("items", {"type": "string"})
    return map_objects(bounded, lambda child: _bound(child, prefix))
