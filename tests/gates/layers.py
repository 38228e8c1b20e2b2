"""The order of the library's files, and the imports that break it.

`CHAPTERS` is the order of reading and of importing: a file imports only from the chapters before
its own and, within its chapter, from the files before it. A new file is a new name in this table,
at the place where a reader should meet it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.gates.sources import PACKAGE, Module

# "*" stands for every file of the chapter that has no name here; those do not import each other.
CHAPTERS: dict[str, tuple[str, ...]] = {
    "words": (
        "record",
        "redact",
        "approval",
        "errors",
        "content",
        "inline",
        "messages",
        "effects",
        "hosted",
        "model",
        "events",
        "context",
    ),
    "define": (
        "names",
        "docstring",
        "inject",
        "signature",
        "subschemas",
        "secret",
        "defaults",
        "maker",
        "phrase",
        "explain",
        "fields",
        "modern",
        "canonical",
        "closed",
        "parameter_field",
        "written",
        "fragments",
        "joined",
        "schema",
        "output",
        "unionless",
        "mismatch",
        "bounds",
        "foreign",
        "old_model",
        "dialect.facts",
        "dialect.normal",
        "dialect.merge",
        "dialect.run",
        "dialect.unions",
        "dialect.rules",
        "dialect.compiler",
        "dialect",
        "definition",
        "importing",
        "compile",
        "options",
        "tool",
        "decorator",
        "base",
        "answer",
    ),
    "call": (
        "step",
        "deadline",
        "stop",
        "threads",
        "bridge",
        "shortcut",
        "parse",
        "partial",
        "coerce",
        "validate",
        "mask",
        "commands",
        "rules",
        "approve",
        "limit",
        "lock",
        "cache",
        "retry",
        "whole",
        "invoke",
        "render",
        "failure",
        "guard",
        "guarded",
        "pipeline",
        "batch",
        "toolset",
        "provider",
        "search",
        "offer",
        "direct",
    ),
    "agent": (
        "assemble",
        "partial",
        "bind",
        "transcript",
        "transcript_media",
        "correction",
        "output",
        "saved",
        "decided",
        "prompt",
        "loop",
        "result",
        "resume",
        "nested",
        "agent",
    ),
    "providers": (
        "wire",
        "sse",
        "ids",
        "media",
        "ownership",
        "claude",
        "held",
        "layout",
        "wiretools",
        "turns",
        "growing",
        "http",
        "retry",
        "chat_profile",
        "chat_calls",
        "chat_stream",
        "chat_encode",
        "text_forms",
        "text_calls",
        "openai_chat",
        "chat_body",
        "openai_client",
        "openai_model",
        "responses_item",
        "responses_native",
        "responses_stream",
        "responses_encode",
        "openai_responses",
        "responses_body",
        "responses_model",
        "gemini_part",
        "gemini_stream",
        "gemini_encode",
        "gemini",
        "gemini_model",
        "anthropic_block",
        "anthropic_stream",
        "anthropic_encode",
        "anthropic",
        "anthropic_body",
        "anthropic_model",
        "bedrock_block",
        "bedrock_stream",
        "bedrock_encode",
        "bedrock",
        "bedrock_model",
        "*",
        "offline.table",
        "offline.math",
        "offline.words",
        "offline.values",
        "offline.slots",
        "offline.swap",
        "offline.match",
        "offline.text",
        "offline.read",
        "offline.fill",
        "offline.plan",
        "offline.turn",
        "offline.talk",
        "offline.mend",
        "offline.say",
        "offline.answer",
        "offline.model",
        "offline",
        "discover",
        "auto",
        "connect",
    ),
    "mcp": (
        "content",
        "config",
        "store",
        "hidden",
        "consent",
        "pins",
        "client_frames",
        "client_stdio",
        "client_http",
        "client_auth",
        "client_elicit",
        "client_link",
        "client_tool",
        "client",
        "target",
        "server_rounds",
        "server_client",
        "server_parts",
        "server_offer",
        "server_calls",
        "server_sessions",
        "server",
        "server_http",
        "server_stdio",
    ),
    "engines": (
        "protected",
        "places",
        "seccomp",
        "supervise",
        "cgroup",
        "bubblewrap",
        "landlock",
        "memory",
        "running",
        "sandbox",
        "worker",
        "process",
        "*",
    ),
    "sessions": ("*",),
    "observe": ("*",),
    "testing": ("faults", "scripted", "replay", "plugin"),
    "builtin": (
        "beneath",
        "window",
        "linear",
        "walk",
        "ripgrep",
        "find",
        "grep",
        "replace",
        "edit",
        "pictures",
        "shrink",
        "files",
        "shell",
        "workspace",
        "local_shell",
        "patch",
        "weather_fixture",
        "addresses",
        "inflate",
        "webclient",
        "documents",
        "exfiltration",
        "web_backends",
        "terms",
        "chunks",
        "filters",
        "embeddings",
        "vector_store",
        "ranking",
        "indexing",
        "code_run",
        "code_tools",
        "code_folder",
        "code_monty",
        "code_kernel",
        "computer_actions",
        "*",
        "search",
        "hosted",
        "catalog",
        "loading",
        "collect",
        "targets",
    ),
    "compat": (
        "langchain_messages",
        "langchain_injected",
        "langchain_store",
        "langchain_convert",
        "langchain_errors",
        "langchain_run",
        "langchain_agent",
        "langchain_tools",
        "langchain",
        "agents_context",
        "agents_verdicts",
        "agents_guardrails",
        "agents_tools",
        "agents_state",
        "agents_agent",
        "agents_run",
        "agents_hosted",
        "agents_mcp",
        "agents_shell",
        "agents_computer",
        "openai_agents",
        "bridge_run",
        "openapi_document",
        "openapi_request",
        "openapi",
        "*",
    ),
    "inspector": ("feed", "app"),
    "cli": (
        "exits",
        "text",
        "terminal",
        "interrupt",
        "arguments",
        "progress",
        "keys",
        "approve",
        "consent",
        "state",
        "launch",
        "call",
        "tools",
        "check",
        "*",
        "doctor",
        "main",
    ),
}
WORDS = CHAPTERS["words"]
# Side by side: none of these imports another.
SIBLINGS = ("providers", "mcp", "engines", "sessions", "observe", "testing")
# The map and the way in come after everything; nothing of the library imports them.
LAST = (PACKAGE, f"{PACKAGE}.__main__")
# The only files that may load a module of the library late.
LATE = (
    PACKAGE,
    f"{PACKAGE}.define.compile",
    f"{PACKAGE}.providers.connect",
    f"{PACKAGE}.cli.main",
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
    """The chapter a module belongs to."""
    parts = name.split(".")[1:]
    return "words" if parts and parts[0] in WORDS else parts[0] if parts else ""


def _reason(found: Import) -> str:
    """Why this import is not allowed; empty if it is."""
    source, target = found.source, found.target
    if found.late and source not in LATE:
        return f"{source} loads {target} late; only {', '.join(LATE)} may"
    if target in LAST and source not in LAST:
        return f"{source} imports {target}, which comes after everything"
    if source in LAST:
        return ""
    here, there = chapter_of(source), chapter_of(target)
    if here == there:
        return _reason_within(here, source, target)
    if here in SIBLINGS and there in SIBLINGS:
        return f"{source} imports {target}: {here} and {there} stand side by side"
    order = list(CHAPTERS)
    if here in order and there in order and order.index(there) > order.index(here):
        return f"{source} imports {target}: {there} comes after {here}"
    return ""


def _reason_within(chapter: str, source: str, target: str) -> str:
    before, after = _rank(chapter, target), _rank(chapter, source)
    if before < after or min(before, after) < 0:  # a file without a place has a row of its own
        return ""
    return f"{source} imports {target}, which does not come before it in {chapter}"


def _rank(chapter: str, name: str) -> int:
    """The place in the chapter's row; a chapter's ``__init__`` comes last."""
    row = CHAPTERS.get(chapter, ())
    parts = name.split(".")[1:]
    file = parts[0] if chapter == "words" else ".".join(parts[1:])
    if not file:
        return len(row)
    return row.index(file) if file in row else row.index("*") if "*" in row else -1


def _unplaced(module: Module) -> Iterator[str]:
    """Say so if the table has no place for this module."""
    if module.name in LAST:
        return
    chapter = chapter_of(module.name)
    if chapter not in CHAPTERS:
        yield f"{module.path}: no chapter of this name in CHAPTERS (tests/gates/layers.py)"
    elif _rank(chapter, module.name) < 0:
        yield f"{module.path}: has no place in CHAPTERS[{chapter!r}] (tests/gates/layers.py)"


def _lazy_attributes(module: Module) -> Iterator[str]:
    """A module-level ``__getattr__`` is a late import in disguise."""
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
