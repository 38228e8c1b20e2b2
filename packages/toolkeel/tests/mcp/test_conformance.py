"""The official conformance suite against a server of the public API, alone and behind a gateway."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.mcp.peers import answers, free_port
from tests.shared import ROOT, node_command
from tests.waiting import until_sync

SUITE = "@modelcontextprotocol/conformance/dist/index.js"
SERVER = ROOT / "examples" / "mcp_conformance_server.py"
SCORED = {"2025-11-25": 30, "2026-07-28": 37}
pytestmark = pytest.mark.slow


@contextmanager
def listening(words: Sequence[str], env: Mapping[str, str] | None = None) -> Iterator[str]:
    """The address of what a command of ours serves."""
    port = free_port()
    command = [sys.executable, "-m", "toolkeel", *words, "--http", f"127.0.0.1:{port}"]
    process = subprocess.Popen([*command, "--no-token"], env=env)
    try:
        until_sync(lambda: process.poll() is not None or answers(port), 60)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait(30)


@contextmanager
def passed_on(source: Sequence[str], folder: Path) -> Iterator[str]:
    """The address of a gateway before one server."""
    env = {**os.environ, "XDG_STATE_HOME": str(folder)}
    file = str(folder / "mcp.json")
    add = [sys.executable, "-m", "toolkeel", "mcp", "add", "far", "-f", file, "--", *source]
    subprocess.run(add, env=env, check=True, timeout=60)
    with listening(["gateway", file, "--no-prefix"], env) as url:
        yield url


@pytest.fixture(scope="module", params=["alone", "behind a gateway", "over stdio behind one"])
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the example, served by the command line."""
    folder = tmp_path_factory.mktemp("far")
    serve = ["serve", str(SERVER)]
    if request.param.startswith("over stdio"):
        with passed_on([sys.executable, "-m", "toolkeel", *serve], folder) as far:
            yield far
        return
    with listening(serve) as far:
        if request.param == "alone":
            yield far
            return
        with passed_on([far], folder) as near:
            yield near


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
