"""The official conformance suite, against a client built on the public API alone."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.shared import PYTHONPATH, ROOT, node_command

SUITE = "@modelcontextprotocol/conformance/dist/index.js"
MOST_MS = 600_000
SCORED = {"2025-11-25": 18, "2026-07-28": 32}


@pytest.mark.slow
@pytest.mark.parametrize("revision", list(SCORED))
def test_every_scored_scenario_of_a_revision_passes(revision: str, tmp_path: Path) -> None:
    program = f"{sys.executable} {Path(__file__).with_name('conformance_client.py')}"
    words = ["client", "--command", program, "--requirements", revision, "-o", str(tmp_path)]
    # All scenarios run at once, each with an interpreter of its own: a busy machine needs long.
    words += ["--timeout", str(MOST_MS)]
    env = {**os.environ, "PYTHONPATH": PYTHONPATH}
    done = subprocess.run(
        [*node_command(SUITE), *words],
        capture_output=True,
        text=True,
        timeout=MOST_MS / 1000 + 60,
        env=env,
        cwd=ROOT,
        check=False,
    )
    summary = done.stdout[done.stdout.find("SUMMARY") :]
    required = _required(revision)
    assert len(required) == SCORED[revision]
    passed = set(re.findall(r"✓ (\S+):", summary))
    assert required <= passed, f"{sorted(required - passed)}\n{summary}\n{_failures(tmp_path)}"
    assert done.returncode == 0, summary


def _required(revision: str) -> set[str]:
    """The scored scenarios of the suite's own list."""
    suite = Path(node_command(SUITE)[1]).parents[1]
    text = (suite / "requirements" / f"{revision}.yaml").read_text("utf-8")
    block = text.partition("\nclient:\n")[2].partition("\nnot_scored:")[0]
    return set(re.findall(r"^  - (\S+)", block, re.MULTILINE))


def _failures(folder: Path) -> str:
    checks = [c for f in folder.rglob("checks.json") for c in json.loads(f.read_text("utf-8"))]
    failed = [check for check in checks if check["status"] == "FAILURE"]
    return "\n".join(f"{check['id']}: {check.get('errorMessage')}" for check in failed)
