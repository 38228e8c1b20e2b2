"""What a write replaces is said, and may be refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolkeel import Toolset
from toolkeel.messages import ToolCall, ToolMessage
from toolkeel_workspace.files.content_changes import describe_replaced
from toolkeel_workspace.files.workspace import Overwrite, Workspace


def call(tools: Toolset, name: str, **arguments: object) -> ToolMessage:
    return tools.run_sync([ToolCall("c", name, {"path": "f", **arguments})])[0]


def made(place: Path, overwrite: Overwrite = "allow") -> Toolset:
    return Toolset(Workspace(place, None, overwrite=overwrite).tools)


def test_a_write_over_a_file_says_what_it_replaced_and_that_it_had_not_been_read(
    tmp_path: Path,
) -> None:
    tools = made(tmp_path)
    assert call(tools, "write", content="new\n").content == "File written: f (4 B)"
    assert str(call(tools, "write", content="two\n").content).endswith(
        "(4 B; it replaced a file: 1 line, 4 B)"
    )
    (tmp_path / "f").write_bytes("die größe\n".encode("cp1252"))
    tools = made(tmp_path)
    said = str(call(tools, "write", content="x").content)
    assert "it replaced a file that had not been read: 1 line, 10 B, perhaps Windows-1252" in said
    tools = made(tmp_path)
    call(tools, "read")
    assert "not been read" not in str(call(tools, "write", content="y").content)
    assert "had this content already" in str(call(tools, "write", content="y").content)


def test_read_first_refuses_only_what_exists_and_was_not_read(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("old")
    tools = made(tmp_path, "read-first")
    refused = call(tools, "write", content="new")
    assert refused.status == "error" and "has not been read" in str(refused.content)
    assert (tmp_path / "f").read_text() == "old"
    assert call(tools, "write", path="g", content="new").status == "success"
    assert call(tools, "write", path="g", content="again").status == "success"
    call(tools, "read")
    assert call(tools, "write", content="new").status == "success"
    assert (tmp_path / "f").read_text() == "new"


@pytest.mark.parametrize(
    ("before", "said"),
    [
        (None, ""),
        (b"", "; it replaced a file: 0 lines, 0 B"),
        (b"a\nb", "; it replaced a file: 2 lines, 3 B"),
        (b"\x89PNG\r\n\x1a\n\0\0", "; it replaced a file: binary (image/png), 10 B"),
    ],
)
def test_what_was_there_is_described(before: bytes | None, said: str) -> None:
    assert describe_replaced(before, b"x", True) == said
