"""The tools that come along, by name; each is imported only when asked for."""

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


def builtin_names() -> tuple[str, ...]:
    """List the builtins that are installed."""
    return (*BUILTINS, *installed("toolkeel.builtins"))


ELSEWHERE: Mapping[str, str] = MappingProxyType(
    {
        "mcp": "toolkeel.mcp.named_servers:load_tools",
        "mcp-server": "toolkeel.mcp.named_servers:make_server",
    }
)
"""What makes tools, or a provider of them, of a text that names something outside this process."""


def load_from(kind: str, text: str, **options: object) -> Any:
    """The tools of something outside this process.

    Args:
        kind: A key of `ELSEWHERE`.
        text: Names it, such as an address.
        options: What the function takes.

    Raises:
        SetupError: it cannot be used.
        MissingExtraError: it needs a package that is not installed.
    """
    module, _, factory = ELSEWHERE[kind].partition(":")
    with needs_extra("an MCP server", "mcp"):
        make = getattr(import_module(module), factory)
    return make(text, **options)


BY_NAME = frozenset(
    ["workspace", "fetch", "web_search", "file_search", "code_interpreter", "image_generation"]
)
"""Those that come only when they are named: they write, reach out, cost money, need an option or a
large package, or have names that others have too."""


def load(name: str, **options: object) -> tuple[AnyTool, ...]:
    """The tools of one builtin.

    Args:
        name: One of `builtin_names`.
        options: What its `tools` function takes, such as ``root`` for ``files``.

    Raises:
        SetupError: if there is no such builtin.
        MissingExtraError: if it needs a package that is not installed.

    >>> [tool.name for tool in load("clock")]
    ['now']
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
