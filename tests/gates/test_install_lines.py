"""What the documents tell a stranger to type works where only their own install line was typed."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.gates.brought import README
from tests.gates.documents import blocks, program, prose
from tests.gates.test_docs import _script
from tests.shared import ROOT, cannot_run

pytestmark = pytest.mark.slow

SHELL = ("sh", "bash", "console")
# A busy machine whose packages all come over the network needs long; what hangs ends all the same.
SECONDS = 900
MY_TOOLS = '''from toolkeel import tool


@tool
def search(query: str, limit: int = 3) -> list[str]:
    """Search.

    Args:
        query: What for.
        limit: How many at most.
    """
    return [f"{query} {number + 1}" for number in range(limit)]
'''
# By document: the line that its commands are typed behind. What the Python of every document needs
# is held by tests/gates/test_docs.py, with all that its own lines do not bring out of reach.
LINES = {
    "README.md": README,
    "README.zh-CN.md": README,
    "docs/web.md": "toolkeel[web,cli,openai]",
    "docs/file-search.md": "toolkeel[search,cli,openai]",
    "docs/mcp-server.md": "toolkeel[cli,mcp]",
}
# Commands that another line of the same document installs what they need for.
ELSEWHERE = {"toolkeel serve my_tools.py": "toolkeel[cli,mcp]"}
# What a command may end with where there is no key, no model's server and no network.
WITHOUT_A_MODEL = (1, 3)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this tree."""
    folder = tmp_path_factory.mktemp("wheel")
    _say([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)], ROOT)
    [found] = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """An empty environment where one line was typed, made when it is asked for: its programs."""
    made: dict[frozenset[str], Path] = {}
    pins = tmp_path_factory.mktemp("pins") / "pins.txt"
    locked = (ROOT / "requirements" / "dev.txt").read_text("utf-8")
    pins.write_text("\n".join(re.findall(r"(?m)^[\w.-]+==[^\s\\]+(?: ;[^\\\n]*)?", locked)))

    def environment(line: str) -> Path:
        extras = frozenset(line.partition("[")[2].rstrip("]").split(","))
        if extras not in made:
            folder = tmp_path_factory.mktemp("stranger") / "venv"
            _say([sys.executable, "-m", "venv", "--without-pip", str(folder)], ROOT)
            pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "-q"]
            pip.append("--disable-pip-version-check")
            wanted = f"{wheel}[{','.join(sorted(extras))}]"
            done = _run([*pip, "install", "-c", str(pins), wanted], ROOT)
            if done.returncode:
                cannot_run(f"{line} could not be installed: {done.stderr[-500:]}")
            made[extras] = folder / "bin"
        return made[extras]

    yield environment


def _run(words: list[str], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    secret = ("PYTHON", "PYTEST", "TOOLKEEL", "COVERAGE")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(secret) and "KEY" not in k}
    return subprocess.run(
        words,
        cwd=folder,
        env={**kept, "HOME": str(folder), "XDG_DATA_HOME": str(folder), **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=SECONDS,
        check=False,
    )


def _say(words: list[str], folder: Path) -> None:
    done = _run(words, folder)
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-3000:]


def commands(name: str) -> list[str]:
    """Every command line of ours that a document tells its reader to type, in order."""
    text = (ROOT / name).read_text("utf-8")
    lines = [
        line.removeprefix("$ ")
        for block in blocks(text)
        if block.language in SHELL
        for line in block.code.splitlines()
    ]
    lines += re.findall(r"(?m)^    (toolkeel .*)$", prose(text))
    lines += [
        line.strip()
        for block in blocks(text)
        if block.language == "text"
        for line in block.code.splitlines()
        if line.startswith("   toolkeel ")
    ]
    return [line.strip() for line in lines if re.match(r"(\w+=\S+ )?toolkeel ", line)]


@pytest.mark.parametrize("name", LINES)
def test_the_line_that_a_document_is_tried_with_stands_in_it(name: str) -> None:
    assert f"pip install '{LINES[name]}'" in (ROOT / name).read_text("utf-8")


@pytest.mark.parametrize("name", LINES)
def test_every_command_of_a_document_runs_with_its_own_install_line(
    name: str, installed: object, tmp_path: Path
) -> None:
    (tmp_path / "my_tools.py").write_text(MY_TOOLS, "utf-8")
    (tmp_path / "tools.py").write_text(MY_TOOLS, "utf-8")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "refunds.md").write_text("# Refunds\n\nWrite to us for a refund.\n")
    assert callable(installed)
    typed = commands(name)
    assert typed
    for line in [*typed, "toolkeel demo"]:
        bare = line.partition(" #")[0].strip()
        if "--http" in bare:  # a server that goes on: tests/cli/commands/test_serve.py
            continue
        bin = installed(ELSEWHERE.get(bare, LINES[name]))
        words = shlex.split(bare)
        done = _run([str(bin / words[0]), *words[1:]], tmp_path, **_nowhere(bare))
        reached = re.search(r"openai:|https?://|base_url", bare)
        allowed = (0, *WITHOUT_A_MODEL) if reached else (0,)
        said = f"{line}\n{done.stdout[-1500:]}\n{done.stderr[-3000:]}"
        assert done.returncode in allowed, said
        assert "Traceback" not in done.stderr and "pip install" not in done.stderr, said


def _nowhere(line: str) -> dict[str, str]:
    """What keeps a command that would reach out on this machine."""
    proxy = "http://127.0.0.1:9"
    return {"HTTPS_PROXY": proxy, "HTTP_PROXY": proxy} if "://" in line else {}


@pytest.mark.parametrize("name", ["docs/web.md", "docs/file-search.md", "docs/mcp-server.md"])
def test_the_python_of_a_guide_runs_with_its_own_install_line(
    name: str, installed: object, tmp_path: Path
) -> None:
    assert callable(installed)
    code = program((ROOT / name).read_text("utf-8"))
    script = tmp_path / "blocks.py"
    script.write_text(_script(name, code), "utf-8")
    (tmp_path / "work").mkdir()
    done = _run([str(installed(LINES[name]) / "python"), str(script)], tmp_path / "work")
    assert done.returncode == 0, done.stdout[-1500:] + done.stderr[-3000:]
