"""A lock of the kernel for each session of a file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from toolkeel.errors import SetupError
from toolkeel.sessions.stores.file_lock import FileLock

HOLDER = """
import sys
from toolkeel.sessions.stores.file_lock import FileLock
lock = FileLock(sys.argv[1])
assert lock.try_lock(7)
print("locked", flush=True)
sys.stdin.read()
"""


def test_a_lock_ends_with_its_process_and_is_of_one_session(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    lock, words = FileLock(path), [sys.executable, "-c", HOLDER, path]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"locked\n"
        assert not lock.try_lock(7) and lock.try_lock(8)
        holder.kill()
        holder.wait()
    assert lock.try_lock(7)
    lock.unlock(7)
    assert lock.try_lock(7)


def test_a_lock_file_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="missing"):
        FileLock(str(tmp_path / "missing" / "lock")).try_lock(1)
    assert FileLock(None).try_lock(1)
