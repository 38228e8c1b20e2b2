"""A session of 33 steps in one repository: after each, the model has the text that it goes on with."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.sandbox.walls import need
from toolkeel import RunContext, Toolset
from toolkeel.messages import ToolCall
from toolkeel_workspace.files.apply_patch import apply_patch
from toolkeel_workspace.files.workspace import Workspace
from toolkeel_workspace.shell import git_identity

MAIN = """import os


def load(path):
    with open(path) as file:
        return file.read()


class Reader:
    def run(self):
        return 1


class Writer:
    def run(self):
        return 1
"""
TABS = "func main() {\n\tif true {\n\t\tfor {\n\t\t\tprintln(1)\n\t\t}\n\t}\n}\n"
FILES: dict[str, str | bytes] = {
    "app/main.py": MAIN,
    "app/main.go": TABS,
    "notes.txt": "Größe: 12\nStraße: 5\n".encode("latin-1"),
    "log.txt": "start\nNutzer größer\nweiter größer".encode()[:-3],
    ".gitignore": "build/\n*.log\n",
    "build/out.txt": "needle\n",
    "debug.log": "needle\n",
    "crlf.txt": b"one\r\ntwo\r\nthree\r\n",
    "data.json": '{"a": "' + "x" * 80_000 + 'needle"}',
}


class Session:
    """One model's calls, each checked by what it says."""

    def __init__(self, root: Path) -> None:
        workspace = Workspace(root)
        self.tools = Toolset([*workspace.tools, apply_patch(workspace)])
        self.run = RunContext(approver=lambda ticket: True)
        self.steps = 0

    async def step(self, name: str, *said: str, fails: bool = False, **arguments: object) -> str:
        """Make a call, check that its result says all of this, and return the result."""
        self.steps += 1
        [message] = await self.tools.run([ToolCall("c", name, arguments)], self.run)
        assert message.failed is fails, message.text
        for part in said:
            assert part in message.text, message.text
        return message.text

    async def fails(self, name: str, *said: str, **arguments: object) -> str:
        return await self.step(name, *said, fails=True, **arguments)

    async def edit(self, path: str, old: str, new: str, *said: str, fails: bool = False) -> str:
        return await self.step("edit", *said, fails=fails, path=path, old_text=old, new_text=new)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    need("bubblewrap")
    monkeypatch.setattr(git_identity, "read_global_setting", lambda key: "")
    for path, content in FILES.items():
        place = tmp_path / "project" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode() if isinstance(content, str) else content)
    return tmp_path / "project"


def test_every_result_lets_the_model_go_on(root: Path) -> None:
    session = Session(root)

    async def main() -> None:
        await _edit_files(session, root)
        await _read_odd_files(session)
        await _run_commands(session)
        await _commit(session)

    asyncio.run(main())
    assert session.steps == 33
    assert (root / "app/main.py").read_text().endswith("        return 3\n# by somebody\n")
    assert (root / "notes.txt").read_bytes() == "Größe: 13\nStraße: 5\n".encode("latin-1")


async def _edit_files(session: Session, root: Path) -> None:
    main, body = "app/main.py", "    def run(self):\n        return 1"
    await session.step("ls", "app/\n", ".gitignore\n", path=".")
    await session.step("read", "class Writer:", "16 lines", path=main)
    await session.edit(
        main, "def lod(path):", "x", "line 4:\ndef load(path):", "the file has 'def load(path):'",
        fails=True,
    )  # fmt: skip
    await session.edit(main, body, "x", "more than once", "(lines 10, 15)", fails=True)
    twice = f"class Writer:\n{body}", "class Writer:\n    def run(self):\n        return 2"
    await session.edit(main, *twice, "1 replacement")
    await session.edit(main, *twice, "new_text is already in line 14", fails=True)
    blanks = "    if true {\n        for {\n            println(1)\n        }\n    }"
    await session.edit(
        "app/main.go", blanks, "x", "the file indents with tabs, old_text with blanks", fails=True
    )
    with (root / main).open("a") as file:
        file.write("# by somebody\n")
    await session.edit(main, "import os\n", "import sys\n", "Read it again", fails=True)
    await session.step("read", "# by somebody", "Lines 17 to 17", path=main, offset=17)
    await session.edit(main, "import os\n", "import sys\n", "1 replacement")
    hunk = "@@\n     def run(self):\n-        return {}\n+        return 3"
    wrong, right = hunk.format(5), f"@@ class Writer:\n{hunk.format(2)[3:]}"
    patch = {"type": "update_file", "path": main}
    await session.fails("apply_patch", "most similar passage is lines", **patch, diff=wrong)
    await session.step("apply_patch", "File written: app/main.py", **patch, diff=right)


async def _read_odd_files(session: Session) -> None:
    await session.step("read", "Größe: 12", "perhaps Windows-1252 (a guess", path="notes.txt")
    await session.edit("notes.txt", "Größe: 12", "Größe: 13", "and stays so")
    await session.edit("notes.txt", "13", "13 €", "convert it to UTF-8 first", fails=True)
    await session.step("read", "Nutzer größer", "1 odd byte shown as", path="log.txt")
    await session.step("grep", "log.txt:2: Nutzer größer", "1 match", pattern="größe")
    await session.step("find", "build/out.txt", "1 file found", pattern="build/out.txt")
    await session.step("find", "not counted: debug.log", "Not looked into: build/", pattern="*.log")
    await session.step("grep", "[columns ", "of 80015]", pattern="needle", path="data.json")
    await session.step(
        "write", "3 lines, 17 B, lines ended with CRLF", path="crlf.txt", content="1\n"
    )


async def _run_commands(session: Session) -> None:
    noisy = "seq 9000 | sed 's/$/ padding/'; echo 'FAILED test_x'; exit 1"
    text = await session.fails(
        "bash", "FAILED test_x", "of 9001 are shown", "exited with code 1", command=noisy
    )
    name = text.partition('path="')[2].partition('"')[0]
    await session.step("grep", "4321: 4321 padding", pattern="^4321 ", path=name)
    listen = "while read -r line; do echo \"got $line\"; printf 'More? '; done"
    await session.step("bash", "[job-1 is running.", command=listen, background=True)
    await session.step(
        "job", "got hello", "It seems to wait for input: 'More?'", id="job-1", input="hello"
    )
    refused = "echo 'connect: Connection refused' >&2; exit 1"
    await session.fails("bash", "Ports of background jobs (job-1)", command=refused)
    await session.step("job", "[job-1 was stopped.]", id="job-1", stop=True)
    asks = "python3 -c 'input(\"Continue? [y/N] \")'"
    await session.fails("bash", "It seems to have asked for input", command=asks)
    await session.fails("bash", "timed out after 0.2 seconds", command="sleep 9", timeout=0.2)
    await session.step(
        "bash", "files you have read: app/main.py", command="sed -i s/sys/json/ app/main.py"
    )


async def _commit(session: Session) -> None:
    first = "git init -q . && git add -A && git commit -qm first && git log --format=%s"
    await session.step("bash", "first", "has no user.name", command=first)
    name = "git config --global user.name Ada; git config user.name Ada"
    await session.fails("bash", "HOME, which is deleted", ".git/config is protected", command=name)
    await session.fails("bash", "No such file", "code 1", command="cd app && cat absent")
