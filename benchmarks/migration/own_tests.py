"""Run other libraries' own unit tests for tools over this library's names.

``python -m benchmarks.migration.own_tests --original PYTHON`` fetches the source distributions from
the package index, changes a copy of their tests with `toolkeel migrate`, runs it, and says by file
what passes. With ``PYTHON``, an interpreter that has the originals, the tests run there as well, and
only those count that pass there. What a test imports and is not here becomes a stand-in that fails
when it is used, so that one missing name costs the tests that use it alone. The libraries
themselves cannot be imported by the changed tests.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as Xml
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.migration.fetching import fetch, plugins
from toolkeel_compat.migrate import LIBRARIES, migrate

SEEDED = Path(__file__).parent / "seeded"
HERE, ABSENT, DIFFERS = "passes", "asks for what is not here", "differs"


@dataclass(frozen=True)
class Suite:
    """Tests of one library.

    Args:
        distribution: Name and version at the package index.
        folder: Where its tests lie.
        files: Which of them are for tools, by pattern.
        settings: Whether their ``conftest.py`` is read: those of some set up the library's insides.
    """

    distribution: str
    folder: str
    files: tuple[str, ...]
    settings: bool = True


SUITES: Mapping[str, Suite] = {
    "agents": Suite(
        "openai-agents==0.24.0",
        "tests",
        (
            "test_function_tool.py", "test_function_tool_decorator.py", "test_function_schema.py",
            "test_tool_guardrails.py", "test_tool_output_conversion.py", "test_tool_context.py",
            "test_tool_use_behavior.py", "test_tool_choice_reset.py", "test_tool_converter.py",
            "test_output_tool.py", "test_handoff_tool.py",
            "test_shell_tool.py", "test_local_shell_tool.py", "test_apply_patch_tool.py",
            "test_apply_diff.py", "test_computer_action.py", "test_items_helpers.py",
            "test_extension_filters.py", "test_decorators.py",
        ),
        settings=False,
    ),
    "langchain-core": Suite(
        "langchain-core==1.7.2",
        "tests",
        (
            "unit_tests/test_tools.py", "unit_tests/test_tools_postponed_annotations.py",
            "unit_tests/utils/test_function_calling.py",
        ),
        settings=False,
    ),
    "langgraph-prebuilt": Suite(
        "langgraph-prebuilt==1.1.2",
        "tests",
        (
            "test_tool_node.py", "test_tool_node_interceptor_unregistered.py",
            "test_tool_node_validation_error_filtering.py", "test_on_tool_call.py",
            "test_injected_state_not_required.py", "test_react_agent.py",
        ),
        settings=False,
    ),
    "langchain": Suite(
        "langchain==1.4.7",
        "tests",
        (
            "unit_tests/agents/test_create_agent_tool_validation.py",
            "unit_tests/agents/test_injected_runtime_create_agent.py",
            "unit_tests/agents/test_invalid_tool_calls.py",
            "unit_tests/agents/test_kwargs_tool_runtime_injection.py",
            "unit_tests/agents/test_state_schema.py",
            "unit_tests/agents/test_return_direct_spec.py",
            "unit_tests/agents/middleware/core/test_*.py",
            "unit_tests/agents/middleware/implementations/test_human_in_the_loop.py",
            "unit_tests/tools/test_*.py",
        ),
        settings=False,
    ),
}  # fmt: skip


def changed(source: str) -> str:
    """A program with its imports changed, and a stand-in for each that is not here.

    >>> print(changed("from agents.run_internal import run_loop as loop\\n"), end="")
    from absent import absent; loop = absent('agents.run_internal.run_loop')
    """
    made = migrate(source).source
    lines = made.splitlines(keepends=True)
    for node in sorted(_left(made), key=lambda one: -one.lineno):
        prefix = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
        names = [
            f"{alias.asname or alias.name.split('.')[0]} = absent({prefix + alias.name!r})"
            for alias in node.names
        ]
        first, last = node.lineno - 1, node.end_lineno or node.lineno
        indent = lines[first][: node.col_offset]
        lines[first:last] = [f"{indent}{'; '.join(['from absent import absent', *names])}\n"]
    return "".join(lines)


def _left(source: str) -> Iterable[ast.Import | ast.ImportFrom]:
    """Imports of the libraries that have stayed."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and not node.level:
            if str(node.module).split(".")[0] in LIBRARIES:
                yield node
        elif isinstance(node, ast.Import) and any(
            alias.name.split(".")[0] in LIBRARIES for alias in node.names
        ):
            yield node


