"""A stdout that is full, closed or unread, and a stderr that is."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.commandline import environment
from toolkeel.sessions import Sessions

SUM = ("run", "2+3?", "-t", "calculator", "--json", "-s", "ada")


@contextmanager
def _unread() -> Iterator[int]:
    """Yield a pipe that nothing reads."""
    read, write = os.pipe()
    os.close(read)
    yield write
    os.close(write)


def _run(words: Sequence[str], redirections: str, folder: Path) -> tuple[int, str]:
    """Run the command with its streams redirected by a shell. Return its exit code, and stderr."""
    with _unread() as unread:
        line = f'exec "$@" {redirections.replace("UNREAD", str(unread))}'
        done = subprocess.run(
            ["bash", "-c", line, "bash", sys.executable, "-m", "toolkeel", *words],
            cwd=folder,
            env=environment(TOOLKEEL_DATA=str(folder)),
            pass_fds=[unread],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("words", "redirections", "code", "err"),
    [
        ((), ">&UNREAD", 141, ""),
        (("demo", "--json"), ">&UNREAD 2>/dev/full", 141, ""),
        (("--help",), ">&-", 1, "toolkeel: stdout cannot be written: Bad file descriptor"),
        (("call", "calculator", "expression=1/0"), ">&- 2>&- <&-", 1, ""),
        (("nothing",), ">&UNREAD 2>&UNREAD", 2, ""),
    ],
)
def test_lost_output_is_an_exit_code_and_at_most_a_line(
    words: Sequence[str], redirections: str, code: int, err: str, tmp_path: Path
) -> None:
    ended, reported = _run(words, redirections, tmp_path)
    assert (ended, reported[: len(err)], reported.count("\n")) == (code, err, bool(err))


@pytest.mark.parametrize(("redirection", "code"), [(">&UNREAD", 141), (">/dev/full", 1)])
def test_a_run_whose_output_is_lost_stops_and_its_session_records_why(
    redirection: str, code: int, tmp_path: Path
) -> None:
    ended, err = _run(SUM, redirection, tmp_path)
    assert (ended, "stopped: stdout " in err, "Traceback" in err) == (code, True, False)
    sessions = Sessions(tmp_path / "sessions.db")
    assert sessions["ada"].info.ended == "cancelled"
    sessions.close()
