"""What decodes runs by itself and tells what it found."""

from __future__ import annotations

import io
import json
import subprocess
import sys

from PIL import Image

from toolkeel_workspace.sandbox.isolated_decode import WORKER_SCRIPT, package_folder


def answer(order: dict[str, object], data: bytes, package: str) -> dict[str, object]:
    words = [sys.executable, "-I", "-S", str(WORKER_SCRIPT), package_folder(package)]
    given = json.dumps(order).encode() + b"\n" + data
    done = subprocess.run(words, input=given, capture_output=True, check=True)
    told: dict[str, object] = json.loads(done.stdout.partition(b"\n")[0])
    return told


def test_a_picture_of_a_kind_that_starts_other_programs_is_not_opened() -> None:
    file = io.BytesIO()
    Image.new("RGB", (9, 9)).save(file, "EPS")
    order = {"kind": "picture", "side": 5, "bytes": 10_000, "pixels": 1_000}
    assert "error" in answer(order, file.getvalue(), "PIL")


def test_what_is_no_pdf_is_told_as_an_error() -> None:
    order = {"kind": "pdf", "pages": 1, "text": 9, "seconds": 9, "limits": {}}
    assert "error" in answer(order, b"%PDF-1.4 nothing", "pypdf")
