"""Paths whose change widens what an agent may do."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolwright.engines.protected import PROTECTED, protected_below, protected_part


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
