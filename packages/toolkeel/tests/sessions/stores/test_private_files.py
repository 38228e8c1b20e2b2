"""Folders and files of a store are for their owner alone."""

from __future__ import annotations

from pathlib import Path

from toolkeel.sessions.stores.private_files import make_folder, make_private_file, sync_folder


def test_what_is_new_is_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "file"
    make_private_file(path)
    assert [each.stat().st_mode & 0o077 for each in (path, path.parent)] == [0, 0]


def test_what_exists_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("kept")
    make_private_file(path)
    make_folder(tmp_path)
    sync_folder(tmp_path)
    assert path.read_text() == "kept"
