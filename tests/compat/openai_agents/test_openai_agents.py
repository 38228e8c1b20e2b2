"""Every name of the OpenAI Agents SDK's that this package offers is there."""

from __future__ import annotations

from typing import get_origin

from toolkeel.compat import openai_agents


def test_every_name_offered_is_there_and_explained() -> None:
    assert len(openai_agents.__all__) == len(set(openai_agents.__all__))
    for name in openai_agents.__all__:
        offered = getattr(openai_agents, name)
        assert offered.__doc__ or get_origin(offered) is not None, name


def test_any_tool_an_agent_takes_is_a_function_tool() -> None:
    assert openai_agents.Tool is openai_agents.FunctionTool
