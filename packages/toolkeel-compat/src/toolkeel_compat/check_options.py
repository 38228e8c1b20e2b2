"""Check the options that programs of other libraries pass, and await what they may return."""

from __future__ import annotations

import asyncio
import functools
import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from toolkeel._common.checked_arguments import ArgumentKind, check_values, kinds_of
from toolkeel._common.loop_state import CALLBACK_TIMEOUT
from toolkeel.call.body.callback import await_callback
from toolkeel.errors import SetupError

SECONDS: Final = ArgumentKind(
    lambda value: value is None or 0 < value < math.inf, "a number of seconds above 0, or None"
)
"""The kind of timeouts, for an `Annotated`."""
TURNS: Final = ArgumentKind(
    lambda value: value is None or value >= 1, "a number from 1, or None for no limit"
)
"""The kind of ``max_turns``, for an `Annotated`."""


def check_options(
    options: Mapping[str, Any],
    known: type,
    function_name: str,
    refused: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the options that `known` declares. Raise for any other.

    Args:
        options: Values by option name.
        known: The `TypedDict` that declares the options.
        function_name: The called function, for the message.
        refused: Replacement text by option that is not supported. A refused option with a falsy value
            requests nothing and is dropped.

    Raises:
        SetupError: A refused option has a truthy value, or an option's value is of a wrong type.
        TypeError: An option is neither known nor refused.

    >>> from typing import TypedDict
    >>> class Known(TypedDict):
    ...     a: int
    >>> check_options({"a": 1, "debug": False}, Known, "run()", {"debug": "write a listener"})
    {'a': 1}
    """
    refused = refused or {}
    if asked := [name for name in options if name in refused and options[name]]:
        raise SetupError(f"{function_name}({asked[0]}=...): {refused[asked[0]]}")
    names = known.__annotations__
    if strange := sorted(options.keys() - names.keys() - refused.keys()):
        raise TypeError(
            f"{function_name} has no option {', '.join(map(repr, strange))}; it has {', '.join(names)}"
        )
    made = {name: value for name, value in options.items() if name in names}
    check_values(function_name, made, _get_kinds(known))
    return made


def check_fields(instance: Any) -> None:
    """Raise `SetupError` for a field of a dataclass whose value is of a wrong type."""
    cls = type(instance)
    for base in cls.__mro__:
        if names := vars(base).get("__dataclass_fields__"):
            values = {name: getattr(instance, name) for name in names if name in vars(instance)}
            check_values(cls.__name__, values, _get_kinds(base))
            return


@functools.cache
def _get_kinds(declares: type) -> Mapping[str, ArgumentKind | None]:
    """Return what each annotation of a class admits; None for types that only type checkers know."""
    annotations = inspect.get_annotations(declares)
    texts = {name: getattr(one, "__forward_arg__", one) for name, one in annotations.items()}
    return kinds_of(texts, declares.__module__)


async def maybe_await(answer: Any, name: str = "") -> Any:
    """Return a function's result, awaiting it if it is awaitable.

    Args:
        answer: What the function returned.
        name: The function, where nothing around it has a deadline: it gets `CALLBACK_TIMEOUT`.

    Raises:
        CallbackTimeout: the named function took longer.
    """
    if not inspect.isawaitable(answer):
        return answer
    return await (await_callback(answer, CALLBACK_TIMEOUT, name) if name else answer)


async def call_in_thread(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function in a thread, so that it may block, and return its result.

    Raises:
        RuntimeError: It raised `StopIteration`, which no future can hold, so that the caller would wait
            forever.
    """

    def call() -> Any:
        try:
            return function(*args, **kwargs)
        except StopIteration as error:
            raise RuntimeError("generator raised StopIteration") from error

    return await asyncio.to_thread(call)
