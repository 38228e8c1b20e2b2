"""Rewrite the imports of a program written for another library, and report what has no counterpart.

Only import statements change; everything else stays byte for byte. A name without a counterpart
gets a note with the replacement to write, and its file stays as it is: objects of two libraries do not
work together.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import re
import tokenize
import warnings
from collections.abc import Container, Iterator, Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import TypeAlias

from toolkeel._lazy_exports import ReplacedName
from toolkeel._records.record import record

_AGENTS = "toolkeel_compat.openai_agents"
_LANGCHAIN = "toolkeel_compat.langchain"
_PYDANTIC_AI = "toolkeel_compat.pydantic_ai"
LIBRARIES: Mapping[str, str] = {
    "agents": _AGENTS,
    "langchain_core": _LANGCHAIN,
    "langchain": _LANGCHAIN,
    "langgraph": _LANGCHAIN,
    "pydantic_ai": _PYDANTIC_AI,
}
"""Packages of other libraries, and what stands for them here; their modules count with them."""
_SUBMODULES: Mapping[str, str] = {
    _AGENTS: "handoff_filters|handoff_prompt|memory|mcp|decorators|tool|items|tracing|lifecycle",
    _PYDANTIC_AI: "usage|exceptions|tools|toolsets|result|settings|models|messages|agent|ui|ag_ui",
    _LANGCHAIN: "tools|messages|prebuilt|types|function_calling|middleware|agents|chat_models",
}
"""By place here: their modules that programs import by name; all they hold stands in that place."""
_GUIDES: Mapping[str, str] = {
    "pydantic_evals": "stays: with pydantic-evals installed it measures any async function, such as lambda text: agent.run(text)",
    "pydantic_graph": "there are no graphs: plain Python joins agents",
    "fastmcp": "toolkeel.mcp.server has the counterparts: docs/mcp-server.md",
}


_MODULE_GUIDES: Mapping[str, str] = {
    r"agents(\.extensions)?\.sandbox": "Workspace(folder) of toolkeel_workspace gives an agent files and a shell: docs/workspace.md",
    r"(agents|pydantic_ai)\.(realtime|voice)": "there is no speech: run this part with its own library, in a process of its own",
}
"""By regular expression of a module: what to write instead of those of its names that are unknown."""

_UNTIL_THEN = "; until then the file stays as it is"
_UNKNOWN = "has no counterpart under this name"
_PARTNER = "stays; a tool comes along by from_langchain(tool), of toolkeel_compat.bridges"
_Import: TypeAlias = ast.Import | ast.ImportFrom


@record
class Note:
    """Something in a program that was not migrated.

    Args:
        line: Line number, from 1.
        text: The name or statement, and what to write instead.
        blocks: The file stays unchanged because of it.
    """

    line: int
    text: str
    blocks: bool = False


@record
class MigrationResult:
    """A program with rewritten imports.

    Args:
        source: The rewritten source text.
        notes: What remains to be done by hand, ordered by line.
    """

    source: str
    notes: tuple[Note, ...]


def migrate(source: str, local_packages: Container[str] = ()) -> MigrationResult:
    r"""Rewrite a program's imports.

    >>> print(migrate("from agents import Agent\n").source, end="")
    from toolkeel_compat.openai_agents import Agent
    >>> made = migrate("from agents import Agent, tool_namespace\n")
    >>> print(made.source, end="")
    from agents import Agent, tool_namespace
    >>> made.notes[0].line
    1

    Args:
        source: Python source text.
        local_packages: Packages of the program itself that share a name with another library.

    Raises:
        SyntaxError: `source` is not valid Python, or is nested too deeply.
    """
    try:
        with warnings.catch_warnings(action="ignore"):  # of what Python warns when it runs
            return _migrate_source(source, local_packages)
    except (RecursionError, MemoryError) as error:
        raise SyntaxError(f"it is nested too deeply: {error}") from None


def _migrate_source(source: str, own: Container[str]) -> MigrationResult:
    nodes = [*ast.walk(ast.parse(source))]
    lines = split_lines(source)
    notes: list[Note] = []
    edits: list[tuple[_Import, list[str]]] = []
    modules: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            made = _replace_import(node, own, notes, modules)
            edits += [] if made is None else [(node, made)]
    if modules:
        notes += _find_missing_attributes([*nodes, *_walk_quoted_annotations(nodes)], modules)
    notes += _find_quoted_modules(nodes)
    if any(note.blocks for note in notes):
        edits = []
    for node, statements in sorted(edits, key=lambda edit: _get_position(edit[0]), reverse=True):
        _replace_statement(lines, node, statements)
    return MigrationResult("".join(lines), tuple(sorted(notes, key=lambda note: note.line)))


def _replace_import(
    node: _Import, own: Container[str], notes: list[Note], modules: dict[str, str]
) -> list[str] | None:
    """Return the statements that replace an import; None to leave it unchanged."""
    relative = isinstance(node, ast.ImportFrom) and (node.level or not node.module)
    names = [str(getattr(node, "module", None) or alias.name) for alias in node.names]
    mine = [name for name in names if name.split(".")[0] in own]
    if mine and not relative:
        text = f"{mine[0]} stays: this program has a module of its own that is called so"
        notes.append(Note(node.lineno, text))
    if mine or relative:
        return None
    if isinstance(node, ast.Import):
        return _rewrite_module_imports(node, notes, modules)
    return _rewrite_from_import(node, notes, modules)


def _walk_quoted_annotations(nodes: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """Yield the syntax nodes of string annotations, each with the line of its string."""
    for node in nodes:
        for annotation in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            for part in ast.walk(annotation) if annotation is not None else ():
                yield from _parse_quoted(part)


def _parse_quoted(part: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes in a string annotation; none if it is not Python, as in ``Annotated[...]``."""
    if isinstance(part, ast.Constant) and isinstance(part.value, str):
        with contextlib.suppress(SyntaxError):
            read = ast.parse(part.value.strip(), mode="eval")
            yield from ast.walk(ast.increment_lineno(read, part.lineno - 1))


