"""Handoffs under the names of the OpenAI Agents SDK: the core's, with the SDK's texts and filters."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from inspect import signature
from typing import Any, TypeAlias

from toolkeel.agent.handoff import Handoff as CoreHandoff
from toolkeel.agent.handoff import HandoffHistory
from toolkeel.agent.transcript import repair
from toolkeel.context import RunContext
from toolkeel.errors import SetupError
from toolkeel.messages import Message
from toolkeel_compat.check_options import maybe_await
from toolkeel_compat.missing import refuse_attributes
from toolkeel_compat.openai_agents.context import RunContextWrapper, current_run
from toolkeel_compat.openai_agents.items import ItemHelpers, to_input, to_messages, to_run_items
from toolkeel_compat.openai_agents.settings import RunConfig
from toolkeel_compat.openai_agents.tools import STRICT, mark_strict, to_core_enabled

__all__ = [
    "Handoff", "HandoffHistoryMapper", "HandoffInputData", "HandoffInputFilter",
    "default_handoff_history_mapper", "handoff", "nest_handoff_history", "remove_all_tools",
]  # fmt: skip


@dataclasses.dataclass(frozen=True)
class HandoffInputData:
    """The next agent's input, for a filter to change.

    Args:
        input_history: The run's input: a string or items.
        pre_handoff_items: Items added before the turn of the handoff.
        new_items: Items of that turn, with the handoff and its result.
        run_context: The run.
        input_items: Items that the next agent gets instead of `new_items`, if they differ.
    """

    input_history: str | tuple[Any, ...]
    pre_handoff_items: tuple[Any, ...]
    new_items: tuple[Any, ...]
    run_context: RunContextWrapper[Any] | None = None
    input_items: tuple[Any, ...] | None = None

    def clone(self, **changes: Any) -> HandoffInputData:
        """Return a copy with some fields changed."""
        return dataclasses.replace(self, **changes)


HandoffInputFilter: TypeAlias = Callable[[HandoffInputData], Any]


@refuse_attributes({"on_invoke_handoff": "a run calls it, and its .agent takes over"})
class Handoff(CoreHandoff):
    """A core `Handoff` with the SDK's texts; created by `handoff`."""

    async def filter_history(self, history: HandoffHistory) -> list[Message] | None:
        """Return the next agent's messages, filtered by the handoff's or the run's filter; None for all."""
        if self.input_filter is None and (chosen := _get_run_filter()) is not None:
            return repair(await chosen(history))
        return await super().filter_history(history)

    @property
    def result_text(self) -> str:
        """The result text of the handoff's call."""
        return json.dumps({"assistant": self.agent.name}, ensure_ascii=False)

    def get_transfer_message(self, agent: Any) -> str:
        """Return the result of the handoff's call."""
        return self.result_text

    strict_json_schema = True

    @property
    def tool_name(self) -> str:
        """The name of the handoff's tool."""
        return self.tool.name

    @property
    def tool_description(self) -> str:
        """The description of the handoff's tool."""
        return self.tool.description

    @property
    def input_json_schema(self) -> Mapping[str, Any]:
        """The JSON Schema of the handoff's input."""
        return self.tool.parameters

    @property
    def agent_name(self) -> str:
        """The name of the agent that takes over the run."""
        return self.agent.name


def handoff(
    agent: Any,
    tool_name_override: str | None = None,
    tool_description_override: str | None = None,
    on_handoff: Callable[..., Any] | None = None,
    input_type: Any = None,
    **options: Any,
) -> Handoff:
    """Create a handoff: a tool that transfers the run to another agent.

    Args:
        agent: The target agent.
        tool_name_override: ``transfer_to_`` and the agent's name by default.
        tool_description_override: The description for the model: when to hand off.
        on_handoff: Called at the handoff: ``(context)``, or with an `input_type` ``(context, input)``.
        input_type: The model's input of the handoff, as a pydantic model.
        options: ``input_filter``, which selects the next agent's input, ``nest_handoff_history`` and
            ``is_enabled``.

    Raises:
        TypeError: An option is unknown.
    """
    input_filter, enabled = options.pop("input_filter", None), options.pop("is_enabled", True)
    if options.pop("nest_handoff_history", None) and input_filter is None:
        input_filter = nest_handoff_history
    if on_handoff is not None:
        _check_on_handoff(on_handoff, "(context)" if input_type is None else "(context, input)")
    if options:
        raise TypeError(f"handoff has no option {', '.join(map(repr, sorted(options)))}")
    about = getattr(agent, "handoff_description", None) or ""
    description = f"Handoff to the {agent.name} agent to handle the request. {about}"

    async def tell(run: RunContext[Any], arguments: dict[str, Any]) -> None:
        assert on_handoff is not None
        wrapper = RunContextWrapper.from_run(run)
        more = [] if input_type is None else [input_type(**arguments)]
        await maybe_await(on_handoff(wrapper, *more))

    return Handoff(
        agent,
        tool_name_override or re.sub(r"[^a-zA-Z0-9_]", "_", f"transfer_to_{agent.name}".lower()),
        tool_description_override or description,
        input_type=input_type,
        on_handoff=None if on_handoff is None else tell,
        input_filter=None if input_filter is None else _to_core_filter(input_filter),
        enabled=to_core_enabled(enabled),
        metadata=STRICT,
        unknown_keys="ignore" if input_type is None else "forbid",
    )


