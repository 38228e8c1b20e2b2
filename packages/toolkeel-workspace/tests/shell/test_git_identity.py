"""Who commits in a sandbox."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sandbox.walls import need
from toolkeel import Toolset
from toolkeel.messages import ToolCall
from toolkeel_workspace.files.workspace import Workspace
from toolkeel_workspace.sandbox.confine import Backend, Sandbox
from toolkeel_workspace.shell import git_identity as module
from toolkeel_workspace.shell.git_identity import (
    is_as_git_makes,
    make_git_config,
    read_own_settings,
)


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


def test_names_of_people_survive_the_syntax_of_git(repository: Path) -> None:
    name = 'Ada "Countess" \\ Lovelace; #1, Größe'
    settings = Path(os.environ["GIT_CONFIG_GLOBAL"])
    subprocess.run(["git", "config", "--global", "user.name", name], check=True)
    module.read_global_setting.cache_clear()
    settings.write_text(make_git_config(), encoding="utf-8")
    words = ["git", "config", "--global", "user.name"]
    assert subprocess.check_output(words, text=True).rstrip("\n") == name


@pytest.mark.parametrize(
    ("before", "commit", "author"),
    [
        ("true", "git commit -qm 1", "Ada,ada@example.org,Ada"),
        ("git config user.name X", "git commit -qm 1", "X,ada@example.org,X"),
        ("git config author.name X", "git commit -qm 1", "X,ada@example.org,Ada"),
        ("git config --global user.name X", "git commit -qm 1", "X,ada@example.org,X"),
        ("true", "git -c user.name=X -c user.email=x@y commit -qm 1", "X,x@y,X"),
        ("true", "GIT_AUTHOR_NAME=X git commit -qm 1", "X,ada@example.org,Ada"),
        ("export GIT_COMMITTER_NAME=X", "git commit -qm 1", "Ada,ada@example.org,X"),
        ("true", "git commit -qm 1 --author 'X <x@y>'", "X,x@y,Ada"),
    ],
)
@pytest.mark.parametrize("backend", ["bubblewrap", "landlock"])
def test_an_identity_that_a_command_sets_is_the_one_that_commits(
    repository: Path, backend: Backend, before: str, commit: str, author: str
) -> None:
    need(backend)
    fresh = repository.parent / "fresh"
    fresh.mkdir()
    network = "machine" if backend == "landlock" else False
    tools = Toolset(
        Workspace(fresh, Sandbox(roots=[fresh], backend=backend, network=network)).tools
    )
    line = f"git init -q . && {before}; touch f; git add f; {commit}; git log --format=%an,%ae,%cn"
    [result] = tools.run_sync([ToolCall("c", "bash", {"command": line})])
    assert str(result.content).partition("\n")[0] == author


def test_an_identity_that_a_persistent_shell_exports_commits_in_its_next_command(
    repository: Path,
) -> None:
    need("bubblewrap")
    commands = [
        "export GIT_AUTHOR_NAME=X GIT_AUTHOR_EMAIL=x@y",
        "touch f; git add f; git commit -qm 1; git log --format=%an,%ae,%cn",
    ]
    calls = [ToolCall(line, "bash", {"command": line}) for line in commands]
    tools = Toolset(Workspace(repository, shell="persistent").tools)
    assert tools.run_sync(calls)[1].content == "X,x@y,Ada"


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
    assert read_own_settings(repository) == {}
    settings.unlink()
    settings.symlink_to("/dev/zero")
    assert read_own_settings(repository) == {}


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
        assert said.startswith(
            "Agent\n\n[This machine's git configuration has no user.name and no user.email."
        )
        assert "commits are made as Agent <agent@localhost>" in said
    assert bash(nobody, "git status --short") == "(no output)"


def test_settings_that_a_command_cannot_keep_are_told(nobody: Path) -> None:
    need("bubblewrap")
    said = bash(nobody, "git config --global user.name Me")
    assert "HOME, which is deleted when the command ends" in said
    assert bash(nobody, "git config --get user.name; true") == "Agent"
    said = bash(nobody, "git config user.name Me")
    assert ".git/config is protected from commands." in said and "code " in said
    assert "protected" not in bash(nobody, "git config --list --local")


def test_the_identity_of_a_person_is_not_called_missing(repository: Path) -> None:
    need("bubblewrap")
    said = bash(repository, "touch f; git add f; git commit -qm one; git log --format=%an,%ae")
    assert said == "Ada,ada@example.org"


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("config", "[core]\n\tfsmonitor = evil\n", False),
        ("config", "[core]\n\tbare = false\n\n", True),
        ("config", "[include]\n\tpath = /x\n", False),
        ("config", '[alias "x"]\n', False),
        ("config", "[core]\n\tbare = false ; x\n", False),
        ("config", "\n" * 70_000 + "[alias]\n", False),
        ("hooks/pre-commit", "evil", False),
        ("hooks/x.sample", "evil", True),
        ("info/exclude", "# nothing\n", True),
        ("info/exclude", "*.py\n", False),
        ("info/attributes", "* filter=evil\n", False),
        ("modules/x", "", False),
    ],
)
def test_what_git_init_makes_is_told_from_what_has_an_effect(
    tmp_path: Path, name: str, text: str, expected: bool
) -> None:
    subprocess.run(["git", "init", "-q", tmp_path / "new"], check=True)
    new = tmp_path / "new" / ".git"
    assert all(is_as_git_makes(new / each) for each in ("config", "hooks", "info"))
    path = new / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    assert is_as_git_makes(new / name.partition("/")[0]) is expected
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").symlink_to(new / "config")
    assert not is_as_git_makes(tmp_path / ".git" / "config")
