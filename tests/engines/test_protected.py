"""Paths whose change widens what an agent may do."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from toolwright.engines.protected import PROTECTED, protected_below, protected_part, protected_state


@pytest.mark.parametrize("pattern", PROTECTED)
def test_each_pattern_counts_at_any_depth_and_with_what_is_below(pattern: str) -> None:
    for path in (pattern, f"./{pattern}", f"a/b/{pattern}", f"{pattern}/x", pattern.upper()):
        assert protected_part(path) == pattern


@pytest.mark.parametrize(
    "path", ["src/hooks/a", ".git/HEAD", ".gitignore", "env", ".env.example", "x.env", "a.github"]
)
def test_what_only_looks_alike_does_not_count(path: str) -> None:
    assert protected_part(path) == ""


def test_variants_of_env_files_count() -> None:
    assert protected_part("a/.env.local") == ".env"


def test_what_is_there_of_them_is_found(tmp_path: Path) -> None:
    (tmp_path / ".git" / "hooks").mkdir(parents=True)
    for name in (".env", ".env.local", ".env.example", "a.py"):
        (tmp_path / name).touch()
    names = {str(path.relative_to(tmp_path)) for path in protected_below(tmp_path)}
    assert names == {".git/hooks", ".env", ".env.local"}


def test_whatever_is_done_to_a_protected_file_shows_in_its_state(tmp_path: Path) -> None:
    hooks = tmp_path / ".git" / "hooks"
    hooks.mkdir(parents=True)
    hook = hooks / "pre-commit"
    hook.write_text("old")
    (tmp_path / ".env").write_text("A=1")

    def changed(what: Callable[[], object]) -> set[str]:
        before = protected_state(tmp_path)
        what()
        after = protected_state(tmp_path)
        return {str(Path(p).relative_to(tmp_path)) for p in before if after.get(p) != before[p]}

    was = hook.stat()

    def cover_up() -> None:
        hook.write_text("new")
        os.utime(hook, ns=(was.st_atime_ns, was.st_mtime_ns))

    assert changed(hook.read_text) == set()
    assert changed((tmp_path / "plain").touch) == set()
    assert changed(cover_up) == {".git/hooks"}
    assert changed(lambda: hook.chmod(0o755)) == {".git/hooks"}
    assert changed((hooks / "post-merge").touch) == {".git/hooks"}
    assert changed(lambda: hooks.rename(tmp_path / ".git" / "h")) == {".git/hooks"}
    assert changed((tmp_path / ".env").unlink) == {".env"}
