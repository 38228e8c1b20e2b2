"""Output types of agents under the names of Pydantic AI, as the core's: a tool for each of several types."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from operator import or_
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Generic, Literal, Union, get_args, get_origin

from typing_extensions import TypeVar

from toolkeel._records.record import record
from toolkeel.define.output_type import OUTPUT_TOOL, OutputTool, compile_output_form
from toolkeel.define.subschemas import all_subschemas
from toolkeel.errors import SetupError
from toolkeel.model_interface import OutputFormat
from toolkeel_compat.pydantic_ai.deferred import DeferredToolRequests
from toolkeel_compat.pydantic_ai.output.functions import (
    NamedType,
    is_output_function,
    read_output_function,
)
from toolkeel_compat.pydantic_ai.output.prompted import make_choice, prompt_output
from toolkeel_compat.pydantic_ai.output.validators import make_answer_step
from toolkeel_compat.pydantic_ai.usage import OUTPUT_ACCEPTED

_T = TypeVar("_T", default=Any)
OUTPUT_KEY = "response"
"""Key of an answer that is no object."""
_NOTE: Final = "The final response which ends this conversation"


@dataclasses.dataclass
class ToolOutput(Generic[_T]):
    """An output type or function that the model answers with by a call.

    Args:
        type_: The type or function.
        name: Name of its tool.
        description: Description of its tool; the docstring follows it.
        max_retries: Refused: the agent has ``output_retries``.
        strict: False for a tool whose schema the provider does not enforce.
        sequential: Makes no difference: the first valid answer ends the run.
    """

    type_: Any
    name: str | None = None
    description: str | None = None
    max_retries: int | None = None
    strict: bool | None = None
    sequential: bool = False

    def __post_init__(self) -> None:
        if self.max_retries is not None:
            raise SetupError("ToolOutput(max_retries=...): write output_retries= of the agent")


@dataclasses.dataclass
class NativeOutput(Generic[_T]):
    """Output types or functions whose form the provider enforces where it can.

    Args:
        outputs: A type or function, or a list of them.
        name: Name of the form.
        description: Description of the form.
        strict: False for a form that the provider does not enforce.
        template: Refused but for None and False: the form is no part of the prompt.
    """

    outputs: Any
    name: str | None = None
    description: str | None = None
    strict: bool | None = None
    template: str | Literal[False] | None = None

    def __post_init__(self) -> None:
        if self.template:
            raise SetupError("NativeOutput(template=...): write PromptedOutput")


@dataclasses.dataclass
class PromptedOutput(Generic[_T]):
    """Output types or functions whose form the instructions say; the model answers with JSON as text.

    Args:
        outputs: A type or function, or a list of them.
        name: Accepted: it is no part of the instructions.
        description: The same.
        template: The instructions, with ``{schema}``; False for none.
    """

    outputs: Any
    name: str | None = None
    description: str | None = None
    template: str | Literal[False] | None = None


@dataclasses.dataclass
class TextOutput(Generic[_T]):
    """A function of the model's text whose result is the output.

    Args:
        output_function: It takes the text, or a `RunContext` and the text.
    """

    output_function: Callable[..., Any]


@record
class OutputPlan:
    """What an agent's ``output_type`` asks for.

    Args:
        type_: The core's output type.
        read_text: Called with a text that is the answer, before the validators.
        instructions: What the model is told about the form of its answer.
        is_json: The answer is JSON as text.
    """

    type_: Any
    read_text: Callable[..., Any] | None = None
    instructions: str = ""
    is_json: bool = False


def plan_output(asked: Any, validators: Sequence[Callable[..., Any]]) -> OutputPlan:
    """Return what an ``output_type`` asks for: text, a type, or a union whose members name a tool each.

    Args:
        asked: A type, an output function, an output marker, or a list of them.
        validators: Output validators.

    Raises:
        SetupError: `NativeOutput` or `PromptedOutput` stands among others, or there are two `TextOutput`.
        DefinitionError: An output function cannot be read.
    """
    if isinstance(asked, list | tuple):
        asked = [one for one in asked if one is not DeferredToolRequests]
        asked = asked[0] if len(asked) == 1 else asked
    if isinstance(asked, NativeOutput):
        return OutputPlan(_make_native_type(asked, validators))
    if isinstance(asked, PromptedOutput):
        types = [_read_type(one) for one in _flatten(asked.outputs)]
        read, told = prompt_output(types, asked.template or None)
        return OutputPlan(str, read, "" if asked.template is False else told, is_json=True)
    outputs = list(_flatten(asked))
    readers = [one.output_function for one in outputs if isinstance(one, TextOutput)]
    if len(readers) > 1:
        raise SetupError("output_type: a text has one TextOutput")
    named = [one for one in outputs if not _is_text(one)]
    tools = [_name_tool(one, len(named) > 1, validators) for one in named]
    kinds = [*tools, *([str] if len(named) < len(outputs) else [])]
    return OutputPlan(reduce(or_, kinds) if kinds else str, readers[0] if readers else None)


def takes_text(output_type: Any) -> bool:
    """Return True if the model may answer an output type of the core with text."""
    return output_type is str or str in get_args(output_type)


def _is_text(output: Any) -> bool:
    return isinstance(output, TextOutput) or (output.type_ is str and not output.name)


def _flatten(asked: Any) -> Iterator[Any]:
    """Yield the output types and functions of a list or a union, each in a `ToolOutput` or a `TextOutput`.

    Raises:
        SetupError: One is a marker that stands alone.
    """
    if isinstance(asked, list | tuple):
        for one in asked:
            yield from _flatten(one)
    elif get_origin(asked) in (Union, UnionType):
        yield from _flatten(get_args(asked))
    elif isinstance(asked, NativeOutput | PromptedOutput):
        name = type(asked).__name__
        raise SetupError(f"output_type: {name} stands alone; write {name}([...]) of all types")
    elif asked is not DeferredToolRequests:
        yield asked if isinstance(asked, ToolOutput | TextOutput) else ToolOutput(asked)


def _read_type(output: Any) -> NamedType:
    """Return the type of a `ToolOutput`."""
    kind = output.type_
    if is_output_function(kind):
        return read_output_function(kind)
    name = "None" if kind in (None, NoneType) else getattr(kind, "__name__", "")
    return NamedType(kind, name, _read_docstring(kind))


def _make_native_type(native: NativeOutput[Any], validators: Sequence[Callable[..., Any]]) -> Any:
    """Return the core's type of a `NativeOutput`; of several types, the answer says its kind."""
    types = [_read_type(one) for one in _flatten(native.outputs)]
    name = native.name or (types[0].name if len(types) == 1 else "") or OUTPUT_TOOL
    description = native.description or (types[0].description if len(types) == 1 else "")
    tool = _make_tool(name, description, native.strict, validators, by_text=True)
    kind: Any = types[0].type_ if len(types) == 1 else make_choice(types)
    asked: Any = Annotated[kind, tool]
    schema = compile_output_form(asked, name).tool.parameters
    if native.strict is None and any(_has_optional(part) for part in all_subschemas(schema)):
        form = OutputFormat(name, schema, description or "", strict=False)  # as there
        tool = dataclasses.replace(tool, format=form)
    return Annotated[kind, tool]


