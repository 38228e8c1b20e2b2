"""Folders a reader can hold, each with its map."""

from __future__ import annotations

from tests.gates.house import code_lines, crowded, unmapped
from tests.gates.sources import modules, planted, report


def test_no_folder_is_crowded() -> None:
    report(list(crowded(modules())))


def test_every_folder_has_a_map_that_names_each_of_its_modules_once() -> None:
    report(list(unmapped(modules())))


def test_a_crowded_folder_and_a_map_with_holes_are_found() -> None:
    front = '"""A folder.\n\na_x  one\nlost  nothing\n"""'
    names = ["a_x", "a_y", "a_z", *(f"m{number}" for number in range(18))]
    planned = [planted("toolkeel.f", front), *(planted(f"toolkeel.f.{name}", "") for name in names)]
    folder = planned[0].__class__(
        "toolkeel.f", "packages/toolkeel/src/toolkeel/f/__init__.py", front
    )
    rows = [*crowded([folder, *planned[1:]]), *unmapped([folder, *planned[1:]])]
    assert rows[0] == "toolkeel.f: 21 modules (20)"
    assert rows[1] == "toolkeel.f: 3 modules begin with 'a' (2); make a folder"
    assert "toolkeel.f: its map names 'a_y' 0 times" in rows
    assert rows[-1] == "toolkeel.f: its map names 'lost', which is not there"


def test_code_is_counted_without_blanks_comments_and_docstrings() -> None:
    text = '"""A module."""\n\n# why\nx = """a\nb"""\n\n\ndef f():\n    """Say."""\n    return (1,\n        2)\n'
    assert code_lines(planted("toolkeel.x", text)) == 5
