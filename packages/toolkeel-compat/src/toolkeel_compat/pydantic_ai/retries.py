"""How often the model may correct calls of a tool, and the exception after that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from toolkeel.context import RunContext as CoreRun
from toolkeel.define.output_type import is_output_tool
from toolkeel.messages import ToolMessage
from toolkeel.model_interface import ModelRequest
from toolkeel_compat.pydantic_ai.exceptions import ModelRetry, UnexpectedModelBehavior

RETRIES_KEY: Final = "pydantic_ai_retries"
"""Key of a tool's metadata for its own maximum."""
_COUNT_KEY: Final = "pydantic_ai_failed"
_FAILURES: Final = ("tool_error", "invalid_arguments", "malformed_arguments", "unknown_tool", "timeout")  # fmt: skip


def count_retries(run: CoreRun[Any]) -> dict[str, int]:
    """Return how often each tool of a run has failed since its last success, for changes too."""
    counts: Any = run.scope.step_state.setdefault((_COUNT_KEY, run.id), {})
    known: dict[str, int] = counts
    return known


def make_retry_step(tools: Sequence[Any], default: int) -> Any:
    """Return the model step that ends a run whose model fails to correct the calls of a tool.

    The core's own count of equal failures is reset, since this one takes its place.

    Args:
        tools: The tools, of which some have a maximum of their own.
        default: The maximum of the others.
    """
    limits = {
        one.name: one.metadata[RETRIES_KEY]
        for one in tools
        if RETRIES_KEY in (getattr(one, "metadata", None) or {})
    }

    async def step(request: ModelRequest, run: CoreRun[Any], proceed: Any) -> Any:
        run.loop_state.failed_calls.clear()
        answers = {one.name: 10**6 for one in request.tools if is_output_tool(one)}
        _count_turn(run, {**limits, **answers}, default)  # the core counts answers
        return await proceed(request)

    return step


def _count_turn(run: CoreRun[Any], limits: Mapping[str, int], default: int) -> None:
    """Count the failures of the last turn.

    Raises:
        UnexpectedModelBehavior: A tool has failed more often than its maximum.
    """
    counts = count_retries(run)
    failed: set[str] = set()
    succeeded: set[str] = set()
    texts: dict[str, str] = {}
    for one in reversed(run.transcript):
        if not isinstance(one, ToolMessage):
            break
        if one.kind in _FAILURES:
            failed.add(one.name)
            texts[one.name] = one.text
        elif one.status == "success":
            succeeded.add(one.name)
    for name in succeeded - failed:
        counts.pop(name, None)
    for name in sorted(failed):
        counts[name] = counts.get(name, 0) + 1
        if counts[name] > (limit := limits.get(name, default)):
            raise UnexpectedModelBehavior(
                f"Tool {name!r} exceeded max retries count of {limit}. Allow more by retries= of the "
                "tool or of the agent, or say in ModelRetry what to correct"
            ) from ModelRetry(texts[name])
