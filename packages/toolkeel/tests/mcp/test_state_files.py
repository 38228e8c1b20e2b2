"""Small files that are written whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolkeel import SetupError
from toolkeel.mcp.state_files import load_object, mcp_state_folder, save_object


def test_what_is_saved_is_loaded_and_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "kept.json"
    assert load_object(path) == {}
    save_object(path, {"猫": 1})
    assert load_object(path) == {"猫": 1}
    assert path.stat().st_mode & 0o077 == 0
    assert [each.name for each in path.parent.iterdir()] == ["kept.json"]


@pytest.mark.parametrize("text", ["{", "[]", "\x00"])
def test_a_file_that_holds_something_else_is_told(tmp_path: Path, text: str) -> None:
    path = tmp_path / "kept.json"
    path.write_text(text)
    with pytest.raises(SetupError, match="mend or delete it"):
        load_object(path)


def test_the_folder_follows_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert mcp_state_folder() == tmp_path / "toolkeel" / "mcp"
