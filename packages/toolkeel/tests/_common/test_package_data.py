"""The package works from a zip, and says what cannot."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import toolkeel
from toolkeel import SetupError
from toolkeel._common.package_data import read_toml, require_file

PROGRAM = """
import toolkeel
from toolkeel import Agent, ToolCall, Toolset, tool
from toolkeel.mcp.hosts import HOSTS
from tools_in_zip import double

assert ".zip" in toolkeel.__file__, toolkeel.__file__
assert HOSTS

@tool
def add(a: int, b: int) -> int:
    '''Add.'''
    return a + b

print(Agent("offline", tools=[add]).run_sync("add 20 and 22").output.split()[-1])
for define in (lambda: tool(needs_approval=True)(add.function), lambda: Toolset([double])):
    try:
        define()
    except Exception as error:
        print(type(error).__name__, error)
"""
TOOLS = """
from toolkeel import tool

@tool(executor="process")
def double(n: int) -> int:
    '''Double.'''
    return 2 * n
"""


def test_a_zip_has_all_that_the_package_reads_and_says_why_no_process_can_be_started(
    tmp_path: Path,
) -> None:
    source = Path(toolkeel.__file__).parents[1]
    archive = tmp_path / "program.zip"
    with zipfile.ZipFile(archive, "w") as made:
        for file in sorted((source / "toolkeel").rglob("*")):
            if file.suffix in (".py", ".toml"):
                made.write(file, file.relative_to(source).as_posix())
        made.writestr("tools_in_zip.py", TOOLS)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(archive)},
        capture_output=True,
        encoding="utf-8",
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    answer, words, process = done.stdout.splitlines()
    assert answer == "42"
    assert words.startswith("DefinitionError") and "approval" in words
    assert process.startswith("SetupError other processes cannot start supervise.py")
    assert str(archive) in process and "pip install" in process


def test_a_file_of_the_package_is_read_and_a_missing_program_refused(tmp_path: Path) -> None:
    assert "places" in next(iter(read_toml("toolkeel.mcp", "hosts.toml")["hosts"]))
    assert require_file(Path(__file__)) == Path(__file__)
    with pytest.raises(SetupError, match="imported from an archive"):
        require_file(tmp_path / "supervise.py")
