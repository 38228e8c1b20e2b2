"""Each system has its own folder for a user's data, and a variable says otherwise."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from toolkeel._common.data_folder import data_folder, sessions_file


@pytest.mark.parametrize(
    ("platform", "variable", "folder"),
    [
        ("linux", None, ".local/share/toolkeel"),
        ("linux", "XDG_DATA_HOME", "given/toolkeel"),
        ("darwin", None, "Library/Application Support/toolkeel"),
        ("win32", "LOCALAPPDATA", "given/toolkeel"),
        ("win32", None, "AppData/Local/toolkeel"),
        ("linux", "TOOLKEEL_DATA", "given"),
    ],
)
def test_data_is_kept_where_the_system_keeps_it(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    platform: str,
    variable: str | None,
    folder: str,
) -> None:
    for name in ("XDG_DATA_HOME", "LOCALAPPDATA", "TOOLKEEL_DATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    if variable:
        monkeypatch.setenv(variable, str(tmp_path / "given"))
    monkeypatch.setattr(sys, "platform", platform)
    assert data_folder() == tmp_path / folder
    assert sessions_file() == tmp_path / folder / "sessions.db"


def test_a_relative_folder_is_not_taken_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TOOLKEEL_DATA", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    assert data_folder() == tmp_path / ".local/share/toolkeel"
