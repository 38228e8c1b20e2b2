"""The source files as the gates see them: parsed once, with their dotted names."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.shared import ROOT

PACKAGE = "toolkeel"
PACKAGES = {
    "toolkeel": ROOT / "packages" / "toolkeel" / "src",
    "toolkeel_workspace": ROOT / "packages" / "toolkeel-workspace" / "src",
    "toolkeel_studio": ROOT / "packages" / "toolkeel-studio" / "src",
    "toolkeel_compat": ROOT / "packages" / "toolkeel-compat" / "src",
}
"""Folder of the sources of each import package."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """One source file.

    Args:
        name: Dotted, such as ``toolkeel.define.tool``; a package's is that of its folder.
        path: Relative to the repository's root, with forward slashes.
        text: What it holds.
    """

    name: str
    path: str
    text: str

    @property
    def tree(self) -> ast.Module:
        """Its syntax tree."""
        return _parse(self.text, self.path)

    @property
    def is_package(self) -> bool:
        """Whether it is the ``__init__.py`` of a folder."""
        return self.path.endswith("__init__.py")


@cache
def _parse(text: str, path: str) -> ast.Module:
    return ast.parse(text, filename=path)


@cache
def modules() -> tuple[Module, ...]:
    """Every module of the library, by name."""
    return tuple(
        Module(_dotted(path, source), _shown(path), path.read_text("utf-8"))
        for name, source in PACKAGES.items()
        for path in sorted((source / name).rglob("*.py"))
    )


def planted(name: str, text: str) -> Module:
    """A module that exists only in a gate's own test.

    Args:
        name: Dotted, with ``toolkeel`` in front.
        text: Its source.
    """
    package = name.partition(".")[0]
    folder = package.replace("_", "-")
    return Module(name, f"packages/{folder}/src/{name.replace('.', '/')}.py", text)


def functions(module: Module) -> list[tuple[str, Function]]:
    """Every function of a module with its dotted name inside it, nested ones too."""
    found: list[tuple[str, Function]] = []

    def visit(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                found.append((prefix + child.name, child))
            name = getattr(child, "name", "")
            is_scope = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            visit(child, f"{prefix}{name}." if is_scope else prefix)

    visit(module.tree, "")
    return found


def report(rows: list[str]) -> None:
    """Fail with the rows if there are any."""
    __tracebackhide__ = True
    assert not rows, f"{len(rows)} outside the gate:\n" + "\n".join(rows)


def _dotted(path: Path, source: Path) -> str:
    parts = path.relative_to(source).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()
