"""The one way from a callable, with or without a schema of its own, to all a tool must know."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic import BaseModel
from pydantic_core import to_json
from typing_extensions import TypeIs

from toolkeel._records.record import record
from toolkeel.define.inject import FixedByPartial, InjectedOrDefault, InjectedParameter, marker_of
from toolkeel.define.mutable_defaults import copy_factory
from toolkeel.define.names import check_name
from toolkeel.define.reading.docstring import Docstring, DocstringUse, parse_docstring
from toolkeel.define.reading.hints import plain_function, unwrap_partials
from toolkeel.define.reading.parameter import Values
from toolkeel.define.reading.signature import (
    MISSING,
    VAR_KEYWORD,
    VAR_POSITIONAL,
    BodyKind,
    Parameter,
    Signature,
    read_signature,
)
from toolkeel.define.returns import OutputSchema, output_schema_of
from toolkeel.define.schema.argument_schema import (
    ArgumentSchema,
    UnknownKeys,
    from_parameters,
    function_defaults,
)
from toolkeel.define.schema.from_model import from_model
from toolkeel.define.schema.impossible import require_possible
from toolkeel.define.schema.model_fields import input_model_fields, model_validators
from toolkeel.define.subschemas import properties_of
from toolkeel.errors import DefinitionError

if TYPE_CHECKING:
    from toolkeel.define.schema.pydantic_v1 import V1Model

REST = (VAR_POSITIONAL, VAR_KEYWORD)
ParametersSchema: TypeAlias = "type[BaseModel] | type[V1Model] | Mapping[str, object]"


@record
class DefinitionRequest:
    """Options of a tool definition that concern its function.

    Args:
        name: The tool's name, if passed.
        description: For the model, if passed.
        parameters: Parameters described elsewhere, if they are.
        unknown_keys: What happens to unknown keys.
        docstring: How the docstring is used: parsed, refused if it names unknown parameters, or plain.
        caller: Where the tool is defined.
    """

    name: str | None = None
    description: str | None = None
    parameters: ParametersSchema | None = None
    unknown_keys: UnknownKeys = "forbid"
    docstring: DocstringUse = "parse"
    caller: FrameType | None = None


@record
class CompiledFunction:
    """Facts about a tool's function. The fields are those of `Tool`."""

    name: str
    description: str
    function: Callable[..., Any]
    body: BodyKind
    arguments: ArgumentSchema
    injected: tuple[InjectedParameter, ...]
    positional: tuple[Parameter, ...]
    output: OutputSchema | None
    unbound: bool
    result_type: object


def compile_function(function: Callable[..., Any], request: DefinitionRequest) -> CompiledFunction:
    """Read a callable and compile its validators.

    A missing description is replaced by that of `request.parameters`, or else by the name with spaces.
    Warns if neither the docstring nor the request has a description and the request has no parameters,
    unless ``docstring="strict"``.

    Raises:
        DefinitionError: naming the function, the parameter and the fix.
    """
    retained: Any = function  # a class method, to be bound to its class
    if isinstance(function, staticmethod | classmethod):
        retained = retained if isinstance(function, classmethod) else function.__func__
        function = function.__func__
    if not callable(function):
        raise DefinitionError(f"{function!r} is no function: a tool needs something to call")
    signature = read_signature(function, request.name, request.caller)
    name = check_name(signature.name)
    docs = _docs(function, signature, request)
    injected = signature.injected
    if request.parameters is None:
        _check_wrapper(name, signature)
        arguments = from_parameters(name, signature.parameters, docs.params, request.unknown_keys)
    elif _is_model(request.parameters):
        arguments, more = _from_model(name, request.parameters, signature, request.unknown_keys)
        injected = (*injected, *more)
    else:
        arguments = _from_other_schema(name, request.parameters, signature, request.unknown_keys)
    require_possible(name, arguments.schema)
    if request.parameters is not None:
        injected = (*injected, *_hidden_defaults(signature, arguments))
    description = docs.description if request.description is None else request.description
    message = description or request.parameters or request.description is not None
    if not message and request.docstring != "strict":
        _warn_missing_docstring(name, function)
    return CompiledFunction(
        name,
        description or _schema_text(request.parameters) or name.replace("_", " "),
        retained,
        signature.body,
        arguments,
        injected,
        signature.positional,
        output_schema_of(signature.returns),
        signature.unbound,
        signature.returns,
    )


def _warn_missing_docstring(name: str, function: Callable[..., Any]) -> None:
    """Warn, at the function's own line, that the model gets no description."""
    code = getattr(plain_function(function), "__code__", None)
    fix = (
        "Python removes docstrings with -OO and PYTHONOPTIMIZE=2: use -O, or give description="
        if sys.flags.optimize > 1
        else "write one, or give description="
    )
    text = f"the tool {name!r} has no docstring, so the model is told no more than its name; {fix}"
    where = ("?", 0) if code is None else (code.co_filename, code.co_firstlineno)
    warnings.warn_explicit(text, UserWarning, *where)


def _is_model(schema: object) -> TypeIs[type[BaseModel]]:
    """Return True if a schema is a model class of pydantic's second version."""
    return isinstance(schema, type) and issubclass(schema, BaseModel)


def _schema_text(schema: ParametersSchema | None) -> str:
    """Return the description in a JSON Schema, or a model's docstring; empty if none."""
    if isinstance(schema, Mapping):
        return str(schema.get("description") or "")
    return inspect.cleandoc(schema.__doc__ or "") if _is_model(schema) else ""


