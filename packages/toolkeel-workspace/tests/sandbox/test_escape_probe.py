"""The probe gets out of no sandbox of ours, as root and as a user."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.sandbox.walls import BACKENDS, holes, need
from tests.shared import cannot_run
from toolkeel_workspace.sandbox import start_stage
from toolkeel_workspace.sandbox.confine import Backend

walls = pytest.mark.parametrize("backend", BACKENDS)


AS_A_USER = """
import asyncio, os, resource, sys
from toolkeel_workspace.sandbox.confine import Sandbox
from toolkeel_workspace.sandbox.escape_probe import probe
os.setgroups([]); os.setgid(65534); os.setuid(65534)
sys.executable = sys.argv[2]
print(asyncio.run(probe(lambda root: Sandbox("workspace", [root], backend=sys.argv[1]))))
"""


@walls
def test_nothing_that_is_known_gets_out(backend: Backend) -> None:
    assert holes(backend) == []


def test_nothing_gets_out_where_no_other_user_can_be_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(start_stage, "find_user_obstacle", lambda owned: "it was told so")
    assert holes("bubblewrap") == []


@walls
def test_nothing_gets_out_of_the_sandbox_of_an_ordinary_user(backend: Backend) -> None:
    need(backend)
    if os.geteuid() != 0:
        cannot_run("only root can become somebody else to try")
    python = "/usr/bin/python3"
    if not os.path.exists(python):
        cannot_run("there is no Python that everybody may read")
    done = subprocess.run(
        [sys.executable, "-c", AS_A_USER, backend, python],
        capture_output=True,
        text=True,
        cwd="/",
    )
    assert done.stdout == "()\n", done.stdout + done.stderr
