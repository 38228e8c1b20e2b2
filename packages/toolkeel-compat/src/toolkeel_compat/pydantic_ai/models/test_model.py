"""`TestModel`, under the name of Pydantic AI: a model for tests that calls each tool once."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, Literal

from toolkeel._records.record import record
from toolkeel.define.output_type import is_output_tool
from toolkeel.messages import AssistantMessage, ToolCall, ToolMessage, Usage
from toolkeel.model_interface import Delta, ModelRequest, TextDelta
from toolkeel_compat.pydantic_ai.output.types import OUTPUT_KEY


@record
class OfferedTool:
    """A tool that a request offered.

    Args:
        name: Its name.
        description: Its description.
        parameters_json_schema: The schema of its arguments.
    """

    name: str
    description: str
    parameters_json_schema: Mapping[str, Any]


@record
class ModelRequestParameters:
    """The tools of a request.

    Args:
        function_tools: The program's tools.
        output_tools: Those that take the answer.
    """

    function_tools: list[OfferedTool]
    output_tools: list[OfferedTool]


def list_offered(request: ModelRequest) -> tuple[list[OfferedTool], list[OfferedTool]]:
    """Return the tools of a request: those with a body, and those of an output type."""
    offered: tuple[list[OfferedTool], list[OfferedTool]] = [], []
    for one in request.tools:
        made = OfferedTool(one.name, one.description, one.parameters)
        offered[is_output_tool(one)].append(made)
    return offered


class TestModel:
    """Calls tools with generated arguments, then answers.

    Args:
        call_tools: Names of the tools to call; all by default.
        custom_output_text: The answer; by default the results of the tools as JSON.
        custom_output_args: The arguments of the answer, for an `output_type`.
        seed: Varies the generated values.
    """

    __test__ = False  # no class of tests
    name = "test"

    def __init__(
        self,
        *,
        call_tools: Sequence[str] | Literal["all"] = "all",
        custom_output_text: str | None = None,
        custom_output_args: Mapping[str, Any] | None = None,
        seed: int = 0,
    ) -> None:
        self.call_tools, self.seed = call_tools, seed
        self.custom_output_text = custom_output_text
        self.custom_output_args = custom_output_args
        self.requests: list[ModelRequest] = []

    @property
    def last_model_request_parameters(self) -> ModelRequestParameters | None:
        """The tools of the last request."""
        return ModelRequestParameters(*list_offered(self.requests[-1])) if self.requests else None

    def supports_format(self, format: Any, *, tools: bool) -> bool:
        """Return False: an answer of a type comes by a call.

        Args:
            format: The type's form.
            tools: Makes no difference here.
        """
        return False

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | AssistantMessage]:
        """Yield the reply to a request, its text word by word."""
        self.requests.append(request)
        reply = self._reply(request)
        for word in re.findall(r"\S+\s*", reply.text):
            yield TextDelta(word)
        yield reply

    def _reply(self, request: ModelRequest) -> AssistantMessage:
        """Return the calls of a request's tools, or the answer once all have results."""
        results = [one for one in request.messages if isinstance(one, ToolMessage)]
        tools: list[Any] = [*request.tools]
        forms = [one for one in tools if is_output_tool(one)]
        todo = self._find_missing([one for one in tools if one not in forms], results)
        if todo:
            return _make_reply("", [self._call(one) for one in todo])
        if forms and not self._answers_with_text(request):
            form, answer = forms[self.seed % len(forms)], self.custom_output_args
            names = list(form.parameters.get("properties", ()))
            if answer is not None and names == [OUTPUT_KEY] and OUTPUT_KEY not in answer:
                answer = {OUTPUT_KEY: answer}
            return _make_reply("", [self._call(form, answer)])
        if self.custom_output_text is not None:
            return _make_reply(self.custom_output_text)
        by_name = {one.name: _read(one.text) for one in results}
        text = json.dumps(by_name, ensure_ascii=False, separators=(",", ":"))
        return _make_reply(text if by_name else "success (no tool calls)")

    def _answers_with_text(self, request: ModelRequest) -> bool:
        """Return True if the output may be text, as one of several types, and no other is given."""
        return self.custom_output_args is None and request.settings.tool_choice != "required"

    def _find_missing(self, tools: Sequence[Any], results: Sequence[ToolMessage]) -> list[Any]:
        """Return the tools to call: all at first, then those that asked for other arguments."""
        wanted = [one for one in tools if self.call_tools == "all" or one.name in self.call_tools]
        if not results:
            return wanted
        done = {one.name for one in results if not one.failed or one.kind == "denied"}
        failed = {one.name for one in results} - done
        if len(results) > MAX_ATTEMPTS * len(wanted):
            return []
        return [one for one in wanted if one.name in failed]

    def _call(self, tool: Any, arguments: Mapping[str, Any] | None = None) -> ToolCall:
        schema = dict(tool.parameters)
        made = generate(schema, schema, self.seed) if arguments is None else dict(arguments)
        return ToolCall(f"pyd_ai_tool_call_id__{tool.name}", tool.name, made)


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def generate(schema: Mapping[str, Any], root: Mapping[str, Any], seed: int = 0) -> Any:
    """Return the smallest value that a JSON Schema describes.

    Args:
        schema: The schema.
        root: The schema that references are relative to.
        seed: Varies texts and numbers.

    >>> generate({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}, {})
    {'a': 0}
    """
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        return generate(root.get("$defs", {})[name], root, seed)
    for key in ("const", "default"):
        if key in schema:
            return schema[key]
    choices = schema.get("enum")
    if choices:
        return choices[seed % len(choices)]
    options = schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf")
    if options:
        return generate(options[0], root, seed)
    make = _MAKERS.get(str(schema.get("type")))
    return None if make is None else make(schema, root, seed)


