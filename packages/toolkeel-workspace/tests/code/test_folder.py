"""The folder that code works in."""

from __future__ import annotations

import os
from pathlib import Path

from tests.pictures.test_too_large import png
from toolkeel_workspace.code.folder import CodeFolder

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


def test_what_was_written_since_the_last_look_is_told(tmp_path: Path) -> None:
    folder = CodeFolder(tmp_path, {"given.txt": b"x"})
    assert folder.take_changes() == []
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "a.txt").write_text("abc")
    (tmp_path / "given.txt").write_text("changed")
    assert [(w.path, w.size) for w in folder.take_changes()] == [("given.txt", 7), ("new/a.txt", 3)]
    assert folder.take_changes() == []


def test_links_and_special_files_are_neither_listed_nor_read(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.png").write_bytes(PNG)
    inside = tmp_path / "inside"
    folder = CodeFolder(inside, {})
    (inside / "link.png").symlink_to(outside / "secret.png")
    (inside / "folder").symlink_to(outside)
    os.mkfifo(inside / "fifo.png")
    assert folder.take_changes() == []
    assert folder.read_picture("link.png") is None and folder.read_picture("fifo.png") is None
    assert folder.read_picture("folder/secret.png") is None


def test_pictures_are_known_by_what_they_are(tmp_path: Path) -> None:
    folder = CodeFolder(tmp_path, {"a.txt": PNG, "b.png": b"no picture"})
    picture = folder.read_picture("a.txt")
    assert picture is not None and picture.media_type == "image/png"
    assert folder.read_picture("b.png") is None and folder.read_picture("gone") is None
    (tmp_path / "bomb.png").write_bytes(png(50_000, 50_000))
    assert folder.read_picture("bomb.png") is None


def test_a_folder_of_its_own_is_removed_and_another_is_not(tmp_path: Path) -> None:
    own, given = CodeFolder(None, {"a": b"x"}), CodeFolder(tmp_path / "given", {})
    for folder in (own, given):
        folder.close()
    assert not own.path.exists() and given.path.exists()