def _from_model(
    name: str, model: type[BaseModel], signature: Signature, unknown_keys: UnknownKeys
) -> tuple[ArgumentSchema, list[InjectedParameter]]:
    """Return the compiled arguments of a pydantic model, and its injected fields, or raise `DefinitionError`."""
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
                marker = InjectedOrDefault(
                    marker, functools.partial(default, call_default_factory=True)
                )
            more.append(InjectedParameter(field, marker, field in own))
    fields = [field for field in model.model_fields if field not in hidden]
    always = [*fields, *(injected.name for injected in more)]
    _check_schema_fits(name, f"parameters {model.__name__}", fields, signature, always)
    made = from_model(name, model, hidden, unknown_keys)
    if hidden:
        made = dataclasses.replace(made, model_validators=model_validators(name, model, hidden))
    return made, more


def _from_other_schema(
    name: str, described: object, signature: Signature, unknown_keys: UnknownKeys
) -> ArgumentSchema:
    """Compile the arguments of a JSON Schema, or of a model of pydantic's first version.

    Their readers are imported late: few programs need them, and they are a third of this chapter.

    Raises:
        DefinitionError: the schema is neither or invalid, or the function does not take its fields.
    """
    from toolkeel.define.schema.from_json_schema import arguments_from_schema
    from toolkeel.define.schema.pydantic_v1 import arguments_from_v1_model, is_v1_model

    if is_v1_model(described):
        fields = list(described.__fields__)
        _check_schema_fits(name, f"parameters {described.__name__}", fields, signature, fields)
        return arguments_from_v1_model(name, described, unknown_keys)
    if not isinstance(described, Mapping):
        raise DefinitionError(
            f"{name}: parameters is {described!r}; give a pydantic model class or a JSON Schema as "
            "a dict"
        )
    known, required = properties_of(described), described.get("required")
    always = [str(item) for item in required] if isinstance(required, Sequence) else []
    always += [
        field for field, each in known.items() if isinstance(each, Mapping) and "default" in each
    ]
    arguments = arguments_from_schema(name, described, unknown_keys)
    _check_schema_fits(name, "parameters", list(known), signature, always)
    own = function_defaults(
        p for p in signature.parameters if p.name in known and p.name not in always
    )
    return _with_function_defaults(arguments, own) if own else arguments


def _with_function_defaults(made: ArgumentSchema, own: Mapping[str, object]) -> ArgumentSchema:
    """Return the arguments with a function's own defaults added to those of the schema.

    Args:
        made: The arguments that the schema describes.
        own: Defaults of parameters that have none there.
    """
    factories = {name: make for name, default in own.items() if (make := copy_factory(default))}
    shown = {name: default for name, default in own.items() if _has_json(default)}
    described = made.fill_defaults

    def fill(values: Values) -> None:
        """Add the schema's, then the function's defaults for absent values, in place."""
        if described is not None:
            described(values)
        for name, make in factories.items():
            if name not in values:
                values[name] = make()

    return dataclasses.replace(made, fill_defaults=fill if factories else described, defaults=shown)


def _has_json(value: object) -> bool:
    """Return True if a value has a JSON form."""
    try:
        to_json(value)
    except ValueError:
        return False
    return True


def _check_wrapper(name: str, signature: Signature) -> None:
    """Raise if a function takes just ``*args, **kwargs`` without types, as a decorator's wrapper does.

    Raises:
        DefinitionError: with the fix.
    """
    kinds = {parameter.kind for parameter in signature.parameters}
    if kinds == {VAR_POSITIONAL, VAR_KEYWORD} and all(
        parameter.annotation is Any for parameter in signature.parameters
    ):
        raise DefinitionError(
            f"{name}: it takes *args and **kwargs of any kind, as a decorator's inner function "
            "does; put @functools.wraps(function) on that one, or annotate the parameters"
        )


def _hidden_defaults(
    signature: Signature, arguments: ArgumentSchema
) -> Iterator[InjectedParameter]:
    """Yield mutable defaults of parameters that the schema lacks, to be made for each call."""
    known = arguments.schema.get("properties")
    for name, default in function_defaults(signature.parameters).items():
        make = copy_factory(default)
        if make is not None and arguments.aliases.get(name, name) not in (known or {}):  # type: ignore[operator]
            yield InjectedParameter(name, InjectedOrDefault(FixedByPartial(), make), optional=True)


def _check_schema_fits(
    name: str, source: str, fields: Sequence[str], signature: Signature, always: Sequence[str]
) -> None:
    """Raise `DefinitionError` unless the function can be called with the schema's fields.

    Args:
        name: The tool's name.
        source: What the fields come from, for the message.
        fields: Names that the schema can send.
        signature: The function's signature.
        always: Fields that are always sent.
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


def _docs(
    function: Callable[..., Any], signature: Signature, request: DefinitionRequest
) -> Docstring:
    """Parse the docstring of the plain function, or else of a callable object's class.

    If the request says ``"plain"``, all of it is the description.

    Raises:
        DefinitionError: if the request is strict and the docstring is malformed or names unknown
            parameters.
    """
    full = unwrap_partials(function)  # whose own docstring is Python's, about partials
    plain = full if isinstance(full, type) else plain_function(full)
    text = getattr(plain, "__doc__", None) or ""
    if not text.strip() and not inspect.isroutine(full):
        text = getattr(full, "__doc__", None) or ""
    if request.docstring == "plain":
        return Docstring(inspect.cleandoc(text))
    docs = parse_docstring(text)
    if request.docstring == "strict":
        known = {p.name for p in signature.parameters} | {p.name for p in signature.injected}
        unknown = [name for name in docs.params if name not in known]
        problems = [*docs.problems, *(f"it describes {name!r}, no parameter" for name in unknown)]
        if problems:
            raise DefinitionError(f"{signature.name}: its docstring: {'; '.join(problems)}")
    return docs
