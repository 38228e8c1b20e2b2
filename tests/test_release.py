"""A release has one version everywhere, and its changelog is made of fragments."""

from __future__ import annotations

import datetime
import shutil
from importlib import metadata
from pathlib import Path
from runpy import run_path

import pytest

import toolkeel
from tests.shared import ROOT

RELEASE = run_path(str(ROOT / "scripts" / "release.py"))


def test_the_four_distributions_have_one_version_and_need_each_other_at_it() -> None:
    [version] = set(RELEASE["versions"]().values())
    RELEASE["check"](version)
    for file in RELEASE["PROJECTS"]:
        assert RELEASE["with_version"](file.read_text("utf-8"), version) == file.read_text("utf-8")


def test_the_module_says_the_version_of_its_distribution() -> None:
    assert toolkeel.__version__ == metadata.version("toolkeel")


def test_another_version_than_the_tag_fails_the_check() -> None:
    with pytest.raises(SystemExit, match="not 99"):
        RELEASE["check"]("99.0.0")


def test_fragments_become_a_section_by_type() -> None:
    made = RELEASE["section"](
        {"+b.fixed.md": "Two\nlines.\n", "+a.added.md": "New."}, "1.2.3", datetime.date(2026, 1, 2)
    )
    assert made == "## [1.2.3] - 2026-01-02\n\n### Added\n\n- New.\n\n### Fixed\n\n- Two lines.\n"


def test_a_fragment_of_an_unknown_type_is_refused() -> None:
    with pytest.raises(SystemExit, match="'news' is none of"):
        RELEASE["section"]({"+a.news.md": "x"}, "1.2.3", datetime.date(2026, 1, 2))


def test_every_fragment_that_waits_has_a_known_type() -> None:
    waiting = [p for p in (ROOT / "changelog.d").glob("*.md") if p.name != "README.md"]
    RELEASE["section"]({p.name: p.read_text() for p in waiting}, "1.2.3", datetime.date.today())


def test_preparing_writes_the_version_into_every_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("packages", "changelog.d", "CHANGELOG.md", "CITATION.cff"):
        source = ROOT / name
        if source.is_dir():
            ignore = shutil.ignore_patterns("tests", "__pycache__")
            shutil.copytree(source, tmp_path / name, ignore=ignore)
        else:
            shutil.copy(source, tmp_path / name)
    (tmp_path / "changelog.d" / "+x.added.md").write_text("A thing.")
    release = run_path(str(ROOT / "scripts" / "release.py"))
    names = release["prepare"].__globals__
    names["ROOT"] = tmp_path
    names["MODULE"] = tmp_path / "packages/toolkeel/src/toolkeel/__init__.py"
    names["PROJECTS"] = sorted(tmp_path.glob("packages/*/pyproject.toml"))
    release["prepare"]("7.8.9")
    assert set(release["versions"]().values()) == {"7.8.9"}
    changelog = (tmp_path / "CHANGELOG.md").read_text()
    assert (
        changelog.index("## [Unreleased]")
        < changelog.index("## [7.8.9]")
        < changelog.index("A thing.")
    )
    assert [p.name for p in (tmp_path / "changelog.d").iterdir()] == ["README.md"]
