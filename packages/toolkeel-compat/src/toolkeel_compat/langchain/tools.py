"""LangChain's three ways to make a tool: `tool`, `StructuredTool.from_function`, `BaseTool`."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, cast

from toolkeel._common.other_libraries_words import attribute_hints
from toolkeel._records.record import NOTHING
from toolkeel.call.direct_invoke import as_call
from toolkeel.context import ToolContext
from toolkeel.define import base_tool
from toolkeel.define import decorator as core
from toolkeel.define.options import validate_options
from toolkeel.define.tool import AnyTool, Prepared, Proceed, ToolOptions, option_kinds
from toolkeel.define.tool import Tool as CoreTool
from toolkeel.errors import (
    CallError,
    Crashed,
    DefinitionError,
    InjectionError,
    SetupError,
)
from toolkeel.messages import Message, ToolMessage, ToolOutput
from toolkeel_compat.langchain.command import Command, to_tool_output
from toolkeel_compat.langchain.convert_tool import Schema
from toolkeel_compat.langchain.fields import build_model
from toolkeel_compat.langchain.messages import convert_to_messages
from toolkeel_compat.langchain.runtime import InjectedToolCallId
from toolkeel_compat.langchain.tool_node import Config, Invokable, make_run_context, within

CORE_NAMES: Mapping[str, str] = {
    "args_schema": "parameters",
    "return_direct": "ends_run",
    "response_format": "returns",
    "handle_tool_error": "on_error",
    "handle_validation_error": "on_invalid",
    "extras": "provider_options",
}
"""By LangChain's word for an option: the core's."""


class BaseTool(Invokable, base_tool.BaseTool):
    """A tool as a class, called as LangChain's are: ``invoke(input, config)``.

    `_arun` runs if both are defined, unless it only raises `NotImplementedError`; then `_run` does.
    """

    args_schema: Any = None
    return_direct = False
    response_format = "content"
    handle_tool_error: Any = False
    handle_validation_error: Any = False
    extras: Any = NOTHING
    tags: Any = ()
    metadata: Any = NOTHING

    __getattr__ = attribute_hints("langchain.BaseTool.")
    _option_names = CORE_NAMES
    _allowed_words = ("verbose", "callbacks")
    verbose: bool = False
    callbacks: Any = None

    def __init__(self, **fields: Any) -> None:
        super().__init__(**fields)
        own: Any = type(self)
        model = build_model(own, _find_base(own))
        if model is None:
            return
        checked = model(**{name: one for name, one in fields.items() if name in model.model_fields})
        for name in model.model_fields:
            if name in fields or getattr(checked, name) != getattr(self, name, None):
                setattr(self, name, getattr(checked, name))
        for name, value in (checked.__pydantic_private__ or {}).items():
            object.__setattr__(self, name, value)
        if (after := getattr(self, "model_post_init", None)) is not None:
            after(None)

    def _body(self) -> Callable[..., Any]:
        written = [getattr(self, name) for name in ("_arun", "_run") if hasattr(self, name)]
        useful = [method for method in written if not _is_not_implemented(method)]
        body: Callable[..., Any] = (useful or written)[0]
        return body

    @functools.cached_property
    def tool(self) -> AnyTool:
        with _translate_errors():
            made = super().tool
        handlers = {
            "on_error": _make_handler(made.on_error),
            "on_invalid": _make_handler(made.on_invalid),
        }
        return dataclasses.replace(made, steps=(*made.steps, _convert_result), **handlers)

    @property
    def args(self) -> Mapping[str, Any]:
        """The schemas of the parameters the model fills, by name."""
        return cast("Mapping[str, Any]", self.tool.parameters.get("properties", {}))

    @property
    def is_single_input(self) -> bool:
        """True if the model fills exactly one parameter."""
        return len(self.args) == 1

    @property
    def tool_call_schema(self) -> Mapping[str, object]:
        return Schema(self.tool.parameters)  # what a model is shown

    async def ainvoke(  # type: ignore[override]  # a config where the core takes a run
        self, input: object = "", config: Config = None, **kwargs: Any
    ) -> Any:
        """Run the tool.

        Args:
            input: A dict of arguments, a string for a tool of one parameter, or a call.
            config: Passed to tools that request a `RunnableConfig`.
            kwargs: ``state``, ``store``, ``context``, and values of injected parameters by name.

        Returns:
            A `ToolMessage` for a call, else the body's own value.

        Raises:
            CallError: The call failed, no handler made a text of it, and `input` was no call. The body's
                own exceptions pass through.
            InjectionError: A value to inject is missing.
        """
        for one in () if as_call(input) is not None else self.tool.injected:
            if isinstance(one.marker, InjectedToolCallId) and not one.optional:
                raise InjectionError(
                    f"{self.name!r} asks for the id of its call: invoke it with a call"
                )
            if isinstance(input, Mapping) and one.name in input:
                raise InjectionError(
                    f"{one.name!r} is filled by the program, not by arguments, which may be a "
                    f"model's: {self.name}.invoke({{...}}, {one.name}=...)"
                )
        run = make_run_context(config, [self.tool], **kwargs)
        try:
            with within(run):
                result = await self.tool.ainvoke(input, run)
        except Crashed as crash:
            raise crash.__cause__ or crash from None
        return convert_to_messages([result])[0] if isinstance(result, ToolMessage) else result

    def run(self, tool_input: object = "", config: Config = None, **kwargs: Any) -> Any:
        """Call `invoke`, under its older name."""
        return self.invoke(tool_input, config, **kwargs)

    async def arun(self, tool_input: object = "", config: Config = None, **kwargs: Any) -> Any:
        """Call `ainvoke`, under its older name."""
        return await self.ainvoke(tool_input, config, **kwargs)


class StructuredTool(BaseTool):
    """A tool made from a function, still callable as that function.

    Args:
        func: A sync function.
        coroutine: An async function; takes precedence over `func`.
    """

    func: Callable[..., Any] | None = None
    coroutine: Callable[..., Any] | None = None

    def __setattr__(self, name: str, value: Any) -> None:
        made = vars(self).get("tool")
        super().__setattr__(name, value)
        if made is None or name == "args_schema" or "tool" in vars(self):
            return
        is_text = name in ("name", "description")
        with _translate_errors():
            change = (
                {name: value}
                if is_text
                else validate_options(self.name, _core_options({name: value}), option_kinds())
            )
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
        """Make a tool without a decorator. The options are those of `tool`."""
        name = name or (getattr(func, "__name__", None) if coroutine else None)
        with _translate_errors():
            made = CoreTool.from_function(
                func,
                coroutine,
                name,
                parameters=args_schema,
                **_core_options({"description": description, **options}, func or coroutine),
            )
        return cls._from_core(made, args_schema, func, coroutine)

    @classmethod
    def _from_core(
        cls, made: AnyTool, args_schema: Any, func: Any, coroutine: Any
    ) -> StructuredTool:
        instance = cls.__new__(cls)
        same = {name: name for name in ("name", "description", *ToolOptions.__annotations__)}
        for name, core_name in {**same, **CORE_NAMES}.items():
            if hasattr(made, core_name):
                setattr(instance, name, getattr(made, core_name))
        instance.args_schema = args_schema or Schema(_add_injected(made))
        instance.func, instance.coroutine = func, coroutine
        vars(instance)["tool"] = made
        return instance


def tool(name_or_callable: Any = None, *, args_schema: Any = None, **options: Any) -> Any:
    """Make a tool from a function: as ``@tool``, ``@tool("name")``, ``@tool(...)`` or ``tool(f)``.

    Args:
        name_or_callable: The function, or the tool's name.
        args_schema: A pydantic model (of either version) or JSON Schema of the parameters.
        options: ``description``, ``return_direct``, ``response_format``, ``parse_docstring`` and
            the others of `toolkeel.define.tool.ToolOptions`.

    >>> @tool
    ... def add(a: int, b: int = 1) -> int:
    ...     "Add two numbers."
    ...     return a + b
    >>> add.invoke({"a": 2}), add.name, list(add.args)
    (3, 'add', ['a', 'b'])
    """
    name = name_or_callable if isinstance(name_or_callable, str) else None

    def wrap_function(function: Callable[..., Any]) -> StructuredTool:
        is_async = inspect.iscoroutinefunction(function)
        pair = (None, function) if is_async else (function, None)
        wrap = core.tool(name, parameters=args_schema, **_core_options(options, function))
        with _translate_errors():
            return StructuredTool._from_core(wrap(function), args_schema, *pair)

    return wrap_function(name_or_callable) if callable(name_or_callable) else wrap_function


def _find_base(cls: type) -> type:
    """Return the last base class that this module defines."""
    return next(one for one in cls.__mro__ if one.__module__ == __name__)


class Tool(StructuredTool):
    """A tool with one string parameter: ``Tool(name, func, description)``.

    Args:
        name: The tool's name.
        func: A sync function of the string; None if there is a `coroutine`.
        description: The description the model gets.
        coroutine: An async function of the string.
        options: See `tool`.
    """

    def __new__(  # type: ignore[misc]
        cls,
        name: str,
        func: Callable[[Any], Any] | None,
        description: str,
        coroutine: Callable[[Any], Any] | None = None,
        **options: Any,
    ) -> StructuredTool:
        def run(**kwargs: Any) -> Any:
            [text] = kwargs.values()
            assert func is not None
            return func(text)

        async def arun(**kwargs: Any) -> Any:
            [text] = kwargs.values()
            assert coroutine is not None
            return await coroutine(text)

        options["args_schema"] = options.get("args_schema") or _ONE_TEXT
        pair = (run if func else None, arun if coroutine else None)
        return StructuredTool.from_function(*pair, name, description, **options)

    def __init__(self, *_: Any, **__: Any) -> None: ...

    @classmethod
    def from_function(  # type: ignore[override]
        cls, func: Callable[[Any], Any] | None, name: str, description: str, **options: Any
    ) -> StructuredTool:
        """Make a tool, as the constructor does."""
        return cls(name, func, description, **options)


_ONE_TEXT: Mapping[str, Any] = {
    "type": "object",
    "properties": {"__arg1": {"type": "string"}},
    "required": ["__arg1"],
}


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Replace the core's option names in a `DefinitionError` by LangChain's, which the author wrote."""
    try:
        yield
    except DefinitionError as error:
        text = str(error)
        for own, core_name in CORE_NAMES.items():
            text = text.replace(f" {core_name} ", f" {own} ").replace(f"({core_name}=", f"({own}=")
        raise type(error)(text) from None


