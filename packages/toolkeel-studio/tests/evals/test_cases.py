"""Cases: what a file may say, and the errors that name file, case, key and fix."""

from __future__ import annotations

from typing import Any

import pytest

from tests.evals.user_tools import TOOLS
from toolkeel_studio.evals.cases import Case, CaseError, ExpectedCall, parse_cases, resolve_cases

OSLO = {"tool": "weather", "arguments": {"city": "Oslo"}}


def test_a_case_is_a_question_and_its_calls() -> None:
    [one, none] = parse_cases(
        [
            {"name": "猫", "question": "Oslo?", "calls": [{**OSLO, "result": "sunny"}]},
            {"question": "Hi", "calls": "none"},
        ],
        "cases.yaml",
    )
    assert one == Case("猫", "Oslo?", (ExpectedCall("weather", {"city": "Oslo"}, False, "sunny"),))
    assert none == Case("Hi", "Hi")


def test_literal_arguments_are_taken_as_the_tool_reads_them() -> None:
    calls = [
        {"tool": "book", "arguments": {"day": "2026-11-28", "guests": "4"}},
        {"tool": "weather", "arguments": {"city": "Oslo"}},
    ]
    cases = parse_cases([{"question": "q", "calls": calls}], "c")
    [case] = resolve_cases(cases, TOOLS, "c")
    assert case.calls[0].arguments == {"day": "2026-11-28", "guests": 4}
    assert case.calls[1].arguments == {"city": "Oslo"}


@pytest.mark.parametrize(
    ("item", "told"),
    [
        ("text", "c.yaml: case 1: 'text' is no mapping"),
        ({"calls": "none"}, "c.yaml: case 1: question: it is missing; add question:"),
        ({"question": 3, "calls": "none"}, "case '3': question: 3 is no text"),
        ({"question": "q", "cals": "none"}, "case 'q': cals: no such key; did you mean 'calls'?"),
        ({"question": "q"}, "case 'q': calls: None is neither a list of calls nor none"),
        ({"question": "q", "calls": []}, "write calls: none"),
        ({"question": "q", "calls": [OSLO | {"args": {}}]}, "calls[0].args: no such key"),
        ({"question": "q", "calls": [{"tool": ""}]}, "calls[0].tool: '' is no text"),
        ({"question": "q", "calls": [OSLO | {"arguments": []}]}, "calls[0].arguments: [] is no"),
        (
            {"question": "q", "calls": [OSLO | {"others": "all"}]},
            "'all' is neither any nor default",
        ),
        (
            {"question": "q", "calls": [OSLO, {"tool": "x", "arguments": {"a": {"regx": ""}}}]},
            "c.yaml: case 'q': calls[1].arguments.a: 'regx' is no matcher; did you mean 'regex'?",
        ),
    ],
)
def test_an_error_names_file_case_key_and_fix(item: Any, told: str) -> None:
    with pytest.raises(CaseError) as failed:
        parse_cases([item], "c.yaml")
    assert told in str(failed.value)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ({"tool": "wether"}, "calls[0].tool: no tool 'wether'; did you mean 'weather'?"),
        (
            {"tool": "weather", "arguments": {"town": "x"}},
            "calls[0].arguments.town: weather has no such argument; there are city, days, unit",
        ),
        ({"tool": "weather"}, "calls[0].arguments.city: weather requires it; add city: VALUE"),
        (
            {"tool": "weather", "arguments": {"city": "Oslo", "days": "many"}},
            'days: expected an integer, got "many"',
        ),
    ],
)
def test_a_call_that_the_tools_would_refuse_is_an_error_of_the_file(call: Any, told: str) -> None:
    cases = parse_cases([{"question": "q", "calls": [call]}], "c.yaml")
    with pytest.raises(CaseError) as failed:
        resolve_cases(cases, TOOLS, "c.yaml")
    assert str(failed.value).startswith("c.yaml: case 'q': ")
    assert told in str(failed.value)


def test_two_cases_of_one_name_are_an_error() -> None:
    same = {"question": "q", "calls": "none"}
    with pytest.raises(CaseError, match="case 2: name: 'q' is the name of case 1, too"):
        parse_cases([same, same], "c.yaml")


def test_a_file_without_a_list_is_an_error() -> None:
    with pytest.raises(CaseError, match="a file of cases is a list"):
        parse_cases({"cases": []}, "c.yaml")
