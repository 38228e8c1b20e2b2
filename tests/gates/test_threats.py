"""The page of threats has every line that is promised, and every test it names exists."""

from __future__ import annotations

import re

from tests.gates.sources import report
from tests.gates.test_features import _exists
from tests.shared import ROOT

PAGE = ROOT / "docs" / "threats.md"
ALWAYS = range(1, 23)
"""Files, commands and code, network."""
LAST = 50
ROW = re.compile(r"(?m)^\| T(\d+) \| ([^|]+) \| ([^|]+) \| ([^|]*) \|$")


def complaints(text: str) -> list[str]:
    """What is missing on the page, or named on it and nowhere else."""
    rows = [(int(n), re.findall(r"`([^`]+)`", tests)) for n, _, _, tests in ROW.findall(text)]
    numbers = [number for number, _ in rows]
    found = [f"T{number}: no line" for number in ALWAYS if number not in numbers]
    if numbers != sorted(set(numbers)) or not set(numbers) <= set(range(1, LAST + 1)):
        found.append(f"the numbers are not in order, each once: {numbers}")
    if len(rows) != len(re.findall(r"(?m)^\| T", text)):
        found.append("a line has not four cells")
    for number, tests in rows:
        found += [f"T{number}: no test named"] if not tests else []
        found += [
            f"T{number}: no {test}" for test in tests if "::" not in test or not _exists(test)
        ]
    return found


def test_every_threat_has_its_line_and_names_tests_that_exist() -> None:
    report(complaints(PAGE.read_text("utf-8")))


def test_planted_faults_are_found() -> None:
    here = "tests/gates/test_threats.py"
    good = "| T{} | threat | defence | `" + here + "::complaints` |\n"
    page = "".join(good.format(number) for number in ALWAYS)
    assert complaints(page) == []
    assert complaints(page.replace("| T7 |", "| T8 |"))[0] == "T7: no line"
    assert "in order" in complaints(page + good.format(3))[0]
    assert "in order" in complaints(page + good.format(51))[0]
    assert complaints(page + "| T23 | threat | defence | |\n")[-1] == "a line has not four cells"
    assert complaints(page + "| T23 | threat | defence | none |\n") == ["T23: no test named"]
    assert complaints(page + f"| T23 | a | b | `{here}` |\n") == [f"T23: no {here}"]
    assert "T23: no tests/gone.py::x" in complaints(page + "| T23 | a | b | `tests/gone.py::x` |\n")