def _add_injected(made: AnyTool) -> Mapping[str, object]:
    """Add the injected parameters, which no model gets, to a tool's schema."""
    injected = {parameter.name: {"description": "injected"} for parameter in made.injected}
    shown = made.parameters.get("properties")
    properties = shown if isinstance(shown, Mapping) else {}
    return {**made.parameters, "properties": {**properties, **injected}}


def _core_options(options: dict[str, Any], function: Any = None) -> Any:
    """Convert LangChain's options to the core's; ``infer_schema`` has no effect.

    The docstring as it is, also its indentation, is the description, unless it is parsed.
    """
    nullable = ("timeout", "max_output")  # where None means "no limit", not "not given"
    options = {k: v for k, v in options.items() if v is not None or k in nullable}
    if "runnable" in options:
        raise SetupError("tool(runnable=...): there are no chains; write a function that calls it")
    reads, strict = (
        options.pop("parse_docstring", None),
        options.pop("error_on_invalid_docstring", 0),
    )
    kind = "strict" if strict else "parse" if reads else "plain"
    options |= {} if function is None else {"docstring": kind}
    if kind == "plain" and inspect.isroutine(function):
        options.setdefault("description", textwrap.dedent(function.__doc__ or "").strip() or None)
    core_options = {CORE_NAMES.get(k, k): v for k, v in options.items() if k != "infer_schema"}
    core_options["steps"] = (*core_options.get("steps", ()), _convert_result)
    return {
        k: _make_handler(v) if k in ("on_error", "on_invalid") else v
        for k, v in core_options.items()
    }


async def _convert_result(
    prepared: Prepared, context: ToolContext[Any], proceed: Proceed
) -> object:
    """Convert a body's return value as LangChain does, as a step around the call."""
    value = await proceed(prepared)
    if not context.call.id or isinstance(value, Message | Command):
        return value
    match value:
        case (content, artifact) if prepared.tool.returns == "content_and_artifact":
            return ToolOutput(to_tool_output(content).content, artifact)
    return (
        ToolOutput(to_tool_output(value).content) if prepared.tool.returns == "content" else value
    )


def _make_handler(handler: Any) -> Any:
    """Return the core's handler: True returns the error's own text, False raises in `invoke`.

    Within a run the model gets the error in either case.
    """
    return _get_error_text if handler is True else handler or True


def _get_error_text(error: CallError) -> str:
    return error.text


def _is_not_implemented(method: Callable[..., Any]) -> bool:
    """Return True if a method's first name lookup is `NotImplementedError`: it only raises that."""
    code = getattr(inspect.unwrap(method), "__code__", None)
    return code is not None and code.co_names[:1] == ("NotImplementedError",)
