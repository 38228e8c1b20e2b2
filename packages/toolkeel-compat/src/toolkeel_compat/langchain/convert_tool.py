"""``convert_to_openai_tool`` and similar: one tool of any form in a provider's format."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NotRequired, Unpack, get_args, get_origin, get_type_hints

from pydantic import BaseModel
from typing_extensions import TypedDict, is_typeddict

from toolkeel.context import ToolContext
from toolkeel.define.base_tool import as_tool
from toolkeel.define.decorator import tool as core_tool
from toolkeel.define.dialect.definition import Form, definition
from toolkeel.define.import_definition import parse_definition
from toolkeel.define.schema.from_model import from_model
from toolkeel.define.tool import AnyTool, Tool
from toolkeel.errors import SetupError, ToolError
from toolkeel.hosted import Hosted, Native, Wire


class Schema(dict[str, Any]):
    """A JSON Schema with the methods of the pydantic model that LangChain derives from a signature.

    >>> Schema({"type": "object"}).model_json_schema()
    {'type': 'object'}
    """

    def model_json_schema(self) -> dict[str, Any]:
        """Return the schema itself."""
        return dict(self)

    schema = model_json_schema


def convert_tool(tool: object, form: Form, *, strict: bool | None = None) -> dict[str, Any]:
    """Convert a tool to a provider's format.

    Args:
        tool: A tool of any kind, a function, a pydantic model or a typed dict whose fields are the
            parameters, or a definition in any provider's format.
        form: The provider's format.
        strict: Ask the provider to enforce the schema.

    Raises:
        DefinitionError: `tool` is none of these, or the provider does not accept its name.

    >>> convert_tool({"title": "now", "type": "object", "properties": {}}, "anthropic")
    {'name': 'now', 'input_schema': {'type': 'object', 'properties': {}}}
    """
    options: Mapping[str, object] = {}
    if isinstance(tool, Mapping):
        found = parse_definition(tool)
        strict = found.strict if strict is None else strict
        parts = (found.name, found.description, found.schema)
    elif isinstance(tool, type) and issubclass(tool, BaseModel):
        schema = from_model(tool.__name__, tool, (), "forbid").schema
        parts = (tool.__name__, inspect.cleandoc(tool.__doc__ or ""), dict(schema))
    elif is_typeddict(tool):
        parts = _convert_typed_dict(tool)
    else:
        made = as_tool(tool)
        parts = (made.name, made.description, dict(made.parameters))
        options = made.provider_options
    return definition(*parts, form, strict=strict, provider_options=options).body


def _convert_typed_dict(fields: Any) -> tuple[str, str, dict[str, Any]]:
    """Return name, description and schema; read LangChain's ``Annotated[int, default, "text"]``."""
    annotations: dict[str, Any] = {}
    defaults: dict[str, Any] = {}
    for name, annotation in get_type_hints(fields, include_extras=True).items():
        rest = get_args(annotation)
        if get_origin(annotation) is Annotated and len(rest) == 3 and isinstance(rest[2], str):
            annotation = Annotated[rest[0], rest[2]]
            if rest[1] is not ...:
                defaults[name] = rest[1]
        required = name in fields.__required_keys__ and name not in defaults
        annotations[name] = annotation if required else NotRequired[annotation]
    keys: Any = TypedDict(fields.__name__, annotations)  # type: ignore[misc]

    def stand_in(**kwargs: Any) -> None: ...

    stand_in.__annotations__["kwargs"] = Unpack[keys]
    stand_in.__doc__ = fields.__doc__ or ""
    made = as_tool(core_tool(fields.__name__)(stand_in))
    schema: dict[str, Any] = dict(made.parameters)
    for name, default in defaults.items():
        schema["properties"][name]["default"] = default
    return made.name, made.description, schema


_HOSTED_TYPES: Mapping[Wire, str] = {
    "openai-responses": "web_search(_preview)?(_20.._.._..)?|file_search|code_interpreter|image_generation",
    "anthropic": r"(web_search|web_fetch|code_execution)_\d{8}",
    "gemini": "google_search|code_execution|url_context",
}
"""By wire: the types of tools that its provider runs, so that the program need not answer them."""


def to_hosted_tool(tool: Mapping[str, Any]) -> AnyTool | None:
    """Convert a provider's own tool, in its JSON format, to a tool; None if it is not one.

    >>> to_hosted_tool({"type": "web_search"}).hosted.native_for("openai-responses").body
    {'type': 'web_search'}

    Raises:
        SetupError: The provider does not run it, so the program would have to answer its calls.
    """
    native = Native(dict(tool))
    name = str(tool.get("name") or native.type)
    for wire, types in _HOSTED_TYPES.items():
        if re.fullmatch(types, native.type) and ("type" in tool) == (wire != "gemini"):
            there = Hosted({wire: native}, "provider")
            return Tool.from_schema(name, "", {"type": "object"}, _refuse_to_run, hosted=there)
    if tool.get("type", "object") not in ("function", "object", "custom"):
        raise SetupError(
            f"a tool of the type {native.type!r} is answered by the program: toolkeel.tools has its "
            "counterpart (docs/hosted.md), and HostedMCP reaches MCP servers"
        )
    return None


def _refuse_to_run(context: ToolContext[Any], arguments: Mapping[str, Any]) -> object:
    """Raise `ToolError`: the tool is only a definition."""
    raise ToolError(f"{context.tool_name!r} is only a definition: nothing runs it.")


def to_tool(tool: Any) -> Any:
    """Return a tool unchanged; convert a definition to a tool that cannot run.

    Raises:
        DefinitionError: It is neither.
        SetupError: It is a provider's tool whose calls the program would have to answer.
    """
    if not (isinstance(tool, Mapping) or is_typeddict(tool)):
        return tool
    if isinstance(tool, Mapping) and (there := to_hosted_tool(tool)) is not None:
        return there
    form = convert_tool(tool, "mcp")
    schema = form["inputSchema"]
    return Tool.from_schema(form["name"], form.get("description", ""), schema, _refuse_to_run)


def convert_to_openai_tool(tool: object, *, strict: bool | None = None) -> dict[str, Any]:
    """Convert a tool to OpenAI's Chat Completions format. See `convert_tool`."""
    return convert_tool(tool, "openai-chat", strict=strict)


def convert_to_openai_function(tool: object, *, strict: bool | None = None) -> dict[str, Any]:
    """Return the value of ``function`` in OpenAI's format. See `convert_tool`."""
    function: dict[str, Any] = convert_to_openai_tool(tool, strict=strict)["function"]
    return function


def convert_to_anthropic_tool(tool: object) -> dict[str, Any]:
    """Convert a tool to Anthropic's Messages format. See `convert_tool`."""
    return convert_tool(tool, "anthropic")


def render_text_description(tools: Sequence[Any]) -> str:
    """Return a line for each tool: its name, its function's signature and its description."""
    return "\n".join(map(_render_line, tools))


def render_text_description_and_args(tools: Sequence[Any]) -> str:
    """Return the same lines with the arguments' schemas."""
    return "\n".join(f"{_render_line(tool)}, args: {tool.args!s}" for tool in tools)


def _render_line(tool: Any) -> str:
    function = getattr(tool, "func", None)
    return f"{tool.name}{inspect.signature(function) if function else ''} - {tool.description}"
