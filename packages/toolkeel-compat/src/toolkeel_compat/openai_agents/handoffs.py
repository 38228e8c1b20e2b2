"""Handoffs, under the names of the OpenAI Agents SDK: the core's, with its words and filters."""

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
from toolkeel_compat.openai_agents.context import RunContextWrapper, of_run
from toolkeel_compat.openai_agents.items import ItemHelpers, as_input, messages_of, run_items
from toolkeel_compat.openai_agents.settings import RunConfig
from toolkeel_compat.openai_agents.tools import STRICT, as_enabled, as_strict

__all__ = [
    "RECOMMENDED_PROMPT_PREFIX", "Handoff", "HandoffHistoryMapper", "HandoffInputData",
    "HandoffInputFilter", "default_handoff_history_mapper", "handoff", "nest_handoff_history",
    "prompt_with_handoff_instructions", "remove_all_tools",
]  # fmt: skip

RECOMMENDED_PROMPT_PREFIX = (
    "You are one of several agents that share a conversation. A function named "
    "transfer_to_<agent> hands it over to that agent; who takes it goes on at once. Do not speak "
    "of these handovers to the person."
)
"""What an agent may be told of handoffs."""


def prompt_with_handoff_instructions(prompt: str) -> str:
    """Instructions with `RECOMMENDED_PROMPT_PREFIX` before them."""
    return f"{RECOMMENDED_PROMPT_PREFIX}\n\n{prompt}"


@dataclasses.dataclass(frozen=True)
class HandoffInputData:
    """What the next agent would see, for a filter to change.

    Args:
        input_history: What the run was given: a text or items.
        pre_handoff_items: What was added before the turn of the handoff.
        new_items: That turn: the handoff and its result among it.
        run_context: The run.
        input_items: What the next agent sees in place of `new_items`, if it is another.
    """

    input_history: str | tuple[Any, ...]
    pre_handoff_items: tuple[Any, ...]
    new_items: tuple[Any, ...]
    run_context: RunContextWrapper[Any] | None = None
    input_items: tuple[Any, ...] | None = None

    def clone(self, **changes: Any) -> HandoffInputData:
        """The same with some fields changed."""
        return dataclasses.replace(self, **changes)


HandoffInputFilter: TypeAlias = Callable[[HandoffInputData], Any]


class Handoff(CoreHandoff):
    """A core `Handoff` that says what the SDK's says; made by `handoff`."""

    async def seen(self, history: HandoffHistory) -> list[Message] | None:
        """What the other agent sees: by its own filter, else by that of the run."""
        if self.input_filter is None and (chosen := _of_run()) is not None:
            return repair(await chosen(history))
        return await super().seen(history)

    @property
    def said(self) -> str:
        """The result of its call."""
        return json.dumps({"assistant": self.agent.name}, ensure_ascii=False)

    def get_transfer_message(self, agent: Any) -> str:
        """The result of a call that gives the run to an agent."""
        return self.said

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
    """How an agent gives the run to another.

    Args:
        agent: Who takes it.
        tool_name_override: ``transfer_to_`` and its name by default.
        tool_description_override: For the model: when to give it away.
        on_handoff: Told of it: ``(context)``, or with an `input_type` ``(context, input)``.
        input_type: What the model says along with it, as a pydantic model.
        options: ``input_filter``, which chooses what the other agent sees,
            ``nest_handoff_history`` and ``is_enabled``.

    Raises:
        TypeError: for an option that nobody knows.
    """
    given, enabled = options.pop("input_filter", None), options.pop("is_enabled", True)
    if options.pop("nest_handoff_history", None) and given is None:
        given = nest_handoff_history
    if on_handoff is not None:
        _check(on_handoff, "(context)" if input_type is None else "(context, input)")
    if options:
        raise TypeError(f"handoff has no option {', '.join(map(repr, sorted(options)))}")
    about = getattr(agent, "handoff_description", None) or ""
    told = f"Handoff to the {agent.name} agent to handle the request. {about}"

    async def tell(run: RunContext[Any], arguments: dict[str, Any]) -> None:
        assert on_handoff is not None
        wrapper = RunContextWrapper.of(run)
        more = [] if input_type is None else [input_type(**arguments)]
        await maybe_await(on_handoff(wrapper, *more))

    return Handoff(
        agent,
        tool_name_override or re.sub(r"[^a-zA-Z0-9_]", "_", f"transfer_to_{agent.name}".lower()),
        tool_description_override or told,
        input_type=input_type,
        on_handoff=None if on_handoff is None else tell,
        input_filter=None if given is None else _filter(given),
        enabled=as_enabled(enabled),
        metadata=STRICT,
    )


