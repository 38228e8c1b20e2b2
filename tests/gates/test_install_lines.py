"""What the documents tell a stranger to type works where only their own install line was typed."""

from __future__ import annotations

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.gates.brought import README
from tests.gates.documents import blocks, program, prose
from tests.gates.test_docs import DOCUMENTS, _script
from tests.mcp.peers import free_port
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
    "docs/mcp-client.md": "toolkeel[cli,mcp]",
    "docs/cli.md": "toolkeel[cli]",
    "docs/sandbox.md": "toolkeel[cli]",
    "docs/models.md": "toolkeel[openai,cli]",
    "docs/inspector.md": "toolkeel[cli,inspect]",
    "docs/quickstart.md": "toolkeel[cli,inspect]",
}
# Documents whose first Python is the file that their commands use.
THEIR_OWN = ("docs/cli.md", "docs/quickstart.md")
# Commands that another line of the same document installs what they need for.
ELSEWHERE = {
    "toolkeel serve my_tools.py": "toolkeel[cli,mcp]",
    "toolkeel inspect tools.py": "toolkeel[cli,inspect]",
}
# What a command may end with where there is no key, no model's server and no network, and where
# there is no sandbox.
ALLOWED = {r"openai:|https?://|base_url": (0, 1, 3), r"sandbox .*-- ": (0, 3)}
# Servers: they run until they are interrupted.
GOES_ON = re.compile(r"--http|^toolkeel inspect ")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The runtime's wheel of this tree; those of the other distributions lie beside it."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    for project in ROOT.glob("packages/*"):
        _say(build, project, folder)
    [found] = folder.glob("toolkeel-*.whl")
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
            _say([sys.executable, "-m", "venv", "--without-pip", str(folder)], folder.parent)
            pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "-q"]
            pip.append("--disable-pip-version-check")
            wanted = f"{wheel}[{','.join(sorted(extras))}]"
            done = _run(
                [*pip, "install", "-c", str(pins), "--find-links", str(wheel.parent), wanted],
                folder.parent,
            )
            if done.returncode:
                cannot_run(f"{line} could not be installed: {done.stderr[-500:]}")
            made[extras] = folder / "bin"
        return made[extras]

    yield environment


def _environment(folder: Path) -> dict[str, str]:
    secret = ("PYTHON", "PYTEST", "TOOLKEEL", "COVERAGE")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(secret) and "KEY" not in k}
    return {**kept, "HOME": str(folder), "XDG_DATA_HOME": str(folder)}


def _run(words: list[str], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words,
        cwd=folder,
        env={**_environment(folder), **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=SECONDS,
        check=False,
    )


def _say(words: list[str], folder: Path, home: Path | None = None) -> None:
    done = _run(words, folder, **({"HOME": str(home)} if home else {}))
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-3000:]


def commands(name: str) -> list[tuple[str, str]]:
    """Every command line of ours that a document tells its reader to type, and what it prints.

    What is printed is known where a `console` block shows it.
    """
    text = (ROOT / name).read_text("utf-8")
    typed: list[tuple[str, str]] = []
    for block in blocks(text):
        if block.language == "console" and not block.excuse:
            parts = re.split(r"(?m)^\$ ", block.code)[1:]
            typed += [(line, printed) for line, _, printed in (p.partition("\n") for p in parts)]
        elif block.language in SHELL and not block.excuse:
            typed += [(line.strip(), "") for line in block.code.splitlines() if line.strip()]
    typed += [(line, "") for line in re.findall(r"(?m)^    (toolkeel .*)$", prose(text))]
    return typed


def ours(name: str) -> list[tuple[str, str]]:
    """The commands of a document, without the lines that install what they need."""
    return [pair for pair in commands(name) if not pair[0].startswith("pip install ")]


# What contributors type (CONTRIBUTING.md) is what CI types.
TYPED = [name for name in DOCUMENTS if name.startswith(("README", "docs/")) and ours(name)]


def test_each_document_that_shows_commands_is_tried_with_its_install_line() -> None:
    assert set(TYPED) == set(LINES)


@pytest.mark.parametrize("name", TYPED)
def test_each_line_of_a_shell_block_is_a_command_of_ours_or_is_marked(name: str) -> None:
    assert [line for line, _ in ours(name) if not re.match(r"(\w+=\S+ )?toolkeel ", line)] == []


@pytest.mark.parametrize("name", LINES)
def test_the_line_that_a_document_is_tried_with_stands_in_it(name: str) -> None:
    assert f"pip install '{LINES[name]}'" in (ROOT / name).read_text("utf-8")


@pytest.mark.parametrize("name", LINES)
def test_every_command_of_a_document_runs_with_its_own_install_line(
    name: str, installed: object, tmp_path: Path
) -> None:
    text = (ROOT / name).read_text("utf-8")
    tools = [block.code for block in program(text)] if name in THEIR_OWN else [MY_TOOLS]
    if "my_tools.py" in text:
        (tmp_path / "my_tools.py").write_text(MY_TOOLS, "utf-8")
    (tmp_path / "tools.py").write_text(tools[0], "utf-8")
    (tmp_path / "missing_import.py").write_text("import nosuchpackage\n", "utf-8")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "refunds.md").write_text("# Refunds\n\nWrite to us for a refund.\n")
    assert callable(installed)
    for line, printed in [*ours(name), ("toolkeel demo", "")]:
        bare = line.partition(" #")[0].strip()
        bin = installed(ELSEWHERE.get(bare, LINES[name]))
        words = [str(bin / "toolkeel"), *shlex.split(bare)[1:]]
        if GOES_ON.search(bare):
            _serves(words, tmp_path)
            continue
        done = _run(words, tmp_path, **_nowhere(bare))
        said = f"{line}\n{done.stdout[-1500:]}\n{done.stderr[-3000:]}"
        assert "Traceback" not in done.stderr and "pip install" not in done.stderr, said
        if printed:
            pattern = re.escape(printed).replace(re.escape("..."), "(?s:.*?)")
            both = (done.stdout + done.stderr, done.stderr + done.stdout)
            assert any(re.fullmatch(pattern, each) for each in both), said
            continue
        allowed = next((codes for part, codes in ALLOWED.items() if re.search(part, bare)), (0,))
        assert done.returncode in allowed, said


def _serves(words: list[str], folder: Path) -> None:
    """A server says where it is, and ends when it is interrupted."""
    words = [word.replace(":8000", f":{free_port()}") for word in words]
    process = subprocess.Popen(
        words,
        cwd=folder,
        env=_environment(folder),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        said.append(line)
        if found := re.search(r"http://127\.0\.0\.1:(\d+)", line):
            _until_it_answers(int(found[1]))
            break
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=SECONDS)
    assert "http://127.0.0.1:" in said[-1] and "Traceback" not in rest, "".join(said) + rest


def _until_it_answers(port: int) -> None:
    """It says where it will be before it is there."""
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=10):
            return
        time.sleep(0.05)


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
