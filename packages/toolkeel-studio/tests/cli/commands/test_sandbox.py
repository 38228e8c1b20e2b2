"""``toolkeel sandbox``."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sandbox.walls import need
from toolkeel_studio.cli.commands.sandbox import rows
from toolkeel_workspace.sandbox.confine import Features, detect_features


def ran(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "toolkeel", "sandbox", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        input="typed\n",
        check=False,
    )


def test_a_command_runs_inside_with_our_streams_and_its_code_is_ours(tmp_path: Path) -> None:
    need("bubblewrap")
    done = ran(tmp_path, "--", "sh", "-c", "cat; echo bad >&2; touch in ../out; exit 7")
    assert (done.stdout, done.returncode) == ("typed\n", 7)
    assert "bad" in done.stderr
    assert (tmp_path / "in").exists() and not (tmp_path.parent / "out").exists()


def test_modes_and_roots_are_taken_and_mistakes_named(tmp_path: Path) -> None:
    need("bubblewrap")
    done = ran(tmp_path, "--mode", "read-only", "--", "touch", "x")
    assert done.returncode != 0 and not (tmp_path / "x").exists()
    assert "there is no mode 'none'" in ran(tmp_path, "-m", "none", "--", "ls").stderr
    assert "does not exist" in ran(tmp_path, "-r", "missing", "--", "ls").stderr


def test_without_a_command_it_says_what_this_machine_has(tmp_path: Path) -> None:
    assert ran(tmp_path).stdout.splitlines() == rows(detect_features())
    assert json.loads(ran(tmp_path, "--json").stdout)["backend"] == detect_features().backend


def test_a_machine_without_any_says_that_commands_are_refused() -> None:
    said = rows(Features("none", "is not installed", "is version 0", ("A note.",)))
    assert said[0] == "sandbox     none: commands are refused"
    assert said[-1] == "note        A note."


@pytest.mark.parametrize("mode", ["workspace", pytest.param("off", marks=pytest.mark.slow)])
def test_a_command_at_a_terminal_has_it(tmp_path: Path, mode: str) -> None:
    need("bubblewrap")
    ours, theirs = pty.openpty()
    words = [
        sys.executable,
        "-m",
        "toolkeel",
        "sandbox",
        "-m",
        mode,
        "--",
        "sh",
        "-c",
        "test -t 0",
    ]
    done = subprocess.run(words, cwd=tmp_path, stdin=theirs, check=False)
    os.close(ours)
    os.close(theirs)
    assert done.returncode == 0
