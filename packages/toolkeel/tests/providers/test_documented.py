"""The tests that the appendix of quirks names as proof are there."""

from __future__ import annotations

import re

from tests.shared import ROOT

PAGE = ROOT / "docs" / "project" / "provider-quirks.md"


def test_every_proof_that_the_page_names_is_a_test() -> None:
    named = set(re.findall(r"`(test_\w+)`", PAGE.read_text("utf-8")))
    texts = (path.read_text("utf-8") for path in (ROOT / "packages").glob("*/tests/**/test_*.py"))
    known = {name for text in texts for name in re.findall(r"\bdef (test_\w+)\(", text)}
    assert named
    assert not named - known


def test_every_quirk_of_these_wires_is_named() -> None:
    section = re.split(r"^## ", PAGE.read_text("utf-8"), flags=re.MULTILINE)
    for wire, numbers in (("Anthropic", [*range(11, 23)]), ("Bedrock", [50])):
        [text] = [part for part in section if part.startswith(wire)]
        for number in [*numbers, *range(52, 61)]:
            assert re.search(rf"\bQ{number}\b", text), f"{wire}: Q{number}"
