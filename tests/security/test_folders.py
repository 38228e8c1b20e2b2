"""What attackers try on folders, whichever tool they try it by (T1-T8 of docs/security.md)."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.shared import cannot_run
from toolkeel import ToolCall, ToolMessage, Toolset
from toolkeel.errors import ToolError
from toolkeel_workspace.files import open_beneath as beneath
from toolkeel_workspace.files.apply_patch import apply_patch
from toolkeel_workspace.files.file_tools import Files
from toolkeel_workspace.files.open_beneath import Root
from toolkeel_workspace.files.workspace import Workspace

CANARY = "canary-51e0"
CALLS: dict[str, dict[str, object]] = {
    "read": {},
    "write": {"content": "x"},
    "edit": {"old_text": CANARY, "new_text": "x"},
    "grep": {"pattern": CANARY},
    "find": {"pattern": "*"},
    "ls": {},
    "apply_patch": {"type": "update_file", "diff": f"@@\n-{CANARY}\n+x"},
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root, and beside it what nobody may open."""
    for folder in ("root", "root_evil"):
        (tmp_path / folder).mkdir()
    (tmp_path / "outside.txt").write_text(CANARY)
    (tmp_path / "root_evil" / "x.txt").write_text(CANARY)
    (tmp_path / "root" / "inside.txt").write_text("fine")
    return tmp_path / "root"


def toolset(root: Path) -> Toolset:
    workspace = Workspace(root, None)
    return Toolset([*workspace.tools, apply_patch(workspace)])


def call(tools: Toolset, name: str, path: str) -> ToolMessage:
    [message] = tools.run_sync([ToolCall("c", name, {"path": path, **CALLS[name]})])
    return message


_opened: list[str] | None = None


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _opened is not None and event in ("open", "os.scandir", "os.listdir", "subprocess.Popen"):
        _opened.append(repr(arguments))


@contextmanager
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What Python opens, lists or starts in here, and what the kernel is asked to open."""
    global _opened
    real = beneath._openat2

    def openat2(handle: int, path: str) -> int:
        if _opened is not None:
            _opened.append(repr(path))
        return real(handle, path)

    with monkeypatch.context() as patch:
        patch.setattr(beneath, "_openat2", openat2)
        sys.addaudithook(_hook)
        _opened = []
        try:
            yield _opened
        finally:
            _opened = None


OUTSIDE = [
    "../outside.txt",
    "sub/../../outside.txt",
    "{outside}/outside.txt",
    "/etc/hostname",
    "inside.txt\0/../../outside.txt",
    "C:\\outside.txt",
    "\\\\host\\share",
    "~/outside.txt",
    "~root",
    "../root_evil/x.txt",
    "{root}_evil/x.txt",
]


@pytest.mark.parametrize("path", OUTSIDE)
def test_a_path_that_leads_out_is_refused_by_every_tool_and_nothing_is_opened(
    root: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T1"""
    tools, path = toolset(root), path.format(outside=root.parent, root=root)
    with opened(monkeypatch) as names:
        messages = {name: call(tools, name, path) for name in CALLS}
    assert {name for name, message in messages.items() if not message.failed} == set()
    assert not any(CANARY in message.text for message in messages.values())
    told = [name for name in names if "outside" in name or "evil" in name or "hostname" in name]
    assert told == []
    assert (root.parent / "outside.txt").read_text() == CANARY
    assert [each.name for each in root.iterdir()] == ["inside.txt"]


