"""The page of the contract names a test for every line, and every test it names exists."""

from __future__ import annotations

import re
import typing

from tests.gates.documents import program
from tests.gates.sources import report
from tests.gates.test_features import _exists
from tests.shared import ROOT
from toolkeel.errors import Kind

PAGE = ROOT / "docs" / "project" / "contract.md"
INVARIANTS = 14
ROW = re.compile(r"(?m)^\| (.+?) \|(?: (.+?) \|)? ([^|]*) \|$")


def rows(text: str) -> dict[str, list[str]]:
    """The first cell of each row, and the tests that its last cell names."""
    found: dict[str, list[str]] = {}
    for first, _, last in ROW.findall(text):
        if not set(first) <= set("-|") and last not in ("tests", ""):
            found[first.strip("`")] = re.findall(r"`([^`]+)`", last)
    return found


def complaints(text: str) -> list[str]:
    """Rows without a test, and tests that are nowhere."""
    named = [*rows(text).items(), ("the page", re.findall(r"`(tests/[^`]+\.py[^`]*)`", text))]
    found = [f"{first}: no test named" for first, tests in named if not tests]
    for first, tests in named:
        found += [f"{first}: no {test}" for test in tests if not _exists(test)]
    return found


def test_every_line_of_the_contract_names_tests_that_exist() -> None:
    report(complaints(PAGE.read_text("utf-8")))


def test_every_invariant_and_every_kind_of_failure_has_its_line() -> None:
    found = rows(PAGE.read_text("utf-8"))
    assert [key for key in found if key.isdecimal()] == [str(n + 1) for n in range(INVARIANTS)]
    assert set(typing.get_args(Kind)) <= set(found)


def test_what_happens_is_shown_for_every_kind_of_failure() -> None:
    """The page is run as a test, so a kind that its code compares with really came."""
    text = (ROOT / "docs" / "what-happens-when.md").read_text("utf-8")
    headings = re.findall(r"(?m)^## … .*: `(\w+)`$", text)
    code = "".join(block.code for block in program(text))
    assert set(headings) == set(typing.get_args(Kind))
    assert len(headings) == len(set(headings))
    report([f"{kind} is not shown to happen" for kind in headings if f'"{kind}"' not in code])


def test_planted_lines_without_a_test_are_found() -> None:
    here = "tests/gates/test_contract.py"
    page = (
        "| no | what | tests |\n|---|---|---|\n"
        f"| 1 | good | `{here}::rows` |\n"
        "| 2 | bad | `tests/gone.py` |\n"
        f"| 3 | bad | `{here}::test_nowhere` |\n"
        "| 4 | bad | none at all |\n"
    )
    found = complaints(page)
    assert found[0] == "4: no test named"
    assert "2: no tests/gone.py" in found
    assert f"3: no {here}::test_nowhere" in found
    assert not any(line.startswith("1:") for line in found)
