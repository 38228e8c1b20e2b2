"""What a model has seen of files."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolkeel.errors import ToolError
from toolkeel_workspace.files.changed_since_read import Seen
from toolkeel_workspace.files.open_beneath import Root


def test_a_file_that_changed_since_it_was_seen_is_not_given(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("one")
    seen = Seen(Root(tmp_path))
    assert seen.content("f")[0] == b"one"
    seen.note("f", seen.take("f"))
    (tmp_path / "f").write_text("two")
    with pytest.raises(ToolError, match=r"was changed since it was read\. Read it again"):
        seen.content("f")
    assert seen.content("none") == (None, None)


def test_what_changed_while_a_command_ran_is_known_afterwards(tmp_path: Path) -> None:
    for name in ("same", "changed", "gone", "before"):
        (tmp_path / name).write_text(name)
    seen = Seen(Root(tmp_path))
    for name in ("same", "changed", "gone", "before"):
        seen.note(name, seen.take(name))
    (tmp_path / "before").write_text("changed before the command")
    names = seen.unchanged()
    (tmp_path / "changed").write_text("by it")
    (tmp_path / "gone").unlink()
    assert sorted(seen.catch_up(names)) == ["changed", "gone"]
    assert seen.content("changed")[0] == b"by it"
    with pytest.raises(ToolError, match="was changed since"):
        seen.content("before")
