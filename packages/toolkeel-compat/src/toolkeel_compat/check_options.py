"""Check the options that programs of other libraries pass, and await what they may return."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from toolkeel.errors import SetupError


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
        SetupError: A refused option has a truthy value.
        TypeError: An option is neither known nor refused.

    >>> class Known(dict):
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
    return {name: value for name, value in options.items() if name in names}


async def maybe_await(answer: Any) -> Any:
    """Return a function's result, awaiting it if it is awaitable."""
    return await answer if inspect.isawaitable(answer) else answer
