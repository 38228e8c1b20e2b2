"""The layers of the four distributions, and the imports that break them.

A file imports only from layers before its own. Folders of one layer do not import each other, except
where `FREE` says so, and no imports form a cycle. A new folder needs a place here; a new file needs none.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.gates.sources import PACKAGE, Module

# Each distribution imports only from those before it.
DISTRIBUTIONS = (
    ("toolkeel",),
    ("toolkeel_workspace",),
    ("toolkeel_studio", "toolkeel_compat"),
)
# Top-level folders and files by layer. "words" are the files and folders that every chapter shares.
LAYERS: dict[str, tuple[tuple[str, ...], ...]] = {
    "toolkeel": (
        ("words",),
        ("define",),
        ("call",),
        ("agent",),
        ("sessions",),
        ("providers", "mcp", "executors", "observe", "testing"),
        ("builtin",),
    ),
    "toolkeel_workspace": (
        ("sandbox",),
        ("files", "shell", "web", "search", "code", "computer", "pictures", "data_results"),
        ("skills",),
    ),
    "toolkeel_studio": (
        ("markdown_html",),
        ("ray", "durable", "evals", "gateway", "notebook", "weather", "weather_fixture"),
        ("serve",),
        ("inspector",),
        ("cli",),
    ),
    "toolkeel_compat": (
        ("check_options", "content_blocks", "missing", "migrate", "openapi"),
        ("langchain", "openai_agents", "pydantic_ai"),
        ("bridges",),
    ),
}
# Distributions whose folders of one layer may import each other.
FREE = ("toolkeel_workspace", "toolkeel_compat")
WORDS = (
    "_common",
    "_records",
    "_lazy_exports",
    "content",
    "context",
    "effects",
    "errors",
    "events",
    "hosted",
    "messages",
    "model_interface",
    "spending",
)
# Public modules that re-export names, and the ways in: they come after everything.
DOORS = (
    "approvals", "compat", "durable", "models", "runs", "schemas", "serve", "steps", "streaming",
    "tools",
)  # fmt: skip
LAST = (
    *(name for layer in DISTRIBUTIONS for name in layer),
    f"{PACKAGE}.__main__",
    *(f"{PACKAGE}.{name}" for name in DOORS),
)
# One import that goes past the order: the command that rewrites programs of other libraries.
EXCEPTIONS = {("toolkeel_studio.cli.commands.migrate", "toolkeel_compat.migrate")}
# The only files that may load a module of the library late; doors do so by `_lazy_exports.door`.
LATE = (
    PACKAGE,
    f"{PACKAGE}._lazy_exports",
    f"{PACKAGE}.compat",
    f"{PACKAGE}.define.compile",
    f"{PACKAGE}.define.executor_names",
    f"{PACKAGE}.define.explain.error_budget",
    f"{PACKAGE}.define.schema.budget_validator",
    f"{PACKAGE}.providers.model_by_name",
    "toolkeel_workspace.search.open_store",
    "toolkeel_studio.cli.main",
    # Commands that live by an extra: without it they show their help, and tell its install line.
    *(
        f"toolkeel_studio.cli.commands.{name}"
        for name in ("gateway", "index", "inspect", "mcp", "serve")
    ),
    "toolkeel_studio.cli.acp_command",
    "toolkeel_studio.cli.runs",
    "toolkeel_studio.cli.skills",
    "toolkeel_studio.cli.worker",
)

Edges = dict[str, set[str]]


@dataclass(frozen=True, order=True)
class Import:
    """One import of a module of the library.

    Args:
        source: Dotted name of the importing module.
        target: Dotted name of the imported one.
        place: ``path:line``.
        late: Whether it happens inside a function or through importlib.
    """

    source: str
    target: str
    place: str
    late: bool


def violations(modules: Sequence[Module]) -> list[str]:
    """Every import that breaks the order, each as ``path:line: what is wrong``."""
    imports = sorted({found for each in modules for found in imports_of(each, modules)})
    rows = [row for module in modules for row in _unplaced(module)]
    rows += [row for module in modules for row in _lazy_attributes(module)]
    rows += [f"{i.place}: {reason}" for i in imports if (reason := _reason(i))]
    edges: Edges = {module.name: set() for module in modules}
    for found in imports:
        edges[found.source].add(found.target)
    rows += [f"cycle: {' -> '.join(cycle)}" for cycle in cycles(edges)]
    return rows


def imports_of(module: Module, modules: Sequence[Module]) -> Iterator[Import]:
    """Every import of the library in one module: open, late, or under TYPE_CHECKING."""
    known = {each.name for each in modules}
    late_nodes = _inside_functions(module.tree)
    for node in ast.walk(module.tree):
        for dotted, by_name in _targets(node, module):
            target = _existing(dotted, known)
            partial = by_name and target == PACKAGE and module.name in LATE
            if target and target != module.name and not partial:
                late = by_name or node in late_nodes
                yield Import(module.name, target, f"{module.path}:{_line(node)}", late)


def cycles(edges: Edges) -> list[list[str]]:
    """One walk in a circle for every group of modules that import each other."""
    found: list[list[str]] = []
    done: set[str] = set()

    def visit(name: str, trail: list[str]) -> None:
        if name in trail:
            found.append([*trail[trail.index(name) :], name])
            return
        if name in done:
            return
        for target in sorted(edges.get(name, ())):
            visit(target, [*trail, name])
        done.add(name)

    for name in sorted(edges):
        visit(name, [])
    return found


def chapter_of(name: str) -> str:
    """Return the top-level folder or file that a module belongs to; ``words`` for shared ones."""
    top, *parts = name.split(".")
    if top == PACKAGE and parts and parts[0] in WORDS:
        return "words"
    return parts[0] if parts else ""


def _distribution(name: str) -> int:
    top = name.partition(".")[0]
    return next(i for i, layer in enumerate(DISTRIBUTIONS) if top in layer)


def _layer(name: str) -> int:
    layers = LAYERS[name.partition(".")[0]]
    return next((i for i, row in enumerate(layers) if chapter_of(name) in row), -1)


def _reason(found: Import) -> str:
    """Say why an import is not allowed; empty if it is."""
    source, target = found.source, found.target
    if (source, target) in EXCEPTIONS:
        return ""
    if found.late and source not in LATE:
        return f"{source} loads {target} late; only {', '.join(LATE)} may"
    top, other = source.partition(".")[0], target.partition(".")[0]
    if top != other:
        if _distribution(other) < _distribution(top):
            return ""
        return f"{source} imports {target}: {other} comes after {top}"
    if source in LAST:
        return ""
    if target in LAST:
        return f"{source} imports {target}, which comes after everything"
    here, there = chapter_of(source), chapter_of(target)
    if here == there or _layer(target) < _layer(source):
        return ""
    if _layer(target) == _layer(source):
        if top in FREE:
            return ""
        return f"{source} imports {target}: {here} and {there} stand side by side"
    return f"{source} imports {target}: {there} comes after {here}"


def _unplaced(module: Module) -> Iterator[str]:
    """Say so if no layer has this module."""
    if module.name not in LAST and _layer(module.name) < 0:
        yield f"{module.path}: {chapter_of(module.name)!r} is in no layer (tests/gates/layers.py)"


def _lazy_attributes(module: Module) -> Iterator[str]:
    """A module-level ``__getattr__`` is a late import in disguise; a door's is `door`'s."""
    for node in module.tree.body:
        is_lazy = isinstance(node, ast.FunctionDef) and node.name == "__getattr__"
        if is_lazy and module.name not in LATE:
            yield f"{module.path}:{_line(node)}: {module.name} loads late by __getattr__"


def _inside_functions(tree: ast.Module) -> set[ast.AST]:
    return {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for inner in ast.walk(node)
    }


def _targets(node: ast.AST, module: Module) -> Iterator[tuple[str, bool]]:
    """Dotted names that a node imports, and whether it does so by a string."""
    match node:
        case ast.Import(names=names):
            yield from ((alias.name, False) for alias in names)
        case ast.ImportFrom(module=base, names=names, level=level):
            start = _absolute(base or "", level, module)
            yield from ((f"{start}.{alias.name}", False) for alias in names)
        case ast.Call(func=func, args=[first, *_]) if _is_import_function(func):
            text = _leading_text(first)
            yield _absolute(text.lstrip("."), len(text) - len(text.lstrip(".")), module), True


def _absolute(base: str, level: int, module: Module) -> str:
    if not level:
        return base
    parts = module.name.split(".")
    start = parts[: len(parts) - level + module.is_package]
    return ".".join([*start, base] if base else start)


def _is_import_function(func: ast.expr) -> bool:
    name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
    return name in ("import_module", "__import__")


def _leading_text(node: ast.expr) -> str:
    """The text a string begins with, as far as it stands in the source."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=[ast.Constant(value=str(text)), *_]):
            return text
        case ast.BinOp(left=left):
            return _leading_text(left)
        case _:
            return ""


def _existing(dotted: str, known: set[str]) -> str:
    """The longest part of a dotted name that is a module; empty if it is not ours."""
    while dotted:
        if dotted in known:
            return dotted
        dotted = dotted.rpartition(".")[0]
    return ""


def _line(node: ast.AST) -> int:
    return int(getattr(node, "lineno", 0))
