"""Folders a reader can hold, each with its map; and no more code than was planned."""

from __future__ import annotations

from pathlib import Path

from radon.complexity import cc_visit

from tests.gates.house import (
    ABOVE_TEN,
    ALL_LINES,
    CORE_LINES,
    HIGHEST,
    MEAN,
    code_lines,
    crowded,
    is_core,
    unmapped,
)
from tests.gates.sources import SRC, modules, planted, report


def test_no_folder_is_crowded() -> None:
    report(list(crowded(modules())))


def test_every_folder_has_a_map_that_names_each_of_its_modules_once() -> None:
    report(list(unmapped(modules())))


def test_there_is_no_more_code_than_was_planned() -> None:
    core = sum(code_lines(module) for module in modules() if is_core(module))
    whole = sum(code_lines(module) for module in modules())
    print(
        f"lines of code: {core:,} of {CORE_LINES:,} in the core, {whole:,} of {ALL_LINES:,} in all"
    )
    assert core <= CORE_LINES and whole <= ALL_LINES, f"{core:,} in the core, {whole:,} in all"


def test_functions_are_as_simple_as_they_were_by_radon_too() -> None:
    """Radon counts conditions within conditions as well: one more for each ``and`` and ``or``."""
    found = [
        (block.complexity, f"{module.path}:{block.lineno} {block.fullname}")
        for module in modules()
        for block in cc_visit(module.text)
    ]
    mean = sum(number for number, _ in found) / len(found)
    above = sorted((row for row in found if row[0] > 10), reverse=True)
    print(f"radon: {mean:.2f} in the mean ({MEAN}), {len(above)} of {len(found)} above ten")
    assert mean <= MEAN, f"{mean:.3f} in the mean ({MEAN})"
    assert above[0][0] <= HIGHEST, f"{above[0]}: the highest ({HIGHEST})"
    share = len(above) / len(found)
    assert share <= ABOVE_TEN, f"{share:.3f} above ten ({ABOVE_TEN}): {above[:10]}"


def test_a_crowded_folder_and_a_map_with_holes_are_found() -> None:
    front = '"""A folder.\n\na_x  one\nlost  nothing\n"""'
    names = ["a_x", "a_y", "a_z", *(f"m{number}" for number in range(18))]
    planned = [planted("toolkeel.f", front), *(planted(f"toolkeel.f.{name}", "") for name in names)]
    folder = planned[0].__class__("toolkeel.f", "packages/toolkeel/src/toolkeel/f/__init__.py", front)
    rows = [*crowded([folder, *planned[1:]]), *unmapped([folder, *planned[1:]])]
    assert rows[0] == "toolkeel.f: 21 modules (20)"
    assert rows[1] == "toolkeel.f: 3 modules begin with 'a' (2); make a folder"
    assert "toolkeel.f: its map names 'a_y' 0 times" in rows
    assert rows[-1] == "toolkeel.f: its map names 'lost', which is not there"


def test_code_is_counted_without_blanks_comments_and_docstrings() -> None:
    text = '"""A module."""\n\n# why\nx = """a\nb"""\n\n\ndef f():\n    """Say."""\n    return (1,\n        2)\n'
    assert code_lines(planted("toolkeel.x", text)) == 5
    assert Path(SRC).is_dir()
