"""What a confined command sees of the machine."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from toolkeel.errors import SetupError
from toolkeel_workspace.sandbox.mounts import (
    SandboxPaths,
    collect_paths,
    find_import_folders,
    make_environment,
    resolve_paths,
)


def test_roots_are_writable_or_readable_as_the_mode_says(tmp_path: Path) -> None:
    (tmp_path / ".env").touch()
    seen = collect_paths([tmp_path], [], is_writable=True, network=False)
    assert seen.writable == (str(tmp_path),) and seen.protected == (str(tmp_path / ".env"),)
    seen = collect_paths([tmp_path], [], is_writable=False, network=False)
    assert seen.writable == () == seen.protected and seen.readable == (str(tmp_path),)


def test_a_root_that_is_a_folder_of_the_system_is_one_of_its_owner_with_what_is_within() -> None:
    seen = SandboxPaths(("/usr", "/opt"), (), ("/opt",), ("/opt/a/.env",))
    assert seen.list_private() == ("/opt",)
    assert seen.list_nested() == {"/opt/a": True, "/opt/a/.env": False}


def test_no_secret_of_the_system_is_among_its_files() -> None:
    system = collect_paths([], [], is_writable=True, network=True).system
    assert "/usr" in system and sys.base_prefix in system
    for path in ("/etc/shadow", "/etc/ssh", "/etc/ssl/private", "/root", "/home", "/run", "/var"):
        assert not any(path == each or path.startswith(f"{each}/") for each in system)


def test_the_path_holds_visible_folders_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/opt-not/bin:/usrlocal/bin:relative")
    found = make_environment("/tmp", ["/usr"], {})["PATH"].split(":")
    assert "/usr/bin" in found
    assert all(each.startswith("/usr/") for each in found)


def test_language_and_terminal_are_passed_on_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LC_TIME", "zh_CN.UTF-8")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "canary")
    env = make_environment("/tmp", ["/usr"], {"MINE": "1"})
    assert env["LC_TIME"] == "zh_CN.UTF-8" and env["MINE"] == "1" and env["HOME"] == "/tmp"
    assert "AWS_SECRET_ACCESS_KEY" not in env


def test_links_are_resolved_and_what_is_missing_is_named(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert resolve_paths([tmp_path / "link"], "root") == (tmp_path / "real",)
    with pytest.raises(SetupError, match="missing"):
        resolve_paths([tmp_path / "missing"], "root")


def test_folders_this_program_imports_from_are_found_in_a_root_and_packages_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = tmp_path / "src"
    packages = tmp_path / ".venv" / "site-packages"
    for folder in (inside, packages):
        folder.mkdir(parents=True)
    monkeypatch.setattr(sys, "path", ["/usr/lib", str(inside), str(packages), str(tmp_path / "no")])
    assert find_import_folders(tmp_path) == [str(inside)]
    monkeypatch.setattr(sys, "path", [""])
    monkeypatch.chdir(tmp_path)
    assert find_import_folders(tmp_path) == [str(tmp_path)]
