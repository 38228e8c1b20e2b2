"""The result of a run, under the names of the OpenAI Agents SDK."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from typing import Any, cast

from typing_extensions import TypeVar

from toolkeel._records.record import NOTHING, record
from toolkeel.agent import result as core_result
from toolkeel.agent.history import HistoryView
from toolkeel.agent.run_state import RunState as SavedRun
from toolkeel.errors import SetupError
from toolkeel.messages import AssistantMessage, Message, SystemMessage, ToolMessage
from toolkeel_compat.openai_agents.context import RunContextWrapper, TResponseInputItem
from toolkeel_compat.openai_agents.guardrails import (
    InputGuardrailResult,
    OutputGuardrailResult,
    ToolInputGuardrailResult,
    ToolOutputGuardrailResult,
)
from toolkeel_compat.openai_agents.items import (
    DECIDED,
    HandoffOutputItem,
    Item,
    ItemHelpers,
    to_input,
    to_input_list,
    to_items,
    to_run_items,
)
from toolkeel_compat.openai_agents.models.custom_models import ModelResponse, to_model_response
from toolkeel_compat.openai_agents.state import RunState, ToolApprovalItem

__all__ = ["RunResult"]

T = TypeVar("T")


@record
class RunInput:
    """The input of a run, to separate it from what the run added.

    Args:
        agent: The starting agent.
        context: The user's own object, and the usage.
        messages: Messages of the transcript that are not new.
        input: The input as passed, if known.
        verdicts: Results of guardrails.
        waits: How often each call has waited for approval, by its id.
    """

    agent: Any
    context: RunContextWrapper[Any]
    messages: Sequence[Message] = ()
    input: Any = None
    verdicts: Sequence[Any] = ()
    waits: Mapping[str, Any] = NOTHING


def _filter_verdicts(kind: type) -> Any:
    """Return a property with the results of one kind of guardrail, in order."""

    def found(result: Any) -> list[Any]:
        return [one for one in result.verdicts if type(one) is kind]

    return property(found)


@record
class RunResult:
    """The result of a run.

    Args:
        input: The run's input.
        final_output: The output.
        new_items: The items it added, in the order in which they came: a call that waits for approval
            is among the results of its turn, and its own result follows them.
        last_agent: The agent that owned the run at its end.
        context_wrapper: The user's own object, and the usage.
        messages: The complete transcript.
        state: The core's saved run.
        given: Number of messages that the run started with.
        verdicts: Results of guardrails.
        waits: How often each call has waited for approval, by its id.
    """

    input: Any
    final_output: Any
    new_items: list[Item | ToolApprovalItem]
    last_agent: Any
    context_wrapper: RunContextWrapper[Any]
    messages: list[Message]
    state: SavedRun
    given: int = 0
    verdicts: Sequence[Any] = ()
    waits: Mapping[str, Any] = NOTHING

    input_guardrail_results = _filter_verdicts(InputGuardrailResult)
    output_guardrail_results = _filter_verdicts(OutputGuardrailResult)
    tool_input_guardrail_results = _filter_verdicts(ToolInputGuardrailResult)
    tool_output_guardrail_results = _filter_verdicts(ToolOutputGuardrailResult)

    def __str__(self) -> str:
        answer, counts = self.final_output, [len(self.new_items), len(self.raw_responses)]
        counts += [len(self.input_guardrail_results), len(self.output_guardrail_results)]
        named = ("new item", "raw response", "input guardrail result", "output guardrail result")
        lines = [f'- Last agent: Agent(name="{self.last_agent.name}", ...)']
        lines += [f"- Final output ({type(answer).__name__}):", f"    {answer}"]
        lines += [f"- {n} {name}(s)" for n, name in zip(counts, named, strict=True)]
        return "\n".join(["RunResult:", *lines, "(See `RunResult` for more details)"])

    @property
    def raw_responses(self) -> list[ModelResponse]:
        """The model's replies."""
        new = self.messages[self.given :]
        replies = [one for one in new if isinstance(one, AssistantMessage)]
        return [to_model_response(one) for one in replies if one.model != DECIDED]

    @property
    def last_response_id(self) -> str:
        """Refused: nothing is stored at the provider, so no run can continue from it."""
        raise SetupError("last_response_id: the transcript is kept here: give to_input_list()")

    @property
    def interruptions(self) -> list[ToolApprovalItem]:
        """The calls that wait for approval; if there are any, the run has stopped because of them."""
        return self.to_state().get_interruptions()

    def to_state(self) -> RunState:
        """Return the state: decide on its interruptions, and pass it to `Runner.run`."""
        wrapper = self.context_wrapper
        always = wrapper.standing_decisions
        return RunState(
            self.last_agent, self.state, wrapper.context, always, self.given, self.waits
        )

    def final_output_as(self, cls: type[T], raise_if_incorrect_type: bool = False) -> T:
        """Return the output, typed as `cls` for the type checker.

        Raises:
            TypeError: It has another type, and `raise_if_incorrect_type` is set.
        """
        if raise_if_incorrect_type and not isinstance(self.final_output, cls):
            name = type(self.final_output).__name__
            raise TypeError(f"Final output is not of type {cls.__name__}, but {name}")
        return cast("T", self.final_output)

    def to_input_list(self) -> list[TResponseInputItem]:
        """Return the transcript without instructions, as plain dicts for another run.

        What a handoff's filter left out of the input of the next agent is left out here, too.
        """
        filtered = [cut for cut in self.state.cuts if cut.policy == "handoff"]
        if filtered:
            view = HistoryView(self.state.messages)
            view.apply_cut(filtered[-1])
            return to_input_list(view.messages)
        input_items = ItemHelpers.input_to_new_input_list(self.input)
        return [*input_items, *to_input_list(self.messages[self.given :])]


