"""What a tool promises about its result."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel, TypeAdapter

from toolwright.define.modern import modern
from toolwright.record import record


@record
class Output:
    """What a tool returns, where its annotation promises a structure.

    Args:
        schema: JSON Schema of the result; an object.
        check: Accepts the value, or raises `ValueError`.
    """

    schema: Mapping[str, object]
    check: Callable[[object], object]


def output_of(annotation: object) -> Output | None:
    """The promise in a return annotation; None unless it is a model, dataclass or TypedDict."""
    wanted = modern(annotation)
    if not (
        inspect.isclass(wanted)
        and (
            issubclass(wanted, BaseModel)
            or dataclasses.is_dataclass(wanted)
            or typing.is_typeddict(wanted)
            or hasattr(wanted, "__required_keys__")
        )
        and not wanted.__module__.startswith("toolwright.")
    ):
        return None
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(wanted)
        return Output(adapter.json_schema(mode="serialization"), adapter.validate_python)
    except Exception:  # the promise cannot be stated as a schema: then it is none
        return None
