"""What guardrails say, in the seeds' words and in the SDK's present ones."""

from __future__ import annotations

import pytest

from toolkeel.compat.openai_agents.guardrails.verdicts import (
    AgentsException,
    AllowBehavior,
    RaiseExceptionBehavior,
    RejectContentBehavior,
    ToolGuardrailFunctionOutput,
    ToolInputGuardrailTripwireTriggered,
    as_behavior,
)


def test_a_behaviour_may_be_a_record_or_the_dict_of_the_sdk() -> None:
    assert as_behavior({"type": "allow"}) == AllowBehavior()
    assert as_behavior(AllowBehavior("x")) == AllowBehavior("x")
    rejected = as_behavior({"type": "reject_content", "message": "no"})
    assert isinstance(rejected, RejectContentBehavior)
    assert rejected.message == "no"
    assert as_behavior({"type": "raise_exception"}) == RaiseExceptionBehavior()


@pytest.mark.parametrize("unclear", [{"type": "shrug"}, {}, {"type": "allow", "bogus": 1}])
def test_a_dict_that_says_nothing_known_is_an_error(unclear: dict[str, object]) -> None:
    with pytest.raises((KeyError, TypeError)):
        as_behavior(unclear)


def test_the_three_ways_out_have_short_names() -> None:
    made = ToolGuardrailFunctionOutput
    assert made.allow({"score": 1}) == made({"score": 1}, AllowBehavior())
    assert made.reject_content("no").behavior == RejectContentBehavior("no")
    assert made.raise_exception().behavior == RaiseExceptionBehavior()


def test_what_ends_a_run_names_its_guardrail() -> None:
    error = ToolInputGuardrailTripwireTriggered("guard", "output")
    assert isinstance(error, AgentsException)
    assert (error.guardrail, error.output) == ("guard", "output")
    assert "guard" in str(error)
    assert str(ToolInputGuardrailTripwireTriggered("g", "o", "why")) == "why"