def _check_on_handoff(on_handoff: Callable[..., Any], takes: str) -> None:
    """Raise `SetupError` unless the function takes these parameters."""
    if not callable(on_handoff) or len(signature(on_handoff).parameters) != len(takes.split(",")):
        raise SetupError(f"handoff(on_handoff=...) is a function of {takes}")


def to_handoffs(agents: Any) -> list[CoreHandoff]:
    """Convert agents in a list to handoffs."""
    return [one if isinstance(one, CoreHandoff) else handoff(one) for one in agents or ()]


def mark_strict_handoffs(handoffs: list[CoreHandoff], strictly: bool) -> list[CoreHandoff]:
    """Ask OpenAI to enforce the schemas of the handoffs' arguments, if `strictly`, and return them."""
    for one in handoffs if strictly else ():
        [one.tool] = mark_strict([one.tool])
    return handoffs


def _get_run_filter() -> Callable[[HandoffHistory], Awaitable[list[Message]]] | None:
    """Return the handoff filter of the current run, or None."""
    config: RunConfig = getattr(current_run.get(), "config", RunConfig())
    if config.handoff_input_filter is not None:
        return _to_core_filter(config.handoff_input_filter)
    mapper = config.handoff_history_mapper
    nested = partial(nest_handoff_history, history_mapper=mapper)
    return _to_core_filter(nested) if config.nest_handoff_history else None


HandoffHistoryMapper: TypeAlias = Callable[[list[Any]], list[Any]]


def nest_handoff_history(
    handoff_input_data: HandoffInputData, *, history_mapper: HandoffHistoryMapper | None = None
) -> HandoffInputData:
    """Put the conversation so far into one text; messages of the handoff's turn stay separate.

    Args:
        handoff_input_data: The next agent's input.
        history_mapper: Creates items of the history instead of the text.
    """
    data, summed = handoff_input_data, history_mapper or default_handoff_history_mapper
    nested, waiting = list[Any](), ItemHelpers.input_to_new_input_list(data.input_history)
    waiting += [item.to_input_item() for item in data.pre_handoff_items]
    for item in (one.to_input_item() for one in data.new_items):
        if item.get("role") and history_mapper is None:
            nested += [*(summed(waiting) if waiting else ()), item]
            waiting = []
        else:
            waiting.append(item)
    nested += summed(waiting) if waiting else []
    return data.clone(input_history=tuple(nested), pre_handoff_items=(), input_items=())


def default_handoff_history_mapper(transcript: list[Any]) -> list[Any]:
    """Return one assistant message with a line for each item."""
    lines = [f"{place}. {_format_line(item)}" for place, item in enumerate(transcript, 1)]
    text = "\n".join([_HISTORY_INTRO, "<CONVERSATION HISTORY>", *lines, "</CONVERSATION HISTORY>"])
    return [{"role": "assistant", "content": text}]


_HISTORY_INTRO = (
    "For context, here is the conversation so far between the user and the previous agent:"
)


def _format_line(item: Mapping[str, Any]) -> str:
    content = item.get("content")
    if "role" in item and isinstance(content, str) and "\n" not in content:
        return f"{item['role']}: {content}"
    return json.dumps(item, ensure_ascii=False)


def _to_core_filter(
    chosen: HandoffInputFilter,
) -> Callable[[HandoffHistory], Awaitable[list[Message]]]:
    """Convert the SDK's filter to the core's form."""

    async def filter_history(history: HandoffHistory) -> list[Message]:
        messages = history.messages
        last = max(n for n, one in enumerate(messages) if hasattr(one, "tool_calls"))
        agent = history.run.agent
        before = to_run_items(
            getattr(current_run.get(), "agent", agent), messages[history.initial_count : last]
        )
        new = to_run_items(agent, messages[last:])
        wrapper = RunContextWrapper.from_run(history.run)
        run_input = to_input(messages[: history.initial_count], instructed=True)
        run_input = run_input if isinstance(run_input, str) else tuple(run_input)
        data = HandoffInputData(run_input, tuple(before), tuple(new), wrapper)
        made = await maybe_await(chosen(data))
        items = made.new_items if made.input_items is None else made.input_items
        run_input = made.input_history
        history_items = (
            [{"role": "user", "content": run_input}] if isinstance(run_input, str) else run_input
        )
        rest = [item.to_input_item() for item in (*made.pre_handoff_items, *items)]
        return to_messages([*history_items, *rest])

    return filter_history


def remove_all_tools(handoff_input_data: HandoffInputData) -> HandoffInputData:
    """Remove calls, their results and reasoning; messages remain."""
    data = handoff_input_data
    history = data.input_history
    return data.clone(
        input_history=history if isinstance(history, str) else tuple(filter(_is_message, history)),
        pre_handoff_items=tuple(filter(_is_message, data.pre_handoff_items)),
        new_items=tuple(filter(_is_message, data.new_items)),
    )


def _is_message(item: Any) -> bool:
    kind = item.get("type", "message") if isinstance(item, Mapping) else item.type
    return kind in ("message", "message_output_item")
