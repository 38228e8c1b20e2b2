"""The example of one agent at work does what its guide shows."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gates.documents import blocks
from tests.shared import ROOT, cannot_run, optional, peer

measure_picture = optional("toolkeel_workspace.pictures.too_large").measure_picture

EXAMPLE = ROOT / "examples" / "workbench.py"
GUIDE = ROOT / "docs" / "project" / "workbench.md"


def mended(project: Path) -> bool:
    """Whether the tests of a project do."""
    ran = subprocess.run(
        [sys.executable, "-B", "-m", "unittest", "-q"], cwd=project, capture_output=True, timeout=60
    )
    return ran.returncode == 0


@pytest.fixture(scope="module")
def workbench(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """What the agent's day at the harbour printed, and the folder it left."""
    if (
        shutil.which("bwrap") is None
        and optional("toolkeel_workspace.sandbox.confine").detect_features().backend == "none"
    ):
        cannot_run("there is no sandbox on this machine: scripts/system_packages.py installs one")
    if not any(map(shutil.which, optional("toolkeel_workspace.computer.browser").PROGRAMS)):
        cannot_run("there is no Chromium: scripts/system_packages.py installs one")
    folder = tmp_path_factory.mktemp("workbench")
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLE), "harbour"],
        capture_output=True,
        encoding="utf-8",
        timeout=110,
        cwd=folder,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, folder / "harbour"


@pytest.mark.slow
def test_the_workbench_mends_the_project_whose_tests_failed(workbench: tuple[str, Path]) -> None:
    said, folder = workbench
    assert not mended(EXAMPLE.with_suffix("") / "tides")
    assert mended(folder / "tides")
    assert said.index("FAILED (failures=2)") < said.index("+    return") < said.index("OK\n")


@pytest.mark.slow
def test_the_workbench_finds_the_right_documents_in_both_languages(
    workbench: tuple[str, Path],
) -> None:
    said, _ = workbench
    assert said.count("[1] entering.md > Entering the harbour > The sill (score 1.00)") == 1
    assert said.count("[1] 泊位.md > 泊位 (score 1.00)") == 1


@pytest.mark.slow
def test_the_workbench_plots_a_figure_in_colours(workbench: tuple[str, Path]) -> None:
    if importlib.util.find_spec("matplotlib") is None:
        cannot_run("matplotlib is not installed: make test-slow installs it")
    said, folder = workbench
    assert "from 2:48 to 9:12\n        from 15:12 to 21:36" in said
    assert len(colours(folder / "pictures" / "code_interpreter-1.png")) > 3


@pytest.mark.slow
def test_the_workbench_books_a_berth_on_the_page_and_sees_it(workbench: tuple[str, Path]) -> None:
    said, folder = workbench
    assert "The page says: Booked: berth B3 for the Puffin, expected at 16:00." in said
    before, after = (folder / "pictures" / f"computer-{n}.png" for n in (1, 3))
    assert measure_picture(before.read_bytes()) == measure_picture(after.read_bytes()) == (760, 400)
    assert colours(after) != colours(before), "the picture is the same as before"


@pytest.mark.slow
def test_the_guide_shows_what_the_workbench_prints(workbench: tuple[str, Path]) -> None:
    said, _ = workbench
    shown = blocks(GUIDE.read_text("utf-8"))
    printed = plain(said).replace("in harbour", "in /tmp/harbour")
    parts = [plain(block.code) for block in shown if block.language == "text"]
    assert len(parts) == 7
    for part in parts[1:]:  # how unittest tells of failures depends on the version
        assert part in printed
    example = EXAMPLE.read_text("utf-8")
    assert all(block.code in example for block in shown if block.language == "python")


def plain(text: str) -> str:
    """What is printed, without times and spaces at the ends of lines."""
    return re.sub(r"(?m) +$|(?<=tests in )[0-9.]+s", "", text)


def test_the_pictures_of_the_guide_are_small_and_as_the_workbench_makes_them() -> None:
    shown = sorted((ROOT / "docs" / "pictures").glob("*.png"))
    names = ["code_interpreter-1.png", "computer-1.png", "computer-2.png", "computer-3.png"]
    assert [path.name for path in shown] == names
    for path in shown:
        data = path.read_bytes()
        assert measure_picture(data) is not None
        assert len(data) < 100_000
        assert f"pictures/{path.name}" in GUIDE.read_text("utf-8")


def colours(path: Path) -> dict[tuple[int, ...], int]:
    """How many points of a picture have each of the colours that are more than specks."""
    image = peer("PIL.Image").open(path).convert("RGB")
    counted = image.getcolors(maxcolors=1 << 20)
    return {colour: count for count, colour in counted if count > 500}
