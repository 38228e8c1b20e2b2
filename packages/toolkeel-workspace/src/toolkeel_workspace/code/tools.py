"""Tools that code can call as functions, each call through the pipeline."""

from __future__ import annotations

import ast
import json
import keyword
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic_core import PydanticSerializationError, to_json

from toolkeel.call.toolset import Toolish, Toolset, as_toolset
from toolkeel.context import RunContext
from toolkeel.define.subschemas import properties_of, required_of
from toolkeel.define.tool import AnyTool
from toolkeel.errors import SetupError
from toolkeel.messages import ToolCall, ToolMessage


class CodeTools:
    """The functions that code can call.

    Args:
        tools: Their tools.

    Raises:
        SetupError: two tools would have the same function name.
    """

    def __init__(self, tools: Toolset | Iterable[Toolish] = ()) -> None:
        self._toolset = as_toolset(tools)
        self._names: dict[str, str] = {}
        for tool in self._toolset:
            name = to_function_name(tool.name)
            if name in self._names:
                raise SetupError(
                    f"{self._names[name]!r} and {tool.name!r} are both called {name}() in code; "
                    "rename one"
                )
            self._names[name] = tool.name

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __bool__(self) -> bool:
        return bool(self._names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def describe(self) -> str:
        """Return each function's signature and purpose, one line each."""
        lines = [_format_signature(name, self._toolset[own]) for name, own in self._names.items()]
        return "\n".join(lines)

    async def call(
        self,
        name: str,
        arguments: tuple[Sequence[object], Mapping[str, object]],
        id: str,
        run: RunContext,
    ) -> dict[str, Any]:
        """Call a function. Return its value, or the exception for the code, as monty takes it.

        Args:
            name: The function.
            arguments: Positional and keyword arguments.
            id: The id of the call.
            run: The run that it belongs to.
        """
        tool = self._toolset[self._names[name]]
        try:
            text = to_json(_bind_arguments(name, tool, *arguments)).decode()
        except (TypeError, PydanticSerializationError, UnicodeError) as error:
            return {"exc_type": "TypeError", "message": str(error)}
        [message] = await self._toolset.run([ToolCall(id, tool.name, text)], run)
        if message.failed:
            return {"exc_type": "RuntimeError", "message": message.text}
        return {"return_value": _parse_value(tool, message)}


def to_function_name(tool: str) -> str:
    """Convert a tool's name to a Python identifier.

    >>> to_function_name("web-search"), to_function_name("class"), to_function_name("2x")
    ('web_search', 'class_', '_2x')
    """
    name = "".join(char if f"a{char}".isidentifier() else "_" for char in tool)
    name = f"_{name}" if name[:1].isdigit() else name
    return f"{name}_" if keyword.iskeyword(name) else name


def find_awaited_calls(code: str) -> frozenset[int]:
    r"""Return the offsets, in bytes of UTF-8, of calls whose value is awaited.

    >>> find_awaited_calls("a = f(1)\nb = await g(2)")
    frozenset({19})
    """
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    starts = [0]
    for line in code.encode("utf-8", "replace").splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Await):
            calls = (inner for inner in ast.walk(node) if isinstance(inner, ast.Call))
            found |= {starts[call.lineno - 1] + call.col_offset for call in calls}
    return frozenset(found)


_TYPES = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "array": "list",
    "object": "dict",
    "null": "None",
}


def _format_signature(name: str, tool: AnyTool) -> str:
    needed = required_of(tool.parameters)
    shown = []
    for key, schema in properties_of(tool.parameters).items():
        kind = _TYPES.get(str(schema.get("type")), "object") if isinstance(schema, Mapping) else ""
        shown.append(f"{key}: {kind or 'object'}" + (" = ..." if key not in needed else ""))
    first = tool.description.strip().split("\n", 1)[0]
    return f"{name}({', '.join(shown)})  # {first}"


def _bind_arguments(
    name: str, tool: AnyTool, args: Sequence[object], kwargs: Mapping[str, object]
) -> dict[str, object]:
    """Map positional arguments to the names of the parameters.

    Raises:
        TypeError: as Python would.
    """
    names = list(properties_of(tool.parameters))
    if len(args) > len(names):
        raise TypeError(f"{name}() takes {len(names)} arguments but {len(args)} were given")
    by_name = dict(zip(names, args, strict=False))
    if twice := by_name.keys() & kwargs.keys():
        raise TypeError(f"{name}() got multiple values for argument {min(twice)!r}")
    return {**by_name, **kwargs}


def _parse_value(tool: AnyTool, message: ToolMessage) -> object:
    """Return a function's value: the text of tools that return str, else the data in its JSON."""
    text = message.text
    if getattr(tool.function, "__annotations__", {}).get("return") in (str, "str"):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
