"""Tools, calls and results as text, for models whose template has no place for them.

Calls and answers of earlier turns are written in the form that the next reply must have, so that the
transcript is an example of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from toolkeel._records.record import NOTHING
from toolkeel.content import Text
from toolkeel.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from toolkeel.model_interface import ModelRequest, OutputFormat, ToolDefinition
from toolkeel.providers.constrained.reply_schema import AnswerFunction, answer_function, named_tools
from toolkeel.providers.wire.plain_json import arguments_text, as_dict, as_list, dumps
from toolkeel.providers.wire.tools import function_arguments

_READS_SCHEMAS = re.compile(r"qwen|hermes|llama-?3|mistral|granite|command", re.IGNORECASE)
"""Families that were trained on tools as JSON Schema.

Others read signatures, which are shorter. They also get shorter rules: SmolLM2-135M repeats an example
of an answer instead of calling a tool.
"""

_Described = ToolDefinition | AnswerFunction
"""What has a name, a description and parameters."""

_HEAD = "You can call these functions:"
_AFTER_RESULTS = "Call {} with that now, unless another function is needed first."
"""Small models repeat a call whose result they were shown without a word about what to do next."""
_CALL = (
    'Reply with one call as JSON: {"name": "<function>", "arguments": {...}}. Its result follows.'
)


def write_tools_as_text(request: ModelRequest, model: str) -> list[Message]:
    """Return the messages of a request with its calls and results as text, and its tools in the instructions.

    If the last one is a result and ``tool_choice`` is ``auto``, the text to the model ends with how to answer.

    Args:
        request: Messages and tools.
        model: Name of the model, which decides how tools are described.
    """
    settings = request.settings
    answer = answer_function(request.tools, settings.output)
    tools = {tool.name: (alias, tool) for alias, tool in named_tools(request.tools)}
    messages = [_as_text(message, tools, answer) for message in request.messages]
    choice = settings.tool_choice or "auto"
    described = describe_tools(request.tools, model, choice, settings.output)
    *_, last = (None, *request.messages)
    if isinstance(last, ToolMessage) and choice == "auto":
        messages[-1] = _with_text(messages[-1], _AFTER_RESULTS.format(answer.name))
    first = messages[0] if messages else None
    if isinstance(first, SystemMessage):
        return [SystemMessage(f"{first.text}\n\n{described}"), *messages[1:]]
    return [SystemMessage(described), *messages]


def _with_text(message: Message, text: str) -> Message:
    """Return a message with more text after it."""
    if isinstance(message.content, str):
        return replace(message, content=f"{message.content}\n\n{text}")
    return replace(message, content=(*message.content, Text(text)))


def describe_tools(
    tools: Iterable[ToolDefinition],
    model: str,
    choice: str = "auto",
    output: OutputFormat | None = None,
) -> str:
    """Return the prompt text that lists the tools and the JSON form that a reply must have.

    Args:
        tools: The tools.
        model: Name of the model, which decides how tools are described.
        choice: ``auto``, ``required`` or the name of the tool that must be called.
        output: The form of an answer; None for text.

    >>> class Add:
    ...     name, description, provider_options = "add", "Add numbers.", {}
    ...     parameters = {"properties": {"a": {"type": "integer"}}, "required": ["a"]}
    >>> print(describe_tools([Add()], "gemma-3").splitlines()[1])
    - add(a: integer): Add numbers.
    """
    named: list[tuple[str, _Described]] = [
        (alias, tool)
        for alias, tool in named_tools(tools)
        if choice in ("auto", "required", tool.name)
    ]
    answer = answer_function(tools, output)
    if choice == "auto":
        named.append((answer.name, answer))
    if _READS_SCHEMAS.search(model) is None:
        return "\n".join([_HEAD, *(_signature_line(*one) for one in named), _CALL])
    lines = [_HEAD, *(_schema_line(*one) for one in named), _CALL]
    if choice == "auto":
        lines[-1] += f" Call {answer.name} only if no other function can do what is asked."
        if output is None:
            example = _answer_text(answer, "...")
            lines.append(f"To greetings and general questions, for example, reply {example}.")
    return "\n".join(lines)


def _schema_line(alias: str, tool: _Described) -> str:
    """Return a tool as one line of JSON: name, description and schema."""
    return dumps({"name": alias, "description": tool.description, "parameters": tool.parameters})


def _signature_line(alias: str, tool: _Described) -> str:
    """Return a tool as one line: ``- name(parameter: type): description``."""
    properties = as_dict(tool.parameters.get("properties"))
    required = as_list(tool.parameters.get("required"))
    written = [
        f"{name}{'' if name in required else '?'}: {_type_text(as_dict(schema))}"
        for name, schema in properties.items()
    ]
    described = " ".join(tool.description.split())
    return f"- {alias}({', '.join(written)}): {described}"


def _type_text(schema: Mapping[str, Any], depth: int = 3) -> str:
    """Return a schema as a short type text with its description, nested up to `depth` levels."""
    kind, note = schema.get("type"), schema.get("description")
    among = [*as_list(schema.get("anyOf")), *as_list(schema.get("oneOf"))]
    values = as_list(schema.get("enum")) or ([schema["const"]] if "const" in schema else [])
    if values:
        text = " | ".join(json.dumps(value, ensure_ascii=False) for value in values)
    elif kind == "array" and depth:
        text = f"list of {_type_text(as_dict(schema.get('items')), depth - 1)}"
    elif kind == "object" and depth and schema.get("properties"):
        inner = as_dict(schema["properties"]).items()
        parts = (f"{name}: {_type_text(as_dict(one), depth - 1)}" for name, one in inner)
        text = f"{{{', '.join(parts)}}}"
    elif among and depth:
        text = " | ".join(_type_text(as_dict(one), depth - 1) for one in among)
    else:
        text = " | ".join(map(str, kind)) if isinstance(kind, list) else str(kind or "any")
    return f"{text} ({' '.join(str(note).split())})" if note else text


def _call_text(call: ToolCall, alias: str, tool: ToolDefinition | None) -> str:
    """Return a call as JSON text with name and arguments, as replies are written; `tool` is None if unknown."""
    arguments = arguments_text(function_arguments(call, tool.parameters if tool else NOTHING))
    return f'{{"name": {dumps(alias)}, "arguments": {arguments}}}'


def _answer_text(answer: AnswerFunction, text: str) -> str:
    """Return an answer as JSON text, as replies are written."""
    return f'{{"name": "{answer.name}", "arguments": {{"{answer.key}": {dumps(text)}}}}}'


def _as_text(
    message: Message, tools: Mapping[str, tuple[str, ToolDefinition]], answer: AnswerFunction
) -> Message:
    """Return a message as text: a reply as JSON of its calls or its answer, a result as a user message."""
    aliases = {name: alias for name, (alias, _) in tools.items()}
    if isinstance(message, AssistantMessage):
        calls = [
            _call_text(call, *tools.get(call.name, (call.name, None)))
            for call in message.tool_calls
        ]
        text = "\n".join(calls) if calls else _answer_text(answer, message.text)
        return replace(message, content=text, tool_calls=())
    if isinstance(message, ToolMessage):
        failed = " (it failed)" if message.failed else ""
        head = f"Result of {aliases.get(message.name, message.name) or 'the function'}{failed}:\n"
        if isinstance(message.content, str):
            return UserMessage(head + message.content)
        return UserMessage((Text(head), *message.content))
    return message
