"""The tables of ``toolkeel eval``."""

from __future__ import annotations

from dataclasses import replace

from tests.evals.test_report import FAILED, MENDED, RIGHT, WRONG, report_of
from toolkeel_studio.cli.eval_tables import MAX_CASES, comparison_lines, report_lines
from toolkeel_studio.evals.comparison import compare_reports


def test_a_report_lists_figures_then_wrong_answers() -> None:
    lines = report_lines(report_of(RIGHT, WRONG, FAILED, MENDED))
    assert lines[1].split()[2:] == [
        "3/4", "75%", "3/4", "75%", "2/4", "50%", "1/1", "100%", "10/4", "1.0", "s", "1",
    ]  # fmt: skip
    assert lines[3:] == ["oslo: weather: city is wrong", "hi: busy"]


def test_long_lists_are_cut_and_a_stop_is_named() -> None:
    lines = report_lines(replace(report_of(*[WRONG] * (MAX_CASES + 3)), complete=False))
    assert lines[-2:] == [
        "... and 3 more; the report has all",
        "stopped before all questions were asked",
    ]
    assert report_lines(report_of()) == ["no question was answered"]


def test_a_model_cannot_draw_on_the_terminal() -> None:
    lines = report_lines(report_of(replace(WRONG, why="\x1b[2J\n!")))
    assert "\x1b" not in "".join(lines) and not any("\n" in line for line in lines)


def test_equal_reports_are_the_same() -> None:
    same = report_of(RIGHT, WRONG)
    lines = comparison_lines(compare_reports(same, same))
    assert lines == ["m (grammar): right 1/2 50% -> 1/2 50%", "  the same in 2 cases"]
