"""Sources of tools that are only known when a run starts."""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Protocol, TypeAlias, runtime_checkable

from toolkeel.call.body.callback import run_callback
from toolkeel.call.toolset import Toolish, Toolset, unpack_tools
from toolkeel.context import RunContext
from toolkeel.define.base_tool import as_tool
from toolkeel.define.tool import AnyTool, Tool
from toolkeel.errors import DefinitionError, SetupError, ToolkeelError, describe_error

log = logging.getLogger("toolkeel")

Provided: TypeAlias = Iterable[Toolish] | Awaitable[Iterable[Toolish]]


@runtime_checkable
class ToolSource(Protocol):
    """An object with `get_tools`, sync or async, that yields the tools of a run.

    The context is the first parameter, if that has no default or is called ``run``.

    An agent reads its sources once, when a run starts, in parallel. One that fails is left
    out with a warning, unless it has a true attribute `required`: then the run ends, as it does by an
    error of this library unless `required` is False. It fails, too, if it takes longer than the agent's `callback_timeout`, or its own attribute `tools_timeout`, in
    seconds; None for no bound.

    If a source has a text `prefix`, those of its tools whose names another source has too go by
    that and their name; so no source can put its tool in the place of another's.
    """

    @property
    def get_tools(self) -> Callable[..., Provided]:
        """Return the function that lists a run's tools. It may take the `RunContext`."""
        ...


ToolOrSource: TypeAlias = Toolish | ToolSource


def static_tools(
    sources: Toolset | Iterable[ToolOrSource],
) -> tuple[Toolset, tuple[ToolOrSource, ...]]:
    """Return the tools known now as a set, and all sources if some need the run."""
    if isinstance(sources, Toolset):
        return sources, ()
    items = tuple(unpack_tools(sources))  # type: ignore[arg-type]
    known: list[Any] = [item for item in items if not is_tool_source(item)]
    return Toolset(known), items if any(map(is_tool_source, items)) else ()


def is_tool_source(item: object) -> bool:
    """Return True if an item yields tools and is not a tool itself."""
    return not isinstance(item, Tool) and callable(getattr(item, "get_tools", None))


async def gather_tools(sources: Iterable[ToolOrSource], like: Toolset, run: RunContext) -> Toolset:
    """Return the tools of one run, in the order of their sources, which run in parallel.

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
        outcomes = [await _try_source(asked[0], run)]
    else:
        outcomes = await asyncio.gather(*(_try_source(each, run) for each in asked))
    results = iter(outcomes)
    parts: list[tuple[str, list[AnyTool]]] = []
    for source in known:
        if not is_tool_source(source):
            parts.append(("", [as_tool(source)]))
            continue
        tools = next(results)
        if isinstance(tools, Exception):
            if _is_required(source, tools):
                raise tools
            log.warning(
                "%r gave no tools; the run goes on without: %s", source, describe_error(tools)
            )
            continue
        prefix = getattr(source, "prefix", "")
        parts.append((prefix if isinstance(prefix, str) else "", tools))
    return like.with_tools(merge_tools(parts))


async def _try_source(source: Any, run: RunContext) -> list[AnyTool] | Exception:
    """Return the tools of a source or the exception it raised, so that the others can finish."""
    try:
        return [as_tool(item) for item in await _get_tools(source, run)]
    except Exception as error:
        return error


class _NotTools(SetupError):
    """Raised if a source gives something else than tools."""


def _is_required(source: object, error: Exception) -> bool:
    """Return True if the run cannot go on without this source."""
    if isinstance(error, TypeError | DefinitionError | _NotTools):  # a mistake in the program
        return True
    required = getattr(source, "required", None)
    return isinstance(error, ToolkeelError) if required is None else bool(required)


def merge_tools(parts: Iterable[tuple[str, Iterable[AnyTool]]]) -> list[AnyTool]:
    """Merge tools in order. A name that occurs twice gets its part's prefix.

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


async def _get_tools(source: ToolSource, run: RunContext) -> list[Toolish]:
    get = source.get_tools
    seconds = getattr(source, "tools_timeout", run.scope.callback_timeout)
    given, name = [run] if _takes_run(get) else [], f"{type(source).__name__}.get_tools"
    tools = await run_callback(get, *given, seconds=seconds, name=name)
    if not isinstance(tools, Iterable):
        raise _NotTools(f"{type(source).__name__}.get_tools gave {tools!r}; give tools")
    return list(unpack_tools(tools))


def _takes_run(get: Callable[..., Provided]) -> bool:
    """Return True if `get` takes the run: its first parameter is required or named ``run``."""
    for parameter in inspect.signature(get).parameters.values():
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            return parameter.default is parameter.empty or parameter.name == "run"
    return False
