"""Guardrails of agents: the core's, with the SDK's verdicts and exceptions."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from toolkeel.compat.openai_agents import (
    Agent,
    AgentsException,
    GuardrailFunctionOutput,
    InputGuardrail,
    InputGuardrailTripwireTriggered,
    OutputGuardrailTripwireTriggered,
    Runner,
    input_guardrail,
    output_guardrail,
)
from toolkeel.runs import GuardrailTripped
from toolkeel.testing import Scripted


@input_guardrail
async def no_math(context: Any, agent: Any, said: Any) -> GuardrailFunctionOutput:
    """Refuse homework."""
    return GuardrailFunctionOutput((context.context, agent.name, said), "solve" in str(said))


@output_guardrail(name="short")
def short(context: Any, agent: Any, output: Any) -> GuardrailFunctionOutput:
    """Refuse long answers."""
    return GuardrailFunctionOutput(len(output), len(output) > 5)


def clerk(*lines: Any) -> Agent[Any]:
    guards = {"input_guardrails": [no_math], "output_guardrails": [short]}
    return Agent("clerk", model=Scripted(lines), **guards)  # type: ignore[arg-type]


def test_what_is_said_is_looked_at_and_a_tripwire_ends_the_run() -> None:
    assert Runner.run_sync(clerk("hi"), "hello").final_output == "hi"
    with pytest.raises(InputGuardrailTripwireTriggered) as caught:
        Runner.run_sync(clerk("x = 3"), "solve it", context="Ada")
    result = caught.value.guardrail_result
    assert result.output.output_info == ("Ada", "clerk", "solve it")
    assert result.guardrail is no_math and no_math.get_name() == "no_math"
    assert isinstance(caught.value, AgentsException) and caught.value.run_data is not None


def test_what_is_answered_is_looked_at_too() -> None:
    with pytest.raises(OutputGuardrailTripwireTriggered) as caught:
        Runner.run_sync(clerk("too long an answer"), "hello")
    result = caught.value.guardrail_result
    assert (result.agent.name, result.agent_output) == ("clerk", "too long an answer")
    assert result.output.output_info == 18 and short.get_name() == "short"


def test_one_that_fails_has_refused_and_one_that_is_first_holds_the_request_back() -> None:
    def broken(context: Any, agent: Any, said: Any) -> GuardrailFunctionOutput:
        raise ValueError("oh")

    model = Scripted(["hi"])
    first = InputGuardrail(broken, run_in_parallel=False)
    with pytest.raises(GuardrailTripped, match="broken"):
        Runner.run_sync(Agent(model=model, input_guardrails=[first]), "hello")
    assert model.requests == []


def test_a_streamed_run_ends_in_the_same_way() -> None:
    async def read() -> None:
        async for _ in Runner.run_streamed(clerk("x = 3"), "solve it").stream_events():
            pass

    with pytest.raises(InputGuardrailTripwireTriggered):
        asyncio.run(read())
