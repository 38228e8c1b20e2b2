"""A folder with a user's files, and the command in this process, for what needs no other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.commandline import Ended, write_tools
from toolkeel_studio.cli.main import main

Here = Callable[..., Ended]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``tools.py`` and ``models.py``; tests do not change it."""
    made = tmp_path_factory.mktemp("user")
    write_tools(made)
    return made


@pytest.fixture
def here(
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Here:
    """Run the command in this process, in that folder."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("TOOLKEEL_DATA", str(tmp_path / "data"))

    def run(*words: str) -> Ended:
        with pytest.raises(SystemExit) as ended:
            main(words)
        out, err = capsys.readouterr()
        return Ended(int(ended.value.code or 0), out, err)

    return run
