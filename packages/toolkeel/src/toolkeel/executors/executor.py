"""Executors: where a tool's body runs, under one protocol, and what each of them can do.

::

    @tool(executor=Process(), timeout=10)
    def crunch(data: str) -> str: ...

An executor is given a call whose arguments passed validation, and gives the body's value. Everything
else (steps, approval, locks, the deadline, what the model is told) stays with the run, so a tool moves
from one to another by a word. What an executor cannot do stands in its `capabilities`, and a tool that
needs it is refused when it is registered.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Protocol

from toolkeel._common.checked_arguments import checked
from toolkeel._records.record import record
from toolkeel.call.toolset import Toolish, Toolset, as_toolset
from toolkeel.context import ToolContext
from toolkeel.define.executor_names import ExecutorName, executor_named
from toolkeel.define.tool import AnyTool, Prepared
from toolkeel.errors import SetupError


@checked
@record
class Capabilities:
    """What an executor can do.

    Args:
        kills: A body is gone when its call was stopped, at the deadline or by a cancel; else it is
            left behind, and the model is told that it may still take effect.
        streams: Progress and emitted values are told while the body runs; else when it has ended.
        isolates: A body that crashes its process, or fills it, harms no other call and no run.
        injects: Everything can be injected; else the call's id and what of `ToolContext` can cross.
        queues: It waits for room only so long, if it is told how long, and says so.
        resources: It places bodies by what they need, such as a GPU.
        remote: Bodies may run on other machines.
    """

    kills: bool = False
    streams: bool = False
    isolates: bool = False
    injects: bool = False
    queues: bool = False
    resources: bool = False
    remote: bool = False


class Executor(Protocol):
    """Where a body runs. A plain function of the same call will do where nothing is asked of it."""

    @property
    def capabilities(self) -> Capabilities:
        """What it can do."""
        ...

    def check_tool(self, tool: AnyTool) -> None:
        """See that it can run a tool; called when the tool is registered.

        Raises:
            SetupError: naming what is in the way.
        """
        ...

    async def __call__(self, prepared: Prepared, context: ToolContext) -> object:
        """Run the body.

        Returns:
            Its value; or a `ToolMessage`, if nobody can know what became of it.

        Raises:
            CallError: what the body raised, or that it was never started.
            asyncio.CancelledError: it was stopped, and has ended by now.
        """
        ...


def placed(
    tools: Toolset | Iterable[Toolish], where: Mapping[str, Executor | ExecutorName]
) -> Toolset:
    """The same tools, their bodies where a policy puts them.

    Args:
        tools: Any; what one says of its executor itself gives way.
        where: Executors, or their names, by names of tools, in which ``*`` stands for any part; the
            first that fits.

    Raises:
        SetupError: a name fits no tool, or an executor cannot run one.

    >>> from toolkeel import tool
    >>> @tool
    ... def add(a: int, b: int) -> int:
    ...     "Add."
    ...     return a + b
    >>> placed([add], {"a*": "inline"})["add"].executor is not None
    True
    """
    toolset = as_toolset(tools)
    if lost := [name for name in where if "*" not in name and name not in toolset]:
        raise SetupError(f"cannot place {', '.join(lost)}: not in {toolset!r}")
    executors = {
        name: executor_named(one) if isinstance(one, str) else one for name, one in where.items()
    }

    def placed_item(item: AnyTool) -> AnyTool:
        fits = (executor for name, executor in executors.items() if fnmatchcase(item.name, name))
        executor = next(fits, None)
        return item if executor is None else dataclasses.replace(item, executor=executor)

    return toolset.with_tools(map(placed_item, toolset))
