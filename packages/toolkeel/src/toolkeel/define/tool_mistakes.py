"""What is reported when something that is no tool is passed as one: one sentence, with the fix."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Final

from toolkeel._common.other_libraries_words import explain_foreign
from toolkeel.errors import DefinitionError

_VALUE = (type(None), bool, int, float, bytes)
MISTAKES: Final[tuple[tuple[Callable[[Any], bool], str], ...]] = (
    (
        lambda item: isinstance(item, str),
        "{item!r:.60} is a text: give the function itself, [{called}]",
    ),
    (
        lambda item: isinstance(item, type),
        "{item.__name__} is a class: give methods of an object of it, [{item.__name__}(...).method], "
        "or what tool({item.__name__}) makes, whose calls make objects",
    ),
    (
        lambda item: hasattr(item, "with_prefix") and hasattr(item, "run_sync"),
        "{item!r:.60} is a set of tools: join sets with +, the_set + [other_tool]",
    ),
    (
        lambda item: hasattr(item, "as_tool") and hasattr(item, "run_sync"),
        "{kind} is an agent: give agent.as_tool()",
    ),
    (
        inspect.iscoroutine,
        "{item.__name__} was called already: give the function itself, without the brackets",
    ),
    (
        inspect.isawaitable,
        "{kind} was called already: give the function itself, without the brackets",
    ),
    (
        inspect.ismodule,
        "{item.__name__} is a module: give its functions, [{item.__name__}.a_function]",
    ),
    (
        lambda item: isinstance(item, Mapping),
        "{item!r:.60} describes a tool and does not run: give Tool.from_schema(name, description, "
        "parameters, on_invoke)",
    ),
    (
        lambda item: isinstance(item, list | tuple | set | frozenset),
        "{item!r:.60} is a {kind} within the list: write its tools out, [*them]",
    ),
    (
        lambda item: isinstance(item, _VALUE),
        "{item!r:.60} is what a function returns, and no tool: give the function itself, without "
        "the brackets",
    ),
    (
        lambda item: not callable(item),
        "an object of {kind} cannot be called: give its methods, [{lower}.method]",
    ),
)
"""What is passed for a tool and is none: how it is known, and what to write instead."""


def explain_non_tool(item: object) -> DefinitionError | None:
    """Build the error for a value that cannot become a tool, or None if it can.

    >>> print(explain_non_tool("add"))
    'add' is a text: give the function itself, [add]
    """
    if foreign := explain_foreign(item):
        return DefinitionError(foreign)
    kind = type(item).__name__
    for is_this, message in MISTAKES:
        if is_this(item):
            called = _as_name(item) if isinstance(item, str) else ""
            words = {"kind": kind, "lower": kind.lower(), "called": called}
            return DefinitionError(message.format(item=item, **words))
    return None


def explain_non_list(tools: object) -> str:
    """Describe why `tools` is no list of tools, or return "" if it is one.

    >>> explain_non_list("add")
    "tools are the text 'add'; give a list of functions: [add]"
    """
    if isinstance(tools, str):
        return f"tools are the text {tools!r:.60}; give a list of functions: [{_as_name(tools)}]"
    if isinstance(tools, Mapping):
        return "tools are a dict; give a list of its values: list(tools.values())"
    return ""


def _as_name(text: str) -> str:
    """Return a text if it can be a Python name, else ``the_function``."""
    return text if text.isidentifier() else "the_function"


def owner_of(item: Any) -> str:
    """Return the dotted name of the function that a tool was made of."""
    function = item.function
    module = getattr(function, "__module__", None) or type(function).__module__
    return f"{module}.{getattr(function, '__qualname__', item.name)}"
