"""Sources of tools that are only known when a run starts, or change while it goes on."""

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
    """An object with `get_tools`, sync or async, that returns the tools of a run.

    The first parameter gets the `RunContext` if it has no default or is called ``run``.

    An agent reads its sources when a run starts, in parallel. One that fails, or takes longer than the
    agent's `callback_timeout` or its own `tools_timeout` in seconds (None for no limit), is left out
    with a warning. With a true attribute `required` its failure ends the run; so does an error of this
    library, unless `required` is False.

    A source whose tools change during a run has an attribute `changes`: True to be read again before
    each model request, or a value that changes with its tools. If it fails then, its earlier tools
    stay, with a warning, unless it is `required`.

    If a source has a text `prefix`, it is put before names that another source has, too; so no source
    can replace another's tool.
    """

    @property
    def get_tools(self) -> Callable[..., Provided]:
        """The function that lists a run's tools. It may take the `RunContext`."""
        ...


ToolOrSource: TypeAlias = Toolish | ToolSource


def static_tools(
    sources: Toolset | Iterable[ToolOrSource],
) -> tuple[Toolset, tuple[ToolOrSource, ...]]:
    """Return the tools known now as a set; and all items, if some are tool sources, else ().

    Raises `SetupError` if something is no tool, or two tools have the same name.
    """
    if isinstance(sources, Toolset):
        return sources, ()
    items = tuple(unpack_tools(sources))  # type: ignore[arg-type]
    known: list[Any] = [item for item in items if not is_tool_source(item)]
    return Toolset(known), items if any(map(is_tool_source, items)) else ()


def is_tool_source(item: object) -> bool:
    """Return True if an item yields tools and is not a tool itself."""
    return not isinstance(item, Tool) and callable(getattr(item, "get_tools", None))


class SourceReader:
    """The tool sources of one agent in one run, read at its start and again when they report a change.

    One that fails is not asked again before it reports one; see `ToolSource`.

    Args:
        sources: Tools and tool sources.
        like: A toolset whose steps, rules and limits apply to all tools.
        run: The run, passed to sources.
    """

    def __init__(self, sources: Iterable[ToolOrSource], like: Toolset, run: RunContext) -> None:
        self._sources = list(sources)
        self._like, self._run = like, run
        self._known: dict[int, list[AnyTool]] = {}
        self._versions: dict[int, object] = {}

    def has_changed(self) -> bool:
        """Return True if a source reports a change since it was read, which one without `changes` never does."""
        return any(map(self._is_changed, self._sources))

    def _is_changed(self, source: object) -> bool:
        """Return True if a source's tools may have changed since they were last read."""
        if not is_tool_source(source):
            return False
        version = getattr(source, "changes", None)
        return version is True or version != self._versions.get(id(source))

    async def read(self) -> Toolset:
        """Read new and changed sources, in parallel, and return all tools in the order of their sources.

        A source that fails is left out, or its earlier tools stay, with a warning. The exception of a
        `required` one is raised.

        Raises:
            DuplicateToolError: two sources have the same tool name; the message names both.
            SetupError: a source returned something else than tools.
        """
        asked = [
            each
            for each in self._sources
            if is_tool_source(each) and (id(each) not in self._versions or self._is_changed(each))
        ]
        for source in asked:
            self._versions[id(source)] = getattr(source, "changes", None)
        if len(asked) == 1:  # in the task it is called from
            outcomes = [await _try_source(asked[0], self._run)]
        else:
            outcomes = await asyncio.gather(*(_try_source(each, self._run) for each in asked))
        for source, outcome in zip(asked, outcomes, strict=True):
            self._take(source, outcome)
        return self._like.with_tools(merge_tools(map(self._tools_of, self._sources)))

    def _take(self, source: ToolOrSource, outcome: list[AnyTool] | Exception) -> None:
        """Store a source's tools, or log a warning if it failed; raise a required one's exception."""
        if not isinstance(outcome, Exception):
            self._known[id(source)] = outcome
            return
        if _is_required(source, outcome):
            raise outcome
        stays = (
            "its tools stay as they were"
            if id(source) in self._known
            else "the run goes on without"
        )
        log.warning("%r gave no tools; %s: %s", source, stays, describe_error(outcome))

    def _tools_of(self, source: ToolOrSource) -> tuple[str, list[AnyTool]]:
        """Return the prefix of a source, and the tools that it returned last."""
        if not is_tool_source(source):
            return "", [as_tool(source)]
        prefix = getattr(source, "prefix", "")
        return (prefix if isinstance(prefix, str) else ""), self._known.get(id(source), [])


async def gather_tools(sources: Iterable[ToolOrSource], like: Toolset, run: RunContext) -> Toolset:
    """Return the tools of one run now; see `SourceReader.read`."""
    return await SourceReader(sources, like, run).read()


async def _try_source(source: Any, run: RunContext) -> list[AnyTool] | Exception:
    """Return the tools of a source or the exception it raised, so that the others can finish."""
    try:
        return [as_tool(item) for item in await _get_tools(source, run)]
    except Exception as error:
        return error


class _NotTools(SetupError):
    """Raised if a source gives something else than tools."""


def _is_required(source: object, error: Exception) -> bool:
    """Return True if a source's error ends the run: a mistake in the program, else as its `required` says.

    Without `required`, errors of this library do.
    """
    if isinstance(error, TypeError | DefinitionError | _NotTools):  # a mistake in the program
        return True
    required = getattr(source, "required", None)
    return isinstance(error, ToolkeelError) if required is None else bool(required)


def merge_tools(parts: Iterable[tuple[str, Iterable[AnyTool]]]) -> list[AnyTool]:
    """Return the tools in order, with the prefix of their source before names that occur twice.

    Args:
        parts: For each source its prefix, which may be empty, and its tools.
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
    """Return a source's tools for a run, or raise `_NotTools` if it gives no iterable of tools.

    Raises as the source, `CallbackTimeout` if it is too slow, and `SetupError` as `unpack_tools`.
    """
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
