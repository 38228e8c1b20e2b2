"""The result of a run, under the names of the OpenAI Agents SDK."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from typing_extensions import TypeVar

from toolkeel._records.record import record
from toolkeel.agent import result as core_result
from toolkeel.agent.history import HistoryView
from toolkeel.agent.run_state import RunState as SavedRun
from toolkeel.errors import SetupError
from toolkeel.messages import AssistantMessage, Message, SystemMessage
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
    """

    agent: Any
    context: RunContextWrapper[Any]
    messages: Sequence[Message] = ()
    input: Any = None
    verdicts: Sequence[Any] = ()


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
        new_items: The items it added, in order; those that wait for approval are the last.
        last_agent: The agent that owned the run at its end.
        context_wrapper: The user's own object, and the usage.
        messages: The complete transcript.
        state: The core's saved run.
        given: Number of messages that the run started with.
        verdicts: Results of guardrails.
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
        return RunState(
            self.last_agent, self.state, wrapper.context, wrapper.standing_decisions, self.given
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
    made = make_result(answer, result.messages, result.state, run_input)
    made.new_items.extend(made.interruptions)
    return made


def _pick_answer(reply: Message, text: str) -> str:
    """Return the output in a reply: as in the SDK, the last of several messages."""
    items = [item for item in to_items(None, reply) if item.type == "message_output_item"]
    return ItemHelpers.extract_text(items[-1].raw_item) or text if len(items) > 1 else text


def make_result(
    answer: object, messages: list[Message], state: SavedRun, run_input: RunInput
) -> RunResult:
    """Build the result of a run, finished or failed."""
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
    )


def _is_system_message(message: Message) -> bool:
    return isinstance(message, SystemMessage)
