"""Where tools come from when they are not known beforehand."""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Protocol, TypeAlias, runtime_checkable

from toolkeel.call.toolset import Toolish, Toolset, unpack_tools
from toolkeel.context import RunContext
from toolkeel.define.base_tool import as_tool
from toolkeel.define.tool import AnyTool, Tool
from toolkeel.errors import SetupError, ToolkeelError, describe

log = logging.getLogger("toolkeel")

Provided: TypeAlias = Iterable[Toolish] | Awaitable[Iterable[Toolish]]


@runtime_checkable
class ToolSource(Protocol):
    """Anything with `get_tools`, sync or async, which may take the `RunContext` to choose by it.

    It is given as the first parameter, if that has no default or is called ``run``.

    An agent asks its sources once, when a run begins, all at the same time. One that fails is left
    out with a warning, unless it has a true attribute `required`: then the run ends.

    If a source has a text `prefix`, those of its tools whose names another source has too go by
    that and their name; so no source can put its tool in the place of another's.
    """

    @property
    def get_tools(self) -> Callable[..., Provided]:
        """Give the tools of a run."""
        ...


ToolOrSource: TypeAlias = Toolish | ToolSource


def fixed(sources: Toolset | Iterable[ToolOrSource]) -> tuple[Toolset, tuple[ToolOrSource, ...]]:
    """The tools that are known now, as a set, and all sources in order if some ask at run time."""
    if isinstance(sources, Toolset):
        return sources, ()
    items = tuple(unpack_tools(sources))  # type: ignore[arg-type]
    known: list[Any] = [item for item in items if not is_tool_source(item)]
    return Toolset(known), items if any(map(is_tool_source, items)) else ()


def is_tool_source(item: object) -> bool:
    """Whether it yields tools rather than being one."""
    return not isinstance(item, Tool) and callable(getattr(item, "get_tools", None))


async def gather(sources: Iterable[ToolOrSource], like: Toolset, run: RunContext) -> Toolset:
    """The tools of one run, in the order of their sources, which are asked side by side.

    A source that fails is left out, and a warning says so: the others do not wait for it, nor
    fall with it. One with a true attribute `required` ends the run by what it raised.

    Args:
        sources: Tools, and what gives tools.
        like: A set whose steps, rules and limits hold for all of them.
        run: What sources may choose by.

    Raises:
        DuplicateToolError: naming both owners, if two sources bring one name.
        SetupError: if a source gives something else than tools.
    """
    known = list(sources)
    asked = [each for each in known if is_tool_source(each)]
    if len(asked) == 1:  # in the task it is called from
        given = [await _tried(asked[0], run)]
    else:
        given = await asyncio.gather(*(_tried(each, run) for each in asked))
    results = iter(given)
    parts: list[tuple[str, list[AnyTool]]] = []
    for source in known:
        if not is_tool_source(source):
            parts.append(("", [as_tool(source)]))
            continue
        tools = next(results)
        if isinstance(tools, Exception):
            if _must_be_there(source, tools):
                raise tools
            log.warning("%r gave no tools; the run goes on without: %s", source, describe(tools))
            continue
        prefix = getattr(source, "prefix", "")
        parts.append((prefix if isinstance(prefix, str) else "", tools))
    return like.with_tools(distinct(parts))


async def _tried(source: Any, run: RunContext) -> list[AnyTool] | Exception:
    """What a source gives, or what it raised: the others shall have given theirs first."""
    try:
        return [as_tool(item) for item in await _ask(source, run)]
    except Exception as error:
        return error


def _must_be_there(source: object, error: Exception) -> bool:
    """Whether a run cannot go on without this source: so if the program is at fault, too."""
    return isinstance(error, ToolkeelError | TypeError) or bool(getattr(source, "required", False))


def distinct(parts: Iterable[tuple[str, Iterable[AnyTool]]]) -> list[AnyTool]:
    """All tools in order, those with a name that occurs twice under their part's prefix.

    Args:
        parts: A prefix, which may be empty, and its tools.
    """
    parts = [(prefix, list(tools)) for prefix, tools in parts]
    times = Counter(tool.name for _, tools in parts for tool in tools)
    return [
        dataclasses.replace(tool, name=prefix + tool.name)
        if prefix and times[tool.name] > 1
        else tool
        for prefix, tools in parts
        for tool in tools
    ]


async def _ask(source: ToolSource, run: RunContext) -> list[Toolish]:
    get = source.get_tools
    given = get(run) if _takes_run(get) else get()
    tools = await given if inspect.isawaitable(given) else given
    if not isinstance(tools, Iterable):
        raise SetupError(f"{type(source).__name__}.get_tools gave {tools!r}; give tools")
    return list(unpack_tools(tools))


def _takes_run(get: Callable[..., Provided]) -> bool:
    """Whether its first positional parameter must be filled, or is called for what it is."""
    for parameter in inspect.signature(get).parameters.values():
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            return parameter.default is parameter.empty or parameter.name == "run"
    return False
