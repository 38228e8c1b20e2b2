"""Stubs of tools: the same to the model, and nothing runs."""

from __future__ import annotations

from tests.evals.user_tools import RAN, TOOLS
from toolkeel import ToolCall
from toolkeel_studio.evals.cases import ExpectedCall
from toolkeel_studio.evals.tool_stubs import make_stubs

OSLO = ToolCall("1", "weather", '{"city": "Oslo"}')


def test_a_valid_call_is_accepted_and_runs_nothing() -> None:
    RAN.clear()
    [first, second] = make_stubs(TOOLS, []).run_sync(
        [OSLO, ToolCall("2", "book", '{"day": "2026-11-28", "guests": 2}')]
    )
    assert (first.text, second.text) == ("accepted", "accepted")
    assert RAN == []


def test_an_invalid_call_has_the_error_of_the_real_tool() -> None:
    wrong = ToolCall("1", "weather", '{"town": "Oslo"}')
    [real], [stub] = TOOLS.run_sync([wrong]), make_stubs(TOOLS, []).run_sync([wrong])
    assert stub.kind == "invalid_arguments"
    assert stub.text == real.text


def test_the_results_of_a_case_are_returned_in_order() -> None:
    stubs = make_stubs(TOOLS, [ExpectedCall("weather", result="晴"), ExpectedCall("weather")])
    assert [m.text for m in stubs.run_sync([OSLO, OSLO])] == ["晴", "accepted"]


def test_a_model_is_offered_the_same_tools() -> None:
    for real, stub in zip(TOOLS, make_stubs(TOOLS, []), strict=True):
        assert (stub.name, stub.description) == (real.name, real.description)
        assert stub.parameters == real.parameters
