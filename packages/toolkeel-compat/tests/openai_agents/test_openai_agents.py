"""Every name of the OpenAI Agents SDK's that this package offers is there."""

from __future__ import annotations

from importlib import import_module
from typing import get_origin

from tests.gates.doors import shown
from tests.gates.sources import modules
from toolkeel_compat import openai_agents
from toolkeel_compat.openai_agents.names import PLACES


def test_every_name_offered_is_there_and_explained() -> None:
    assert len(openai_agents.__all__) == len(set(openai_agents.__all__))
    for name in openai_agents.__all__:
        offered = getattr(openai_agents, name)
        assert offered.__doc__ or get_origin(offered) is not None, name


def test_any_tool_an_agent_takes_is_a_function_tool() -> None:
    assert openai_agents.Tool is openai_agents.FunctionTool


def test_type_checkers_are_shown_the_names_that_it_loads() -> None:
    [front] = [one for one in modules() if one.name == openai_agents.__name__]
    loaded = {(m, name) for m, names in PLACES.items() for name in names.split()}
    named = {(module, name) for module, name in shown(front) if name != "*"}
    starred = {module for module, name in shown(front) if name == "*"}
    given = {(module, name) for module in starred for name in import_module(module).__all__}
    assert named | given == loaded
