"""`BaseTool`: tools written as classes, for those with settings or state of their own."""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from types import CodeType
from typing import Any, ClassVar, Protocol, get_origin

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from toolkeel._common.nearest_names import nearest_names
from toolkeel._common.other_libraries_words import translate, unknown_option_error
from toolkeel.context import RunContext
from toolkeel.define.decorator import tool
from toolkeel.define.tool import AnyTool, Tool, ToolOptions
from toolkeel.define.tool_mistakes import explain_non_tool
from toolkeel.errors import DefinitionError, SchemaAnnotationError


class HasTool(Protocol):
    """Protocol of an object with a tool: a `BaseTool`, or an object of another library's kind."""

    @property
    def tool(self) -> AnyTool | functools.cached_property[AnyTool]:  # pyright sees the descriptor
        """The tool."""
        ...


class BaseTool:
    """A tool as a class: subclass it, set `name` and `description`, write `_run` or `_arun`.

    Class attributes may carry any option of `ToolOptions`, and `parameters`. Annotated attributes
    are fields: the constructor takes them by keyword, and those without a default must be passed.
    Each object has its own copy of a default that is a list, dict or set. Without a `description`,
    the class's docstring is used.
    Where both `_run` and `_arun` are written, `_arun` runs.

    Raises:
        SchemaAnnotationError: when the class is defined, if it annotates `parameters` with
            something that is not a class of models.
        DefinitionError: when the class is defined, if it writes neither method, or sets an attribute
            that nothing would read: another library's word for an option, or a misspelt one;
            when it is constructed, for an unknown or a missing field.

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
    parameters: Any = None

    _option_names: ClassVar[Mapping[str, str]] = {"parameters": "parameters"}
    """By attribute that is an option under another name: its name here. Subclasses that speak
    another library's words have more of them."""
    _allowed_words: ClassVar[Collection[str]] = ()
    """Other libraries' words for options that the class gives a meaning of its own."""
    _run: ClassVar[Callable[..., Any]]
    _arun: ClassVar[Callable[..., Any]]

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        for attribute, option in cls._option_names.items():
            if option == "parameters" and attribute in vars(cls):
                _check_annotation(cls, attribute)
        if not (hasattr(cls, "_run") or hasattr(cls, "_arun")) and "name" in vars(cls):
            raise DefinitionError(
                f"{cls.__name__}: write _run(self, ...) or async _arun(self, ...)"
            )
        for base in cls.__mro__:  # mixins, too, which are no tools by themselves
            if base is cls or not issubclass(base, BaseTool):
                for attribute in {**vars(base), **inspect.get_annotations(base)}:
                    _check_attribute(cls, attribute)

    def __init__(self, **fields: Any) -> None:
        from pydantic.fields import FieldInfo  # late: it takes half as long as all of this package

        known = dict(_fields(type(self)))
        for name, value in fields.items():
            if name not in (*known, *ToolOptions.__annotations__, *self._option_names):
                raise unknown_option_error(
                    type(self).__name__, name, _known_attributes(type(self)), "tool"
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
        if not hasattr(self, name):
            _check_attribute(type(self), name)
        super().__setattr__(name, value)
        if (
            name in _TOOL_OPTIONS or name in self._option_names
        ):  # then the tool is another; a set that holds it keeps what it has
            vars(self).pop("tool", None)

    @functools.cached_property
    def tool(self) -> AnyTool:
        """The tool this object describes, compiled at first use, and again after an option was set.

        Raises:
            DefinitionError: it cannot be compiled.
        """
        body = self._body()
        description = getattr(self, "description", None) or inspect.getdoc(type(self))
        if description == inspect.getdoc(BaseTool):
            description = None
        return Tool.from_function(body, name=self.name, description=description, **self._options())

    def _options(self) -> dict[str, Any]:
        """Return the options that the class, a base class or the object sets, by their names in `ToolOptions`."""
        own = {name: name for name in ToolOptions.__annotations__} | dict(self._option_names)
        return {option: getattr(self, name) for name, option in own.items() if hasattr(self, name)}

    def _body(self) -> Callable[..., Any]:
        """Return the method that runs: `_arun` if there is one, else `_run`."""
        return self._arun if hasattr(self, "_arun") else self._run

    def invoke(self, value: object = "", run: RunContext | None = None) -> Any:
        """Run the tool as the model would. See `Tool.invoke`."""
        return self.tool.invoke(value, run)

    async def ainvoke(self, value: object = "", run: RunContext | None = None) -> Any:
        """Run the tool as the model would, asynchronously. See `Tool.ainvoke`."""
        return await self.tool.ainvoke(value, run)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({getattr(self, 'name', '')})"


_TOOL_OPTIONS = frozenset({"name", "description", *ToolOptions.__annotations__})
"""What is compiled into the tool."""
_SETTABLE = _TOOL_OPTIONS | {"parameters"}
"""Attributes that every tool class may set."""


def as_tool(item: object) -> AnyTool:
    """Return `item` as a tool: itself, its attribute `tool`, or made of a function.

    Raises:
        DefinitionError: if it is none of these.
    """
    if isinstance(item, Tool):
        return item
    stored = getattr(item, "tool", None)
    if isinstance(stored, Tool):
        return stored
    if (mistake := explain_non_tool(item)) is not None:
        raise mistake
    return tool(item)  # type: ignore[call-overload,no-any-return]


def require_bound(made: AnyTool) -> None:
    """Raise if a tool is a method without its instance.

    Raises:
        DefinitionError: with the fix.
    """
    if made.unbound:
        raise DefinitionError(
            f"{made.name}: it is a method without its instance; take the bound one, "
            f"instance.{made.name} (and of a class method: put @tool above @classmethod)"
        )


def _fields(cls: type[BaseTool]) -> Iterator[tuple[str, object]]:
    """Yield annotated public attributes but options, with their class values or None, from the base class to the leaf."""
    for base in reversed(cls.__mro__):
        for name in inspect.get_annotations(base):
            if not name.startswith("_") and name not in cls._option_names:
                yield name, getattr(cls, name, None)


def _known_attributes(cls: type[BaseTool]) -> set[str]:
    """Return the names of fields and options, and other libraries' words that the class allows."""
    fields = (name for name, _ in _fields(cls))
    return {*fields, *ToolOptions.__annotations__, *cls._option_names, *cls._allowed_words}


def _check_attribute(cls: type[BaseTool], name: str) -> None:
    """Raise for another library's word for an option, or a misspelt one, that nothing would read.

    An attribute that a method of the class mentions, or that a tool class above it has, is the
    author's own.

    Raises:
        DefinitionError: with the word to write.
    """
    if (
        name.startswith("_")
        or name in _SETTABLE
        or name in {*cls._option_names, *cls._allowed_words}
    ):
        return
    parents = [base for base in cls.__mro__[1:] if issubclass(base, BaseTool)]
    if any(hasattr(base, name) for base in parents) or name in _mentioned_names(cls):
        return
    is_field = name in dict(_fields(cls))
    if translate("tool", name) or (not is_field and nearest_names(name, _SETTABLE, 1, 0.85)):
        raise unknown_option_error(cls.__name__, name, _SETTABLE, "tool")


def _mentioned_names(cls: type) -> Iterator[str]:
    """Yield the names that the code of a class and of its mixins reads or sets."""
    for base in cls.__mro__:
        if base is not BaseTool:
            for value in vars(base).values():
                method = inspect.unwrap(getattr(value, "__func__", getattr(value, "fget", value)))
                yield from _names_in(getattr(method, "__code__", None))


def _names_in(code: CodeType | None) -> Iterator[str]:
    """Yield the names that a code object and the functions inside it mention; none without a code object."""
    if code is not None:
        yield from code.co_names
        for constant in code.co_consts:  # functions within
            yield from _names_in(constant if isinstance(constant, CodeType) else None)


def _check_annotation(cls: type, attribute: str) -> None:
    """Raise `SchemaAnnotationError` if an attribute that holds a class is annotated as an instance, by a model's name."""
    annotation = inspect.get_annotations(cls).get(attribute)
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
            f"{cls.__name__}.{attribute} is annotated as an instance of {shown}; it holds a class: "
            f"write {attribute}: type[{shown}] = ..."
        )
