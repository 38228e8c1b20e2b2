"""The text of a patch, and what its headers say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.files.test_apply_patch import call
from toolkeel_workspace.files.patch_hunks import parse_hunks, parse_new_file

BEGIN, END = "*** Begin Patch\n", "\n*** End Patch"


@pytest.mark.parametrize(
    ("kind", "diff", "why"),
    [
        (
            "update_file",
            "*** Update File: f\n@@\n-a\n+b\n*** Add File: g\n+x",
            "more than one file",
        ),
        ("update_file", "*** Update File: f\n@@\n-a\n+b\n*** Delete File: g", "more than one file"),
        ("update_file", "diff --git a/f b/f\n@@\n-a\n+b\ndiff --git a/g b/g\n+x", "more than one"),
        ("update_file", "*** Update File: g\n@@\n-a\n+b", "its patch names 'g'"),
        ("update_file", "--- a/g\n+++ b/g\n@@ -1 +1 @@\n-a\n+b", "its patch names 'b/g'"),
        ("update_file", "*** Update File: f\n*** Move to: g\n@@\n-a\n+b", "does not rename"),
        ("create_file", "*** Add File: g\n+x\n*** Add File: h\n+y", "more than one file"),
        ("create_file", "*** Add File: h\n+x", "its patch names 'h'"),
    ],
)
def test_lines_for_another_file_never_go_into_this_one(
    tmp_path: Path, kind: str, diff: str, why: str
) -> None:
    (tmp_path / "f").write_text("a\n")
    path = "f" if kind == "update_file" else "g"
    message = call(tmp_path, type=kind, path=path, diff=f"{BEGIN}{diff}{END}")
    assert message.failed and why in message.text
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("f", "a\n")]


@pytest.mark.parametrize("name", ["src/f.py", "f.py", "/srv/project/src/f.py", "./src/f.py"])
def test_a_header_may_name_the_file_by_more_or_less_of_its_path(name: str) -> None:
    [hunk] = parse_hunks(f"{BEGIN}*** Update File: {name}\n@@\n-a\n+b{END}", "src/f.py")
    assert hunk.rows == ("-a", "+b")


def test_a_new_file_may_have_the_headers_of_a_patch() -> None:
    assert (
        parse_new_file(f"{BEGIN}*** Add File: f\n+a\n+*** End Patch{END}", "f")
        == "a\n*** End Patch\n"
    )


def test_a_new_file_keeps_every_character_of_its_lines() -> None:
    assert parse_new_file("+a\u2028b\n+\x0cc") == "a\u2028b\n\x0cc\n"


@pytest.mark.parametrize(
    ("diff", "made"),
    [
        ("+a\n\\ No newline at end of file\n", "a"),
        ("+a\n+", "a\n\n"),
        ("+", "\n"),
        ("", ""),
        ("+\n\\ Kein Zeilenumbruch", ""),
    ],
)
def test_a_new_file_ends_with_a_line_end_unless_the_patch_says_not(diff: str, made: str) -> None:
    assert parse_new_file(diff) == made
