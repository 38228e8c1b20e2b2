"""The builtins by name; each is imported on demand."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any

from toolkeel._common.installed import INSTALL, installed, load_installed
from toolkeel._common.nearest_names import nearest_names
from toolkeel._common.needs_extra import needs_extra
from toolkeel.define.tool import AnyTool
from toolkeel.errors import SetupError

BUILTINS: Mapping[str, str] = MappingProxyType(
    {
        "calculator": "toolkeel.builtin.calculator:tools",
        "clock": "toolkeel.builtin.clock:tools",
    }
)
"""Name of each builtin of the runtime, and the function that makes its tools."""

ORDER = (
    "calculator", "weather", "files", "clock", "workspace", "fetch", "web_search", "file_search",
    "image_generation", "code_interpreter",
)  # fmt: skip
"""The order in which they are listed and offered; others follow."""


def builtin_names() -> tuple[str, ...]:
    """List the builtins that are installed: those of `ORDER` in its order, then the others."""
    names = [*BUILTINS, *installed("toolkeel.builtins")]
    return tuple(
        sorted(names, key=lambda name: (name not in ORDER, name in ORDER and ORDER.index(name)))
    )


REMOTE_FACTORIES: Mapping[str, str] = MappingProxyType(
    {
        "mcp": "toolkeel.mcp.named_servers:load_tools",
        "mcp-server": "toolkeel.mcp.named_servers:make_server",
    }
)
"""Factories of tools, or of a tool source, for something outside this process."""


def load_remote(kind: str, text: str, **options: object) -> Any:
    """Call the factory of a kind of things outside this process, and return what it makes.

    Args:
        kind: A key of `REMOTE_FACTORIES`.
        text: What identifies it, such as an address.
        options: Passed to the factory.

    Raises:
        SetupError: the tools cannot be used here.
        MissingExtraError: the tools need a package that is not installed.
    """
    module, _, factory = REMOTE_FACTORIES[kind].partition(":")
    with needs_extra("an MCP server", "mcp"):
        make = getattr(import_module(module), factory)
    return make(text, **options)


EXPLICIT_ONLY = frozenset(
    ["workspace", "fetch", "web_search", "file_search", "code_interpreter", "image_generation"]
)
"""Builtins loaded only by name: they write, use the network, cost money, need an option or a
large package, or have names that others have too."""


def load_builtin(name: str, **options: object) -> tuple[AnyTool, ...]:
    """Load the tools of one builtin.

    Args:
        name: One of `builtin_names`.
        options: Passed to its `tools` function, such as ``root`` for ``files``.

    Raises:
        SetupError: if there is no such builtin.
        MissingExtraError: if it needs a package that is not installed.
        TypeError: if it has no such option.

    >>> [tool.name for tool in load_builtin("clock")]
    ['clock']
    """
    if name in BUILTINS:
        module, _, factory = BUILTINS[name].partition(":")
        make = getattr(import_module(module), factory)
    elif name in builtin_names() or name in INSTALL:
        make = load_installed("toolkeel.builtins", name)
    else:
        near = nearest_names(name, builtin_names(), 1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(builtin_names())}."
        raise SetupError(f"There is no builtin called {name!r}; {hint}")
    return tuple(make(**options))
