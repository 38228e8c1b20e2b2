"""Run a little code in a new interpreter and read what it prints."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.shared import PYTHONPATH


def fresh(code: str, folder: Path, *, write_bytecode: bool = False) -> Any:
    """The JSON value that `code` prints when run from an empty folder.

    Args:
        code: Python source; its last line of output is JSON.
        folder: Where it runs, and where bytecode is kept.
        write_bytecode: Whether this run may keep the bytecode it compiles.
    """
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    paths = {"PYTHONPATH": PYTHONPATH, "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
    never = {} if write_bytecode else {"PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        cwd=folder,
        env={**kept, **paths, **never},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
