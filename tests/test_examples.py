"""Every example runs as it stands, offline, and says what it promises."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.shared import ROOT

EXAMPLES = ROOT / "examples"
# What needs more than the core is run where its extra is tested.
ELSEWHERE = {
    "approvals_service.py": "packages/toolkeel/tests/test_approvals_service.py",
    "browser_agent.py": "tests/test_examples_with_extras.py",
    "cluster.py": "tests/test_examples_with_extras.py",
    "data_analyst.py": "tests/test_examples_with_extras.py",
    "gateway.py": "tests/test_examples_with_extras.py",
    "document_search.py": "tests/test_examples_with_extras.py",
    "four_vendors.py": "tests/test_examples_with_extras.py",
    "mcp_conformance_server.py": "packages/toolkeel/tests/mcp/test_conformance.py",
    "mcp_server.py": "tests/test_examples_with_extras.py",
    "workbench.py": "packages/toolkeel/tests/builtin/test_workbench.py",
}
SAYS = {
    "approval.py": ["waiting - transfer", "answered - 50.00 EUR to Ada"],
    "class_tool.py": ["你好, Ada!", "cash: 12.5", "An amount of 0 cannot be booked"],
    "middleware.py": ["ok - results for cats", "ok - no results", "limit_reached"],
    "coding_agent.py": [
        "asked: edit maths.py",
        "write: denied",
        "edit: done",
        "read: tool_error",
        "maths.py: return n + n\nnotes.txt is there: False",
    ],
    "long_run.py": [
        "killed: True\nby then: tides, 港口\n",
        "then: All 5 chapters are written.\n",
        "done, each once: tides, 港口, weather, radio, fees\n",
    ],
    "memory_bot.py": [
        "was shown 7 messages of 10",
        "killed: True",
        "then: book - booked blue",
        "rooms: ['blue']",
        "bob knows nothing of it: 2 messages",
    ],
    "out_of_money.py": [
        "sent to ada\nsent to bob\nlimit - cost: $0.0480 of $0.0600 spent",
        "\nsent to cy\nsent to dee\nanswered - All are sent. 0.120 dollars in all",
        "\nsent: ['ada', 'bob', 'cy', 'dee']\n",
    ],
    "runtime_only.py": [
        "1: ok: 110.00 USD",
        "2: ok: 55.00 USD",
        "3: invalid_arguments",
        "4: unknown_tool",
    ],
    "streaming.py": ["tool_started", "progress", "tool_finished", "run_finished", "counted to 5"],
    "triage.py": ["billing: Done: order A7 is paid back", "support: Done: router is up again"],
}


def test_every_example_is_listed_with_what_it_says():
    assert {path.name for path in EXAMPLES.glob("*.py")} == {*SAYS, *ELSEWHERE}
    assert all((ROOT / test).is_file() for test in ELSEWHERE.values())


def ran(name, folder):
    """What an example prints."""
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / name)],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        cwd=folder,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", sorted(SAYS))
def test_an_example_runs_offline_and_says_what_it_promises(name, tmp_path):
    said = ran(name, tmp_path)
    for text in SAYS[name]:
        assert text in said, said
