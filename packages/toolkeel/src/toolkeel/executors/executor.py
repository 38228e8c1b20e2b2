"""The executor protocol: where a tool's body runs, and what each executor can do.

::

    @tool(executor=Process(), timeout=10)
    def crunch(data: str) -> str: ...

An executor gets a call with validated arguments and returns the body's value. Everything else (steps,
approval, locks, the deadline, the messages to the model) stays with the run, so that one word moves a
tool to another executor. `capabilities` lists what an executor can do; a tool that needs more is refused
when it is registered.
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
from toolkeel.define.executor_names import ExecutorName, create_executor
from toolkeel.define.tool import AnyTool, Prepared
from toolkeel.errors import SetupError


@checked
@record
class Capabilities:
    """What an executor can do.

    Args:
        can_kill: A stopped body is ended, at the deadline and by a cancel. Otherwise it keeps running,
            and the result says that it may still take effect.
        can_stream: Progress and emitted values arrive while the body runs, otherwise with its result.
        is_isolated: A body that crashes its process or fills its memory affects no other call.
        can_inject: Every injected parameter works; otherwise the call's id and parts of `ToolContext`.
        has_queue_timeout: Calls can be refused after waiting too long for a free slot.
        has_resources: Bodies are placed by the resources they need, such as a GPU.
        is_remote: Bodies may run on other machines.
    """

    can_kill: bool = False
    can_stream: bool = False
    is_isolated: bool = False
    can_inject: bool = False
    has_queue_timeout: bool = False
    has_resources: bool = False
    is_remote: bool = False


class Executor(Protocol):
    """What runs a call's body. A plain function with the signature of `__call__` is enough, without guarantees."""

    @property
    def capabilities(self) -> Capabilities:
        """What it can do."""
        ...

    def check_tool(self, tool: AnyTool) -> None:
        """Check that the executor can run a tool; called when the tool is registered.

        Raises:
            SetupError: naming the obstacle.
        """
        ...

    async def __call__(self, prepared: Prepared, context: ToolContext) -> object:
        """Run the body.

        Returns:
            Its value; or a `ToolMessage` if the outcome is unknown.

        Raises:
            CallError: the body raised it, or it never started.
            asyncio.CancelledError: the call was cancelled, and the body has ended.
        """
        ...


def with_executors(
    tools: Toolset | Iterable[Toolish], executors: Mapping[str, Executor | ExecutorName]
) -> Toolset:
    """Return the tools with executors assigned by name; a tool that no name matches keeps its own.

    Args:
        tools: Tools of any kind; their own ``executor=`` is overridden.
        executors: Executors, or their names, by tool name; ``*`` matches any part of a name. The
            first match counts.

    Raises:
        SetupError: if a name without ``*`` is no tool's, or an executor cannot run one.

    >>> from toolkeel import tool
    >>> @tool
    ... def add(a: int, b: int) -> int:
    ...     "Add."
    ...     return a + b
    >>> with_executors([add], {"a*": "inline"})["add"].executor is not None
    True
    """
    toolset = as_toolset(tools)
    if lost := [name for name in executors if "*" not in name and name not in toolset]:
        raise SetupError(f"with_executors: no tool {', '.join(lost)} in {toolset!r}")
    by_pattern = {
        name: create_executor(one) if isinstance(one, str) else one
        for name, one in executors.items()
    }

    def placed_item(item: AnyTool) -> AnyTool:
        """Return a tool with the executor of the first pattern that matches its name."""
        fits = (executor for name, executor in by_pattern.items() if fnmatchcase(item.name, name))
        executor = next(fits, None)
        return item if executor is None else dataclasses.replace(item, executor=executor)

    return toolset.with_tools(map(placed_item, toolset))