def to_result(result: core_result.RunResult[Any], run_input: RunInput) -> RunResult:
    """Convert the core's result to the SDK's."""
    answer = result.output_value if result.has_output else None
    if isinstance(answer, str):
        answer = _pick_answer(result.messages[-1], answer)
    waits = dict(run_input.waits)
    for ticket in result.state.pending:
        waits[ticket.call_id] = waits.get(ticket.call_id, 0) + 1
    run_input = dataclasses.replace(run_input, waits=waits)
    made = make_result(answer, result.messages, result.state, run_input)
    made.new_items[:] = _add_approvals(made)
    return made


def arrange_results(messages: Sequence[Message], waits: Mapping[str, Any]) -> list[Message]:
    """Return a transcript with each turn's results in the order in which they came.

    Args:
        messages: The transcript, with each turn's results in the order of the calls.
        waits: How often each call has waited for approval, by its id.
    """
    made: list[Message] = []
    for is_result, group in itertools.groupby(messages, lambda one: isinstance(one, ToolMessage)):
        found: list[Any] = list(group)
        if is_result:
            found.sort(key=lambda it: waits.get(it.tool_call_id, 0))
        made += found
    return made


def _add_approvals(result: RunResult) -> list[Any]:
    """Return the items of a result with those that wait, or have waited, in their places."""
    interruptions = result.interruptions
    asked = {item.call_id: item for item in interruptions}
    made: list[Any] = []
    waiting: list[Any] = []  # calls of the turn without a result or an approval item yet

    def pass_to(id: str | None) -> None:
        """Add the approval items of waiting calls before this one; of all for None."""
        for call in [*waiting]:
            if call.call_id == id:
                break
            waiting.remove(call)
            if call.call_id in result.waits:
                again = ToolApprovalItem(call.agent, call.raw_item, None)
                made.append(asked.pop(call.call_id, again))

    items: list[Any] = [*result.new_items]
    for item in items:
        if item.type == "tool_call_item":
            waiting.append(item)
        elif item.type == "tool_call_output_item":
            id = item.call_id
            pass_to(None if id in result.waits else id)
            waiting[:] = [call for call in waiting if call.call_id != id]
        else:
            pass_to(None)
        made.append(item)
    pass_to(None)
    return [*made, *asked.values()]


def _pick_answer(reply: Message, text: str) -> str:
    """Return the output in a reply: as in the SDK, the last of several messages."""
    items = [item for item in to_items(None, reply) if item.type == "message_output_item"]
    return ItemHelpers.extract_text(items[-1].raw_item) or text if len(items) > 1 else text


def make_result(
    answer: object, messages: list[Message], state: SavedRun, run_input: RunInput
) -> RunResult:
    """Build the result of a run, finished or failed."""
    messages = arrange_results(messages, run_input.waits)
    known = {id(message) for message in run_input.messages}
    fresh = [
        n for n, one in enumerate(messages) if not (id(one) in known or _is_system_message(one))
    ]
    new = to_run_items(run_input.agent, [messages[place] for place in fresh])
    takers = [item.target_agent for item in new if isinstance(item, HandoffOutputItem)]
    agent = [run_input.agent, *takers][-1]
    original_input = to_input(run_input.messages) if run_input.input is None else run_input.input
    start = fresh[0] if fresh else len(messages)
    return RunResult(
        original_input,
        answer,
        [*new],
        agent,
        run_input.context,
        messages,
        state,
        start,
        run_input.verdicts,
        run_input.waits,
    )


def _is_system_message(message: Message) -> bool:
    return isinstance(message, SystemMessage)
