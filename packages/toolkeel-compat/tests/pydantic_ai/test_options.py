"""Options of agents and runs are honored or refused."""

from __future__ import annotations

from typing import Any

import pytest

from toolkeel import SetupError
from toolkeel.testing import Scripted
from toolkeel_compat.pydantic_ai import Agent, Caching


@pytest.mark.parametrize(
    "option",
    [
        {"history_processors": [print]},
        {"capabilities": [object()]},
        {"end_strategy": "exhaustive"},
        {"instrument": True},
        {"retries": "3"},
        {"tools": 3},
    ],
)
def test_an_option_that_is_not_honored_is_refused(option: Any) -> None:
    with pytest.raises(SetupError, match=rf"Agent\({next(iter(option))}="):
        Agent("test", **option)


def test_an_unknown_option_is_told() -> None:
    with pytest.raises(TypeError, match="no option 'instrctions'"):
        Agent("test", instrctions="x")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="no option 'dps'"):
        Agent("test").run_sync("go", dps=3)  # type: ignore[call-arg]
    with pytest.raises(SetupError, match="no vendor"):
        Agent("nobody:model")
    assert Agent("nobody:model", defer_model_check=True, capabilities=[Caching()]).name is None


def test_settings_of_the_run_come_before_those_of_the_agent() -> None:
    model = Scripted(["a"])
    agent = Agent(model, model_settings={"temperature": 0.5, "max_tokens": 9})
    agent.run_sync("go", model_settings={"temperature": 0.1, "seed": 3})
    [request] = model.requests
    assert (request.settings.temperature, request.settings.max_tokens) == (0.1, 9)
    assert (request.settings.seed, request.settings.extra_body) == (3, {})