def split_lines(text: str) -> list[str]:
    """Split text into lines as Python counts them: a form feed or U+2028 ends none."""
    return list(io.StringIO(text, newline=""))


def _get_position(node: ast.stmt) -> tuple[int, int]:
    return node.lineno, node.col_offset


def migrate_notebook(source: str) -> MigrationResult:
    """Rewrite the imports of a notebook's cells, or of none if one cannot move. See `migrate`.

    Args:
        source: The notebook's JSON.

    Raises:
        ValueError: `source` is not a notebook.
    """
    book = json.loads(source)
    if not isinstance(book, dict) or "cells" not in book:
        raise ValueError("it has no cells")
    notes: list[Note] = []
    for number, cell in enumerate(book["cells"], 1):
        before = "".join(cell["source"])
        if cell["cell_type"] != "code" or not _MENTIONS.search(before):
            continue
        made = _migrate_cell(before)
        notes += [Note(one.line, f"cell {number}{one.text}", one.blocks) for one in made.notes]
        many = isinstance(cell["source"], list)
        cell["source"] = split_lines(made.source) if many else made.source
    changed = book != json.loads(source) and not any(note.blocks for note in notes)
    text = json.dumps(book, ensure_ascii=False, indent=1) + "\n" if changed else source
    return MigrationResult(text, tuple(notes))


def _migrate_cell(text: str) -> MigrationResult:
    """Migrate one cell, leaving magics alone. Return a cell that is not Python unchanged."""
    try:
        if text.startswith("%%") and not text.startswith(_PYTHON_CELL_MAGICS):
            raise SyntaxError(f"it is for {text.split()[0]}")
        made = migrate("".join(_MAGIC_LINE.sub(_MAGIC_PREFIX, line) for line in split_lines(text)))
    except SyntaxError as error:
        return MigrationResult(
            text, (Note(error.lineno or 1, f" stays as no Python: {error.msg}"),)
        )
    notes = tuple(Note(one.line, f": {one.text}", one.blocks) for one in made.notes)
    return MigrationResult(made.source.replace(_MAGIC_PREFIX, ""), notes)


_MENTIONS = re.compile("|".join([*LIBRARIES, *_GUIDES]))
_PYTHON_CELL_MAGICS = ("%%time", "%%capture", "%%prun")
"""First lines of cells that are Python all the same."""
_MAGIC_LINE = re.compile(r"^(?=\s*[%!?])")
"""Before a line of a notebook that is no Python."""
_MAGIC_PREFIX = "#\N{INVISIBLE SEPARATOR}"


def _rewrite_module_imports(
    node: ast.Import, notes: list[Note], modules: dict[str, str]
) -> list[str] | None:
    """Rewrite ``import module`` statements. All names of a library are in one package here."""
    made: list[str] = []
    for alias in node.names:
        package = alias.name.split(".")[0]
        if package in _GUIDES:
            notes.append(Note(node.lineno, f"import {alias.name}: {_GUIDES[package]}"))
        ours = LIBRARIES.get(package)
        if ours is not None and (alias.asname or alias.name == package):
            made.append(_format_module_import(ours, alias.asname or alias.name, modules))
            continue
        if ours is not None:
            text = f"import {alias.name}: import the names you use from {ours}{_UNTIL_THEN}"
            notes.append(Note(node.lineno, text, blocks=True))
        made.append(f"import {alias.name}{f' as {alias.asname}' if alias.asname else ''}")
    return made if any(one.startswith("from") for one in made) else None


def _format_module_import(ours: str, name: str, modules: dict[str, str]) -> str:
    """Return an import of our package under the name of one of the library's modules."""
    modules[name] = ours
    place, _, last = ours.rpartition(".")
    return f"from {place} import {last}{'' if name == last else f' as {name}'}"


def _find_missing_attributes(
    nodes: Sequence[ast.AST], modules: Mapping[str, str]
) -> Iterator[Note]:
    """Yield a note for each attribute used of an imported module that is missing here."""
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            ours = modules.get(node.value.id)
            if ours is not None and (problem := _explain_missing(ours, node.attr)):
                text = f"{node.value.id}.{node.attr}: {problem}{_UNTIL_THEN}"
                yield Note(node.lineno, text, blocks=True)


