"""The page about runs names, behind each paragraph, a test for each of its sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.gates.documents import prose
from tests.gates.sources import report
from tests.gates.test_features import _exists
from tests.shared import ROOT

PAGE = ROOT / "docs" / "runs.md"
TESTS = re.compile(r"(?s)<!-- tests\n(.*?)\n?-->")
END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`[*])")


def sentences(paragraph: str) -> list[str]:
    """The sentences of a paragraph or a list; of a table its rows."""
    if paragraph.startswith("|"):
        return paragraph.splitlines()[2:]
    items = re.split(r"(?m)^- ", paragraph)
    return [" ".join(one.split()) for item in items for one in END.split(item) if one.strip()]


def bound(text: str) -> Iterator[tuple[str, list[str]]]:
    """Each sentence with the tests that are named for it, on a line of its own."""
    paragraphs = [each.strip() for each in re.split(r"\n\s*\n", prose(text)) if each.strip()]
    for place, paragraph in enumerate(paragraphs):
        if paragraph.startswith(("#", "<!--", "```")):
            continue
        after = TESTS.fullmatch(paragraphs[place + 1]) if place + 1 < len(paragraphs) else None
        lines = after[1].splitlines() if after else []
        said = sentences(paragraph)
        for number, sentence in enumerate(said):
            here = lines[number] if number < len(lines) else ""
            yield sentence, here.split()
        for line in lines[len(said) :]:
            yield f"behind {said[-1]!r}", [f"line too many: {line}"]


def complaints(text: str) -> list[str]:
    """Sentences without a test, and tests that are nowhere."""
    rows = []
    for sentence, tests in bound(text):
        rows += [] if tests else [f"{sentence!r}: no test named behind its paragraph"]
        rows += [f"{sentence!r}: no {test}" for test in tests if not _exists(test)]
    return rows


def test_every_sentence_about_runs_names_tests_that_exist() -> None:
    text = PAGE.read_text("utf-8")
    assert len(list(bound(text))) > 70
    report(complaints(text))


def test_planted_sentences_without_a_test_are_found() -> None:
    here = "tests/gates/test_runs.py"
    page = (
        "# Page\n\nGood one. Bad one\nof two lines, e.g. this.\n\n"
        f"<!-- tests\n{here}::sentences\n{here}::test_nowhere\n-->\n\n"
        "```python\nNot. Prose.\n```\n\n- One. Two.\n- Three.\n\n"
        f"<!-- tests\n{here}\n{here}\n-->\n\n"
        f"| a |\n|---|\n| row |\n\n<!-- tests\n{here}\n{here}\n-->\n\nNone at all.\n"
    )
    assert complaints(page) == [
        f"'Bad one of two lines, e.g. this.': no {here}::test_nowhere",
        "'Three.': no test named behind its paragraph",
        f"\"behind '| row |'\": no line too many: {here}",
        "'None at all.': no test named behind its paragraph",
    ]
