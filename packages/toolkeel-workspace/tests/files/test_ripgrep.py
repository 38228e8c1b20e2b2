"""ripgrep chooses files and nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.shared import cannot_run
from toolkeel_workspace.files import ripgrep
from toolkeel_workspace.files.open_beneath import Root


def candidates(
    place: Path, pattern: str, folder: str = ".", *, ended: bool = False
) -> list[str] | None:
    found = ripgrep.find_candidates(
        Root(place), folder, pattern, max_bytes=1000, is_over=lambda: ended
    )
    return None if found is None else sorted(found)


def program(place: Path, text: str) -> str:
    path = place / "rg"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_files_that_may_hold_a_match_come_with_their_paths_below_the_root(tmp_path: Path) -> None:
    if ripgrep.find_ripgrep() is None:
        cannot_run("there is no ripgrep: scripts/system_packages.py installs it")
    for name in ("a b", "-rf", ".hidden", "目录/猫", "node_modules/x", "sub/\udcff"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("$(touch pwned) 猫\r\n")
    (tmp_path / "large").write_text("猫" * 1000)
    found = ["-rf", ".hidden", "a b", "sub/\udcff", "目录/猫"]
    assert candidates(tmp_path, "猫$") is None  # it would pass over other encodings
    assert candidates(tmp_path, r"\$\(touch") == found
    assert candidates(tmp_path, "pwned", "目录") == ["目录/猫"]
    assert candidates(tmp_path, "--files") == []


@pytest.mark.parametrize(
    "pattern", [r"\Aa", r"a\z", "(?m)a", r"[\Wa]", "[[:alpha:]]", "a\nb", "[a&&b]", r"a\/(?=b)"]
)
def test_what_it_takes_otherwise_or_does_not_know_is_left_to_us(
    tmp_path: Path, pattern: str
) -> None:
    assert candidates(tmp_path, pattern) is None


def test_it_is_killed_when_the_search_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = program(tmp_path, f"echo $$ > {tmp_path}/pid; printf 'one\\0tw'; exec sleep 60")
    monkeypatch.setattr(ripgrep, "find_ripgrep", lambda: fake)
    pid = tmp_path / "pid"

    def ended() -> bool:
        return pid.exists() and pid.read_text().endswith("\n")

    found = ripgrep.find_candidates(Root(tmp_path), ".", "x", max_bytes=9, is_over=ended)
    assert found is not None and set(found) <= {"one"}
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_one_that_fails_or_cannot_start_leaves_the_search_to_us(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = program(tmp_path, "echo broken >&2; exit 2")
    monkeypatch.setattr(ripgrep, "find_ripgrep", lambda: fake)
    assert candidates(tmp_path, "x") is None
    monkeypatch.setattr(ripgrep, "find_ripgrep", lambda: str(tmp_path / "nowhere"))
    assert candidates(tmp_path, "x") is None


def test_a_program_of_that_name_in_our_path_is_never_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, f"touch {tmp_path}/pwned")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    candidates(tmp_path, "x")
    assert not (tmp_path / "pwned").exists()


def test_nothing_of_our_environment_changes_what_it_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "conf").write_text("--invert-match\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(tmp_path / "conf"))
    assert candidates(tmp_path, "invert") == ["conf"]