def _check(told: Callable[..., Any], takes: str) -> None:
    """See that a function takes what it is told."""
    if not callable(told) or len(signature(told).parameters) != len(takes.split(",")):
        raise SetupError(f"handoff(on_handoff=...) is a function of {takes}")


def as_handoffs(given: Any) -> list[CoreHandoff]:
    """Handoffs, plain agents among them."""
    return [one if isinstance(one, CoreHandoff) else handoff(one) for one in given or ()]


def strict_handoffs(given: list[CoreHandoff], strictly: bool) -> list[CoreHandoff]:
    """The handoffs; OpenAI holds the arguments of those of `handoff` to their schema."""
    for one in given if strictly else ():
        [one.tool] = as_strict([one.tool])
    return given


def _of_run() -> Callable[[HandoffHistory], Awaitable[list[Message]]] | None:
    """The filter of the run that goes on."""
    config: RunConfig = getattr(of_run.get(), "config", RunConfig())
    if config.handoff_input_filter is not None:
        return _filter(config.handoff_input_filter)
    mapper = config.handoff_history_mapper
    nested = partial(nest_handoff_history, history_mapper=mapper)
    return _filter(nested) if config.nest_handoff_history else None


HandoffHistoryMapper: TypeAlias = Callable[[list[Any]], list[Any]]


def nest_handoff_history(
    handoff_input_data: HandoffInputData, *, history_mapper: HandoffHistoryMapper | None = None
) -> HandoffInputData:
    """What was said until now as one text; what was said along with the handoff stays beside it.

    Args:
        handoff_input_data: What the next agent would see.
        history_mapper: Makes the items of the whole in place of the text.
    """
    data, summed = handoff_input_data, history_mapper or default_handoff_history_mapper
    told, waiting = list[Any](), ItemHelpers.input_to_new_input_list(data.input_history)
    waiting += [item.to_input_item() for item in data.pre_handoff_items]
    for item in (one.to_input_item() for one in data.new_items):
        if item.get("role") and history_mapper is None:
            told += [*(summed(waiting) if waiting else ()), item]
            waiting = []
        else:
            waiting.append(item)
    told += summed(waiting) if waiting else []
    return data.clone(input_history=tuple(told), pre_handoff_items=(), input_items=())


def default_handoff_history_mapper(transcript: list[Any]) -> list[Any]:
    """One message of the agent's that tells all, a line each."""
    lines = [f"{place}. {_line(item)}" for place, item in enumerate(transcript, 1)]
    text = "\n".join([_NESTED, "<CONVERSATION HISTORY>", *lines, "</CONVERSATION HISTORY>"])
    return [{"role": "assistant", "content": text}]


_NESTED = "For context, here is the conversation so far between the user and the previous agent:"


def _line(item: Mapping[str, Any]) -> str:
    said = item.get("content")
    if "role" in item and isinstance(said, str) and "\n" not in said:
        return f"{item['role']}: {said}"
    return json.dumps(item, ensure_ascii=False)


def _filter(chosen: HandoffInputFilter) -> Callable[[HandoffHistory], Awaitable[list[Message]]]:
    """The SDK's filter in the core's form."""

    async def seen(history: HandoffHistory) -> list[Message]:
        messages = history.messages
        last = max(n for n, one in enumerate(messages) if hasattr(one, "tool_calls"))
        agent = history.run.agent
        before = run_items(getattr(of_run.get(), "agent", agent), messages[history.given : last])
        new = run_items(agent, messages[last:])
        wrapper = RunContextWrapper.of(history.run)
        begun = as_input(messages[: history.given], instructed=True)
        begun = begun if isinstance(begun, str) else tuple(begun)
        data = HandoffInputData(begun, tuple(before), tuple(new), wrapper)
        made = await maybe_await(chosen(data))
        items = made.new_items if made.input_items is None else made.input_items
        begun = made.input_history
        history_items = [{"role": "user", "content": begun}] if isinstance(begun, str) else begun
        rest = [item.to_input_item() for item in (*made.pre_handoff_items, *items)]
        return messages_of([*history_items, *rest])

    return seen


def remove_all_tools(handoff_input_data: HandoffInputData) -> HandoffInputData:
    """All that was said, without calls, their results and what was thought."""
    data = handoff_input_data
    history = data.input_history
    return data.clone(
        input_history=history if isinstance(history, str) else tuple(filter(_is_said, history)),
        pre_handoff_items=tuple(filter(_is_said, data.pre_handoff_items)),
        new_items=tuple(filter(_is_said, data.new_items)),
    )


def _is_said(item: Any) -> bool:
    kind = item.get("type", "message") if isinstance(item, Mapping) else item.type
    return kind in ("message", "message_output_item")
