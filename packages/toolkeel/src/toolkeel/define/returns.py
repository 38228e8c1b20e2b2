"""What a tool promises about its result."""

from __future__ import annotations

import dataclasses
import inspect
import json
import math
import typing
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from pydantic import BaseModel, TypeAdapter

from toolkeel._records.record import record
from toolkeel.define.reading.annotations import modernize
from toolkeel.define.reading.signature import MISSING
from toolkeel.define.subschemas import all_subschemas


@record
class OutputSchema:
    """What a tool returns, where its annotation promises a structure.

    Args:
        schema: JSON Schema of the result; an object.
        check: Accepts the value, or raises `ValueError`.
    """

    schema: Mapping[str, object]
    check: Callable[[object], object]


def output_schema_of(annotation: object) -> OutputSchema | None:
    """Compile the schema of a return annotation that is a model, dataclass or TypedDict."""
    wanted = modernize(annotation)
    if not (
        inspect.isclass(wanted)
        and (
            issubclass(wanted, BaseModel)
            or dataclasses.is_dataclass(wanted)
            or typing.is_typeddict(wanted)
            or hasattr(wanted, "__required_keys__")
        )
        and not wanted.__module__.startswith("toolkeel.")
    ):
        return None
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(wanted)
        schema = adapter.json_schema(mode="serialization")
        return OutputSchema(schema, _require_finite(adapter, schema))
    except Exception:  # the promise cannot be stated as a schema: then it is none
        return None


def check_answer(output: OutputSchema | None, result_type: object, value: object) -> object:
    """Return a result that was supplied from outside as the type that its tool declares.

    A text is also read as JSON: that is all that a command line can give.

    Args:
        output: Schema of the tool's result, if there is one.
        result_type: Its return annotation. None, `str` and types without a JSON form accept anything.
        value: The result, as JSON data.

    Raises:
        ValueError: it is not of that type.
    """
    check = _answer_check(result_type) if output is None else output.check
    if check is None:
        return value
    try:
        return check(value)
    except ValueError:
        if isinstance(value, str):
            with suppress(ValueError):
                return check(json.loads(value))
        raise


def _answer_check(result_type: object) -> Callable[[object], object] | None:
    """Return the validator of a return annotation; None if anything is a result."""
    wanted = modernize(result_type)
    origin = typing.get_origin(wanted) or wanted
    if wanted is None or origin in _ANYTHING:
        return None
    if inspect.isclass(origin) and (
        issubclass(origin, _STREAMS) or origin.__module__.startswith("toolkeel.")
    ):
        return None
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(wanted)
        return _require_finite(adapter, adapter.json_schema(mode="serialization"))
    except Exception:  # such a result cannot be stated as JSON, so it cannot come from outside
        return None


_ANYTHING = (MISSING, str, Any, object, type(None))
_STREAMS = (Iterator, AsyncIterator, Awaitable)
"""Annotations of bodies that yield their result, or return it later."""


def _require_finite(
    adapter: TypeAdapter[Any], schema: Mapping[str, object]
) -> Callable[[object], object]:
    """Wrap an adapter's check so that it refuses NaN and infinity, too."""
    if not any(part.get("type") == "number" for part in all_subschemas(schema)):
        return adapter.validate_python

    def checked(value: object) -> object:
        made = adapter.validate_python(value)
        waiting: list[object] = [adapter.dump_python(made, warnings=False)]
        for item in waiting:  # which grows while it is walked
            if isinstance(item, float) and not math.isfinite(item):
                raise ValueError(f"{item} is not a number that JSON has")
            if isinstance(item, Mapping):
                waiting += item.values()
            elif isinstance(item, list | tuple | set | frozenset):
                waiting += item
        return made

    return checked