def prepared(suite: Suite, folder: Path) -> tuple[Path, Path]:
    """The tests as they are, and a copy with their imports changed."""
    root = fetch(folder, suite.distribution)
    ours = folder / "own" / root.name
    shutil.rmtree(ours, ignore_errors=True)
    shutil.copytree(root / suite.folder, ours / "tests")
    for path in (ours / "tests").rglob("*.py"):
        try:
            path.write_text(changed(path.read_text()))
        except SyntaxError:  # data of tests
            continue
    return root, ours


def run(
    python: str, root: Path, suite: Suite, packages: Path, *, alone: bool
) -> dict[str, tuple[str, str]]:
    """By test: its verdict, and why.

    Args:
        python: The interpreter.
        root: Where ``tests`` lies.
        suite: Which tests.
        packages: Where what the tests need besides is.
        alone: Whether the original libraries shall not be found.
    """
    found = sorted({p for pattern in suite.files for p in (root / "tests").glob(pattern)})
    report = root / "report.xml"
    report.unlink(missing_ok=True)
    options = ["-q", "-p", "no:cacheprovider", "-p", "alone_plugin", "--timeout", "30"]
    options += ["-c", str(SEEDED / "pytest.ini"), f"--junitxml={report}"]
    options += ["--continue-on-collection-errors", f"--rootdir={root}"]
    paths = [str(SEEDED), str(root), str(packages)]
    variables = {
        "PYTHONPATH": os.pathsep.join(paths),
        "MIGRATION_WITHOUT": " ".join(LIBRARIES) if alone else "",
        "OPENAI_API_KEY": "none",
        "NO_COLOR": "1",
    }
    options += [] if suite.settings else ["--noconftest"]
    command = [python, "-m", "pytest", *options, *map(str, found)]
    ended = subprocess.run(
        command, cwd=root, env={**os.environ, **variables}, capture_output=True, text=True
    )
    if not report.exists():
        raise SystemExit(f"no tests were run: {(ended.stdout + ended.stderr)[-2000:]}")
    return dict(_read(report))


def _read(report: Path) -> Iterable[tuple[str, tuple[str, str]]]:
    for case in Xml.parse(report).iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        if case.find("skipped") is not None:
            continue
        failure = case.find("failure")
        failure = case.find("error") if failure is None else failure
        if failure is None:
            yield name, (HERE, "")
            continue
        text = f"{failure.get('message')}\n{failure.text}"
        asked = "is not here" in text or "fixture '" in text
        yield name, (ABSENT if asked else DIFFERS, text)


def main() -> None:
    """Fetch, change, run, and print the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--original", default="", help="a Python with the originals")
    options.add_argument("--folder", type=Path, default=Path(".cache/migration"))
    options.add_argument("--library", choices=sorted(SUITES), action="append")
    options.add_argument("--details", type=Path, help="write every verdict here, as JSON")
    given = options.parse_args()
    details = {}
    packages = plugins(given.folder.resolve() / "packages")
    print("| library | tests | pass | ask for what is not here | differ |\n|---|---|---|---|---|")
    for library in given.library or SUITES:
        suite = SUITES[library]
        root, ours = prepared(suite, given.folder.resolve())
        seen = run(sys.executable, ours, suite, packages, alone=True)
        if given.original:
            theirs = run(given.original, root, suite, packages, alone=False)
            passing = {name for name, (verdict, _) in theirs.items() if verdict == HERE}
            lost = dict.fromkeys(passing - seen.keys(), (ABSENT, "its file was not read"))
            seen = {**{n: v for n, v in seen.items() if n in passing}, **lost}
        details[library] = seen
        count = Counter(verdict for verdict, _ in seen.values())
        cells = [library, len(seen), *(count[verdict] for verdict in (HERE, ABSENT, DIFFERS))]
        print(f"| {' | '.join(map(str, cells))} |", flush=True)
    if given.details:
        given.details.write_text(json.dumps(details, indent=1))


if __name__ == "__main__":
    main()
