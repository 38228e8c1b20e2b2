"""Streamed runs, under the names of the OpenAI Agents SDK; `Runner.run_streamed` returns them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any, ClassVar, Literal, TypeAlias, TypedDict, get_args

from toolkeel._records.record import record
from toolkeel.agent.run import Run
from toolkeel.context import RunContext, ToolContext
from toolkeel.define.tool import Prepared, Proceed, Step
from toolkeel.events import Event, Nested, Replied, Streamed, ToolFinished, TurnStarted
from toolkeel.model_interface import CallDelta, ReasoningDelta, TextDelta
from toolkeel_compat.check_options import maybe_await
from toolkeel_compat.openai_agents.context import RawItem, RunContextWrapper, to_raw_call
from toolkeel_compat.openai_agents.items import HandoffOutputItem, Item, to_input_list, to_items
from toolkeel_compat.openai_agents.run_lifecycle import RunLifecycle
from toolkeel_compat.openai_agents.state import ToolApprovalItem

__all__ = [
    "AgentToolStreamEvent", "AgentUpdatedStreamEvent", "RawResponsesStreamEvent",
    "RunItemStreamEvent", "RunResultStreaming", "StreamEvent",
]  # fmt: skip

_EVENT_NAMES = {
    "message_output_item": "message_output_created",
    "reasoning_item": "reasoning_item_created",
    "tool_call_item": "tool_called",
    "tool_call_output_item": "tool_output",
    "handoff_call_item": "handoff_requested",
    "handoff_output_item": "handoff_occured",  # as it is written there
}


@record
class RawResponsesStreamEvent:
    """A chunk of the model's reply; `data` has the OpenAI SDK's type, if that is installed."""

    type: ClassVar[str] = "raw_response_event"
    data: Any


@record
class RunItemStreamEvent:
    """A complete item."""

    type: ClassVar[str] = "run_item_stream_event"
    name: str
    item: Item


@record
class AgentUpdatedStreamEvent:
    """Another agent owns the run from now on."""

    type: ClassVar[str] = "agent_updated_stream_event"
    new_agent: Any


StreamEvent: TypeAlias = RawResponsesStreamEvent | RunItemStreamEvent | AgentUpdatedStreamEvent


class RunResultStreaming:
    """A run whose events are streamed. The result is complete after the last one.

    Args:
        agent: The starting agent.
        lifecycle: The run; it starts when its events are first read.
    """

    def __init__(self, agent: Any, lifecycle: RunLifecycle) -> None:
        self.current_agent = self.last_agent = agent
        self.new_items: list[Item | ToolApprovalItem] = []
        self.is_complete = False
        self.current_turn = 0
        self.final_output: Any = None
        self.context_wrapper: RunContextWrapper[Any] = lifecycle.wrapper
        self.max_turns, self.verdicts = lifecycle.max_turns, lifecycle.verdicts
        self.input = lifecycle.original_input
        self._begun = lifecycle
        self._cancelled = ""
        self._stream: Run[Any] | None = None
        self._result: Any = None
        self._turned = False
        lifecycle.before_turn = self._before_turn

    async def stream_events(self) -> AsyncIterator[StreamEvent]:
        """Yield the events in order. The run continues while they are read."""
        yield AgentUpdatedStreamEvent(self.current_agent)
        reader = EventConverter(self.current_agent)
        prompt = await self._begun.build_prompt()
        with self._begun.trace() as spans:
            self._stream = self._begun.start(prompt, spans)
            if self._cancelled == "immediate":
                self._stream.cancel()
            try:
                async for event in self._stream:
                    events = () if self._cancelled == "immediate" else reader.convert(event)
                    for made in events:
                        self._record(made)
                        yield made
            except (asyncio.CancelledError, GeneratorExit):  # the latter if the reader has left
                try:
                    await self._stream.aclose()
                finally:
                    await self._begun.save_cancelled()
                raise
            except Exception as error:
                failed = await self._begun.to_raised_error(error)
                self._result = getattr(failed, "run_data", None)
                raise failed from error.__cause__
            finally:
                self.is_complete = True
        self._result = await self._begun.result(self._stream.result)
        if self._cancelled != "immediate":
            self.final_output = self._result.final_output
            self.new_items = [*self._result.new_items]
        self.context_wrapper = self._result.context_wrapper

    def _record(self, event: StreamEvent) -> None:
        if isinstance(event, RunItemStreamEvent):
            self.new_items.append(event.item)
        elif isinstance(event, AgentUpdatedStreamEvent):
            self.current_agent = self.last_agent = event.new_agent
        else:
            self.current_turn += event.data.type == "response.created"

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the final result: `interruptions`, `to_state`, `raw_responses` ..."""
        if name.startswith("_") or self._result is None:
            raise AttributeError(
                f"{name!r} is there when the run has ended: read stream_events() to the end"
            )
        return getattr(self._result, name)

    def to_input_list(self) -> list[dict[str, Any]]:
        """Return the transcript so far, as plain dicts."""
        if self._result is not None:
            return list(self._result.to_input_list())
        return to_input_list(self._stream.messages if self._stream is not None else [])

    def cancel(self, mode: Literal["immediate", "after_turn"] = "immediate") -> None:
        """Stop the run now, or before the next model request. Its events end."""
        self._cancelled = mode
        if mode == "immediate" and self._stream is not None:
            self._stream.cancel()

    async def _before_turn(self, run: RunContext[Any]) -> None:
        """Stop between two turns if the reader has cancelled."""
        for _ in range(3 if self._turned else 0):
            await asyncio.sleep(0)
        if self._turned and self._cancelled:
            run.cancel.cancel()
            await asyncio.Event().wait()  # it is the cancel that ends this
        self._turned = True


