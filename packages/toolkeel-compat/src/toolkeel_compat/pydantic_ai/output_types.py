"""Output types of agents under the names of Pydantic AI, as the core's: a tool for each of several types."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from operator import or_
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Generic, Union, get_args, get_origin

from typing_extensions import TypeVar

from toolkeel.define.output_type import OUTPUT_TOOL, OutputTool
from toolkeel.errors import SetupError
from toolkeel_compat.pydantic_ai.deferred import DeferredToolRequests
from toolkeel_compat.pydantic_ai.usage import OUTPUT_ACCEPTED
from toolkeel_compat.pydantic_ai.validators import add_validators, describe_problem

_T = TypeVar("_T", default=Any)
OUTPUT_KEY = "response"
"""Key of an answer that is no object."""
_NOTE: Final = "The final response which ends this conversation"


@dataclasses.dataclass
class ToolOutput(Generic[_T]):
    """An output type that the model answers with by a call.

    Args:
        type_: The type.
        name: Name of its tool.
        description: Description of its tool; the type's docstring follows it.
    """

    type_: Any
    name: str | None = None
    description: str | None = None


@dataclasses.dataclass
class NativeOutput(Generic[_T]):
    """An output type that the provider enforces where it can."""

    outputs: Any


def make_output_type(asked: Any, validators: Sequence[Callable[..., Any]]) -> Any:
    """Return the core's output type: text, a type, or a union whose members name a tool each.

    Args:
        asked: A type, an output marker, or a list of them.
        validators: Output validators, for all but text.

    Raises:
        SetupError: An output function is given.
    """
    if isinstance(asked, NativeOutput):
        union = reduce(or_, [one.type_ for one in _flatten(asked.outputs)])
        return add_validators(Annotated[union, _make_tool()], tuple(validators))
    outputs = list(_flatten(asked))
    several = sum(one.type_ is not str for one in outputs) > 1
    kinds = [
        str if one.type_ is str and not one.name else
        add_validators(_name_tool(one, several), tuple(validators))
        for one in outputs
    ]  # fmt: skip
    return reduce(or_, kinds) if kinds else str


def takes_text(output_type: Any) -> bool:
    """Return True if the model may answer an output type of the core with text."""
    return output_type is str or str in get_args(output_type)


def _flatten(asked: Any) -> Iterator[ToolOutput[Any]]:
    """Yield the output types of a list, a union or a marker, each in a marker.

    Raises:
        SetupError: One is a function.
    """
    if isinstance(asked, list | tuple):
        for one in asked:
            yield from _flatten(one)
    elif get_origin(asked) in (Union, UnionType):
        yield from _flatten(get_args(asked))
    elif isinstance(asked, NativeOutput):
        yield from _flatten(asked.outputs)
    elif inspect.isroutine(asked):
        raise SetupError(
            f"output_type: {asked.__name__} is a function; @tool(ends_run=True) of toolkeel ends a run"
        )
    elif asked is not DeferredToolRequests:
        yield asked if isinstance(asked, ToolOutput) else ToolOutput(asked)


def _name_tool(output: ToolOutput[Any], several: bool) -> Any:
    """Return the type with the name and description of its tool."""
    kind = output.type_
    name = "None" if kind in (None, NoneType) else getattr(kind, "__name__", "")
    tool = f"{OUTPUT_TOOL}_{re.sub(r'[^a-zA-Z0-9_-]', '', name)}" if several else OUTPUT_TOOL
    note = f"{name}: {_NOTE}" if several else _NOTE
    parts = [one for one in (output.description, _read_docstring(kind)) if one]
    description = ". ".join(parts) or note
    return Annotated[kind, _make_tool(output.name or tool, description)]


def _make_tool(name: str = OUTPUT_TOOL, description: str | None = None) -> OutputTool:
    return OutputTool(name, description, lambda _: OUTPUT_ACCEPTED, OUTPUT_KEY, describe_problem)


def _read_docstring(kind: Any) -> str:
    """Return a class's own docstring; empty for a built-in one and for what a dataclass writes itself."""
    text = getattr(kind, "__doc__", None) if inspect.isclass(kind) and not get_origin(kind) else ""
    written = f"{getattr(kind, '__name__', '')}("
    own = text and kind.__module__ != "builtins" and not text.startswith(written)
    return inspect.cleandoc(text) if text and own else ""