def _has_optional(schema: Mapping[str, Any]) -> bool:
    """Return True for an object with a property that may be absent, which no strict mode has."""
    return not {*schema.get("properties", ())} <= {*schema.get("required", ())}


def _name_tool(
    output: ToolOutput[Any], several: bool, validators: Sequence[Callable[..., Any]]
) -> Any:
    """Return the type with the name and description of its tool."""
    kind = _read_type(output)
    safe_name = re.sub(r"[^a-zA-Z0-9_-]", "", kind.name)
    tool = f"{OUTPUT_TOOL}_{safe_name}" if several else OUTPUT_TOOL
    note = f"{kind.name}: {_NOTE}" if several else _NOTE
    parts = [one for one in (output.description, kind.description) if one]
    description = ". ".join(parts) or note
    made = _make_tool(output.name or tool, description, output.strict, validators)
    return Annotated[kind.type_, made]


def _make_tool(
    name: str,
    description: str | None,
    strict: bool | None,
    validators: Sequence[Callable[..., Any]],
    *,
    by_text: bool = False,
) -> OutputTool:
    return OutputTool(
        name,
        description,
        lambda _: OUTPUT_ACCEPTED,
        OUTPUT_KEY,
        strict=strict is not False,
        steps=(make_answer_step(validators),),
        by_text=by_text,
        needs_success=True,
    )


def _read_docstring(kind: Any) -> str:
    """Return a class's own docstring; empty for a built-in one and for what a dataclass writes itself."""
    text = getattr(kind, "__doc__", None) if inspect.isclass(kind) and not get_origin(kind) else ""
    written = f"{getattr(kind, '__name__', '')}("
    own = text and kind.__module__ != "builtins" and not text.startswith(written)
    return inspect.cleandoc(text) if text and own else ""
