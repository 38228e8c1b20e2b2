"""A turn over HTTP stays cheap on every wire: counted beside httpx with a loop for that one wire.

The server keeps its connections alive. What is counted is functions entered, Python's and C's, on all
threads, in the second run of twenty calls, and connections opened in it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from benchmarks.w11 import WIRES
from tests.shared import ROOT

MOST = (1.25, 1.4)
"""What a run may enter, whole and streamed, as a ratio to httpx alone: the goal for a turn over HTTP."""

HERE = [sys.executable, "-m", "benchmarks.w11"]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of a server that answers every wire."""
    with subprocess.Popen([*HERE, "--serve"], stdout=subprocess.PIPE, text=True, cwd=ROOT) as alive:
        assert alive.stdout is not None
        yield f"http://127.0.0.1:{alive.stdout.readline().strip()}"
        alive.terminate()


@pytest.mark.usefixtures("aws")
@pytest.mark.parametrize("wire", WIRES)
def test_a_turn_enters_few_functions_beside_its_http_client_and_opens_no_connection(
    wire: str, server: str
) -> None:
    counting = [*HERE, "--count", wire, server]
    said = subprocess.run(counting, capture_output=True, text=True, cwd=ROOT, timeout=100)
    assert said.returncode == 0, said.stderr
    rows = [json.loads(line) for line in said.stdout.splitlines()]
    entered = {(side, stream): count for side, stream, count, _ in rows}
    for stream in (False, True):
        ratio = entered["ours", stream] / entered["bare", stream]
        assert ratio <= MOST[stream], f"{ratio:.2f} ({MOST[stream]})"
    assert [connected for *_, connected in rows] == [0] * 4
