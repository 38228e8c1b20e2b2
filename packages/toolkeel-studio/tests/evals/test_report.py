"""Reports: figures, JSON there and back, JUnit's XML."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.evals.user_tools import TOOLS
from toolkeel.errors import SetupError
from toolkeel_studio.evals.cases import Case, ExpectedCall
from toolkeel_studio.evals.report import (
    VERSION,
    Report,
    describe_cases,
    describe_tools,
    is_report,
    read_report,
    to_junit,
)
from toolkeel_studio.evals.scoring import MadeCall
from toolkeel_studio.evals.trials import Trial

CALL = MadeCall("weather", {"city": "東京", "days": 1})
RIGHT = Trial(
    case="東京", model="m", calls="grammar", attempt=1, made=(CALL,), right_tool=True,
    right_arguments=True, why="", error="", end="returned", text="", input_tokens=10,
    output_tokens=4, seconds=1,
)  # fmt: skip
WRONG = replace(RIGHT, case="oslo", right_arguments=False, why="weather: city is wrong")
FAILED = replace(RIGHT, case="hi", made=(), right_tool=False, right_arguments=False, error="busy")
BAD = replace(CALL, arguments='{"town', kind="malformed_arguments")
MENDED = replace(RIGHT, case="rome", made=(BAD, CALL), corrected=True, seconds=3.0)
CASES = [Case("東京", "q", (ExpectedCall("weather", {"city": "東京"}),)), Case("hi", "Hi")]


def report_of(*trials: Trial) -> Report:
    return Report(
        VERSION, "c.yaml", "2026-11-28T00:00:00+00:00", False, 1, "",
        describe_tools(TOOLS), describe_cases(CASES), trials,
    )  # fmt: skip


def test_figures_count_calls_and_questions() -> None:
    other = replace(RIGHT, calls="text")
    [row, text] = report_of(RIGHT, WRONG, FAILED, MENDED, other).rows
    assert (row.model, row.calls, row.label, row.trials) == ("m", "grammar", "m (grammar)", 4)
    assert (row.made, row.valid) == (4, 3)
    assert (row.right_tool, row.right_arguments, row.errors) == (3, 2, 1)
    assert (row.invalid, row.corrected) == (1, 1)
    assert (row.input_tokens, row.output_tokens, row.seconds) == (10, 4, 1)
    assert (text.calls, text.trials) == ("text", 1)


def test_a_report_comes_back_from_its_file(tmp_path: Path) -> None:
    report = report_of(RIGHT, MENDED)
    path = tmp_path / "r.json"
    path.write_text(report.to_json(), "utf-8")
    assert read_report(path) == report
    assert "東京" in report.to_json()
    assert is_report(str(path))


def test_a_file_of_cases_is_no_report(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text('[{"question": "q", "calls": "none"}]')
    assert not is_report(str(path))
    with pytest.raises(SetupError, match=r"c\.json is no report of toolkeel eval"):
        read_report(path)
    path.write_text(report_of(RIGHT).to_json().replace('"toolkeel_eval": 1', '"toolkeel_eval": 9'))
    with pytest.raises(SetupError, match="version 9, not 1"):
        read_report(path)


def test_junit_has_a_suite_for_each_model_and_a_test_for_each_trial() -> None:
    [suite] = ElementTree.fromstring(to_junit(report_of(RIGHT, WRONG, FAILED)))
    assert suite.attrib == {
        "name": "m (grammar)", "tests": "3", "failures": "1", "errors": "1", "time": "3.000",
    }  # fmt: skip
    right, wrong, failed = suite
    assert right.get("name") == "東京" and len(right) == 0
    assert [(e.tag, e.get("message")) for e in wrong] == [("failure", WRONG.why)]
    assert "東京" in (wrong[0].text or "")
    assert [(e.tag, e.get("message")) for e in failed] == [("error", "busy")]


@given(st.text())
def test_junit_can_be_read_whatever_a_model_says(said: str) -> None:
    trial = replace(WRONG, why=f"!{said}", text=said)
    xml = to_junit(report_of(trial)).encode("utf-8")
    assert len(ElementTree.fromstring(xml)) == 1


@given(st.text(st.characters()))
def test_a_report_can_be_written_whatever_a_model_says(said: str) -> None:
    report = report_of(replace(WRONG, text=said))
    assert report.to_json().encode("utf-8", "backslashreplace")
