"""`tool`: the first front door."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack, overload

from toolkeel._common.other_libraries_words import too_many_arguments
from toolkeel.define.compile import ParametersSchema
from toolkeel.define.reading.signature import calling_frame
from toolkeel.define.tool import P, R, Tool, ToolOptions, compile_tool


@overload
def tool(
    function: Callable[P, R],
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    parameters: ParametersSchema | None = None,
    **options: Unpack[ToolOptions],
) -> Tool[P, R]: ...


@overload
def tool(
    called: str | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    parameters: ParametersSchema | None = None,
    **options: Unpack[ToolOptions],
) -> Callable[[Callable[P, R]], Tool[P, R]]: ...


def tool(
    function: Callable[..., Any] | str | None = None,
    /,
    *more: object,
    name: str | None = None,
    description: str | None = None,
    parameters: ParametersSchema | None = None,
    **options: Unpack[ToolOptions],
) -> Any:
    """Make a tool of a typed, docstringed function.

    As ``@tool``, ``@tool("name")``, ``@tool(...)`` or ``tool(function, ...)``; of functions, methods,
    partials and callable objects. Types and docstring say what the model sees; parameters that
    ask for a `ToolContext` or are marked `Injected` are hidden from it.

    Args:
        function: What to wrap, or the tool's name.
        name: The tool's name; the function's own by default.
        description: For the model; the docstring's text before its sections by default.
        parameters: A pydantic model or JSON Schema that describes the parameters instead.
        options: See `ToolOptions`.

    Raises:
        DefinitionError: naming the function, the parameter and the fix.

    >>> @tool
    ... def add(a: int, b: int = 1) -> int:
    ...     "Add two numbers."
    ...     return a + b
    >>> add.invoke('{"a": 2}'), add(2, 3), add.description
    (3, 5, 'Add two numbers.')
    """
    if more:
        raise too_many_arguments("tool", len(more) + 1, "a function or a name")
    if isinstance(function, str):
        function, name = None, function
    caller = calling_frame()
    if function is None:
        return lambda made: compile_tool(made, (name, description), parameters, options, caller)
    return compile_tool(function, (name, description), parameters, options, caller)
