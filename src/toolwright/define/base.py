"""`BaseTool`: tools written as classes, for those with settings or state of their own."""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Protocol, cast, get_origin

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from toolwright.context import Run
from toolwright.define.decorator import tool
from toolwright.define.tool import AnyTool, Tool, ToolOptions
from toolwright.errors import DefinitionError, SchemaAnnotationError


class HoldsTool(Protocol):
    """Whatever has a tool: a `BaseTool`, or an object of another library's kind."""

    @property
    def tool(self) -> AnyTool: ...


class BaseTool:
    """A tool as a class: subclass it, set `name` and `description`, write `_run` or `_arun`.

    Class attributes may carry any option of `ToolOptions`, and `args_schema`. Annotated attributes
    are fields: the constructor takes them by keyword, and those without a default must be given.
    Where both `_run` and `_arun` are written, `_arun` runs.

    Raises:
        SchemaAnnotationError: when the class is defined, if it annotates `args_schema` with
            something that is not a class of models.
        DefinitionError: when the class is defined, if it writes neither method.

    >>> class Greet(BaseTool):
    ...     name = "greet"
    ...     description = "Greet somebody."
    ...     greeting: str = "Hello"
    ...     def _run(self, who: str) -> str:
    ...         return f"{self.greeting}, {who}!"
    >>> Greet(greeting="你好").invoke({"who": "Ada"})
    '你好, Ada!'
    """

    name: str
    description: str
    args_schema: Any = None

    _run: ClassVar[Callable[..., Any]]
    _arun: ClassVar[Callable[..., Any]]

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        if "args_schema" in vars(cls):
            _check_annotation(cls)
        if not (hasattr(cls, "_run") or hasattr(cls, "_arun")) and "name" in vars(cls):
            raise DefinitionError(
                f"{cls.__name__}: write _run(self, ...) or async _arun(self, ...)"
            )

    def __init__(self, **fields: Any) -> None:
        from pydantic.fields import FieldInfo  # late: it takes half as long as all of this package

        known = dict(_fields(type(self)))
        for name, value in fields.items():
            if name not in (*known, *ToolOptions.__annotations__, "args_schema"):
                raise DefinitionError(
                    f"{type(self).__name__} has no field {name!r}; it has "
                    f"{', '.join(sorted(known))}"
                )
            setattr(self, name, value)
        for name, default in known.items():
            if name not in fields and isinstance(default, list | dict | set):
                setattr(self, name, copy.deepcopy(default))  # each object has its own
            if name in fields or not isinstance(default, FieldInfo):
                continue
            made = default.get_default(call_default_factory=True, validated_data={})
            if made is PydanticUndefined:
                raise DefinitionError(f"{type(self).__name__} needs the field {name!r}")
            setattr(self, name, made)
        missing = [name for name in known if not hasattr(self, name) and name != "description"]
        if missing:
            raise DefinitionError(
                f"{type(self).__name__} needs {', '.join(map(repr, missing))}: set it in the class "
                "or give it to the constructor"
            )

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, value)
        if name in _COMPILED:  # then the tool is another; a set that holds it keeps what it has
            vars(self).pop("tool", None)

    @functools.cached_property
    def tool(self) -> AnyTool:
        """The tool this object describes, compiled once."""
        options = {
            name: getattr(self, name) for name in ToolOptions.__annotations__ if hasattr(self, name)
        }
        body = self._body()
        description = getattr(self, "description", None) or inspect.getdoc(type(self))
        if description == inspect.getdoc(BaseTool):
            description = None
        return Tool.from_function(
            body,
            name=self.name,
            description=description,
            args_schema=self.args_schema,
            **cast("ToolOptions", options),
        )

    def _body(self) -> Callable[..., Any]:
        """What runs."""
        return self._arun if hasattr(self, "_arun") else self._run

    def invoke(self, value: object = "", run: Run[Any] | None = None) -> Any:
        """Run it as the model would; see `Tool.invoke`."""
        return self.tool.invoke(value, run)

    async def ainvoke(self, value: object = "", run: Run[Any] | None = None) -> Any:
        """`invoke`, to be awaited."""
        return await self.tool.ainvoke(value, run)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({getattr(self, 'name', '')})"


_COMPILED = frozenset({"name", "description", "args_schema", *ToolOptions.__annotations__})
"""What is compiled into the tool."""


def as_tool(item: object) -> AnyTool:
    """The tool that `item` is, holds as its attribute `tool`, or as a function can become.

    Raises:
        DefinitionError: if it is none of these.
    """
    if isinstance(item, Tool):
        return item
    held = getattr(item, "tool", None)
    if isinstance(held, Tool):
        return held
    if not callable(item):
        raise DefinitionError(f"{item!r} is no tool: give a tool, a function, or what holds a tool")
    return tool(item)


def check_bound(made: AnyTool) -> None:
    """Refuse a method that waits for its instance.

    Raises:
        DefinitionError: with the fix.
    """
    if made.unbound:
        raise DefinitionError(
            f"{made.name}: it is a method without its instance; take the bound one, "
            f"instance.{made.name} (and of a class method: put @tool above @classmethod)"
        )


def _fields(cls: type) -> Iterator[tuple[str, object]]:
    """Annotated attributes from the base to the leaf, with their class values."""
    for base in reversed(cls.__mro__):
        for name in inspect.get_annotations(base):
            if not name.startswith("_") and name != "args_schema":
                yield name, getattr(cls, name, None)


def _check_annotation(cls: type) -> None:
    """`args_schema: BaseModel = X` says that X is an instance, which it is not."""
    annotation = inspect.get_annotations(cls).get("args_schema")
    if annotation is None:
        return
    text = annotation.strip("'\" ") if isinstance(annotation, str) else ""
    wrong = text in ("BaseModel", "pydantic.BaseModel") or (
        isinstance(annotation, type)
        and get_origin(annotation) is None
        and issubclass(annotation, BaseModel)
    )
    if wrong or (text and text.isidentifier() and text not in ("Any", "type", "Type", "dict")):
        shown = annotation.__name__ if isinstance(annotation, type) else text
        raise SchemaAnnotationError(
            f"{cls.__name__}.args_schema is annotated as an instance of {shown}; it holds a class: "
            f"write args_schema: type[{shown}] = ..."
        )
