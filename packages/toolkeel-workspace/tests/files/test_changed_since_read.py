"""What a model has seen of files."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolkeel.errors import ToolError
from toolkeel_workspace.files.changed_since_read import FileSnapshots
from toolkeel_workspace.files.open_beneath import Root


def test_a_file_that_changed_since_it_was_seen_is_not_given(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("one")
    seen = FileSnapshots(Root(tmp_path))
    assert seen.read_unchanged("f")[0] == b"one"
    seen.record("f", seen.snapshot("f"))
    (tmp_path / "f").write_text("two")
    with pytest.raises(ToolError, match=r"was changed since it was read\. Read it again"):
        seen.read_unchanged("f")
    assert seen.read_unchanged("none") == (None, None)


def test_what_changed_while_a_command_ran_is_known_afterwards(tmp_path: Path) -> None:
    for name in ("same", "changed", "gone", "before"):
        (tmp_path / name).write_text(name)
    seen = FileSnapshots(Root(tmp_path))
    for name in ("same", "changed", "gone", "before"):
        seen.record(name, seen.snapshot(name))
    (tmp_path / "before").write_text("changed before the command")
    names = seen.list_unchanged()
    (tmp_path / "changed").write_text("by it")
    (tmp_path / "gone").unlink()
    assert sorted(seen.update_changed(names)) == ["changed", "gone"]
    assert seen.read_unchanged("changed")[0] == b"by it"
    with pytest.raises(ToolError, match="was changed since"):
        seen.read_unchanged("before")


def test_what_must_be_read_before_it_is_written_over_is_refused_until_it_is(tmp_path: Path) -> None:
    (tmp_path / "a\tb").write_text("old")
    seen = FileSnapshots(Root(tmp_path))
    with pytest.raises(
        ToolError, match=r"has not been read, so it was not changed\. Read it first"
    ):
        seen.require_read("a\tb")
    seen.record("a\tb", seen.snapshot("a\tb"))
    seen.require_read("a\tb")
