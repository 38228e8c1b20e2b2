"""What ends a run."""

from __future__ import annotations

from toolkeel_compat.openai_agents import AgentsException, ToolInputGuardrailTripwireTriggered


def test_what_ends_a_run_names_its_guardrail() -> None:
    error = ToolInputGuardrailTripwireTriggered("guard", "output")
    assert isinstance(error, AgentsException)
    assert (error.guardrail, error.output) == ("guard", "output")
    assert str(error) == "Tool input guardrail str triggered tripwire"
    assert str(ToolInputGuardrailTripwireTriggered("g", "o", "why")) == "why"
