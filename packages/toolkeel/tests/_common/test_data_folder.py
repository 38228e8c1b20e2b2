"""Each system has its own folder for a user's data, and a variable says otherwise."""

from __future__ import annotations

import pwd
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from toolkeel._common.data_folder import (
    data_folder,
    expand_home,
    find_home,
    sessions_file,
    state_folder,
)
from toolkeel.errors import SetupError


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


@pytest.fixture
def unknown_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """A container's user: no HOME, and no entry in the system's list of users."""
    for name in ("HOME", "TOOLKEEL_DATA", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)

    def fail(_: object) -> object:
        raise KeyError("uid not found")

    monkeypatch.setattr(pwd, "getpwuid", fail)
    monkeypatch.setattr(pwd, "getpwnam", fail)


@pytest.mark.usefixtures("unknown_user")
@pytest.mark.parametrize("folder", [data_folder, state_folder, sessions_file])
def test_a_user_without_a_home_folder_learns_which_variable_to_set(
    folder: Callable[[], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find_home() is None
    with pytest.raises(SetupError, match=r"set HOME, or TOOLKEEL_DATA .* and XDG_STATE_HOME"):
        folder()
    monkeypatch.setenv("TOOLKEEL_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert folder().is_relative_to(tmp_path)


@pytest.mark.usefixtures("unknown_user")
def test_a_path_below_an_unknown_home_folder_is_named() -> None:
    with pytest.raises(SetupError, match=r"'~/tools\.py': this home folder is unknown"):
        expand_home("~/tools.py")
    assert expand_home("tools.py") == Path("tools.py")
