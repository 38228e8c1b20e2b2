"""A type becomes the form of an answer: the tool by which a model gives it.

The same tool holds both ways a model can answer. Where the wire has no better, the model calls it;
where the wire holds replies to a schema, the reply's text is checked as that call's arguments
would be. So either way the same schema is advertised, the same coercions apply, and a wrong answer
is explained field by field.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from inspect import Parameter as Kind
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import TypeAdapter
from typing_extensions import TypeForm

from toolkeel._records.record import record
from toolkeel.define.reading.annotations import modernize
from toolkeel.define.reading.parameter import Values
from toolkeel.define.reading.signature import MISSING, Parameter
from toolkeel.define.schema.annotation_schema import describe_reason, undefined_name
from toolkeel.define.schema.argument_schema import (
    ArgumentSchema,
    compile_arguments,
    from_parameters,
)
from toolkeel.define.schema.closed_objects import compile_core
from toolkeel.define.schema.json_schema import GeneratedSchema, generate_schema
from toolkeel.define.subschemas import resolve
from toolkeel.define.tool import AnyTool, ErrorHandler, Step, Tool
from toolkeel.errors import DefinitionError
from toolkeel.messages import ToolOutput
from toolkeel.model_interface import OutputFormat

OUTPUT_TOOL = "final_result"
"""What the tool is called, unless another of the run's tools is called so."""

ANSWER_NOTE = "Give the final answer, and end with it."
"""How the tool's description begins."""
ACCEPTED = "The answer was accepted."
_VALUE = "result"
"""The key of an answer that is no object of its own, unless its type names another: arguments always are one."""


@record
class OutputTool:
    """Name and description of the output tool, as metadata in the ``Annotated`` of an output type.

    A union whose members have it is answered by several tools, one for each of them.

    Args:
        name: Name of the tool.
        description: Description for the model.
        describe_answer: Returns the text of an accepted answer's result.
        key: Key of an answer that is no object.
        on_invalid: What the model reads of a wrong answer: see `ToolOptions`.
        strict: False for a schema as pydantic makes it, whose objects are not closed, and which the
            provider does not enforce.
        steps: Steps around each call of the tool; the artifact of what the first gives is the answer.
        by_text: True if the answer is the reply's text where the server holds replies to a schema; False
            for a call everywhere.
        format: The format of such a text; None for one with the tool's name, description and schema.
        needs_success: True if an answer counts only where no call beside it failed in a way that the
            model can correct.
    """

    name: str = OUTPUT_TOOL
    description: str | None = None
    describe_answer: Callable[[object], str] = lambda answer: ACCEPTED
    key: str = _VALUE
    on_invalid: ErrorHandler = True
    strict: bool = True
    steps: tuple[Step, ...] = ()
    by_text: bool = True
    format: OutputFormat | None = None
    needs_success: bool = False


@record
class OutputForm:
    """The form that a run's answer must have.

    Args:
        tool: Tool that the model calls to give it; the result's artifact is the value.
        wrapped: True if the value is under a key of its own, since it is no object.
        key: That key.
        strict: False if the provider does not enforce the schema.
        own_format: See `OutputTool.format`.
        needs_success: See `OutputTool.needs_success`.
    """

    tool: AnyTool
    wrapped: bool
    key: str = _VALUE
    strict: bool = True
    own_format: OutputFormat | None = None
    needs_success: bool = False

    @property
    def format(self) -> OutputFormat:
        """The response format for wires that hold replies to a schema."""
        return self.own_format or OutputFormat(
            self.tool.name, self.tool.parameters, self.tool.description, self.strict
        )

    def candidate_arguments(self, text: str) -> Iterator[str]:
        """Yield the ways to read a reply's text as arguments, likeliest first.

        >>> list(compile_output_form(int).candidate_arguments("5"))
        ['5', '{"result": 5}', '{"result": "5"}']
        """
        yield text
        if self.wrapped:
            yield f'{{"{self.key}": {text}}}'
            yield json.dumps({self.key: text}, ensure_ascii=False)

    def partial_value(self, partial: Any) -> Any:
        """Return the answer in arguments that are still arriving, or None if none has."""
        return partial.get(self.key) if self.wrapped else partial


def read_output_tool(output_type: TypeForm[Any]) -> OutputTool:
    """Return the name and description of its tool that an output type has as metadata.

    >>> read_output_tool(Annotated[int, OutputTool("count")]).name
    'count'
    """
    return _find_output_tool(output_type) or OutputTool()


def _find_output_tool(output_type: TypeForm[Any]) -> OutputTool | None:
    """Return the `OutputTool` in a type's ``Annotated`` metadata, or None."""
    metadata = get_args(output_type)[1:] if get_origin(output_type) is Annotated else ()
    return next((one for one in metadata if isinstance(one, OutputTool)), None)


