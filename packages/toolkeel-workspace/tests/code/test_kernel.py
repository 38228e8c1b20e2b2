"""Real Python in the sandbox: state, plots, files, and walls that hold."""

from __future__ import annotations

import shutil
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.builtin.code_cases import ESCAPES, STARVATION
from tests.code.test_interpreter import check_escape, results
from tests.shared import cannot_run
from toolkeel import Image
from toolkeel_workspace.code.code_limits import CodeLimits
from toolkeel_workspace.code.interpreter import CodeInterpreterTool
from toolkeel_workspace.sandbox.confine import detect_features

SMALL = CodeLimits(compute_seconds=3.0, memory_bytes=512 << 20, written_bytes=4 << 20)


@pytest.fixture(autouse=True)
def sandbox() -> None:
    if shutil.which("bwrap") is None and detect_features().backend == "none":
        cannot_run("there is no sandbox on this machine: scripts/system_packages.py installs one")


@pytest.fixture
def outside(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = Path.home() / f".toolkeel-test-{time.monotonic_ns()}"
    folder.mkdir()
    (folder / "secret").write_text("CANARY-6c1f")
    monkeypatch.setenv("TOOLKEEL_CANARY", "CANARY-6c1f")
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        yield server


@pytest.mark.slow
def test_state_plots_and_files_are_kept_and_shown(tmp_path: Path) -> None:
    plot = "import matplotlib.pyplot as plt\nplt.plot([1, 3, 2])\nplt.savefig('p.png')\nplt.show()"
    interpreter = CodeInterpreterTool(python="sandbox", folder=tmp_path)
    first, second, third = results("x = 41\nprint('x')", "x + 1", plot, interpreter=interpreter)
    assert first.text == "x" and second.text == "42"
    images = [block for block in third.content if isinstance(block, Image)]
    assert len(images) == 2 and all(i.data.startswith(b"\x89PNG") for i in images)
    assert (tmp_path / "p.png").is_file() and "p.png" in third.text


@pytest.mark.slow
def test_a_timeout_interrupts_and_keeps_what_was_defined() -> None:
    interpreter = CodeInterpreterTool(python="sandbox", limits=SMALL)
    stopped, after = results("x = 1\nwhile True: pass", "x", interpreter=interpreter)
    assert "TimeoutError" in stopped.text and after.text == "1"


@pytest.mark.slow
def test_a_process_that_dies_is_started_anew() -> None:
    interpreter = CodeInterpreterTool(python="sandbox", limits=SMALL)
    died, after = results("import os\nos._exit(3)", "6 * 7", interpreter=interpreter)
    assert "died" in died.text and "restarted" in died.text and after.text == "42"


@pytest.mark.slow
@pytest.mark.parametrize("name", ESCAPES)
def test_no_escape_gets_out_of_the_sandbox(
    name: str, outside: Path, listener: socket.socket
) -> None:
    interpreter = CodeInterpreterTool(python="sandbox", limits=SMALL)
    check_escape(interpreter, ESCAPES[name], outside, listener)


@pytest.mark.slow
@pytest.mark.parametrize("name", STARVATION)
def test_whatever_starves_the_host_is_stopped_in_the_sandbox(name: str) -> None:
    interpreter = CodeInterpreterTool(python="sandbox", limits=SMALL)
    stopped, after = results(STARVATION[name], "6 * 7", interpreter=interpreter)
    assert stopped.duration < 60 and len(stopped.text) < 30_000
    assert after.text == "42"