class EventConverter:
    """Converts the core's events to the SDK's.

    Args:
        agent: The agent whose run it is.
    """

    def __init__(self, agent: Any) -> None:
        self._agent = agent
        self._begun: set[int] = set()

    def convert(self, event: Event) -> Iterator[StreamEvent]:
        """Yield the SDK's events for one event of the core."""
        for fields in self._raw_events(event):
            yield RawResponsesStreamEvent(
                _to_openai_event({"sequence_number": event.seq, **fields})
            )
        items: list[Item] = []
        if isinstance(event, Replied | ToolFinished):
            items = to_items(self._agent, event.message)
        for item in items:
            yield RunItemStreamEvent(_EVENT_NAMES[item.type], item)
            if isinstance(item, HandoffOutputItem):
                self._agent = item.target_agent
                yield AgentUpdatedStreamEvent(self._agent)

    def _raw_events(self, event: Event) -> Iterator[dict[str, Any]]:
        match event:
            case TurnStarted():
                self._begun.clear()
                yield {"type": "response.created", "response": _make_response([])}
                yield {"type": "response.in_progress", "response": _make_response([])}
            case Streamed(delta=TextDelta(text=text)):
                if -1 not in self._begun:
                    yield self._make_item_added(
                        -1, {"type": "message", "role": "assistant", "content": []}
                    )
                    part = {"type": "output_text", "text": "", "annotations": []}
                    yield {"type": "response.content_part.added", "part": part, **_TEXT_POSITION}
                yield {
                    "type": "response.output_text.delta",
                    "delta": text,
                    "logprobs": [],
                    **_TEXT_POSITION,
                }
            case Streamed(delta=ReasoningDelta(text=text)) if text:
                place = {"output_index": 0, "summary_index": 0, "item_id": ""}
                yield {"type": "response.reasoning_summary_text.delta", "delta": text, **place}
            case Streamed(delta=CallDelta() as delta):
                if delta.index not in self._begun:
                    call = {"type": "function_call", "call_id": delta.id, "name": delta.name}
                    yield self._make_item_added(delta.index, {**call, "arguments": ""})
                if delta.arguments:
                    place = {"output_index": delta.index, "item_id": delta.id}
                    kind = "response.function_call_arguments.delta"
                    yield {"type": kind, "delta": delta.arguments, **place}
            case Replied():
                yield from self._completed_events(
                    [i.raw_item for i in to_items(self._agent, event.message)]
                )

    def _make_item_added(self, index: int, item: dict[str, Any]) -> dict[str, Any]:
        self._begun.add(index)
        return {"type": "response.output_item.added", "output_index": max(index, 0), "item": item}

    def _completed_events(self, items: list[Any]) -> Iterator[dict[str, Any]]:
        for index, item in enumerate(items):
            for part in item["content"] if item["type"] == "message" and self._begun else ():
                text = part.get("text", "")
                yield {
                    "type": "response.output_text.done",
                    "text": text,
                    "logprobs": [],
                    **_TEXT_POSITION,
                }
                yield {"type": "response.content_part.done", "part": part, **_TEXT_POSITION}
            if item["type"] == "function_call":
                fields = {
                    "arguments": item["arguments"],
                    "name": item["name"],
                    "item_id": item["id"],
                }
                kind = "response.function_call_arguments.done"
                yield {"type": kind, "output_index": index, **fields}
            yield {"type": "response.output_item.done", "output_index": index, "item": item}
        yield {"type": "response.completed", "response": _make_response(items)}


_TEXT_POSITION: Mapping[str, Any] = {"output_index": 0, "content_index": 0, "item_id": ""}
"""Where a text is told to stand."""


def _make_response(output: list[Any]) -> dict[str, Any]:
    return {"id": "", "object": "response", "output": output}


def _to_openai_event(fields: dict[str, Any]) -> Any:
    """Return an event as the OpenAI SDK's type, if that is installed."""
    cls = _load_event_types().get(fields["type"])
    return RawItem(fields) if cls is None else cls.construct(**fields)


@cache
def _load_event_types() -> Mapping[str, Any]:
    """Return OpenAI's event types by their ``type``; empty without its SDK."""
    try:
        union = import_module("openai.types.responses").ResponseStreamEvent
    except ImportError:
        return {}
    each = get_args(get_args(union)[0])
    return {get_args(one.model_fields["type"].annotation)[0]: one for one in each}


class AgentToolStreamEvent(TypedDict):
    """An event in the run of an agent that was called as a tool."""

    event: StreamEvent
    agent: Any
    tool_call: Any


def make_stream_step(agent: Any, on_event: Callable[[AgentToolStreamEvent], Any]) -> Step:
    """Return the step around an agent's tool that reports its run's events in order.

    Args:
        agent: The agent.
        on_event: Called with each event; may be async.
    """

    async def step(prepared: Prepared, context: ToolContext[Any], proceed: Proceed) -> object:
        run, reader = context.run, EventConverter(agent)
        call = RawItem(to_raw_call(context.call))
        heard: asyncio.Queue[StreamEvent | None] = asyncio.Queue()

        def hear(event: Event) -> None:
            if isinstance(event, Nested) and event.call_id == context.call.id:
                for made in reader.convert(event.event):
                    heard.put_nowait(made)

        async def tell() -> None:
            while (event := await heard.get()) is not None:
                await maybe_await(on_event({"event": event, "agent": agent, "tool_call": call}))

        heard.put_nowait(AgentUpdatedStreamEvent(agent))
        run.listeners = (*run.listeners, hear)
        telling = asyncio.create_task(tell())
        try:
            return await proceed(prepared)
        finally:
            run.listeners = tuple(one for one in run.listeners if one is not hear)
            heard.put_nowait(None)
            await telling

    return step