def split_output_type(output_type: TypeForm[Any]) -> tuple[TypeForm[Any], ...]:
    """Return the members of a union that name a tool each, besides text; else the type itself.

    >>> one, other, text = split_output_type(
    ...     Annotated[int, OutputTool("count")] | Annotated[bool, OutputTool("judge")] | str
    ... )
    >>> read_output_tool(one).name, read_output_tool(other).name, text
    ('count', 'judge', <class 'str'>)
    """
    members = get_args(output_type) if get_origin(output_type) in (Union, UnionType) else ()
    named = [one for one in members if one is str or _find_output_tool(one)]
    return tuple(named) if named and len(named) == len(members) else (output_type,)


def compile_output_form(output_type: TypeForm[Any], name: str = OUTPUT_TOOL) -> OutputForm:
    """Compile a type to the form of an agent's answers.

    Args:
        output_type: Anything pydantic can validate: models, dataclasses, typed dicts, unions,
            lists, plain types.
        name: Name of the tool.

    Raises:
        DefinitionError: the type has no JSON form.

    >>> form = compile_output_form(list[int])
    >>> form.tool.parameters["properties"]["result"]["type"]
    'array'
    >>> form.tool.invoke({"result": [1, 2]}).artifact
    [1, 2]
    """
    if isinstance(output_type, list | tuple):
        types = " | ".join(getattr(each, "__name__", str(each)) for each in output_type)
        raise DefinitionError(f"output_type={output_type!r:.200}: write output_type={types}")
    title = output_type.__name__ if inspect.isclass(output_type) else repr(output_type)
    try:
        output_type = modernize(output_type)
        adapter: TypeAdapter[Any] = TypeAdapter(output_type)
        generated = generate_schema(adapter.core_schema)
    except Exception as error:
        missing = undefined_name(output_type)
        why = (
            f"it uses {missing!r}, which is not defined yet; import or define it before the agent"
            if missing
            else f"it has no JSON form ({describe_reason(error)}); use a type JSON can carry"
        )
        raise DefinitionError(f"output_type={title}: {why}") from error
    schema = _with_root_object(generated.schema)
    message = str(schema.pop("description", ""))
    schema.pop("title", None)
    wrapped = schema.get("type") != "object"
    wanted = read_output_tool(output_type)
    arguments = (
        _compile_wrapped(name, output_type, wanted.key)
        if wrapped
        else _compile_object(name, replace(generated, schema=schema), adapter, wanted.strict)
    )
    description = wanted.description
    if description is None:
        description = f"{ANSWER_NOTE} {message}".strip()
    tool = _tool(name, description, arguments, wanted)
    more = (wanted.key, wanted.strict, wanted.format, wanted.needs_success)
    return OutputForm(tool, wrapped, *more)


def _with_root_object(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a recursive model's schema with the object that it refers to at its root."""
    target = resolve(schema.get("$ref"), schema)
    root = dict(target) if isinstance(target, Mapping) else dict(schema)
    return {**root, "$defs": schema["$defs"]} if "$defs" in schema else root


def _compile_wrapped(name: str, output_type: TypeForm[Any], key: str) -> ArgumentSchema:
    """Compile arguments with the answer under one key, for types that are no object, or raise `DefinitionError`."""
    value = Parameter(key, output_type, MISSING, Kind.POSITIONAL_OR_KEYWORD)
    return from_parameters(name, [value], {}, "forbid")


def _compile_object(
    name: str, made: GeneratedSchema, adapter: TypeAdapter[Any], closing: bool
) -> ArgumentSchema:
    """Compile arguments that are the answer itself, for types that are objects, or raise `DefinitionError`."""
    strict, facts = compile_core(adapter.core_schema, made, closing, is_own_root=False)
    validate = (adapter.validator if strict is None else strict).validate_json

    def given(text: str | bytes, **options: Any) -> Values:
        """Validate a text as the answer, and return it under the one key."""
        return {_VALUE: validate(text, **options)}

    arguments = compile_arguments(name, made.schema, given, None, facts)
    return replace(arguments, encode=None)  # the one key is no field of the type


def _tool(name: str, description: str, arguments: ArgumentSchema, wanted: OutputTool) -> AnyTool:
    """Return the output tool, whose body accepts the answer."""
    return Tool(
        name=name,
        description=description,
        function=_Accept(wanted.describe_answer),
        body="sync",
        arguments=arguments,
        inline=True,
        on_invalid=wanted.on_invalid,
        steps=wanted.steps,
    )


class _Accept:
    """Body of the output tool: returns a result with the answer as its artifact."""

    def __init__(self, describe: Callable[[object], str]) -> None:
        self._describe = describe

    def __call__(self, **values: object) -> ToolOutput:
        [answer] = values.values()
        return ToolOutput(self._describe(answer), artifact=answer)


def is_output_tool(tool: object) -> bool:
    """Return True for the tool by which a model gives the answer of a run."""
    return isinstance(getattr(tool, "function", None), _Accept)
