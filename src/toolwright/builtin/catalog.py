"""The tools that come along, by name; each is imported only when asked for."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType

from toolwright.define.tool import AnyTool
from toolwright.errors import SetupError

BUILTINS: Mapping[str, str] = MappingProxyType(
    {
        "calculator": "toolwright.builtin.calculator:tools",
        "weather": "toolwright.builtin.weather:tools",
        "files": "toolwright.builtin.files:tools",
        "clock": "toolwright.builtin.clock:tools",
        "code_interpreter": "toolwright.builtin.code_interpreter:tools",
    }
)
"""Name of each builtin, and the function that makes its tools."""


def load(name: str, **options: object) -> tuple[AnyTool, ...]:
    """The tools of one builtin.

    Args:
        name: A key of `BUILTINS`.
        options: What its `tools` function takes, such as ``root`` for ``files``.

    Raises:
        SetupError: if there is no such builtin.
        MissingExtraError: if it needs a package that is not installed.

    >>> [tool.name for tool in load("files", root=".")]
    ['read', 'ls', 'grep']
    """
    if name not in BUILTINS:
        near = difflib.get_close_matches(name, BUILTINS, 1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(BUILTINS)}."
        raise SetupError(f"There is no builtin called {name!r}; {hint}")
    module, _, factory = BUILTINS[name].partition(":")
    made = getattr(import_module(module), factory)(**options)
    return tuple(made)
