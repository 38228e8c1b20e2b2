"""The tools in a user's module or object, with the steps and rules of their toolsets."""

from __future__ import annotations

import dataclasses
import inspect
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from toolkeel._common.nearest_names import nearest_names
from toolkeel.call.body.sync_bridge import run_sync
from toolkeel.call.tool_sources import ToolSource, gather_tools, is_tool_source
from toolkeel.call.toolset import Toolset
from toolkeel.context import RunContext
from toolkeel.define.base_tool import BaseTool
from toolkeel.define.decorator import tool
from toolkeel.define.tool import AnyTool, Tool
from toolkeel.errors import SetupError

Part: TypeAlias = AnyTool | Toolset

MAX_LISTED = 12
"""Names listed if none is similar."""


def merge_parts(parts: Iterable[Part]) -> Toolset:
    """Merge all parts into one toolset. A single toolset is returned unchanged.

    Raises:
        DuplicateToolError: if different tools have one name.
        SetupError: if a toolset with rules would be mixed with other tools.
    """
    parts = list(parts)
    if len(parts) == 1 and isinstance(parts[0], Toolset):
        return parts[0]
    items: dict[int, AnyTool] = {}
    for part in parts:
        for item in flatten(part):
            items.setdefault(id(item), item)
    return Toolset(items.values())


def flatten(part: Part) -> Iterator[AnyTool]:
    """Yield a part's tools, each with the steps its toolset adds.

    Raises:
        SetupError: if the toolset has rules, which apply to all of it or not at all.
    """
    if isinstance(part, Tool):
        yield part
        return
    if part.rules is not None:
        raise SetupError(
            "a toolset with rules cannot be mixed with other tools: name it alone, or make one "
            "toolset of them all"
        )
    for item in part:
        if not part.steps and part.parallel:
            yield item
        else:
            steps, sequential = (*part.steps, *item.steps), item.sequential or not part.parallel
            yield dataclasses.replace(item, steps=steps, sequential=sequential)


# — modules —


def find_tools(module: types.ModuleType) -> list[Part]:
    """Return the tools a module provides.

    Its public toolsets; without any, its public tools; without any, its own public functions that have
    docstrings. Raises `DefinitionError` if one of these cannot become a tool.
    """
    public = {id(value): value for value in list_public(module).values()}.values()
    sets: list[Part] = [value for value in public if isinstance(value, Toolset)]
    return (
        sets
        or _pick_tools(public)
        or [tool(each) for each in list_functions(module) if each.__doc__]
    )


def _pick_tools(values: Iterable[object]) -> list[Part]:
    """Return the tools among values; a `BaseTool` as its tool, without unbound methods and other values."""
    found: list[Part] = []
    for value in values:
        if isinstance(value, BaseTool):
            found.append(value.tool)
        elif isinstance(value, Tool) and not value.unbound:
            found.append(value)
    return found


def list_public(module: types.ModuleType) -> Mapping[str, object]:
    """Map a module's public names to values: by ``__all__``, else all without a leading underscore.

    Names in ``__all__`` that the module lacks are left out.
    """
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return {name: getattr(module, name) for name in listed if hasattr(module, name)}
    return {name: value for name, value in vars(module).items() if not name.startswith("_")}


def list_functions(module: types.ModuleType) -> list[types.FunctionType]:
    """List the public functions that the module itself defines."""
    return [
        value
        for value in list_public(module).values()
        if inspect.isfunction(value) and value.__module__ == module.__name__
    ]


def is_defined_in(part: Part, module: types.ModuleType) -> bool:
    """Return true if the module defines a part, not imports it; a toolset with steps or rules always counts."""
    if isinstance(part, Toolset):
        bare = not part.steps and part.rules is None
        return not bare or any(is_defined_in(item, module) for item in part)
    return getattr(part.function, "__module__", module.__name__) == module.__name__


# — values —


def collect_tools(value: object, label: str) -> list[Part]:
    """Collect the tools of a value.

    Args:
        value: A tool, toolset, function, module or provider; a list or dict of them; or an object
            whose methods are tools.
        label: Its name, for errors.

    Raises:
        SetupError: if it is none of these.
    """
    if isinstance(value, Toolset):
        return [value]
    if found := _pick_tools([value]):
        return found
    match value:
        case types.ModuleType():
            return find_tools(value)
        case Mapping():
            return [_rename_tool(item, key, label) for key, item in value.items()]
        case list() | tuple() | set() | frozenset():
            return [item for each in value for item in collect_tools(each, label)]
    if isinstance(value, ToolSource) and is_tool_source(value):
        source = value
        return [run_sync(lambda: gather_tools([source], Toolset(), RunContext()))]
    return _collect_from_object(value, label)


def _collect_from_object(value: object, label: str) -> list[Part]:
    """Return the tools of an object: its tool methods, or itself if it is callable.

    Raises `SetupError` for any other object, and for a class or an unbound method.
    """
    if isinstance(value, Tool | type):
        what = "a method" if isinstance(value, Tool) else "a class"
        raise SetupError(f"{label} is {what}; name an object of the class instead")
    names = [name for name in dir(type(value)) if not name.startswith("_")]
    methods = [name for name in names if isinstance(getattr(type(value), name, None), Tool)]
    if methods:
        return [getattr(value, name) for name in methods]
    if callable(value):
        return [tool(value)]
    raise SetupError(f"{label} is {type(value).__name__!r}, which is no tool and holds none")


def _rename_tool(value: object, name: object, label: str) -> AnyTool:
    """Return the one tool in a value, as a copy with its key as the name if that differs.

    A key that is not text is converted to text.

    Raises:
        SetupError: if the value has none or several.
    """
    found = list(merge_parts(collect_tools(value, label)))
    if len(found) != 1:
        raise SetupError(f"{label}[{name!r}] holds {len(found)} tools; give one for each name")
    return found[0] if found[0].name == name else dataclasses.replace(found[0], name=str(name))


# — did you mean —


def suggest_or_list(wrong: str, names: Iterable[str]) -> str:
    """Return a hint with similar names, or else with the existing ones.

    >>> suggest_or_list("serch", ["search", "read"]), suggest_or_list("x", ["search", "read"])
    ("did you mean 'search'?", 'there is search, read')
    """
    known: Sequence[str] = [name for name in names if not name.startswith("__")]
    if near := nearest_names(wrong, known):
        return f"did you mean {' or '.join(map(repr, near))}?"
    more = " ..." if len(known) > MAX_LISTED else ""
    return f"there is {', '.join(known[:MAX_LISTED])}{more}" if known else "there is none"