def test_what_watches_here_sees_what_is_opened(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(monkeypatch) as names:
        assert "fine" in call(toolset(root), "read", "inside.txt").text
    assert any("inside.txt" in name for name in names)


@pytest.mark.parametrize("target", ["outside.txt", "root_evil", "/proc/self/environ", "/dev/zero"])
def test_a_link_that_leads_out_is_refused_by_every_tool(root: Path, target: str) -> None:
    """T2, and T3 for devices and entries of /proc"""
    (root / "link").symlink_to(root.parent / target)
    tools = toolset(root)
    for name in CALLS:
        for path in ("link", "link/x.txt"):
            message = call(tools, name, path)
            assert message.failed and CANARY not in message.text
    assert CANARY not in call(tools, "grep", ".").text
    assert (root.parent / "outside.txt").read_text() == CANARY
    assert (root.parent / "root_evil" / "x.txt").read_text() == CANARY


@pytest.mark.slow
@pytest.mark.parametrize("way", ["openat2", "stepwise"])
def test_ten_thousand_swaps_of_a_folder_and_a_link_never_lead_out(
    root: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T2"""
    if way == "stepwise":
        monkeypatch.setattr(beneath, "_HAS_OPENAT2", False)
    inside, parked, outside = root / "swap", root / "parked", root.parent / "root_evil"
    inside.mkdir()
    (inside / "x.txt").write_text("fine")
    swaps = 0

    def swap() -> None:
        nonlocal swaps
        for _ in range(10_000):
            inside.rename(parked)
            inside.symlink_to(outside)
            inside.unlink()
            parked.rename(inside)
            swaps += 1

    thread = threading.Thread(target=swap)
    thread.start()
    place, seen = Root(root), set[str]()
    while thread.is_alive() or "fine" not in seen:
        try:
            with os.fdopen(place.open_file("swap/x.txt")) as file:
                seen.add(file.read())
        except ToolError:
            seen.add("refused")
    thread.join()
    assert swaps == 10_000
    assert seen <= {"fine", "refused"}


def test_a_pipe_named_like_a_text_holds_no_tool_up(root: Path) -> None:
    """T3"""
    os.mkfifo(root / "notes.txt")
    tools = toolset(root)
    for name in ("read", "edit", "write", "apply_patch", "grep"):
        message = call(tools, name, "notes.txt")
        assert message.failed, name
        assert message.kind != "timeout" and message.duration < 10
    assert call(tools, "ls", ".").text.startswith("inside.txt\nnotes.txt")
    assert not call(tools, "grep", ".").failed


@pytest.mark.parametrize("place", ["/dev", "/proc/self"])
def test_devices_and_magic_links_of_proc_are_not_read(place: str) -> None:
    """T3"""
    if not os.path.isdir(place):
        cannot_run(f"there is no {place} on this system")
    tools = Toolset([Files(place).read])
    paths = ["zero", "full"] if place == "/dev" else ["root/etc/passwd", "cwd/x", "exe", "fd/0"]
    for path in paths:
        [message] = tools.run_sync([ToolCall("c", "read", {"path": path})])
        assert message.failed and message.duration < 10


@pytest.mark.parametrize("size", [1, 200_000])
def test_of_two_that_edit_one_file_the_second_is_told_that_it_was_changed(
    root: Path, size: int
) -> None:
    """T5: two workspaces, as of two programs, which share no lock."""
    (root / "f").write_text("one two " + "x" * size)
    first, second = Toolset(Workspace(root, None).tools), Toolset(Workspace(root, None).tools)
    for tools in (first, second):
        assert not tools.run_sync([ToolCall("r", "read", {"path": "f"})])[0].failed
    ones = {"path": "f", "old_text": "one", "new_text": "ONE"}
    twos = {"path": "f", "old_text": "two", "new_text": "TWO"}
    assert not first.run_sync([ToolCall("a", "edit", ones)])[0].failed
    [late] = second.run_sync([ToolCall("b", "edit", twos)])
    assert late.failed and "changed since it was read" in late.text
    assert (root / "f").read_text().startswith("ONE two ")


def test_any_number_of_edits_at_once_by_two_programs_lose_none_that_was_said_to_be_done(
    root: Path,
) -> None:
    """T5"""
    slots = [f"slot {n} empty\n" for n in range(40)]
    (root / "f").write_text("".join(slots))
    done: list[int] = []

    def edit(numbers: range) -> None:
        tools = Toolset(Workspace(root, None).tools)
        for n in numbers:
            tools.run_sync([ToolCall("r", "read", {"path": "f"})])
            change = {"path": "f", "old_text": slots[n], "new_text": f"slot {n} full\n"}
            if not tools.run_sync([ToolCall("e", "edit", change)])[0].failed:
                done.append(n)

    threads = [threading.Thread(target=edit, args=(range(k, 40, 2),)) for k in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    text = (root / "f").read_text()
    assert text.count("\n") == 40 and done
    assert [n for n in done if f"slot {n} full\n" not in text] == []
