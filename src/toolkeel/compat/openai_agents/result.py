"""How a run ended, under the names of the OpenAI Agents SDK."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from typing_extensions import TypeVar

from toolkeel._records.record import record
from toolkeel.agent import result as core_result
from toolkeel.agent.run_state import RunState as SavedRun
from toolkeel.compat.openai_agents.context import RunContextWrapper
from toolkeel.compat.openai_agents.items import (
    HandoffOutputItem,
    Item,
    MessageOutputItem,
    TResponseInputItem,
    input_list,
    items_of,
)
from toolkeel.compat.openai_agents.state import RunState, ToolApprovalItem
from toolkeel.messages import Message

T = TypeVar("T")


@record
class RunResult:
    """How a run ended.

    Args:
        input: What it was given.
        final_output: The answer.
        new_items: What it added, in order.
        last_agent: Whose run it was.
        context_wrapper: The user's own object, and what was spent.
        messages: The whole transcript.
        state: Where the run stands.
    """

    input: Any
    final_output: Any
    new_items: list[Item]
    last_agent: Any
    context_wrapper: RunContextWrapper[Any]
    messages: list[Message]
    state: SavedRun

    @property
    def raw_responses(self) -> list[Any]:
        """The model's messages among the new items, as the wire carries them."""
        return [item.raw_item for item in self.new_items if isinstance(item, MessageOutputItem)]

    @property
    def last_response_id(self) -> None:
        """None: nothing is kept at the provider."""

    @property
    def interruptions(self) -> list[ToolApprovalItem]:
        """The calls that wait for a person; the run has stopped because of them, if there are any."""
        return self.to_state().get_interruptions()

    def to_state(self) -> RunState:
        """Where the run stands: decide on its interruptions, and give it to `Runner.run`."""
        return RunState(
            self.last_agent, self.state, self.context_wrapper.context, self.context_wrapper.always
        )

    def final_output_as(self, cls: type[T], raise_if_incorrect_type: bool = False) -> T:
        """The answer, for the type checker of one type.

        Raises:
            TypeError: it is not, and `raise_if_incorrect_type` is set.
        """
        if raise_if_incorrect_type and not isinstance(self.final_output, cls):
            name = type(self.final_output).__name__
            raise TypeError(f"Final output is not of type {cls.__name__}, but {name}")
        return cast("T", self.final_output)

    def to_input_list(self) -> list[TResponseInputItem]:
        """The transcript without instructions, as plain dicts, to go on from."""
        return input_list(self.messages)


def as_result(
    result: core_result.RunResult[Any],
    agent: Any,
    context: RunContextWrapper[Any],
    asked: Sequence[Message],
) -> RunResult:
    """The core's result as the SDK's.

    Args:
        result: The core's.
        agent: Who began it.
        context: The user's own object, and what was spent.
        asked: What the run was given; everything else is new.
    """
    answer = result.answer if result.answered else None
    return make_result(answer, result.messages, result.state, agent, context, asked)


def make_result(
    answer: object,
    messages: list[Message],
    state: SavedRun,
    agent: Any,
    context: RunContextWrapper[Any],
    asked: Sequence[Message],
) -> RunResult:
    """A result of what a run has: also of one that failed; see `as_result`."""
    known = {id(message) for message in asked}
    new: list[Item] = []
    for one in messages:
        if id(one) not in known:
            new += items_of(agent, one)
            if new and isinstance(new[-1], HandoffOutputItem):
                agent = new[-1].target_agent
    return RunResult(list(asked), answer, new, agent, context, messages, state)
