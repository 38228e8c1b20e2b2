"""Exceptions of the core become those that programs catch."""

from __future__ import annotations

import pytest

from toolkeel.errors import ModelError, OutputError
from toolkeel.testing import Scripted, call
from toolkeel_compat.pydantic_ai import Agent
from toolkeel_compat.pydantic_ai.exceptions import (
    ApprovalRequired,
    ModelHTTPError,
    ModelRetry,
    UnexpectedModelBehavior,
    to_run_error,
)


def test_an_error_of_a_run_is_the_one_that_programs_catch() -> None:
    assert isinstance(to_run_error(OutputError("no answer"), "m", 1), UnexpectedModelBehavior)
    wrong = to_run_error(OutputError("the model refused", "no", attempts=2), "m", 1)
    assert "maximum output retries (1)" in str(wrong)
    unsaid = to_run_error(OutputError("the model refused", "no"), "m", 1)
    assert str(unsaid) == "the model refused"
    refused = to_run_error(ModelError("busy", status=429), "m", 1)
    assert isinstance(refused, ModelHTTPError) and refused.status_code == 429
    other = ValueError("x")
    assert to_run_error(other, "m", 1) is other


def test_a_retry_has_its_message() -> None:
    assert ModelRetry("again").message == "again"


def test_an_approval_has_its_metadata() -> None:
    assert ApprovalRequired(metadata={"a": 1}).metadata == {"a": 1}


def test_only_a_wrong_answer_is_caused_by_what_a_validator_asked_for() -> None:
    busy = ModelError("busy", status=500)
    agent = Agent(Scripted([call("final_result", {"response": [1]}), busy]), output_type=list[int])

    @agent.output_validator
    def check(numbers: list[int]) -> list[int]:
        raise ModelRetry("more")

    with pytest.raises(ModelHTTPError) as caught:
        agent.run_sync("go")
    assert caught.value.__cause__ is busy
