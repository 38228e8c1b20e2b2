"""The table of features says of each row whether it is done, and a done row names its proof."""

from __future__ import annotations

import re
from collections import Counter

from tests.gates.sources import report
from tests.shared import ROOT

STATES = ("planned", "partial", "done")
ROW = re.compile(r"(?m)^\| ([A-Z]\d+) \|(.*)\|([^|]*)\|([^|]*)\|$")
IDS = {f"A{n}" for n in range(1, 12)} | {f"B{n}" for n in range(1, 6)}
IDS |= {f"C{n}" for n in range(1, 7)} | {f"D{n}" for n in range(1, 9)}
IDS |= {f"X{n}" for n in range(1, 28)} | {f"M{n}" for n in range(1, 9)}


def complaints(text: str) -> list[str]:
    """What is wrong with the rows of a table of features."""
    rows = []
    for key, _, state, proof in ROW.findall(text):
        state, tests = state.strip(), re.findall(r"`([^`]+)`", proof)
        if state not in STATES:
            rows.append(f"{key}: {state!r} is none of {', '.join(STATES)}")
        if state in ("partial", "done") and not tests:
            rows.append(f"{key}: {state}, and no test named")
        rows += [f"{key}: no {test}" for test in tests if not _exists(test)]
    return rows


def _exists(test: str) -> bool:
    """Whether a test file exists, and in it the function after ``::``."""
    file, _, name = test.partition("::")
    path = ROOT / file
    if not (file.startswith(("tests/", "packages/")) and path.is_file()):
        return False
    return not name or f"def {name}(" in path.read_text("utf-8")


def test_every_feature_stands_once_with_a_state_and_its_proof() -> None:
    text = (ROOT / "docs" / "project" / "features.md").read_text("utf-8")
    found = Counter(row[0] for row in ROW.findall(text))
    assert found == Counter(IDS)
    report(complaints(text))


def test_a_planted_row_without_its_proof_is_found() -> None:
    here = "tests/gates/test_features.py"
    table = (
        "| A1 | a thing | done | |\n"
        "| A2 | `x \\| None` | great | |\n"
        "| A3 | a thing | done | `tests/gone.py` |\n"
        f"| A4 | a thing | done | `{here}::test_nowhere` |\n"
        f"| A5 | a thing | done | `{here}::complaints`, `{here}` |\n"
        "| A6 | a thing | planned | |\n"
    )
    assert complaints(table) == [
        "A1: done, and no test named",
        "A2: 'great' is none of planned, partial, done",
        "A3: no tests/gone.py",
        f"A4: no {here}::test_nowhere",
    ]
