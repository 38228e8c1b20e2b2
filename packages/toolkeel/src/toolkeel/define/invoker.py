"""How a tool runs outside a toolset: `call` knows how, and is set here, since `define` is below it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from typing import Any, Protocol, TypeAlias, TypeVar

from toolkeel.context import RunContext
from toolkeel.errors import SetupError

T = TypeVar("T")
AnyTool = TypeVar("AnyTool", contravariant=True)
InRun: TypeAlias = RunContext | None


class Invoker(Protocol[AnyTool]):
    """Protocol of the functions that run a tool outside a toolset."""

    async def ainvoke(self, tool: AnyTool, value: object, run: InRun) -> object:
        """Run one call. See `Tool.ainvoke`."""
        ...

    async def abatch(self, tool: AnyTool, values: Iterable[object], run: InRun) -> list[object]:
        """Run several calls concurrently, and return their results in order."""
        ...

    def run_sync(self, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine from sync code, and return its result."""
        ...


_invoker: list[Callable[[], Invoker[Any]]] = []


def set_invoker(load: Callable[[], Invoker[Any]]) -> None:
    """Set how `Tool.invoke` runs a call. `load` is called at each use."""
    _invoker[:] = [load]


def get_invoker() -> Invoker[Any]:
    """Return how a tool runs outside a toolset.

    Raises:
        SetupError: the package that sets it was not imported.
    """
    if _invoker:
        return _invoker[0]()
    raise SetupError("import toolkeel before running tools")
