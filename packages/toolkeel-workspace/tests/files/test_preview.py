"""Who is asked about a change of a file sees what the file would become, whatever asks."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from toolkeel import Rules, RunContext, Toolset
from toolkeel._records.tickets import Ticket
from toolkeel.messages import ToolCall
from toolkeel_workspace.files.apply_patch import apply_patch
from toolkeel_workspace.files.preview import MAX_BYTES, MAX_LINES, MAX_ROWS
from toolkeel_workspace.files.workspace import Workspace

ASK = Rules(ask=["write", "edit", "apply_patch"], allow=["read"])
POEM = "床前明月光\n疑是地上霜\n举头望明月\n低头思故乡\n"


class Desk:
    """A folder whose changes are asked about."""

    def __init__(self, folder: Path) -> None:
        workspace = Workspace(folder, None)
        self.tools = Toolset([*workspace.tools, apply_patch(workspace)], rules=ASK)

    def ask(self, name: str, arguments: Mapping[str, object], *, run: bool = False) -> list[str]:
        """The lines below the reason of the one ticket."""
        asked: list[Ticket] = []

        def approver(ticket: Ticket) -> bool:
            asked.append(ticket)
            return run

        call = ToolCall("c", name, arguments)
        message = self.tools.run_sync([call], RunContext(approver=approver))[0]
        assert message.status == "success" if run else message.kind == "denied"
        why, *rows = asked[0].reason.split("\n")
        assert why == f"rule: ask {name}" or "is protected" in why
        assert not any(row in message.text for row in rows if not run)
        return rows


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    (tmp_path / "诗.txt").write_text(POEM, "utf-8")
    return Desk(tmp_path)


CHANGES = [
    ("write", {"content": POEM.replace("霜", "雪")}),
    ("edit", {"old_text": "地上霜", "new_text": "地上雪"}),
    ("edit", {"edits": [{"old_text": "霜", "new_text": "雪"}]}),
    ("apply_patch", {"type": "update_file", "diff": "@@\n-疑是地上霜\n+疑是地上雪\n"}),
]


@pytest.mark.parametrize(("name", "arguments"), CHANGES)
def test_a_change_is_shown_as_a_difference_and_made_so(
    desk: Desk, tmp_path: Path, name: str, arguments: Mapping[str, object]
) -> None:
    rows = desk.ask(name, {"path": "诗.txt", **arguments})
    assert rows[:3] == ["--- a/诗.txt", "+++ b/诗.txt", "@@ -1,4 +1,4 @@"]
    assert rows[3:] == [
        " 床前明月光",
        "-疑是地上霜",
        "+疑是地上雪",
        " 举头望明月",
        " 低头思故乡",
    ]
    assert (tmp_path / "诗.txt").read_text("utf-8") == POEM
    desk.ask(name, {"path": "诗.txt", **arguments}, run=True)
    assert (tmp_path / "诗.txt").read_text("utf-8") == POEM.replace("霜", "雪")


def test_a_new_file_and_one_that_goes_are_shown_whole(desk: Desk, tmp_path: Path) -> None:
    rows = desk.ask("write", {"path": "new/a.txt", "content": "猫\n"})
    assert rows[0] == "'new/a.txt' is new." and rows[-1] == "+猫"
    assert not (tmp_path / "new").exists()
    gone = desk.ask("apply_patch", {"type": "delete_file", "path": "诗.txt"})
    assert gone[3:] == [f"-{line}" for line in POEM.splitlines()]


def test_a_file_in_gbk_is_shown_as_text(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "gbk.txt").write_bytes(POEM.encode("gbk"))
    rows = desk.ask("edit", {"path": "gbk.txt", "old_text": "霜", "new_text": "雪"})
    assert "-疑是地上霜" in rows and "+疑是地上雪" in rows


def test_what_changes_no_line_is_said(desk: Desk) -> None:
    assert desk.ask("write", {"path": "诗.txt", "content": POEM}) == [
        "Nothing of '诗.txt' would change."
    ]
    crlf = POEM.replace("\n", "\r\n")
    assert desk.ask("write", {"path": "诗.txt", "content": crlf}) == [
        "Only ends of lines, or the encoding, of '诗.txt' would change."
    ]


def test_what_cannot_be_shown_is_said_and_shows_nothing(desk: Desk, tmp_path: Path) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    (outside / "mine").write_text("private\n")
    (tmp_path / ".env").write_text("KEY=private\n")
    (tmp_path / "alias").symlink_to(".env")
    (tmp_path / "link").symlink_to(outside / "mine")
    (tmp_path / "folder").symlink_to(outside)
    (tmp_path / "bin").write_bytes(b"\0private")
    (tmp_path / "large").write_bytes(b"private\n" * (MAX_BYTES // 8 + 1))
    os.mkfifo(tmp_path / "pipe")
    said = {
        ".env": "may hold secrets",
        "alias": "may hold secrets",
        "link": "leaves the root",
        "folder/mine": "leaves the root",
        "folder/new": "leaves the root",
        "../mine": "leaves the root",
        "/etc/hostname": "is absolute",
        "bin": "is binary; 8 B become 2 B",
        "large": "has 256.0 KB",
        "pipe": "is a special file",
        ".": "it is a folder",
    }
    for path, why in said.items():
        [row] = desk.ask("write", {"path": path, "content": "x\n"})
        assert row.startswith("What it would change cannot be shown: ") and why in row
        assert "private" not in row


def test_what_the_tool_would_refuse_is_said_in_one_line(desk: Desk) -> None:
    for path, old in (("诗.txt", "低头思故里\n"), ("none.txt", "x")):
        [row] = desk.ask("edit", {"path": path, "old_text": old, "new_text": "y"})
        assert "old_text was not found" in row or "'none.txt' does not exist" in row


def test_a_file_that_was_changed_since_it_was_read_is_not_compared(
    desk: Desk, tmp_path: Path
) -> None:
    desk.tools.run_sync([ToolCall("r", "read", {"path": "诗.txt"})])
    (tmp_path / "诗.txt").write_text("别的\n", "utf-8")
    [row] = desk.ask("write", {"path": "诗.txt", "content": "x\n"})
    assert "was changed since it was read" in row


def test_what_is_shown_has_a_bound(desk: Desk) -> None:
    rows = desk.ask("write", {"path": "诗.txt", "content": f"{'猫' * 5000}\n" + "x\n" * 1000})
    assert len(rows) == MAX_ROWS + 1 and rows[-1] == f"… {1004 + 4 - MAX_ROWS} more lines"
    assert max(map(len, rows)) < 1100
    for content in ("x\n" * (MAX_LINES + 1), "x" * (MAX_BYTES + 1)):
        [row] = desk.ask("write", {"path": "诗.txt", "content": content})
        assert "too much to compare" in row


def test_a_name_makes_no_lines_of_its_own(desk: Desk) -> None:
    rows = desk.ask("write", {"path": "a\n+b", "content": "x\n"})
    assert rows[1:3] == ["--- a/a\\x0a+b", "+++ b/a\\x0a+b"]
