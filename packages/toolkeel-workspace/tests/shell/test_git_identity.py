"""Who commits in a sandbox."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.executors.walls import need
from toolkeel import Toolset
from toolkeel.messages import ToolCall
from toolkeel_workspace.files.workspace import Workspace
from toolkeel_workspace.shell import git_identity as module
from toolkeel_workspace.shell.git_identity import read_git_identity

PERSON = {"GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.org"}
PERSON |= {"GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "ada@example.org"}


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Path]:
    """A repository of somebody whose name stands in the settings of their home."""
    settings = tmp_path / "settings"
    settings.write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n")
    folder = tmp_path / "project"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", folder], check=True)
    before = os.environ.get("GIT_CONFIG_GLOBAL")
    os.environ["GIT_CONFIG_GLOBAL"] = str(settings)
    module._read_global_setting.cache_clear()
    yield folder
    module._read_global_setting.cache_clear()
    if before is None:
        del os.environ["GIT_CONFIG_GLOBAL"]
    else:
        os.environ["GIT_CONFIG_GLOBAL"] = before


def test_the_name_of_the_person_is_known_where_the_repository_has_none(repository: Path) -> None:
    assert read_git_identity(repository) == PERSON
    assert read_git_identity(repository.parent) == {}
    with (repository / ".git" / "config").open("a") as file:
        file.write("[user]\n\tname = Project\n")
    assert read_git_identity(repository) == {}


def test_two_calls_of_a_turn_add_and_commit_in_the_name_of_the_person(repository: Path) -> None:
    need("bubblewrap")
    (repository / "f").write_text("one")
    commands = ["git add f", "git commit -qm one", "git log --format=%an,%s; git status --short"]
    calls = [ToolCall(str(n), "bash", {"command": line}) for n, line in enumerate(commands)]
    results = Toolset(Workspace(repository).tools).run_sync(calls)
    assert [result.content for result in results] == ["(no output)", "(no output)", "Ada,one"]


def test_what_a_command_put_in_the_place_of_the_settings_holds_nobody_up(repository: Path) -> None:
    settings = repository / ".git" / "config"
    settings.unlink()
    os.mkfifo(settings)
    assert read_git_identity(repository) == {}
    settings.unlink()
    settings.symlink_to("/dev/zero")
    assert read_git_identity(repository) == {}
