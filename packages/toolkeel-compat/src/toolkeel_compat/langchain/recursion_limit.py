"""``recursion_limit``: the steps of one run, counted as LangGraph counts them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from toolkeel.agent.turn.steps import ModelStep, SendRequest
from toolkeel.context import RunContext
from toolkeel.messages import AssistantMessage
from toolkeel.model_interface import ModelRequest
from toolkeel_compat.langchain.middleware import find_hook

DEFAULT_LIMIT: Final = 9_999
"""The limit of a config without one, as in LangChain."""
MAX_REQUESTS: Final = 10**6
"""The core's own bound on requests: larger than any limit that people write."""
_COUNT_KEY = "model_requests"


class GraphRecursionError(RecursionError):
    """The model calls reached ``recursion_limit``."""


def get_limit(config: Mapping[str, Any] | None) -> int:
    """Return the recursion limit of a config.

    Raises:
        ValueError: It is below 1.
    """
    limit = (config or {}).get("recursion_limit")
    limit = DEFAULT_LIMIT if limit is None else int(limit)
    if limit < 1:
        raise ValueError(f"recursion_limit must be at least 1, not {limit}")
    return limit


def make_limit_step(middleware: Sequence[Any]) -> ModelStep:
    """Return the model step that ends a run at the recursion limit of its config.

    A model request, the calls of a turn, and each hook of a middleware are one step.

    Args:
        middleware: The agent's middleware.
    """
    hooks = {
        kind: sum(find_hook(one, kind) is not None for one in middleware)
        for kind in ("before_agent", "before_model", "after_model")
    }
    first = hooks["before_agent"] + hooks["before_model"] + 1
    per_turn = 2 + hooks["before_model"] + hooks["after_model"]

    async def step(
        request: ModelRequest, run: RunContext[Any], proceed: SendRequest
    ) -> AssistantMessage:
        config: Any = run.inject.get("config")
        limit, key = get_limit(config), (_COUNT_KEY, run.id)
        done: Any = run.scope.step_state.get(key, 0)
        if first + done * per_turn > limit:
            raise GraphRecursionError(
                f"Recursion limit of {limit} reached without hitting a stop condition after {done} "
                f'model requests: give a limit above {limit}, config={{"recursion_limit": ...}}, or '
                "find out why the model does not end"
            )
        run.scope.step_state[key] = done + 1
        return await proceed(request)

    return step
