"""Print the tests to run after a change of one file: its own, and those of what imports it.

``python scripts/tests_for.py packages/toolkeel/src/toolkeel/call/batch.py`` prints paths for pytest.
A test file stands for itself; a Markdown document for the run of its Python, which is a slow test.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def mirror(source: Path) -> Path | None:
    """Return the test file of a source file; None if it has none.

    >>> mirror(Path("packages/toolkeel/src/toolkeel/call/batch.py")).as_posix()
    'packages/toolkeel/tests/call/test_batch.py'
    """
    parts = source.parts
    if "src" not in parts:
        return source
    at = parts.index("src")
    found = Path(*parts[:at], "tests", *parts[at + 2 : -1], f"test_{parts[-1]}")
    return found if (ROOT / found).is_file() else None


def module_name(source: Path) -> str:
    """Return the dotted name of a source file."""
    parts = source.with_suffix("").parts
    inside = parts[parts.index("src") + 1 :]
    return ".".join(inside[:-1] if inside[-1] == "__init__" else inside)


def imports(file: Path) -> Iterator[str]:
    """Yield the dotted names that a file imports, with the names imported from them."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def tests_for(changed: Path) -> list[Path]:
    """List the test files of a file and of the source files that import it directly.

    Args:
        changed: Relative to the repository's root.
    """
    if "src" not in changed.parts:
        return [changed]
    name = module_name(changed)
    sources = [path.relative_to(ROOT) for path in ROOT.glob("packages/*/src/**/*.py")]
    importing = [path for path in sources if name in set(imports(ROOT / path))]
    found = [mirror(path) for path in (changed, *sorted(importing))]
    return list(dict.fromkeys(path for path in found if path is not None))


def document_arguments(document: Path) -> list[str]:
    """Return pytest's arguments for the run of a document's Python.

    >>> document_arguments(Path("docs/runs.md"))
    ['-mslow', '-kdocs/runs.md', 'tests/gates/test_docs.py']
    """
    return ["-mslow", f"-k{document.as_posix()}", "tests/gates/test_docs.py"]


def main(words: list[str]) -> None:
    """Print pytest's arguments for the files that are named.

    Raises:
        SystemExit: a file does not exist.
    """
    found: list[str] = []
    for word in words:
        path = Path(word).resolve()
        if not path.is_file():
            raise SystemExit(f"there is no file {word}")
        path = path.relative_to(ROOT)
        if path.suffix == ".md":
            found += document_arguments(path)
        else:
            found += [each.as_posix() for each in tests_for(path)]
    print("\n".join(dict.fromkeys(found)))


if __name__ == "__main__":
    main(sys.argv[1:])
