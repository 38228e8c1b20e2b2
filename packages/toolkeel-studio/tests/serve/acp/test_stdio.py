"""An agent for an editor, as a process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

AGENT = str(Path(__file__).parent / "editor_agent.py")


def test_the_process_ends_with_its_editor_and_writes_nothing_of_its_own(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "toolkeel", "acp", f"{AGENT}:agent"]
    command += ["--file", str(tmp_path / "talk.db")]
    done = subprocess.run(
        command, input="", capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
