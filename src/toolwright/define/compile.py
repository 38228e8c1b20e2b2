"""The one way from a callable, with or without a schema of its own, to all a tool must know."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic import BaseModel
from typing_extensions import TypeIs

from toolwright.define.docstring import Docstring, parse_docstring
from toolwright.define.fields import input_model_fields, whole_check
from toolwright.define.inject import Injected, OrDefault, marker_of
from toolwright.define.names import check_name
from toolwright.define.output import Output, output_of
from toolwright.define.schema import (
    Arguments,
    Extra,
    from_model,
    from_parameters,
)
from toolwright.define.signature import (
    MISSING,
    VAR_KEYWORD,
    VAR_POSITIONAL,
    BodyKind,
    Parameter,
    Signature,
    plain_function,
    read_signature,
)
from toolwright.errors import DefinitionError
from toolwright.record import record

if TYPE_CHECKING:
    from toolwright.define.old_model import OldModel

REST = (VAR_POSITIONAL, VAR_KEYWORD)
ArgsSchema: TypeAlias = "type[BaseModel] | type[OldModel] | Mapping[str, object]"


@record
class Request:
    """What the author asked for.

    Args:
        name: The tool's name, if given.
        description: For the model, if given.
        args_schema: Parameters described elsewhere, if they are.
        extra: What happens to unknown keys.
        parse_docstring: Whether the docstring describes the parameters.
        strict_docstring: Whether one that names unknown parameters is refused.
        caller: Where the tool is defined.
    """

    name: str | None = None
    description: str | None = None
    args_schema: ArgsSchema | None = None
    extra: Extra = "forbid"
    parse_docstring: bool = True
    strict_docstring: bool = False
    caller: FrameType | None = None


@record
class Blueprint:
    """All a tool must know of its function; the fields are those of `Tool`."""

    name: str
    description: str
    function: Callable[..., Any]
    body: BodyKind
    arguments: Arguments
    injected: tuple[Injected, ...]
    positional: tuple[Parameter, ...]
    output: Output | None
    unbound: bool


def compile_function(function: Callable[..., Any], request: Request) -> Blueprint:
    """Read a callable and compile its validators.

    Raises:
        DefinitionError: naming the function, the parameter and the fix.
    """
    kept: Any = function  # a class method, to be bound to its class
    if isinstance(function, staticmethod | classmethod):
        kept = kept if isinstance(function, classmethod) else function.__func__
        function = function.__func__
    if not callable(function):
        raise DefinitionError(f"{function!r} is no function: a tool needs something to call")
    signature = read_signature(function, request.name, request.caller)
    name = check_name(signature.name)
    docs = _docs(function, signature, request)
    injected = signature.injected
    if request.args_schema is None:
        arguments = from_parameters(name, signature.parameters, docs.params, request.extra)
    elif _is_model(request.args_schema):
        arguments, more = _from_model(name, request.args_schema, signature, request.extra)
        injected = (*injected, *more)
    else:
        arguments = _from_elsewhere(name, request.args_schema, signature, request.extra)
    description = docs.description if request.description is None else request.description
    return Blueprint(
        name,
        description or _schema_text(request.args_schema) or name.replace("_", " "),
        kept,
        signature.body,
        arguments,
        injected,
        signature.positional,
        output_of(signature.returns),
        signature.unbound,
    )


def _is_model(schema: object) -> TypeIs[type[BaseModel]]:
    return isinstance(schema, type) and issubclass(schema, BaseModel)


def _schema_text(schema: ArgsSchema | None) -> str:
    if isinstance(schema, Mapping):
        return str(schema.get("description") or "")
    return inspect.cleandoc(schema.__doc__ or "") if _is_model(schema) else ""


def _from_model(
    name: str, model: type[BaseModel], signature: Signature, extra: Extra
) -> tuple[Arguments, list[Injected]]:
    """Arguments of a pydantic model, and those of its fields that the program fills."""
    known = {parameter.name for parameter in signature.injected}
    own = {p.name for p in signature.parameters if p.default is not MISSING}
    hidden, more = [], []
    for field, (annotation, _) in input_model_fields(model).items():
        marker = marker_of(annotation)
        if marker is not None or field in known:
            hidden.append(field)
        if marker is not None and field not in known:
            default = model.model_fields[field].get_default
            if not model.model_fields[field].is_required() and field not in own:
                marker = OrDefault(marker, functools.partial(default, call_default_factory=True))
            more.append(Injected(field, marker, field in own))
    fields = [field for field in model.model_fields if field not in hidden]
    always = [*fields, *(injected.name for injected in more)]
    _check_fit(name, f"args_schema {model.__name__}", fields, signature, always)
    made = from_model(name, model, hidden, extra)
    if hidden:
        made = dataclasses.replace(made, whole=whole_check(name, model, hidden))
    return made, more


def _from_elsewhere(name: str, described: object, signature: Signature, extra: Extra) -> Arguments:
    """Arguments of a JSON Schema, or of a model of pydantic's first version.

    What reads those is loaded late: few programs need it, and it is a third of this chapter.

    Raises:
        DefinitionError: it is neither.
    """
    from toolwright.define.foreign import arguments_of_schema
    from toolwright.define.old_model import arguments_of_old_model, is_old_model

    if is_old_model(described):
        fields = list(described.__fields__)
        _check_fit(name, f"args_schema {described.__name__}", fields, signature, fields)
        return arguments_of_old_model(name, described, extra)
    if not isinstance(described, Mapping):
        raise DefinitionError(
            f"{name}: args_schema is {described!r}; give a pydantic model class or a JSON Schema as "
            "a dict"
        )
    properties, required = described.get("properties"), described.get("required")
    known = properties if isinstance(properties, Mapping) else {}
    always = [str(item) for item in required] if isinstance(required, Sequence) else []
    always += [
        field for field, each in known.items() if isinstance(each, Mapping) and "default" in each
    ]
    arguments = arguments_of_schema(name, described, extra)
    _check_fit(name, "args_schema", list(known), signature, always)
    return arguments


def _check_fit(
    name: str, source: str, fields: Sequence[str], signature: Signature, always: Sequence[str]
) -> None:
    """Refuse a schema the function cannot be called by.

    Args:
        name: The tool's.
        source: What the fields come from, for the message.
        fields: What the schema can send.
        signature: What the function takes.
        always: Those of the fields that are always there.
    """
    takes_all = any(p.kind is VAR_KEYWORD for p in signature.parameters)
    taken = {p.name for p in signature.parameters if p.kind is not VAR_KEYWORD}
    injected = [p.name for p in signature.injected if p.name in fields]
    if injected:
        raise DefinitionError(
            f"{name}: {source} has {injected[0]!r}, which the program fills; take it out there, or "
            "rename the parameter"
        )
    unknown = [field for field in fields if field not in taken]
    if unknown and not takes_all:
        raise DefinitionError(
            f"{name}: {source} has {', '.join(map(repr, unknown))}, which the function does not "
            f"take; add the parameter{'s' * (len(unknown) > 1)}, or **kwargs"
        )
    for parameter in signature.parameters:
        needed = parameter.default is MISSING and parameter.kind not in REST
        if needed and parameter.name not in always:
            raise DefinitionError(
                f"{name}: the function needs {parameter.name!r}, but {source} does not always "
                "give it; make it required there, or give the parameter a default"
            )


def _docs(function: Callable[..., Any], signature: Signature, request: Request) -> Docstring:
    """The docstring of the function behind `function`, or of a callable object's class."""
    whole = function
    while isinstance(whole, functools.partial):  # its own docstring is Python's, about partials
        whole = whole.func
    plain = whole if isinstance(whole, type) else plain_function(whole)
    text = getattr(plain, "__doc__", None) or ""
    if not text.strip() and not inspect.isroutine(whole):
        text = getattr(whole, "__doc__", None) or ""
    if not request.parse_docstring:
        return Docstring(inspect.cleandoc(text))
    docs = parse_docstring(text)
    if request.strict_docstring:
        known = {p.name for p in signature.parameters} | {p.name for p in signature.injected}
        unknown = [name for name in docs.params if name not in known]
        problems = [*docs.problems, *(f"it describes {name!r}, no parameter" for name in unknown)]
        if problems:
            raise DefinitionError(f"{signature.name}: its docstring: {'; '.join(problems)}")
    return docs
