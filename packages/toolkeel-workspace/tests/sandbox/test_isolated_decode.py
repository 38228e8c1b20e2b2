"""Strangers' files are decoded where nothing else can be reached, by the package that was installed."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from PIL import Image

from toolkeel.errors import ToolError
from toolkeel_workspace.pictures.shrink import shrink
from toolkeel_workspace.sandbox import isolated_decode
from toolkeel_workspace.sandbox.isolated_decode import decode_file, package_folder

PLANTED = "import pathlib\npathlib.Path({!r}).touch()\nraise SystemExit\n"


def picture() -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (50, 50), "teal").save(file, "PNG")
    return file.getvalue()


def test_code_with_the_name_of_a_library_in_the_root_is_never_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A workspace's root on the import path: what a model writes there runs in no picture."""
    mark, small = tmp_path / "ran", picture()
    for name in ("PIL", "pypdf", "zlib", "struct", "colorsys", "json"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(PLANTED.format(str(mark)))
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    for name in [name for name in sys.modules if name.partition(".")[0] in ("PIL", "pypdf")]:
        monkeypatch.delitem(sys.modules, name)
    assert shrink(small, max_side=20).size == (20, 20)
    assert not mark.exists()


def test_what_is_not_installed_has_no_folder() -> None:
    assert package_folder("no_such_package") == ""
    assert Path(package_folder("PIL"), "PIL", "Image.py").is_file()


def test_a_decoder_that_dies_is_told_and_takes_nothing_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = tmp_path / "worker.py"
    worker.write_text("import os\nos.abort()\n")
    monkeypatch.setattr(isolated_decode, "WORKER_SCRIPT", worker)
    isolated_decode._make_sandbox.cache_clear()
    try:
        with pytest.raises(ToolError, match="ended without a response"):
            decode_file({"kind": "pdf"}, b"", package_folder("pypdf"))
        worker.write_text("import time\ntime.sleep(60)\n")
        monkeypatch.setattr(isolated_decode, "TIMEOUT_SECONDS", 0.5)
        with pytest.raises(ToolError, match=r"more than 0\.5 s"):
            decode_file({"kind": "pdf"}, b"", package_folder("pypdf"))
    finally:
        isolated_decode._make_sandbox.cache_clear()
