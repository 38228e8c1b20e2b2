"""How a run ended, under the names of the OpenAI Agents SDK."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from typing_extensions import TypeVar

from toolkeel._records.record import record
from toolkeel.agent import result as core_result
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
    as_input,
    input_list,
    items_of,
    run_items,
)
from toolkeel_compat.openai_agents.models.custom_models import ModelResponse, response_of
from toolkeel_compat.openai_agents.state import RunState, ToolApprovalItem

__all__ = ["RunResult"]

T = TypeVar("T")


@record
class Given:
    """What a run was given.

    Args:
        agent: Who began it.
        context: The user's own object, and what was spent.
        messages: What of its transcript is not new.
        input: The same as it was given, if it was.
        verdicts: What its guardrails have said.
    """

    agent: Any
    context: RunContextWrapper[Any]
    messages: Sequence[Message] = ()
    input: Any = None
    verdicts: Sequence[Any] = ()


def said(kind: type) -> Any:
    """What a run's guardrails of one kind have said, in order."""

    def found(result: Any) -> list[Any]:
        return [one for one in result.verdicts if type(one) is kind]

    return property(found)


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
        given: How much of the transcript the run began with.
        verdicts: What guardrails have said.
    """

    input: Any
    final_output: Any
    new_items: list[Item]
    last_agent: Any
    context_wrapper: RunContextWrapper[Any]
    messages: list[Message]
    state: SavedRun
    given: int = 0
    verdicts: Sequence[Any] = ()

    input_guardrail_results = said(InputGuardrailResult)
    output_guardrail_results = said(OutputGuardrailResult)
    tool_input_guardrail_results = said(ToolInputGuardrailResult)
    tool_output_guardrail_results = said(ToolOutputGuardrailResult)

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
        return [response_of(one) for one in replies if one.model != DECIDED]

    @property
    def last_response_id(self) -> str:
        """Refused: nothing is kept at the provider, and the next run would begin anew."""
        raise SetupError("last_response_id: the transcript is kept here: give to_input_list()")

    @property
    def interruptions(self) -> list[ToolApprovalItem]:
        """The calls that wait for a person; the run has stopped because of them, if there are any."""
        return self.to_state().get_interruptions()

    def to_state(self) -> RunState:
        """Where the run stands: decide on its interruptions, and give it to `Runner.run`."""
        wrapper = self.context_wrapper
        return RunState(self.last_agent, self.state, wrapper.context, wrapper.always, self.given)

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
        begun = ItemHelpers.input_to_new_input_list(self.input)
        return [*begun, *input_list(self.messages[self.given :])]


def as_result(result: core_result.RunResult[Any], given: Given) -> RunResult:
    """The core's result as the SDK's."""
    answer = result.output_value if result.has_output else None
    if isinstance(answer, str):
        answer = _last_said(result.messages[-1], answer)
    return make_result(answer, result.messages, result.state, given)


def _last_said(reply: Message, text: str) -> str:
    """The answer in a reply: as there, the last of several messages."""
    said = [item for item in items_of(None, reply) if item.type == "message_output_item"]
    return ItemHelpers.extract_text(said[-1].raw_item) or text if len(said) > 1 else text


def make_result(
    answer: object, messages: list[Message], state: SavedRun, given: Given
) -> RunResult:
    """A result of what a run has: also of one that failed."""
    known = {id(message) for message in given.messages}
    fresh = [n for n, one in enumerate(messages) if not (id(one) in known or _instructs(one))]
    new = run_items(given.agent, [messages[place] for place in fresh])
    takers = [item.target_agent for item in new if isinstance(item, HandoffOutputItem)]
    agent = [given.agent, *takers][-1]
    begun = as_input(given.messages) if given.input is None else given.input
    start = fresh[0] if fresh else len(messages)
    return RunResult(
        begun, answer, new, agent, given.context, messages, state, start, given.verdicts
    )


def _instructs(message: Message) -> bool:
    return isinstance(message, SystemMessage)
