"""Options of agents and runs are honored or refused."""

from __future__ import annotations

from typing import Any

import pytest

from toolkeel import SetupError
from toolkeel_compat.pydantic_ai import Agent, Caching


@pytest.mark.parametrize(
    "option",
    [
        {"capabilities": [object()]},
        {"end_strategy": "exhaustive"},
        {"end_strategy": "early"},
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
