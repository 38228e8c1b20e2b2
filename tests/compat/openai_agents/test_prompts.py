"""Prompts kept at the provider are named in each request."""

from __future__ import annotations

from typing import Any

from toolkeel.compat.openai_agents import Agent, GenerateDynamicPromptData, Runner
from toolkeel.testing import Scripted


def test_a_prompt_is_named_in_the_request_and_may_depend_on_the_run() -> None:
    async def chosen(data: GenerateDynamicPromptData) -> dict[str, Any]:
        return {"id": "p2", "variables": {"who": data.context.context, "agent": data.agent.name}}

    for prompt, expected in (
        ({"id": "p1"}, {"id": "p1"}),
        (chosen, {"id": "p2", "variables": {"who": "Ada", "agent": "poet"}}),
    ):
        model = Scripted(["ok"])
        Runner.run_sync(Agent("poet", prompt=prompt, model=model), "go", context="Ada")
        assert model.requests[0].settings.provider_options["prompt"] == expected
