"""Two reports: better, worse, or chance."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.evals.test_report import RIGHT, WRONG, report_of
from toolkeel_studio.evals.comparison import compare_reports
from toolkeel_studio.evals.trials import Trial


def trials(right: str, wrong: str, model: str = "m") -> list[Trial]:
    made = [replace(RIGHT, case=case, model=model) for case in right]
    return made + [replace(WRONG, case=case, model=model) for case in wrong]


def test_cases_that_changed_are_listed_with_their_reason() -> None:
    found = compare_reports(report_of(*trials("ab", "cd")), report_of(*trials("bcd", "a")))
    [row] = found.rows
    assert [(c.case, c.before, c.after) for c in row.better] == [("c", 0, 1), ("d", 0, 1)]
    assert [(c.case, c.why) for c in row.worse] == [("a", WRONG.why)]
    assert row.compared == 4
    assert (found.tools, found.cases, found.unmatched) == ((), (), ())


@pytest.mark.parametrize(
    ("right", "wrong", "chance"), [("", "", 1.0), ("a", "", 1.0), ("abcdef", "", 2 / 64)]
)
def test_the_probability_of_chance_is_that_of_a_sign_test(
    right: str, wrong: str, chance: float
) -> None:
    same = trials("x", "")
    before = report_of(*trials(wrong, right), *same)
    assert compare_reports(before, report_of(*trials(right, wrong), *same)).rows[0].chance == chance


def test_repetitions_of_a_case_are_one_share() -> None:
    before = report_of(*trials("a", "aa"))
    [row] = compare_reports(before, report_of(*trials("aa", "a"))).rows
    assert [(c.before, c.after) for c in row.better] == [(1 / 3, 2 / 3)]


def test_models_are_matched_by_name_unless_there_is_one_on_each_side() -> None:
    one, other = trials("a", "", "one"), trials("a", "", "other")
    assert len(compare_reports(report_of(*one), report_of(*other)).rows) == 1
    found = compare_reports(report_of(*one), report_of(*one, *other))
    assert [row.after.model for row in found.rows] == ["one"]
    assert found.unmatched == ("other (grammar)",)


def test_changed_tools_are_named_and_changed_cases_are_not_compared() -> None:
    before = report_of(*trials(["東京", "hi"], []))  # type: ignore[arg-type]
    after = replace(
        before,
        tools=({**before.tools[0], "description": "New."}, before.tools[1]),
        cases=({**before.cases[0], "question": "?"}, {**before.cases[1], "name": "new"}),
    )
    found = compare_reports(before, after)
    assert found.tools == ("weather: description",)
    assert found.cases == ("new: new", "hi: gone", "東京: question")
    assert found.rows[0].compared == 0
