"""Questions to models: what is asked, what runs, and what is judged."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from tests.evals.user_tools import RAN, TOOLS
from toolkeel.context import CancelToken
from toolkeel.errors import ModelError, SetupError
from toolkeel.messages import AssistantMessage, Usage
from toolkeel.model_interface import Model
from toolkeel.testing import Scripted, call
from toolkeel_studio.evals.cases import Case, ExpectedCall
from toolkeel_studio.evals.trials import Conditions, Subject, Trial, run_trials

OSLO = Case("oslo", "Oslo?", (ExpectedCall("weather", {"city": "Oslo"}),))
TWO = Case("two", "Two?", (*OSLO.calls, ExpectedCall("weather", {"city": "Rome"}, result="晴")))
GREETING = Case("hi", "Hi")


def ask(model: Model, cases: Sequence[Case], **more: Any) -> list[Trial]:
    RAN.clear()
    return asyncio.run(run_trials(cases, [Subject(model, "m")], Conditions(TOOLS, **more)))


def test_a_right_call_is_one_request_and_runs_nothing() -> None:
    model = Scripted([call("weather", {"city": "Oslo"})])
    [trial] = ask(model, [OSLO])
    assert trial.right_arguments and trial.why == "" and trial.corrected is None
    assert len(model.requests) == 1 and RAN == []


def test_a_question_without_a_call_is_one_request() -> None:
    model = Scripted(["Hello!"])
    [trial] = ask(model, [GREETING])
    assert trial.right_arguments and trial.text == "Hello!" and len(model.requests) == 1


def test_an_invalid_call_may_be_corrected_and_arguments_are_read_as_the_tool_reads_them() -> None:
    wrong, right = call("weather", {"town": "Oslo"}), call("weather", {"city": "Oslo", "days": "1"})
    model = Scripted([wrong, right])
    [trial] = ask(model, [OSLO])
    assert trial.right_arguments and trial.corrected is True
    assert [one.kind for one in trial.made] == ["invalid_arguments", ""]
    assert trial.made[1].arguments == {"city": "Oslo", "days": 1, "unit": "C"}
    assert "town" in model.requests[1].messages[-1].text


def test_a_model_that_makes_one_call_a_reply_is_asked_on() -> None:
    oslo, rome = (call("weather", {"city": city}) for city in ("Oslo", "Rome"))
    model = Scripted([rome, oslo])
    [trial] = ask(model, [TWO])
    assert trial.right_arguments and [one.turn for one in trial.made] == [1, 2]
    assert model.requests[1].messages[-1].text == "晴"
    assert ask(Scripted([[oslo, rome]]), [TWO])[0].right_arguments
    model = Scripted([oslo, "done"])
    [trial] = ask(model, [TWO])
    assert trial.why == "called weather; expected weather 2 times"


def test_repeated_ids_of_calls_are_kept_apart() -> None:
    calls = [call("weather", {"city": city}, id="same") for city in ("Oslo", "Rome")]
    [trial] = ask(Scripted(calls), [TWO])
    assert trial.right_arguments


def test_with_executes_tools_run_until_the_answer_and_approvals_are_refused() -> None:
    day = {"day": "2026-11-28", "guests": 2}
    case = Case("both", "Both?", (*OSLO.calls, ExpectedCall("book", day)))
    model = Scripted([call("weather", {"city": "Oslo"}), call("book", day), "Done."])
    [trial] = ask(model, [case], executes=True)
    assert trial.right_arguments and trial.text == "Done." and trial.end == "answered"
    assert RAN == ["2026-11-28"]
    assert trial.made[0].kind == "denied"


def test_a_model_that_fails_is_an_error_of_its_question_alone() -> None:
    model = Scripted([ModelError("busy"), call("weather", {"city": "Oslo"})])
    [failed, right] = ask(model, [GREETING, OSLO])
    assert failed.error == "ModelError: busy" and not failed.right_arguments
    assert right.right_arguments


def test_a_mistake_of_the_program_ends_the_evaluation_as_it_is() -> None:
    with pytest.raises(SetupError, match=r"^wrong$"):
        ask(Scripted([SetupError("wrong")]), [OSLO])


def test_a_cut_off_reply_is_named() -> None:
    [trial] = ask(Scripted([AssistantMessage("Hm", finish_reason="length")]), [OSLO])
    assert trial.why == "no call; expected weather (the run ended: cut_off)"


def test_tokens_of_all_requests_count() -> None:
    replies = [
        AssistantMessage(tool_calls=(one,), finish_reason="tool_calls", usage=Usage(1, 10, 5))
        for one in (call("weather", {}, "a"), call("weather", {"city": "Oslo"}, "b"))
    ]
    [trial] = ask(Scripted(replies), [OSLO])
    assert (trial.input_tokens, trial.output_tokens) == (20, 10)


def test_each_question_is_asked_n_times_and_a_stop_keeps_what_there_is() -> None:
    token, seen = CancelToken(), list[Trial]()

    def stop_after_two(trial: Trial) -> None:
        seen.append(trial)
        if len(seen) == 2:
            token.cancel("enough")

    trials = asyncio.run(
        run_trials(
            [GREETING, OSLO],
            [Subject(Scripted(["Hi"] * 4), "m")],
            Conditions(TOOLS, times=2),
            cancel=token,
            finished=stop_after_two,
        )
    )
    assert [(t.case, t.attempt) for t in trials] == [("hi", 1), ("oslo", 1)]
    assert trials == seen
