"""How folders are laid out, what their maps say, and how lines of code are counted."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator, Sequence

from tests.gates.sources import PACKAGE, Module

MODULES = 20
SIBLINGS = 2


def folders(modules: Sequence[Module]) -> dict[str, tuple[str, list[str]]]:
    """Docstring of each folder's front, and what the folder holds: modules and folders, by name."""
    held: dict[str, tuple[str, list[str]]] = {}
    for module in modules:
        if module.is_package:
            held.setdefault(module.name, ("", []))
            held[module.name] = (ast.get_docstring(module.tree) or "", held[module.name][1])
    for module in modules:
        parent, _, last = module.name.rpartition(".")
        if parent in held and last != "__main__":
            held[parent][1].append(last)
    return held


def crowded(modules: Sequence[Module]) -> Iterator[str]:
    """Folders of too many modules, and siblings that should be a folder of their own."""
    packages = {module.name for module in modules if module.is_package}
    for folder, (_, inside) in folders(modules).items():
        files = [name for name in inside if f"{folder}.{name}" not in packages]
        if len(files) > MODULES:
            yield f"{folder}: {len(files)} modules ({MODULES})"
        prefixes = Counter(name.lstrip("_").split("_")[0] for name in inside)
        for prefix, count in prefixes.items():
            if count > SIBLINGS:
                yield f"{folder}: {count} modules begin with {prefix!r} ({SIBLINGS}); make a folder"


def unmapped(modules: Sequence[Module]) -> Iterator[str]:
    """Folders whose docstring does not name each of their modules once, a line each."""
    for folder, (text, inside) in folders(modules).items():
        if folder == PACKAGE:  # its map is the architecture's
            continue
        told = Counter(re.findall(r"(?m)^([a-z_][a-z0-9_]*)(?=  |$)", text))
        for name in inside:
            if told[name] != 1:
                yield f"{folder}: its map names {name!r} {told[name]} times"
        for name in told.keys() - set(inside):
            yield f"{folder}: its map names {name!r}, which is not there"


def code_lines(module: Module) -> int:
    """Lines that are neither blank nor comment nor docstring.

    >>> code_lines(Module("toolkeel.x", "x.py", '"A text."' + chr(10) + "# why" + chr(10) + "x = 1"))
    1
    """
    text = {
        number
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    skipped = (
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    )
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(module.text).readline):
        if token.type not in skipped:
            found.update(range(token.start[0], token.end[0] + 1))
    return len(found - text)
