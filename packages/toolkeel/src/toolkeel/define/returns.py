"""What a tool promises about its result, and results that can never be sent."""

from __future__ import annotations

import dataclasses
import inspect
import io
import json
import math
import os
import socket
import sys
import types
import typing
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import suppress
from typing import Any

from pydantic import BaseModel, PydanticSchemaGenerationError, TypeAdapter

from toolkeel._common.installed import find_renderer, renderer_extra
from toolkeel._records.record import record
from toolkeel.define.reading.annotations import modernize
from toolkeel.define.reading.signature import MISSING
from toolkeel.define.subschemas import all_subschemas
from toolkeel.errors import DefinitionError


@record
class OutputSchema:
    """JSON Schema and check of a tool's result, where its annotation promises a structure.

    Args:
        schema: JSON Schema of the result; an object.
        check: Returns the validated value, converted to the annotation's type, or raises `ValueError`.
    """

    schema: Mapping[str, object]
    check: Callable[[object], object]


def output_schema_of(annotation: object) -> OutputSchema | None:
    """Compile the schema of the JSON form of a return annotation: model, dataclass or TypedDict.

    None for other annotations, for toolkeel's own classes, and if there is no such schema.
    """
    try:
        wanted = modernize(annotation)
    except NameError:  # of a class that does not exist yet
        return None
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
        result_type: Its return annotation. No annotation, `str` and types without a JSON form accept anything.
        value: The result, as JSON data.

    Raises:
        ValueError: the result is not of that type.
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
    """Return the validator of a return annotation; None if anything is a result, as for types without a JSON form."""
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


_ANYTHING = (MISSING, str, Any, object)
_STREAMS = (Iterator, AsyncIterator, Awaitable)
"""Annotations of bodies that yield their result, or return it later."""


def _require_finite(
    adapter: TypeAdapter[Any], schema: Mapping[str, object]
) -> Callable[[object], object]:
    """Return an adapter's check, which refuses NaN and infinity, too."""
    if not any(part.get("type") == "number" for part in all_subschemas(schema)):
        return adapter.validate_python

    def checked(value: object) -> object:
        """Return the validated value.

        Raises:
            ValueError: if it contains NaN or infinity, or is not of the type.
        """
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


# — results that no model can be sent —


def require_json_form(name: str, annotation: object, returns: str = "content") -> None:
    """Raise if no value of a return annotation can be sent to a model.

    A class counts as unsendable if pydantic has no schema for it, it is no collection, path or array,
    and none of its subclasses is sendable. Abstract classes and protocols may be anything. Functions and
    classes as values are never sendable; what an installed renderer shows, such as a DataFrame, is.

    Args:
        name: The tool's name.
        annotation: The return annotation.
        returns: ``content_and_artifact`` if the tool returns that pair, whose artifact is not sent.

    Raises:
        DefinitionError: with what to return instead.
    """
    if annotation is MISSING or annotation in (None, str):
        return
    if returns == "content_and_artifact" and typing.get_origin(annotation) is tuple:
        annotation = (*typing.get_args(annotation), Any)[0]
    cls = _find_unsendable(annotation)
    if cls is None or _is_rendered(annotation, find_renderer):
        return
    write = next((text for kind, text in _NEVER if issubclass(cls, kind)), "")
    is_standard = cls.__module__.partition(".")[0] in sys.stdlib_module_names
    some_class = _STANDARD_CLASS if is_standard else _SOME_CLASS
    write = write or next((text for has, text in _INSTEAD if hasattr(cls, has)), some_class)
    if _is_rendered(annotation, renderer_extra):
        write = f"pip install '{renderer_extra(cls)}', which shows it to the model, or {write}"
    elif renderer_extra(cls):
        write = f"return it alone or in a list, or {write}"
    written = annotation.__name__ if inspect.isclass(annotation) else str(annotation)
    raise DefinitionError(
        f"{name}: it returns {written}, but {cls.__name__} has no JSON form, so no model could read "
        f"the result; {write.format(cls.__name__)}"
    )


def _is_rendered(annotation: object, find: Callable[[type], object]) -> bool:
    """Return True if a renderer shows what has no JSON form in an annotation.

    Args:
        annotation: The return annotation.
        find: Returns something true for a class that is shown.
    """
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return _is_rendered(args[0], find)
    if origin in (typing.Union, types.UnionType, list, tuple):
        return all(_find_unsendable(arg) is None or _is_rendered(arg, find) for arg in args)
    return inspect.isclass(annotation) and bool(find(annotation))