def _make_text(schema: Mapping[str, Any], root: Mapping[str, Any], seed: int) -> str:
    least = int(schema.get("minLength") or 1)
    return _FORMATS.get(str(schema.get("format")), chr(97 + seed % 26) * least)


def _make_number(schema: Mapping[str, Any], root: Mapping[str, Any], seed: int) -> Any:
    return max(schema.get("minimum", schema.get("exclusiveMinimum", -1) + 1), 0) + seed


def _make_list(schema: Mapping[str, Any], root: Mapping[str, Any], seed: int) -> list[Any]:
    items: Mapping[str, Any] = schema.get("items") or {}
    count = int(schema.get("minItems") or 0)
    if items and schema.get("maxItems") != 0 and not _contains_itself(items, root):
        count = max(count, 1)
    return [generate(items, root, seed) for _ in range(count)]


def _contains_itself(items: Mapping[str, Any], root: Mapping[str, Any]) -> bool:
    """Return True if a definition refers to itself: one item would need another."""
    reference = str(items.get("$ref", ""))
    name = reference.rpartition("/")[2]
    return bool(reference) and reference in json.dumps(root.get("$defs", {}).get(name))


def _make_object(schema: Mapping[str, Any], root: Mapping[str, Any], seed: int) -> dict[str, Any]:
    fields, required = schema.get("properties", {}), schema.get("required", ())
    return {name: generate(fields[name], root, seed) for name in fields if name in required}


def _make_reply(text: str, calls: Sequence[ToolCall] = ()) -> AssistantMessage:
    return AssistantMessage(text, tuple(calls), usage=Usage(1, 51, 4))


MAX_ATTEMPTS = 5
"""How often a tool that asks for other arguments is called."""
_MAKERS: Mapping[str, Callable[[Mapping[str, Any], Mapping[str, Any], int], Any]] = {
    "string": _make_text,
    "integer": _make_number,
    "number": _make_number,
    "boolean": lambda schema, root, seed: False,
    "array": _make_list,
    "object": _make_object,
}
_FORMATS: Mapping[str, str] = {
    "date": "2024-01-01",
    "date-time": "2024-01-01T00:00:00Z",
    "time": "00:00:00",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "email": "a@example.com",
    "uri": "https://example.com",
}
