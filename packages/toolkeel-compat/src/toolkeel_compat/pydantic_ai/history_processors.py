"""Functions that change the history before each request, under the names of Pydantic AI."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from toolkeel.agent.turn.steps import ModelStep
from toolkeel.context import RunContext as CoreRun
from toolkeel.messages import AssistantMessage, Message, ToolMessage
from toolkeel.model_interface import ModelRequest
from toolkeel_compat.check_options import maybe_await
from toolkeel_compat.pydantic_ai.context import RunContext
from toolkeel_compat.pydantic_ai.failures import describe_failures
from toolkeel_compat.pydantic_ai.messages import get_values, to_core_messages, to_model_messages
from toolkeel_compat.pydantic_ai.toolsets import takes_run_context

_HISTORY_KEY: Final = "pydantic_ai_history"
"""Key of a run's step state: the processed messages, and how many of the run's they stand for."""


@dataclasses.dataclass
class ProcessHistory:
    """A capability: a function changes the history before each request.

    What it returns is the run's history from then on.

    Args:
        processor: ``(messages) -> messages``, sync or async; it may take a `RunContext` first.
    """

    processor: Callable[..., Any]


def make_history_step(processors: Sequence[Callable[..., Any]]) -> ModelStep:
    """Return the model step that changes the history of each request; instructions stay in front.

    Args:
        processors: Functions of `ProcessHistory`, in order.
    """

    async def step(request: ModelRequest, run: CoreRun[Any], proceed: Any) -> Any:
        describe_failures(request, run)
        said = run.messages
        changed: Any = to_model_messages(replace_processed(run, said), get_values(run))
        for one in processors:
            about = (RunContext(run), changed) if takes_run_context(one) else (changed,)
            changed = await maybe_await(one(*about))
        made = to_core_messages(changed)
        run.scope.step_state[_HISTORY_KEY, run.id] = [made, len(said)]
        told = run.transcript[: run.loop_state.instruction_count]
        sent = [*told, *_leave_out_orphans(made)]
        return await proceed(dataclasses.replace(request, messages=sent))

    step.step_timeout = None  # type: ignore[attr-defined]
    return step


def _leave_out_orphans(messages: Sequence[Message]) -> Iterator[Message]:
    """Yield messages without results whose call is not among them, which no provider accepts."""
    called: set[str] = set()
    for one in messages:
        if isinstance(one, AssistantMessage):
            called |= {call.id for call in one.tool_calls}
        if not isinstance(one, ToolMessage) or one.tool_call_id in called:
            yield one


def replace_processed(run: CoreRun[Any], messages: Sequence[Message]) -> list[Message]:
    """Return a run's messages with the processed history in place of what it was made of.

    Args:
        run: The run.
        messages: Its messages without instructions.
    """
    known: Any = run.scope.step_state.get((_HISTORY_KEY, run.id), ((), 0))
    processed, count = known
    return [*processed, *messages[count:]]
