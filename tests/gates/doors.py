"""The public places of the library: what a program may import from, and what lies behind each."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.gates.layers import DOORS
from tests.gates.sources import PACKAGE, PACKAGES, Module, modules

# Modules of the words that programs import as they are.
WORDS = ("content", "context", "effects", "errors", "events", "hosted", "messages")
# Folders whose front is a door.
FOLDERS = (
    "executors",
    "mcp",
    "mcp.client",
    "mcp.server",
    "observe",
    "providers",
    "providers.anthropic",
    "providers.bedrock",
    "providers.gemini",
    "providers.grammar",
    "providers.openai_chat",
    "providers.openai_responses",
    "providers.text_calls",
    "observe",
    "sessions",
    "testing",
)
OTHERS = (
    "toolkeel_workspace",
    "toolkeel_studio.durable",
    "toolkeel_studio.ray",
    "toolkeel_studio.weather",
    "toolkeel_compat",
    "toolkeel_compat.bridges",
    "toolkeel_compat.langchain",
    "toolkeel_compat.openai_agents",
    "toolkeel_compat.openapi",
    "toolkeel_compat.pydantic_ai",
)
PUBLIC = frozenset(
    {PACKAGE, *OTHERS, *(f"{PACKAGE}.{name}" for name in (*DOORS, *WORDS, *FOLDERS))}
)
"""Every place a program may import from: the package, and two steps below it at most."""
FILES = frozenset(module.name for module in modules())


def deep_imports(code: str) -> Iterator[tuple[int, str]]:
    """Line and module of each import of the library that goes past its doors.

    Args:
        code: Python source; examples with ``>>>`` hold none that a reader would copy.
    """
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and node.module in PACKAGES:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            found = [name for name in names if name in FILES and name not in PUBLIC]
        elif isinstance(node, ast.ImportFrom):
            found = [node.module] if _is_deep(node.module or "") else []
        elif isinstance(node, ast.Import):
            found = [alias.name for alias in node.names if _is_deep(alias.name)]
        else:
            continue
        yield from ((node.lineno, name or "") for name in found)


def _is_deep(name: str) -> bool:
    return name.split(".")[0] in PACKAGES and name not in PUBLIC


def shown(module: Module) -> set[tuple[str, str]]:
    """Module and name of all that a door shows to type checkers."""
    return {
        (node.module or "", alias.asname or alias.name)
        for block in module.tree.body
        if isinstance(block, ast.If) and ast.unparse(block.test).endswith("TYPE_CHECKING")
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def opened(module: Module) -> set[tuple[str, str]]:
    """Module and name of all that a door loads when it is asked for; empty if it is no door."""
    if "door(" not in module.text:
        return set()
    return {
        (place, name)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("door", "_door")
        for place, names in ast.literal_eval(node.args[1]).items()
        for name in names.split()
    }
