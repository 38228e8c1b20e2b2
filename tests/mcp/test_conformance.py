"""The official conformance suite against a server made with the public API alone."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.shared import ROOT, node_command

SUITE = "@modelcontextprotocol/conformance/dist/index.js"
SERVER = ROOT / "examples" / "mcp_conformance_server.py"
SCORED = {"2025-11-25": 30, "2026-07-28": 37}
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The address of the example, served by the command line."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "toolkeel", "serve", str(SERVER)]
    process = subprocess.Popen([*command, "--http", f"127.0.0.1:{port}", "--no-token"])
    try:
        end = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < end:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait(30)


@pytest.mark.parametrize("revision", list(SCORED))
def test_every_scored_scenario_passes(revision: str, url: str, tmp_path: Path) -> None:
    command = node_command(SUITE)
    words = ["server", "--url", url, "--requirements", revision, "-o", str(tmp_path)]
    done = subprocess.run(
        [*command, *words], capture_output=True, text=True, timeout=300, cwd=tmp_path
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    summary = done.stdout.partition("SUMMARY ===")[2].partition("Total:")[0]
    unscored = set(re.findall(r"[✓✗] ([\w-]+) \(", done.stdout.partition("Not scored")[2]))
    passed = set(re.findall(r"✓ ([\w/-]+): (?!0 passed)", summary)) - unscored
    assert len(passed) == SCORED[revision], sorted(passed)
    assert not _warnings(tmp_path, passed)


def _warnings(folder: Path, scenarios: set[str]) -> list[str]:
    """What the suite would have liked better, in the scenarios that count."""
    found = []
    for file in sorted(folder.rglob("checks.json")):
        name = file.parent.name
        if any(name.startswith(f"server-{scenario}-20") for scenario in scenarios):
            checks = json.loads(file.read_text("utf-8"))
            found += [f"{name}: {c['id']}" for c in checks if c["status"] in ("WARNING", "FAILURE")]
    return found
