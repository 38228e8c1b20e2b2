"""Tools that code may call as functions, each call through the whole pipeline."""

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
    """The functions that code may call.

    Args:
        tools: Their tools.

    Raises:
        SetupError: two tools would be functions of one name.
    """

    def __init__(self, tools: Toolset | Iterable[Toolish] = ()) -> None:
        self._set = as_toolset(tools)
        self._names: dict[str, str] = {}
        for tool in self._set:
            name = function_name(tool.name)
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

    def described(self) -> str:
        """Each function's head and what it does, a line each."""
        lines = [_head(name, self._set[own]) for name, own in self._names.items()]
        return "\n".join(lines)

    async def call(
        self,
        name: str,
        given: tuple[Sequence[object], Mapping[str, object]],
        id: str,
        run: RunContext,
    ) -> dict[str, Any]:
        """Call one; what it gives, or the exception the code shall see, as monty takes it.

        Args:
            name: Of the function.
            given: Its positional and its keyword arguments.
            id: Of the call.
            run: Whose call it is.
        """
        tool = self._set[self._names[name]]
        try:
            text = to_json(_arguments(name, tool, *given)).decode()
        except (TypeError, PydanticSerializationError, UnicodeError) as error:
            return {"exc_type": "TypeError", "message": str(error)}
        [message] = await self._set.run([ToolCall(id, tool.name, text)], run)
        if message.failed:
            return {"exc_type": "RuntimeError", "message": message.text}
        return {"return_value": _value(tool, message)}


def function_name(tool: str) -> str:
    """A tool's name as Python can write it.

    >>> function_name("web-search"), function_name("class"), function_name("2x")
    ('web_search', 'class_', '_2x')
    """
    name = "".join(char if f"a{char}".isidentifier() else "_" for char in tool)
    name = f"_{name}" if name[:1].isdigit() else name
    return f"{name}_" if keyword.iskeyword(name) else name


def awaited_calls(code: str) -> frozenset[int]:
    """Where in the code, in bytes of UTF-8, calls begin whose value is awaited.

    >>> awaited_calls("a = f(1)\\nb = await g(2)")
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


def _head(name: str, tool: AnyTool) -> str:
    needed = required_of(tool.parameters)
    shown = []
    for key, schema in properties_of(tool.parameters).items():
        kind = _TYPES.get(str(schema.get("type")), "object") if isinstance(schema, Mapping) else ""
        shown.append(f"{key}: {kind or 'object'}" + (" = ..." if key not in needed else ""))
    first = tool.description.strip().split("\n", 1)[0]
    return f"{name}({', '.join(shown)})  # {first}"


def _arguments(
    name: str, tool: AnyTool, args: Sequence[object], kwargs: Mapping[str, object]
) -> dict[str, object]:
    """Positional arguments by the names of the parameters.

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


def _value(tool: AnyTool, message: ToolMessage) -> object:
    """What a function gives: text of tools that say so, else the data that the text is JSON of."""
    text = message.text
    if getattr(tool.function, "__annotations__", {}).get("return") in (str, "str"):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
