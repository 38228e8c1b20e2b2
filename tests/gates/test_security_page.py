"""Each of the fifty threats has its line, and tests that run in CI."""

from __future__ import annotations

import re
from functools import cache

from tests.gates.sources import report
from tests.gates.suite import read
from tests.shared import ROOT

THREATS = ROOT / "docs" / "security.md"
PAGE = ROOT / "docs" / "project" / "security-tests.md"
"""By the number of a threat, its tests."""
LAST = 50
ALL = range(1, LAST + 1)
REASON = re.compile(r"none: \w.{15,}")
"""In the place of tests: why there are none yet."""
THREAT = re.compile(r"(?m)^\| T(\d+) \| [^|]+ \| [^|]+ \|$")
ROW = re.compile(r"(?m)^\| T(\d+) \| ([^|]*) \|$")


@cache
def named_in(path: str) -> set[str]:
    """The names of the tests of a file: `make test` and `make test-slow` skip none (`test_tests.py`)."""
    file = ROOT / path
    return (
        {name for name, _ in read(path, file.read_text("utf-8")).tests} if file.is_file() else set()
    )


def complaints(text: str) -> list[str]:
    """What is missing on the page, or named on it and nowhere else."""
    cells = [(int(n), tests.strip()) for n, tests in ROW.findall(text)]
    rows = [(number, re.findall(r"`([^`]+)`", cell)) for number, cell in cells]
    excused = {number for number, cell in cells if REASON.fullmatch(cell)}
    numbers = [number for number, _ in rows]
    found = [f"T{number}: no line" for number in ALL if number not in numbers]
    if numbers != sorted(set(numbers)) or not set(numbers) <= set(range(1, LAST + 1)):
        found.append(f"the numbers are not in order, each once: {numbers}")
    if len(rows) != len(re.findall(r"(?m)^\| T", text)):
        found.append("a line has not two cells")
    for number, tests in rows:
        found += [f"T{number}: no test named"] if not tests and number not in excused else []
        pairs = [test.partition("::") for test in tests]
        found += [
            f"T{number}: no {path}{by}{name}"
            for path, by, name in pairs
            if name not in named_in(path)
        ]
    return found


def test_every_threat_has_its_line_and_tests_that_run() -> None:
    report(complaints(PAGE.read_text("utf-8")))
    assert [int(number) for number in THREAT.findall(THREATS.read_text("utf-8"))] == [*ALL]


def test_planted_faults_are_found() -> None:
    here = "tests/gates/test_security_page.py"
    good = "| T{} | `" + here + "::test_planted_faults_are_found` |\n"
    page = "".join(good.format(number) for number in ALL)
    last = good.format(LAST)
    assert complaints(page) == []
    assert complaints(page.replace("| T7 |", "| T8 |"))[0] == "T7: no line"
    assert "in order" in complaints(page + good.format(3))[0]
    assert "in order" in complaints(page + good.format(51))[0]
    assert complaints(page.replace(last, "| T50 | a | b |\n"))[-1] == "a line has not two cells"
    assert complaints(page.replace(last, "| T50 | none |\n")) == ["T50: no test named"]
    assert complaints(page.replace(last, "| T50 | none: it is not built yet |\n")) == []
    assert complaints(page.replace(last, f"| T50 | `{here}` |\n")) == [f"T50: no {here}"]
    helper = page.replace(last, f"| T50 | `{here}::complaints` |\n")
    assert complaints(helper) == [f"T50: no {here}::complaints"]
    gone = page.replace(last, "| T50 | `tests/gone.py::x` |\n")
    assert "T50: no tests/gone.py::x" in complaints(gone)
