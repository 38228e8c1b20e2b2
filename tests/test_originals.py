"""Programs and tests of other libraries over this library's names: fetched, changed, run, counted."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.migration import __main__ as programs
from benchmarks.migration.fetching import fetch, plugins
from benchmarks.migration.own_tests import HERE, SUITES, prepared, run
from benchmarks.migration.reasons import KINDS, reason
from benchmarks.migration.server import Server
from tests.shared import peer

pytestmark = pytest.mark.slow

RESOLVE = 100
"""How many of the 117 examples of the Agents SDK find all their names, at least."""
PASS = {"agents": 105, "langchain-core": 60, "langgraph-prebuilt": 20}
"""How many of the libraries' own tests for tools pass, at least; the pages have the whole counts."""
EQUAL = (
    "basic/prompt_template",
    "decisions/tool_risk_gate",
    "handoffs/message_filter",
    "memory/sqlite_session_example",
    "model_providers/custom_example_agent",
)
"""Examples of which the original sends and prints the same; all are run by hand, in seven minutes."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where what was fetched lies."""
    return tmp_path_factory.mktemp("migration")


def test_most_examples_of_the_agents_sdk_find_their_names(folder: Path) -> None:
    root = fetch(folder, programs.DISTRIBUTION)
    lost = {str(path): programs.unresolved(path.read_text()) for path in programs.programs(root)}
    assert len(lost) > RESOLVE
    assert sum(not names for names in lost.values()) >= RESOLVE, lost


@pytest.mark.timeout(600)
def test_examples_send_and_print_what_the_original_sends_and_prints(folder: Path) -> None:
    peer("agents")
    root = fetch(folder, programs.DISTRIBUTION)
    ours, server = programs.migrated(root, folder / "migrated"), Server()
    differ = {}
    for name in EQUAL:
        path = root / "examples" / f"{name}.py"
        theirs = programs.run(server, sys.executable, root, path, "theirs")
        mine = programs.run(server, sys.executable, ours, ours / path.relative_to(root), "ours")
        row = programs.row(theirs, mine, [])
        if not all(row[key] for key in ("original", "runs", "requests", "output")):
            differ[name] = (row, theirs["err"], mine["err"])
    server.shutdown()
    server.server_close()
    assert not differ


@pytest.mark.timeout(900)
@pytest.mark.parametrize("library", sorted(PASS))
def test_the_libraries_own_tests_for_tools_pass_as_often_as_they_did(
    library: str, folder: Path
) -> None:
    suite = SUITES[library]
    _, ours = prepared(suite, folder)
    seen = run(sys.executable, ours, suite, plugins(folder / "packages"), alone=True)
    count = Counter(verdict for verdict, _ in seen.values())
    assert count[HERE] >= PASS[library], count
    assert {reason(test, why) for test, (found, why) in seen.items() if found != HERE} <= {*KINDS}
