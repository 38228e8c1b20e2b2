"""A turn over HTTP stays cheap on every wire: counted beside httpx with a loop for that one wire.

The server keeps its connections alive. What is counted is functions entered, Python's and C's, on all
threads, in the second run of twenty calls, and connections opened in it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from benchmarks.w11 import WIRES
from tests.shared import ROOT

MOST = (1.25, 1.4)
"""What a run may enter, whole and streamed, as a ratio to httpx alone: the goal for a turn over HTTP."""

HERE = [sys.executable, "-m", "benchmarks.w11"]


Row = tuple[str, bool, int, int]
"""Of one wire: who ran, whether streamed, functions entered, connections opened."""


@pytest.fixture(scope="module")
def counted() -> dict[str, list[Row]]:
    """The rows of every wire, from one process: to load what runs takes longer than to count it."""
    keys = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
    with subprocess.Popen([*HERE, "--serve"], stdout=subprocess.PIPE, text=True, cwd=ROOT) as alive:
        assert alive.stdout is not None
        url = f"http://127.0.0.1:{alive.stdout.readline().strip()}"
        said = subprocess.run(
            [*HERE, "--count", ",".join(WIRES), url],
            capture_output=True, text=True, cwd=ROOT, timeout=200, env={**os.environ, **keys},
        )  # fmt: skip
        alive.terminate()
    assert said.returncode == 0, said.stderr
    rows: dict[str, list[Row]] = {}
    for wire, *row in map(json.loads, said.stdout.splitlines()):
        rows.setdefault(wire, []).append(tuple(row))
    return rows


@pytest.mark.parametrize("wire", WIRES)
def test_a_turn_enters_few_functions_beside_its_http_client_and_opens_no_connection(
    wire: str, counted: dict[str, list[Row]]
) -> None:
    entered = {(side, stream): count for side, stream, count, _ in counted[wire]}
    for stream in (False, True):
        ratio = entered["ours", stream] / entered["bare", stream]
        assert ratio <= MOST[stream], f"{ratio:.2f} ({MOST[stream]})"
    assert [connected for *_, connected in counted[wire]] == [0] * 4
