"""The tests keep to their own rules: sentences, real parts, no excuses, one file for each."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.gates.layers import LAST
from tests.gates.sources import modules, report
from tests.gates.suite import (
    excuses,
    mirror_of,
    mocks,
    quick_peers,
    read,
    suite_files,
    unlike_sentences,
)
from tests.shared import ROOT

MOCKS_PER_HUNDRED = 3


def test_the_name_of_every_test_is_a_sentence() -> None:
    report([row for file in suite_files() for row in unlike_sentences(file)])


def test_at_most_three_mocks_stand_in_a_hundred_tests() -> None:
    rows = [row for file in suite_files() for row in mocks(file)]
    tests = sum(len(file.tests) for file in suite_files())
    assert tests > 0
    assert len(rows) * 100 <= MOCKS_PER_HUNDRED * tests, f"{len(rows)} in {tests}: {rows}"


def test_no_test_is_skipped_or_expected_to_fail_but_through_the_shared_helper() -> None:
    report([row for file in suite_files() for row in excuses(file)])


def test_what_needs_a_library_of_test_slow_is_slow() -> None:
    report([row for file in suite_files() for row in quick_peers(file)])


def test_every_source_file_has_its_test_file_at_the_same_place() -> None:
    rows = []
    for module in modules():
        is_special = module.path.rpartition("/")[2].startswith("__")
        mirror = mirror_of(module.path)
        is_door = module.name in LAST  # tests/gates/test_doors.py
        if not is_special and not is_door and not (ROOT / mirror).is_file():
            rows.append(f"{module.path}: no {mirror}")
    report(rows)


def test_no_test_file_has_two_tests_of_one_name() -> None:
    rows = []
    for file in suite_files():
        scopes = [n for n in ast.walk(file.tree) if isinstance(n, ast.Module | ast.ClassDef)]
        for scope in scopes:
            kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
            names = [n.name for n in scope.body if isinstance(n, kinds)]
            twice = {n for n in names if n.startswith("test_") and names.count(n) > 1}
            rows += [f"{file.path}: {name} hides its namesake" for name in sorted(twice)]
    report(rows)


PLANTED = """
import pytest
from unittest import mock
def test_short(): mock.patch("x")
def test_this_one_says_enough(monkeypatch):
    monkeypatch.setattr(pytest, "x", 1)
    monkeypatch.setenv("X", "1")
    pytest.skip("no")
@pytest.mark.xfail
def test_that_one_fails_now(): MagicMock()
"""


def test_a_planted_quick_test_of_a_peer_is_found() -> None:
    text = "from tests.shared import peer\ndef test_it(): peer('agents.mcp')\n@pytest.mark.slow\ndef test_too(): peer('agents')"
    assert _lines(quick_peers(read("tests/test_planted.py", text))) == [2]


def test_planted_mocks_excuses_and_short_names_are_found() -> None:
    file = read("tests/test_planted.py", PLANTED)
    found = {rule: sorted(_lines(rule(file))) for rule in (mocks, excuses, unlike_sentences)}
    assert found == {mocks: [4, 6, 10], excuses: [8, 9], unlike_sentences: [4]}


def _lines(rows: Iterator[str]) -> list[int]:
    return [int(row.split(":")[1]) for row in rows]


def test_the_mirror_of_a_word_stands_at_the_top() -> None:
    assert (
        mirror_of("packages/toolkeel/src/toolkeel/errors.py")
        == "packages/toolkeel/tests/test_errors.py"
    )
