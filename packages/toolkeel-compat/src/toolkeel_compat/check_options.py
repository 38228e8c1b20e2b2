"""What programs of other libraries give: options, which are known or refused, and functions."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from toolkeel.errors import SetupError


def only_known(
    options: Mapping[str, Any], known: type, taker: str, refused: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The options, each of which is one.

    Args:
        options: By name.
        known: The `TypedDict` that lists them.
        taker: Who takes them, for the message.
        refused: By option that would not be honoured: what to write instead. One that is off
            asks for nothing, and is left out.

    Raises:
        SetupError: one is refused.
        TypeError: naming those that nobody knows.

    >>> class Known(dict):
    ...     a: int
    >>> only_known({"a": 1, "debug": False}, Known, "run()", {"debug": "write a listener"})
    {'a': 1}
    """
    refused = refused or {}
    if asked := [name for name in options if name in refused and options[name]]:
        raise SetupError(f"{taker}({asked[0]}=...): {refused[asked[0]]}")
    names = known.__annotations__
    if strange := sorted(options.keys() - names.keys() - refused.keys()):
        raise TypeError(
            f"{taker} has no option {', '.join(map(repr, strange))}; it has {', '.join(names)}"
        )
    return {name: value for name, value in options.items() if name in names}


async def value_of(answer: Any) -> Any:
    """What a function has given, which may have to be awaited."""
    return await answer if inspect.isawaitable(answer) else answer
