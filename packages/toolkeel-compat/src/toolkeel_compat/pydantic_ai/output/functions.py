"""Output functions, under the names of Pydantic AI: functions whose arguments are the model's answer."""

from __future__ import annotations

import copy
import dataclasses
import inspect
from collections.abc import Callable, Mapping
from functools import partial
from inspect import Parameter as Kind
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from typing_extensions import is_typeddict

from toolkeel._records.record import record
from toolkeel.define.reading.docstring import parse_docstring
from toolkeel.define.reading.signature import MISSING, Parameter, read_signature
from toolkeel.errors import SetupError


@record
class OutputCall:
    """The valid arguments of an output function, which is called once its answer is accepted.

    Args:
        function: The function.
        arguments: Its arguments by name.
    """

    function: Callable[..., Any]
    arguments: Mapping[str, Any]


@record
class NamedType:
    """An output type, or the arguments of an output function as one.

    Args:
        type_: The type; a valid value of a function's is an `OutputCall`.
        name: Its name, or the function's.
        description: What the docstring says besides parameters; empty without one.
        is_function: The type has the parameters of a function as fields.
    """

    type_: Any
    name: str
    description: str
    is_function: bool = False


def is_output_function(value: object) -> bool:
    """Return True for a function or a method."""
    return inspect.isfunction(value) or inspect.ismethod(value)


def read_output_function(function: Callable[..., Any]) -> NamedType:
    """Return the output type of a function: one model is its own type, other parameters are fields of one.

    Args:
        function: The function; a parameter annotated with `RunContext` is left out.

    Raises:
        SetupError: It takes ``*args`` or ``**kwargs``, or a parameter by position alone.
        DefinitionError: An annotation cannot be resolved.
    """
    name = function.__name__.strip("<>")
    parameters = read_signature(function, name, None).parameters
    docs = parse_docstring(function.__doc__)
    for one in parameters:
        if one.kind in (Kind.VAR_POSITIONAL, Kind.VAR_KEYWORD):
            raise SetupError(f"output_type: name the parameters of {name} instead of *{one.name}")
        if one.kind is Kind.POSITIONAL_ONLY:
            raise SetupError(f"output_type: {one.name} of {name} is given by name: leave out the /")
    if len(parameters) == 1 and _is_model(kind := parameters[0].annotation):
        [only] = parameters

        def wrap(value: Any) -> OutputCall:
            return OutputCall(function, {only.name: value})

        title = getattr(kind, "__name__", name)
        description = docs.description or inspect.getdoc(kind) or ""
        return NamedType(Annotated[kind, AfterValidator(wrap)], title, description)

    def collect(value: Any) -> OutputCall:
        return OutputCall(function, {one.name: getattr(value, one.name) for one in parameters})

    fields = [_make_field(one, docs.params.get(one.name)) for one in parameters]
    made = dataclasses.make_dataclass(name, fields, kw_only=True)
    made.__pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[attr-defined]
    return NamedType(Annotated[made, AfterValidator(collect)], name, docs.description, True)


def _is_model(kind: Any) -> bool:
    """Return True for a type whose form is an object with fields."""
    is_class = inspect.isclass(kind)
    return is_typeddict(kind) or (
        is_class and (issubclass(kind, BaseModel) or dataclasses.is_dataclass(kind))
    )


def _make_field(parameter: Parameter, description: str | None) -> tuple[str, Any, Any]:
    """Return a parameter as a field of a dataclass."""
    kind: Any = parameter.annotation
    if description:
        kind = Annotated[kind, Field(description=description)]
    if parameter.default is MISSING:
        return parameter.name, kind, dataclasses.field()
    if isinstance(parameter.default, list | dict | set):
        factory = partial(copy.deepcopy, parameter.default)
        return parameter.name, kind, dataclasses.field(default_factory=factory)
    return parameter.name, kind, dataclasses.field(default=parameter.default)
