"""Every code block of the seeds, with its verdict; and every one that can run, run and used."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping

import pytest

from tests import cases_agents, cases_langchain, cases_loop
from tests.seeds import (
    BROKEN,
    IMPORTS,
    NOT_PYTHON,
    RUNS,
    VERDICTS,
    Case,
    Ran,
    examples,
    mended,
    run,
)
from toolkeel import SetupError

CASES: Mapping[str, Case] = {**cases_langchain.CASES, **cases_loop.CASES, **cases_agents.CASES}
PYTHON = [id for id, case in CASES.items() if case.verdict != NOT_PYTHON]


def test_every_code_block_of_the_seeds_has_a_verdict() -> None:
    assert sorted(CASES) == sorted(examples())
    assert {case.verdict for case in CASES.values()} <= set(VERDICTS)


def test_the_list_of_verdicts_is_what_is_written_down() -> None:
    counts = Counter(case.verdict for case in CASES.values())
    assert counts == {RUNS: 28, IMPORTS: 10, BROKEN: 6, NOT_PYTHON: 51}


def _ran(id: str) -> Ran:
    case = CASES[id]
    ran = _ran(case.after) if case.after else Ran()
    if case.verdict == NOT_PYTHON and case.cut is None:
        return ran
    return run(id, mended(case, examples()[id].mapped), case, ran)


@pytest.mark.parametrize("id", sorted(CASES), ids=lambda id: f"{id} {CASES[id].verdict}")
def test_the_example_is_what_its_verdict_says_and_works(id: str) -> None:
    case, example = CASES[id], examples()[id]
    _check_verdict(id, case)
    if case.verdict == NOT_PYTHON and case.use is None:
        assert case.why, "say what stands in its place"
        return
    assert case.use is not None, f"{id} ({example.heading}) is run but not used"
    case.use(_ran(id))


def _check_verdict(id: str, case: Case) -> None:
    """The verdict can be wrong; here it is found out."""
    example = examples()[id]
    if case.verdict in (RUNS, IMPORTS):
        assert example.is_python
        assert not case.mend
        changed = example.mapped != example.code
        assert changed == (case.verdict != RUNS), f"{id}: import lines changed: {changed}"
    if case.verdict == BROKEN:
        assert case.why
        assert case.mend or case.cut
        ast.parse(mended(case, example.mapped))
    if case.verdict == NOT_PYTHON:
        assert not example.is_python or example.language in ("text", "mermaid"), id


@pytest.mark.parametrize("id", [id for id in PYTHON if CASES[id].verdict == BROKEN])
def test_a_broken_example_really_fails_as_it_stands(id: str) -> None:
    case, example = CASES[id], examples()[id]
    if not example.is_python:
        return
    assert case.use is not None
    with pytest.raises((TypeError, NameError, AssertionError, SetupError)):
        case.use(run(id, example.mapped, case, _ran(case.after) if case.after else Ran()))
