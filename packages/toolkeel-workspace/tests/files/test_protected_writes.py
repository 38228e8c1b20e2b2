"""Writes of protected files need approval, whatever rules allow (T6)."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolkeel_workspace.files.open_beneath import Root
from toolkeel_workspace.files.protected_writes import ProtectedFilePredicate


@pytest.mark.parametrize(
    ("path", "asks"),
    [(".git/hooks/pre-commit", True), ("./.env", True), ("src/main.py", False), ("../x", False)],
)
def test_a_path_is_asked_about_by_where_it_leads(tmp_path: Path, path: str, asks: bool) -> None:
    for predicate in (ProtectedFilePredicate(), ProtectedFilePredicate(Root(tmp_path))):
        assert bool(predicate({"path": path})) is asks
        assert predicate.despite_rules({"path": path}) == predicate({"path": path})


def test_a_link_is_asked_about_by_what_it_names(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "plain").symlink_to(tmp_path / ".git")
    assert ProtectedFilePredicate(Root(tmp_path))({"path": "plain/config"})
