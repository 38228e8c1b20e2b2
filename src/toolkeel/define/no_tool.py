"""What is told when something that is no tool is given as one: one sentence, with the fix."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, Final

from toolkeel.errors import DefinitionError

Mistake = tuple[Callable[[Any], bool], Callable[[Any], str]]


def _kind(item: object) -> str:
    return type(item).__name__


MISTAKES: Final[tuple[Mistake, ...]] = (
    (
        lambda item: isinstance(item, str),
        lambda item: f"{item!r:.60} is a text: give the function itself, [{_as_name(item)}]",
    ),
    (
        lambda item: isinstance(item, type),
        lambda item: (
            f"{item.__name__} is a class: give methods of an object of it, "
            f"[{item.__name__}(...).method], or what tool({item.__name__}) makes, whose calls make objects"
        ),
    ),
    (
        lambda item: hasattr(item, "with_prefix") and hasattr(item, "run_sync"),
        lambda item: f"{item!r:.60} is a set of tools: join sets with +, the_set + [other_tool]",
    ),
    (
        lambda item: hasattr(item, "as_tool") and hasattr(item, "run_sync"),
        lambda item: f"{_kind(item)} is an agent: give agent.as_tool()",
    ),
    (
        inspect.isawaitable,
        lambda item: (
            f"{getattr(item, '__name__', _kind(item))} was called already: give the "
            "function itself, without the brackets"
        ),
    ),
    (
        lambda item: isinstance(item, ModuleType),
        lambda item: (
            f"{item.__name__} is a module: give its functions, [{item.__name__}.a_function]"
        ),
    ),
    (
        lambda item: isinstance(item, Mapping),
        lambda item: (
            f"{item!r:.60} describes a tool and does not run: give "
            "Tool.from_schema(name, description, parameters, on_invoke)"
        ),
    ),
    (
        lambda item: isinstance(item, list | tuple | set | frozenset),
        lambda item: (
            f"{item!r:.60} is a {_kind(item)} within the list: write its tools out, [*them]"
        ),
    ),
    (
        lambda item: item is None or isinstance(item, bool | int | float | bytes),
        lambda item: (
            f"{item!r:.60} is what a function returns, and no tool: give the function "
            "itself, without the brackets"
        ),
    ),
    (
        lambda item: not callable(item),
        lambda item: (
            f"an object of {_kind(item)} cannot be called: give its methods, "
            f"[{_kind(item).lower()}.method]"
        ),
    ),
)
"""Whether something is this mistake, and what it should have been; the first that fits is told."""


def not_a_tool(item: object) -> DefinitionError | None:
    """What is told of something given as a tool that is none; None if it can become one.

    >>> print(not_a_tool("add"))
    'add' is a text: give the function itself, [add]
    """
    for is_this, told in MISTAKES:
        if is_this(item):
            return DefinitionError(told(item))
    return None


def not_a_list(tools: object) -> str:
    """What is told of tools that are no list of them; empty if they are.

    >>> not_a_list("add")
    "tools are the text 'add'; give a list of functions: [add]"
    """
    if isinstance(tools, str):
        return f"tools are the text {tools!r:.60}; give a list of functions: [{_as_name(tools)}]"
    if isinstance(tools, Mapping):
        return "tools are a dict; give a list of its values: list(tools.values())"
    return ""


def _as_name(text: str) -> str:
    return text if text.isidentifier() else "the_function"
