"""The executor that is named "sandbox" runs bodies inside a sandbox."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from toolkeel.define.executor_names import create_executor
from toolkeel.executors import Process
from toolkeel_workspace import Sandbox

SCRIPT = """
from pathlib import Path
from toolkeel import tool

@tool(executor="sandbox", timeout=60)
def touch(path: str) -> str:
    "Write a file."
    Path(path).write_text("x")
    return "written"

if __name__ == "__main__":
    import sys
    from toolkeel import Toolset
    from toolkeel.messages import ToolCall
    for place in sys.argv[1:]:
        print(Toolset([touch]).run_sync([ToolCall("1", "touch", {"path": place})])[0].failed)
"""


def test_a_body_in_the_sandbox_writes_only_in_the_folder_it_works_in(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "script.py").write_text(SCRIPT)
    outside = tmp_path / "outside.txt"
    words = [sys.executable, "script.py", str(work / "inside.txt"), str(outside)]
    done = subprocess.run(words, cwd=work, capture_output=True, text=True, timeout=120)
    assert done.stdout.startswith("False"), done.stderr
    assert (work / "inside.txt").read_text() == "x" and not outside.exists()


def test_the_sandbox_is_a_process_within_walls() -> None:
    try:
        Sandbox()
    except Exception as error:
        with pytest.raises(type(error)):
            create_executor("sandbox")
        return
    walled = create_executor("sandbox")
    assert isinstance(walled, Process) and walled._sandbox is not None
