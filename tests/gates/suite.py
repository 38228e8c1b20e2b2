"""The test suite as the gates see it: its tests, their names, mocks and excuses."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.shared import ROOT

MOCKS = {"Mock", "MagicMock", "AsyncMock", "NonCallableMock", "PropertyMock", "create_autospec"}
# Imported only where `make test-slow` has installed them, so by slow tests alone.
OF_PEERS = ("'agents'", "'agents.", "'langchain_core", "'langgraph", "'pydantic_ai")
# The one place that may end a test without a verdict.
MAY_SKIP = "tests/shared.py"


@dataclass(frozen=True)
class TestFile:
    """One file of the tests.

    Args:
        path: Relative to the repository's root, with forward slashes.
        tree: Its syntax tree.
    """

    __test__ = False  # pytest: a record, not a test

    path: str
    tree: ast.Module

    @property
    def tests(self) -> list[tuple[str, int]]:
        """Name and line of every test function."""
        return [
            (node.name, node.lineno)
            for node in ast.walk(self.tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and node.name.startswith("test_")
            and Path(self.path).name.startswith("test_")
        ]


@cache
def suite_files() -> list[TestFile]:
    """Every Python file of the tests, of the repository and of each distribution."""
    folders = [ROOT / "tests", *sorted(ROOT.glob("packages/*/tests"))]
    files = [path for folder in folders for path in sorted(folder.rglob("*.py"))]
    paths = [path for path in files if "node_modules" not in path.parts]
    return [read(p.relative_to(ROOT).as_posix(), p.read_text("utf-8")) for p in paths]


def read(path: str, text: str) -> TestFile:
    """A test file from its text."""
    return TestFile(path, ast.parse(text, filename=path))


def mocks(file: TestFile) -> Iterator[str]:
    """Where a file puts something false in the place of a real part."""
    for node in ast.walk(file.tree):
        if isinstance(node, ast.Call):
            words = ast.unparse(node.func).split(".")
            is_mock = words[-1] in MOCKS or "patch" in words or words[0] == "mocker"
            if is_mock or words[-2:] == ["monkeypatch", "setattr"]:
                yield f"{file.path}:{node.lineno}: {'.'.join(words)}"


def excuses(file: TestFile) -> Iterator[str]:
    """Where a file skips a test or expects it to fail."""
    if file.path == MAY_SKIP:
        return
    for node in ast.walk(file.tree):
        if isinstance(node, ast.Attribute):
            word = ast.unparse(node)
            if word.startswith("pytest.") and node.attr in (
                "skip",
                "skipif",
                "xfail",
                "importorskip",
            ):
                yield f"{file.path}:{node.lineno}: {word}"


def quick_peers(file: TestFile) -> Iterator[str]:
    """Tests that use a library of requirements/peers.txt and would also run where it is missing."""
    lines = [ast.unparse(node) for node in file.tree.body]
    is_slow = "pytestmark = pytest.mark.slow" in lines
    if is_slow or not any(
        line.startswith("from tests.shared import") and " peer" in line for line in lines
    ):
        return
    for test in file.tree.body:
        if isinstance(test, ast.FunctionDef | ast.AsyncFunctionDef) and "test_" in test.name:
            text = ast.unparse(test)
            marks = [ast.unparse(mark) for mark in test.decorator_list]
            if "pytest.mark.slow" not in marks and any(name in text for name in OF_PEERS):
                yield f"{file.path}:{test.lineno}: {test.name} needs @pytest.mark.slow"


def unlike_sentences(file: TestFile) -> Iterator[str]:
    """Tests whose names say less than four words."""
    for name, line in file.tests:
        if len([word for word in name.split("_") if word]) < 5:
            yield f"{file.path}:{line}: {name} (4 words after test_)"


def mirror_of(source: str) -> str:
    """Where the tests of a source file stand.

    >>> mirror_of("packages/toolkeel/src/toolkeel/define/tool.py")
    'packages/toolkeel/tests/define/test_tool.py'
    """
    distribution, _, inside = source.partition("/src/")
    folder, _, file = inside.partition("/")[2].rpartition("/")
    return "/".join(part for part in (distribution, "tests", folder, f"test_{file}") if part)
