"""LangChain's three ways to make a tool: `tool`, `StructuredTool.from_function`, `BaseTool`."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from toolwright.call.bridge import run_sync
from toolwright.call.direct import as_call
from toolwright.compat.langchain_convert import Schema
from toolwright.compat.langchain_run import Config, run_of
from toolwright.define import base
from toolwright.define import decorator as core
from toolwright.define.inject import InjectedToolCallId
from toolwright.define.options import checked
from toolwright.define.tool import AnyTool, Tool, ToolOptions
from toolwright.errors import CallError, InjectionError, SetupError
from toolwright.record import NOTHING


class BaseTool(base.BaseTool):
    """A tool as a class, called as LangChain's are: ``invoke(input, config)``.

    Of `_run` and `_arun` the async one runs, unless all it does is to raise `NotImplementedError`.
    """

    args_schema: Any = None
    return_direct = False
    response_format = "content"
    handle_tool_error: Any = False
    handle_validation_error: Any = False
    tags: Any = ()
    metadata: Any = NOTHING
    verbose: bool = False
    callbacks: Any = None

    def _body(self) -> Callable[..., Any]:
        written = [getattr(self, name) for name in ("_arun", "_run") if hasattr(self, name)]
        useful = [method for method in written if not _only_refuses(method)]
        body: Callable[..., Any] = (useful or written)[0]
        return body

    @functools.cached_property
    def tool(self) -> AnyTool:
        made = super().tool
        return dataclasses.replace(made, **{n: _handler(getattr(made, n)) for n in _HANDLERS})

    @property
    def args(self) -> Mapping[str, Any]:
        """The parameters a model fills, by name."""
        return cast("Mapping[str, Any]", self.tool.parameters.get("properties", {}))

    @property
    def tool_call_schema(self) -> Mapping[str, object]:
        return Schema(self.tool.tool_call_schema)  # what a model is shown

    async def ainvoke(  # type: ignore[override]  # a config where the core takes a run
        self, value: object = "", config: Config = None, **given: Any
    ) -> Any:
        """`invoke`, to be awaited."""
        if as_call(value) is None and any(
            isinstance(p.marker, InjectedToolCallId) and not p.optional for p in self.tool.injected
        ):
            raise InjectionError(
                f"{self.name!r} asks for the id of its call: invoke it with a call"
            )
        return await self.tool.ainvoke(value, run_of(config, **given))

    def invoke(  # type: ignore[override]
        self, value: object = "", config: Config = None, **given: Any
    ) -> Any:
        """Run it.

        Args:
            value: A dict of arguments, a text for a tool of one parameter, or a call.
            config: Handed to tools that ask for a `RunnableConfig`.
            given: ``state``, ``store``, ``context``, and values of injected parameters by name.

        Returns:
            A `ToolMessage` for a call, else the body's own value.

        Raises:
            CallError: the call failed, no handler made a text of it, and `value` was no call.
            InjectionError: a value to inject is missing.
        """
        return run_sync(lambda: self.ainvoke(value, config, **given))

    run = invoke
    arun = ainvoke

    def batch(self, values: Sequence[object], config: Config = None) -> list[Any]:
        """Run it for each value, side by side."""
        return self.tool.batch(values, run_of(config))


class StructuredTool(BaseTool):
    """A tool made of a function; still callable as that function.

    Args:
        func: A sync function.
        coroutine: An async function; the one that runs if both are given.
    """

    func: Callable[..., Any] | None = None
    coroutine: Callable[..., Any] | None = None

    def __setattr__(self, name: str, value: Any) -> None:
        made = vars(self).get("tool")
        super().__setattr__(name, value)
        if made is None or name == "args_schema" or "tool" in vars(self):
            return
        told = name in ("name", "description")
        change = {name: value} if told else checked(self.name, _options({name: value}))
        vars(self)["tool"] = dataclasses.replace(made, **change)

    def _body(self) -> Callable[..., Any]:
        body = self.coroutine or self.func
        if body is None:
            raise SetupError("StructuredTool needs func= or coroutine=")
        return body

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._body()(*args, **kwargs)

    @classmethod
    def from_function(
        cls,
        func: Callable[..., Any] | None = None,
        coroutine: Callable[..., Any] | None = None,
        name: str | None = None,
        description: str | None = None,
        args_schema: Any = None,
        **options: Any,
    ) -> StructuredTool:
        """Make a tool without a decorator; the options are those of `tool`."""
        made = Tool.from_function(
            func, coroutine, name, description, args_schema, **_options(options)
        )
        return cls._holding(made, args_schema, func, coroutine)

    @classmethod
    def _holding(cls, made: AnyTool, args_schema: Any, func: Any, coroutine: Any) -> StructuredTool:
        held = cls.__new__(cls)
        for name in ("name", "description", *ToolOptions.__annotations__):
            if hasattr(made, name):
                setattr(held, name, getattr(made, name))
        held.args_schema = args_schema or Schema(made.args_schema)
        held.func, held.coroutine = func, coroutine
        vars(held)["tool"] = made
        return held


def tool(name_or_callable: Any = None, *, args_schema: Any = None, **options: Any) -> Any:
    """Make a tool of a function: as ``@tool``, ``@tool("name")``, ``@tool(...)`` or ``tool(f)``.

    Args:
        name_or_callable: The function, or the tool's name.
        args_schema: A pydantic model (of either version) or JSON Schema of the parameters.
        options: ``description``, ``return_direct``, ``response_format``, ``parse_docstring`` and
            the rest of `toolwright.define.tool.ToolOptions`.

    >>> @tool
    ... def add(a: int, b: int = 1) -> int:
    ...     "Add two numbers."
    ...     return a + b
    >>> add.invoke({"a": 2}), add.name, list(add.args)
    (3, 'add', ['a', 'b'])
    """
    name = name_or_callable if isinstance(name_or_callable, str) else None
    wrap = core.tool(name, args_schema=args_schema, **_options(options))

    def hold(function: Callable[..., Any]) -> StructuredTool:
        is_async = inspect.iscoroutinefunction(function)
        pair = (None, function) if is_async else (function, None)
        return StructuredTool._holding(wrap(function), args_schema, *pair)

    return hold(name_or_callable) if callable(name_or_callable) else hold


def _options(options: dict[str, Any]) -> Any:
    """The core's options; what a tool is without `infer_schema` follows from its function."""
    kept = ("timeout", "max_output")  # where None means "no limit", not "not given"
    options = {k: v for k, v in options.items() if v is not None or k in kept}
    given = {k: v for k, v in options.items() if k != "infer_schema"}
    return {k: _handler(v) if k in _HANDLERS else v for k, v in given.items()}


_HANDLERS = ("handle_tool_error", "handle_validation_error")


def _handler(handler: Any) -> Any:
    """True makes the error's own text the result; False raises it to whoever invokes the tool.

    In a run the model is told either way.
    """
    return _own_text if handler is True else handler or True


def _own_text(error: CallError) -> str:
    return error.text


def _only_refuses(method: Callable[..., Any]) -> bool:
    """Whether all it does is to raise `NotImplementedError`: the first name it looks up is that."""
    code = getattr(inspect.unwrap(method), "__code__", None)
    return code is not None and code.co_names[:1] == ("NotImplementedError",)
