"""What ends a run."""

from __future__ import annotations

from itertools import permutations

from toolkeel_compat.openai_agents import (
    AgentsException,
    InputGuardrailTripwireTriggered,
    OutputGuardrailTripwireTriggered,
    ToolInputGuardrailTripwireTriggered,
    ToolOutputGuardrailTripwireTriggered,
)


def test_what_ends_a_run_names_its_guardrail() -> None:
    error = ToolInputGuardrailTripwireTriggered("guard", "output")
    assert isinstance(error, AgentsException)
    assert (error.guardrail, error.output) == ("guard", "output")
    assert str(error) == "Tool input guardrail str triggered tripwire"
    assert str(ToolInputGuardrailTripwireTriggered("g", "o", "why")) == "why"


def test_what_one_guardrail_raises_is_not_caught_as_another() -> None:
    kinds = (
        InputGuardrailTripwireTriggered,
        OutputGuardrailTripwireTriggered,
        ToolInputGuardrailTripwireTriggered,
        ToolOutputGuardrailTripwireTriggered,
    )
    assert not [pair for pair in permutations(kinds, 2) if issubclass(*pair)]
