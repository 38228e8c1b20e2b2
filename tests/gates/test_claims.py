"""What is said not to have happened is in the table of claims, with the tests that hold it to it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from tests.claims import CLAIMS, DOER, UNTRIED, Claim
from tests.gates.sources import Module, modules, planted, report
from tests.gates.test_features import _exists

CLAIMS_SOMETHING = re.compile(
    r"\b(?:was|were|is|has|have|surely) (?:not|never) (?:been )?"
    r"(?:sent|started|run|done|called|written|changed|deleted|begun)\b"
    r"|was not approved(?! yet)|was not asked:"
    r"|has not started|not sent yet|could not be started|did not run|was run, but"
    r"|was stopped;|; it was stopped|was done by then|killed by|(?:was|were) killed"
    r"|(?:was|were) refused|refused the|was ended|[Nn]othing was (?:changed|done|used up)"
    r"|[Ss]omebody else has|was changed since|(?:took|take|taken) effect|Neither could"
)
ELSEWHERE = (
    "toolkeel_studio/cli/",
    "toolkeel_studio/inspector/",
    "observe/",
    "testing/",
    "providers/",
    "define/tool_mistakes.py",
)
"""What no model reads of a call: pages and commands for people, and what tests say."""
REASONS = (UNTRIED, DOER, "only reads")


def sentences(module: Module) -> Iterator[tuple[int, str]]:
    """Every text of a module that says so, with holes as they are written; no docstrings."""
    skipped: set[int] = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            skipped.add(id(node.value))
        if isinstance(node, ast.JoinedStr):
            skipped.update(id(part) for part in ast.walk(node) if part is not node)
    for node in ast.walk(module.tree):
        text = ""
        if id(node) in skipped:
            continue
        if isinstance(node, ast.JoinedStr):
            text = "".join(
                str(part.value)
                if isinstance(part, ast.Constant)
                else f"{{{ast.unparse(part.value)}}}"
                for part in node.values
                if isinstance(part, ast.Constant | ast.FormattedValue)
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        if CLAIMS_SOMETHING.search(text):
            yield getattr(node, "lineno", 0), text


def inside(path: str) -> str:
    """Return a module's path below its sources, without the runtime's own name."""
    return path.partition("/src/")[2].removeprefix("toolkeel/")


def complaints(found: Sequence[Module], claims: Sequence[Claim]) -> list[str]:
    """Sentences without a row, rows without a sentence, and tests that are nowhere."""
    rows, used = list[str](), set[Claim]()
    for module in found:
        where = inside(module.path)
        if where.startswith(ELSEWHERE):
            continue
        for line, text in sentences(module):
            fits = [c for c in claims if where.startswith(c.where) and c.words in text]
            used.update(fits)
            if not fits:
                rows.append(f"{module.path}:{line}: {text[:100]!r} has no row in tests/claims.py")
    for claim in claims:
        if claim not in used:
            rows.append(f"{claim.where}: nothing says {claim.words!r}")
        named = [claim.before, *([] if claim.after in REASONS else [claim.after])]
        rows += [f"{claim.where}: no test {test}" for test in named if not _exists(test)]
        rows += [f"{claim.where}: {test} names no one test" for test in named if "::" not in test]
    return rows


def test_every_sentence_about_what_did_not_happen_has_a_fault_before_and_after_it() -> None:
    report(complaints(modules(), CLAIMS))


def test_a_planted_sentence_without_a_row_is_found() -> None:
    text = 'def f(name):\n    "It was not sent."\n    return f"The mail to {name} was not sent."\n'
    module = planted("toolkeel.call.mail", text)
    [row] = complaints([module], [])
    assert "mail.py:3" in row and "'The mail to {name} was not sent.'" in row
    here = "tests/gates/test_claims.py::test_a_planted_sentence_without_a_row_is_found"
    right = Claim("call/mail.py", "was not sent", here, UNTRIED)
    assert complaints([module], [right]) == []
    assert complaints([module], [right._replace(after="tests/gone.py")]) == [
        "call/mail.py: no test tests/gone.py",
        "call/mail.py: tests/gone.py names no one test",
    ]
    assert "nothing says" in complaints([module], [right, Claim("call/x.py", "y", here, DOER)])[0]
