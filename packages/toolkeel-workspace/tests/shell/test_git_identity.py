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
    module.read_global_setting.cache_clear()
    yield folder
    module.read_global_setting.cache_clear()
    if before is None:
        del os.environ["GIT_CONFIG_GLOBAL"]
    else:
        os.environ["GIT_CONFIG_GLOBAL"] = before


def test_the_name_of_the_person_is_known_where_the_repository_has_none(repository: Path) -> None:
    assert read_git_identity(repository) == PERSON
    assert read_git_identity(repository.parent) == PERSON  # it may become a repository
    with (repository / ".git" / "config").open("a") as file:
        file.write("[user]\n\tname = Project\n")
    mails = {key: value for key, value in PERSON.items() if key.endswith("EMAIL")}
    assert read_git_identity(repository) == mails
    with (repository / ".git" / "config").open("a") as file:
        file.write("\temail = project@example.org\n")
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
    assert read_git_identity(repository) == PERSON
    settings.unlink()
    settings.symlink_to("/dev/zero")
    assert read_git_identity(repository) == PERSON


@pytest.fixture
def nobody(repository: Path) -> Path:
    """A folder on a machine where nobody has set an identity."""
    (repository.parent / "settings").write_text("")
    module.read_global_setting.cache_clear()
    return repository.parent / "project"


def bash(folder: Path, command: str) -> str:
    call = ToolCall("c", "bash", {"command": command})
    return str(Toolset(Workspace(folder).tools).run_sync([call])[0].content)


def test_a_first_commit_works_without_any_identity_and_the_reason_is_told(nobody: Path) -> None:
    need("bubblewrap")
    fresh = nobody.parent / "fresh"
    fresh.mkdir()
    for folder, first in ((nobody, "true"), (fresh, "git init -q")):
        said = bash(folder, f"{first}; touch f; git add f; git commit -qm 1; git log --format=%an")
        assert said.startswith("Agent\n\n[No git identity is configured on this machine.")
        assert "Commits are made as Agent <agent@localhost>" in said
    assert bash(nobody, "git status --short") == "(no output)"


def test_settings_that_a_command_cannot_keep_are_told(nobody: Path) -> None:
    need("bubblewrap")
    said = bash(nobody, "git config --global user.name Me")
    assert "HOME, which is deleted when the command ends" in said
    assert bash(nobody, "git config --get user.name; true") == "(no output)"
    said = bash(nobody, "git config user.name Me")
    assert ".git/config is protected from commands." in said and "code " in said
    assert "protected" not in bash(nobody, "git config --list --local")


def test_the_identity_of_a_person_is_not_called_missing(repository: Path) -> None:
    need("bubblewrap")
    said = bash(repository, "touch f; git add f; git commit -qm one; git log --format=%an,%ae")
    assert said == "Ada,ada@example.org"
