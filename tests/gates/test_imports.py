"""``import toolkeel`` is quick, quiet and brings no optional package along."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.gates.dependencies import core_names, extra_names, modules_of
from tests.gates.fresh import fresh

MODULES = 75
"""Of the library, and loaded by its import: each costs some 1.5 ms (docs/project/performance.md has the time)."""

WATCHED = """
import json, os, sys

def watch(event, args):
    if event == "open":
        path, mode, flags = args
        writes = bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
        path = os.fsdecode(path) if isinstance(path, (str, bytes, os.PathLike)) else f"fd {path}"
        if writes or not os.path.abspath(path).startswith(allowed):
            seen.append(f"open {path}" + (" to write" if writes else ""))
    elif event.startswith(("socket.", "subprocess.", "os.system", "os.exec", "os.fork", "os.spawn",
                           "os.posix_spawn", "urllib.", "os.mkdir", "os.remove", "os.rename")):
        seen.append(event)

seen = []
roots = [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix, BYTECODE, *sys.path]
allowed = tuple(os.path.abspath(root) + os.sep for root in roots if root)
sys.addaudithook(watch)
IMPORT
print(json.dumps(seen))
"""


def _watched(statement: str, folder: Path) -> Any:
    bytecode = repr(str(folder / "bytecode"))
    return fresh(WATCHED.replace("BYTECODE", bytecode).replace("IMPORT", statement), folder)


def test_the_import_loads_few_modules_of_the_library(tmp_path: Path) -> None:
    code = "import json, sys, toolkeel; print(json.dumps([m for m in sys.modules if m.startswith('toolkeel')]))"
    loaded = fresh(code, tmp_path)
    assert "toolkeel" in loaded and len(loaded) <= MODULES, sorted(loaded)


def test_the_import_opens_no_socket_starts_nothing_and_reads_only_code(tmp_path: Path) -> None:
    assert _watched("import toolkeel", tmp_path) == []


@pytest.mark.parametrize(
    ("statement", "seen"),
    [
        ("import socket; socket.socket().close()", ["socket.__new__"]),
        ("open('/proc/self/status')", ["open /proc/self/status"]),
        ("open('kept', 'w')", ["open kept to write"]),
        ("import subprocess as s; s.run(['true'], check=True)", ["subprocess.Popen"]),
    ],
)
def test_the_watch_sees_what_an_import_must_not_do(
    statement: str, seen: list[str], tmp_path: Path
) -> None:
    assert set(seen) <= set(_watched(statement, tmp_path))


def test_the_import_loads_no_optional_package(tmp_path: Path) -> None:
    code = "import json, sys, toolkeel; print(json.dumps(sorted(sys.modules)))"
    loaded = set(fresh(code, tmp_path))
    # What the core needs may itself come from a package that an extra names too.
    optional = {m for name in extra_names() - core_names() for m in modules_of(name)}
    assert optional, "no extra of the package is installed: nothing was checked"
    assert loaded & optional == set()
