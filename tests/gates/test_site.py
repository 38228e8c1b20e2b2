"""The site of the documents: each guide has its place in it, and its links lead somewhere."""

from __future__ import annotations

import re
from runpy import run_path

import pytest

from tests.shared import ROOT

PAGES = run_path(str(ROOT / "scripts" / "site.py"))


@pytest.fixture(scope="module", autouse=True)
def written() -> None:
    """The pages, as `make site` writes them."""
    PAGES["main"]()


def test_each_guide_stands_once_in_the_navigation_and_nothing_else_does() -> None:
    nav = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:")[2]
    named = re.findall(r"[\w/-]+\.md", nav)
    guides = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    pages = {PAGES["CONTENTS"] if guide == "README.md" else guide for guide in guides}
    assert sorted(named) == sorted({*pages, "index.md", "reference.md"})


def test_no_link_of_a_page_leads_out_of_the_site_or_nowhere() -> None:
    broken = [
        f"{page.name}: {target}"
        for page in PAGES["guides"]()
        for _, _, target in PAGES["LINK"].findall(page.read_text("utf-8"))
        if ":" not in target and not target.startswith("#")
        if not (page.parent / target.partition("#")[0]).exists()
    ]
    assert broken == []


def test_the_list_for_programs_names_every_page_with_what_it_is_about() -> None:
    listed = (PAGES["OUT"] / "llms.txt").read_text("utf-8")
    assert listed.startswith("# toolkeel\n")
    for page in PAGES["guides"]():
        place = page.relative_to(PAGES["OUT"]).as_posix()
        said = listed.partition(f"]({place}): ")[2].partition("\n")[0]
        assert len(said) > 20 and said[-1] in ".:。*", page.name
        assert not said.startswith(("import ", "from ", "pip ")), page.name