_INSTEAD = (
    ("to_dicts", "write -> list[dict] and return frame.to_dicts()"),
    ("to_pylist", "write -> list[dict] and return table.to_pylist()"),
    ("to_dict", 'write -> list[dict] and return value.to_dict("records"), or -> str and a text'),
    (
        "savefig",
        "write -> Image and return Image(buffer.getvalue()) after figure.savefig(buffer) into an "
        "io.BytesIO",
    ),
    (
        "getexif",
        'write -> Image and return Image(buffer.getvalue()) after picture.save(buffer, "PNG") into '
        "an io.BytesIO",
    ),
)
"""By an attribute that tells frames, figures and pictures from other classes: what to write."""
_STANDARD_CLASS = "leave it in the program, and write -> str and return a text about it"
_NEVER: tuple[tuple[type, str], ...] = (
    (BaseException, "raise ToolError(text) for a failure, or write -> str and return str(error)"),
    (type, "write -> str and return its name, cls.__name__"),
    (
        io.IOBase,
        "write -> bytes, or -> Image, and return what it holds, such as file.read() or "
        "buffer.getvalue()",
    ),
    (typing.IO, "write -> str or -> bytes and return file.read()"),
    (types.ModuleType, "write -> str and return its name, module.__name__"),
    (
        types.FunctionType,
        "a model cannot call it: call it here, and annotate and return its result",
    ),
    (socket.socket, _STANDARD_CLASS),
)
"""Classes without a JSON form, unless a subclass brings its own, with what to write instead."""
_SOME_CLASS = "make {0} a dataclass or a pydantic model, or write -> str and return a text"
_SENDABLE: tuple[type, ...] = (
    str,
    int,
    float,
    bytes,
    list,
    tuple,
    dict,
    set,
    frozenset,
    Mapping,
    os.PathLike,
)
_SENDABLE_KINDS: tuple[type, ...] = (bytearray, memoryview, Sequence, *_STREAMS)


def _find_unsendable(annotation: object) -> type | None:
    """Return the class that keeps every value of an annotation from being sent, or None."""
    origin = typing.get_origin(annotation)
    if annotation is Callable or origin is Callable:
        return types.FunctionType
    if origin is None:
        if isinstance(annotation, types.FunctionType | types.BuiltinFunctionType):
            return types.FunctionType  # a factory such as threading.Lock, which is no class
        unsendable = inspect.isclass(annotation) and not _is_sendable(annotation)
        return annotation if unsendable else None  # type: ignore[return-value]
    args = typing.get_args(annotation)
    if origin is typing.Annotated:
        return _find_unsendable(args[0])
    if origin in (typing.Union, types.UnionType):
        found = [_find_unsendable(arg) for arg in args if arg is not type(None)]
        return found[0] if all(found) else None
    if origin in (list, tuple, set, frozenset, dict):
        return next(filter(None, map(_find_unsendable, args)), None)
    is_standard = getattr(origin, "__module__", "") in ("collections", "collections.abc")
    if is_standard and issubclass(origin, (Iterable, AsyncIterable, Awaitable)):
        args = args[-1:] if issubclass(origin, Coroutine) else args
        args = args[:1] if issubclass(origin, Generator | AsyncGenerator) else args
        return next(filter(None, map(_find_unsendable, args)), None)
    is_generic = inspect.isclass(origin) and origin is not annotation
    return _find_unsendable(origin) if is_generic else None


def _is_sendable(cls: type) -> bool:
    """Return True if values of a class, or of a subclass of it, may have a JSON form."""
    if issubclass(cls, tuple(kind for kind, _ in _NEVER)):
        return _has_own_schema(cls)
    if cls in (object, type(None)) or issubclass(cls, (*_SENDABLE, *_SENDABLE_KINDS)):
        return True
    if cls.__module__.startswith("toolkeel") or inspect.isabstract(cls):
        return True
    if getattr(cls, "_is_protocol", False) or hasattr(cls, "tolist") or hasattr(cls, "__next__"):
        return True
    try:
        TypeAdapter(cls)
    except PydanticSchemaGenerationError:
        return any(
            not inspect.isabstract(each) and _is_sendable(each) for each in cls.__subclasses__()
        )
    except Exception:  # it has a schema, which cannot be built yet
        return True
    return True


def _has_own_schema(cls: type) -> bool:
    """Return True if pydantic makes a JSON Schema of a class, as of a dataclass."""
    try:
        TypeAdapter(cls).json_schema(mode="serialization")
    except Exception:
        return False
    return True
