"""The function inside a callable, and its type hints, resolved to classes.

Annotations may be texts, and may name what is local to the function that defines a tool: its frame is
read while it calls.
"""

from __future__ import annotations

import functools
import inspect
import sys
import typing
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from types import FrameType
from typing import Any

from toolkeel.errors import DefinitionError

Function = Callable[..., Any]


def unwrap_partials(function: Function) -> Function:
    """Return the callable inside partials."""
    while isinstance(function, functools.partial):
        function = function.func
    return function


def called_function(function: Function) -> Function:
    """Return the function that runs, inside partials and callable objects."""
    inner = unwrap_partials(function)
    plain = inspect.isroutine(inner) or isinstance(inner, type)
    return inner if plain else type(inner).__call__


def plain_function(function: Function) -> Function:
    """Return the function inside partials, methods and callable objects."""
    inner = called_function(function)
    return getattr(inner, "__func__", inner)


def _sources_of_hints(function: Function) -> Iterator[Any]:
    """Yield the unwrapped function, or a class, its ``__new__`` and ``__init__``; hints of later ones win."""
    plain = inspect.unwrap(plain_function(function))
    if isinstance(plain, type):
        yield plain
        made = (getattr(plain, name) for name in ("__new__", "__init__"))
        yield from filter(inspect.isfunction, made)
    else:
        yield plain


def resolve_hints(function: Function, title: str, caller: FrameType | None) -> dict[str, Any]:
    """Return a callable's annotations as types, by parameter.

    Annotations as text also find the local names of `caller`, the frame that defines it, if given.

    Raises:
        DefinitionError: an annotation names what cannot be found.
    """
    hints: dict[str, Any] = {}
    for plain in _sources_of_hints(function):
        hints |= function_hints(plain, title, caller)
    return hints


def unresolved_signature(function: Function) -> inspect.Signature:
    """Return a signature whose annotations need not name anything yet."""
    if sys.version_info >= (3, 14):
        import annotationlib

        return inspect.signature(function, annotation_format=annotationlib.Format.FORWARDREF)
    return inspect.signature(function)


def _raw_annotations(plain: Any) -> dict[str, Any]:
    """Return annotations as they are; as texts, where one names what is not defined yet."""
    try:
        return getattr(plain, "__annotations__", {})
    except NameError:  # since Python 3.14 they are evaluated when they are first read
        if sys.version_info >= (3, 14):
            import annotationlib

            return annotationlib.get_annotations(plain, format=annotationlib.Format.STRING)
        raise


def function_hints(plain: Any, title: str, caller: FrameType | None) -> dict[str, Any]:
    """Return the resolved annotations of a function, that of ``return`` included.

    Args:
        plain: The function.
        title: Begins the error: what is defined.
        caller: Frame of the code that defines it, if known. Annotations as text may use its local
            names, those of the frames around it, and the function's closure.

    Raises:
        DefinitionError: naming the parameter whose annotation cannot be resolved, and the fix.
    """
    annotations = _raw_annotations(plain)
    if not any(isinstance(value, str) for value in annotations.values()):
        try:
            return typing.get_type_hints(plain, include_extras=True)
        except Exception:  # a forward reference inside, such as list["Later"]
            pass
    try:
        return typing.get_type_hints(plain, None, _locals(plain, caller), include_extras=True)
    except Exception as error:
        raise DefinitionError(
            f"{title}: the annotation of {_unresolved(annotations, error)} cannot be resolved "
            f"({error}); {_advice(plain, getattr(error, 'name', None))}"
        ) from error


def _locals(plain: Function, caller: FrameType | None) -> Mapping[str, object]:
    """Return the local names of the four nearest frames outside of toolkeel, and of the function's closure, which win."""
    names: dict[str, object] = {}
    frames: list[FrameType] = []
    while caller is not None and len(frames) < 4:
        if not str(caller.f_globals.get("__name__")).startswith("toolkeel."):
            frames.append(caller)  # frames of our own on the way to the tool do not count
        caller = caller.f_back
    for frame in reversed(frames):
        if frame.f_locals is not frame.f_globals:
            names.update(frame.f_locals)
    return names | _closed_over(plain)


def _closed_over(plain: Function) -> dict[str, object]:
    """Return the variables that the function closes over, as far as they exist already."""
    code, cells = getattr(plain, "__code__", None), getattr(plain, "__closure__", None) or ()
    names: dict[str, object] = {}
    for name, cell in zip(code.co_freevars if code else (), cells, strict=False):
        with suppress(ValueError):  # a name that is bound later, such as the tool's own
            names[name] = cell.cell_contents
    return names


def _unresolved(annotations: Mapping[str, object], error: Exception) -> str:
    """Return which parameter an unresolvable name belongs to, in words."""
    name = getattr(error, "name", None) or str(error)
    for parameter, annotation in annotations.items():
        if str(name) in str(annotation):
            return "the result" if parameter == "return" else f"parameter {parameter!r}"
    return "a parameter"


def _advice(plain: object, name: str | None) -> str:
    """Return what to do about a name in an annotation that is not defined, or about no name."""
    if name is None:
        return "write it as a type"
    if [name] == getattr(plain, "__qualname__", "").split(".")[-2:-1]:
        return f"{name} is not there yet while its body runs; make tools of an object's methods: tool(object.method)"
    return f"import or define {name!r} before the tool, outside 'if TYPE_CHECKING'"