def _find_quoted_modules(nodes: Sequence[ast.AST]) -> Iterator[Note]:
    """Yield a note for each module named in a string: dynamic imports, patches, code in text."""
    for node in nodes:
        match node:
            case ast.Call(func=called, args=[ast.Constant(value=str(text)), *_]):
                name, ours = ast.unparse(called), LIBRARIES.get(text.split(".")[0])
                if ours is not None and name.rpartition(".")[2] in _IMPORTING_CALLS:
                    yield Note(node.lineno, f"{name}({text!r}): all its names stand in {ours}")
            case ast.Constant(value=str(text)):
                for found in _QUOTED_IMPORT.finditer(text):
                    note = f"a text holds {found[0].strip()!r:.80}, which stays"
                    yield Note(node.lineno, note)


_IMPORTING_CALLS = ("import_module", "__import__", "patch", "importorskip", "find_spec", "setattr")
_QUOTED_IMPORT = re.compile(
    r"^[ \t>.]*(?:from[ \t]+(?:{0})[.\w]*[ \t]+import|import[ \t]+(?:{0})(?=[\s.,;]|$)).*$".format(
        "|".join(LIBRARIES)
    ),
    re.MULTILINE,
)
"""An import in a text: code that the program writes or runs, or an example."""


def _rewrite_from_import(
    node: ast.ImportFrom, notes: list[Note], modules: dict[str, str]
) -> list[str] | None:
    """Return the statements that replace one ``from`` import; None to leave it unchanged."""
    package = str(node.module).split(".")[0]
    if package in _GUIDES:
        notes.append(Note(node.lineno, f"from {node.module}: {_GUIDES[package]}"))
    is_partner = package not in LIBRARIES
    if is_partner and not package.startswith("langchain_"):
        return None
    ours = LIBRARIES.get(package, _LANGCHAIN)
    made: list[str] = []
    known: list[ast.alias] = []
    left: list[ast.alias] = []
    for alias in node.names:
        problem = _explain_missing(ours, alias.name)
        if not problem:
            known.append(alias)
        elif problem.startswith("from "):  # the import of a name that is another package's
            made.append(f"{problem} as {alias.asname}" if alias.asname else problem)
        elif re.fullmatch(_SUBMODULES[ours], alias.name):
            made.append(_format_module_import(ours, alias.asname or alias.name, modules))
        elif is_partner:
            left.append(alias)
            instead = _PARTNER if problem == _UNKNOWN else problem
            notes.append(Note(node.lineno, f"{node.module}.{alias.name}: {instead}"))
        else:
            left.append(alias)
            instead = _explain_unknown(str(node.module)) if problem == _UNKNOWN else problem
            text = f"{node.module}.{alias.name}: {instead}{_UNTIL_THEN}"
            notes.append(Note(node.lineno, text, blocks=True))
    made += [_format_import(ours, known)] if known else []
    return [*made, *([_format_import(str(node.module), left)] if left else [])] if made else None


def _explain_unknown(module: str) -> str:
    """Return what to write instead of an unknown name of a module."""
    guides = (text for known, text in _MODULE_GUIDES.items() if re.match(rf"{known}(\.|$)", module))
    return next(guides, _UNKNOWN)


def _explain_missing(module: str, name: str) -> str:
    """Return why a module lacks a name, or an empty string if the name exists."""
    if name == "*":
        return "name what is used"
    try:
        if isinstance(getattr(import_module(module), name), ModuleType):
            return "is a module: import the names you use"
    except (ImportError, ReplacedName) as error:
        text = str(error)
        return text.partition(": ")[2] or text
    except AttributeError:
        return _UNKNOWN
    return ""


def _format_import(module: str, names: Sequence[ast.alias]) -> str:
    words = [f"{a.name} as {a.asname}" if a.asname else a.name for a in names]
    line = f"from {module} import {', '.join(words)}"
    if len(line) <= 100:
        return line
    return f"from {module} import (\n" + "".join(f"    {word},\n" for word in words) + ")"


def _find_comments(text: str) -> Iterator[str]:
    """Yield the comments on all lines of an import but its last."""
    with contextlib.suppress(tokenize.TokenError):  # its bracket is still open
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                yield token.string


def _replace_statement(lines: list[str], node: _Import, statements: Sequence[str]) -> None:
    """Replace a statement in place, preserving other code on its lines."""
    first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
    before = lines[first].encode()[: node.col_offset].decode()
    after = lines[last].encode()[node.end_col_offset :].decode()
    indent = before if not before.strip() else ""
    end = "\r\n" if lines[first].endswith("\r\n") else "\n"
    joint = "; " if before.strip() else f"{end}{indent}"
    if not before.strip():  # what is said within the import stands above it
        statements = [*_find_comments("".join(lines[first:last])), *statements]
    text = joint.join(statement.replace("\n", f"{end}{indent}") for statement in statements)
    lines[first : last + 1] = [before + text + after]
