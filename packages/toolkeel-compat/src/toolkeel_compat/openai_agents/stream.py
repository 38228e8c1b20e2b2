"""Streamed runs, under the names of the OpenAI Agents SDK: `Runner.run_streamed` gives them."""

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
from toolkeel_compat.openai_agents.context import Raw, RunContextWrapper, raw_call
from toolkeel_compat.openai_agents.items import HandoffOutputItem, Item, input_list, items_of
from toolkeel_compat.openai_agents.run_lifecycle import Begun

__all__ = [
    "AgentToolStreamEvent", "AgentUpdatedStreamEvent", "RawResponsesStreamEvent",
    "RunItemStreamEvent", "RunResultStreaming", "StreamEvent",
]  # fmt: skip

_NAMES = {
    "message_output_item": "message_output_created",
    "reasoning_item": "reasoning_item_created",
    "tool_call_item": "tool_called",
    "tool_call_output_item": "tool_output",
    "handoff_call_item": "handoff_requested",
    "handoff_output_item": "handoff_occured",  # as it is written there
}


@record
class RawResponsesStreamEvent:
    """A piece of the model's reply; `data` has the type that OpenAI's SDK gives it, if it is there."""

    type: ClassVar[str] = "raw_response_event"
    data: Any


@record
class RunItemStreamEvent:
    """An item is whole."""

    type: ClassVar[str] = "run_item_stream_event"
    name: str
    item: Item


@record
class AgentUpdatedStreamEvent:
    """An agent is in charge from here on."""

    type: ClassVar[str] = "agent_updated_stream_event"
    new_agent: Any


StreamEvent: TypeAlias = RawResponsesStreamEvent | RunItemStreamEvent | AgentUpdatedStreamEvent


class RunResultStreaming:
    """A run whose events come as they happen; its result is whole when they have ended.

    Args:
        agent: Who runs.
        begun: The run; it begins when its events are first asked for.
    """

    def __init__(self, agent: Any, begun: Begun) -> None:
        self.current_agent = self.last_agent = agent
        self.new_items: list[Item] = []
        self.is_complete = False
        self.current_turn = 0
        self.final_output: Any = None
        self.context_wrapper: RunContextWrapper[Any] = begun.wrapper
        self.max_turns, self.verdicts = begun.max_turns, begun.verdicts
        self.input = begun.asked_for
        self._begun = begun
        self._cancelled = ""
        self._stream: Run[Any] | None = None
        self._result: Any = None
        self._turned = False
        begun.before_turn = self._before_turn

    async def stream_events(self) -> AsyncIterator[StreamEvent]:
        """The events, in order; the run goes on while they are read."""
        yield AgentUpdatedStreamEvent(self.current_agent)
        reader = EventReader(self.current_agent)
        prompt = await self._begun.prompt()
        with self._begun.trace() as spans:
            self._stream = self._begun.stream(prompt, spans)
            if self._cancelled == "immediate":
                self._stream.cancel()
            try:
                async for event in self._stream:
                    told = () if self._cancelled == "immediate" else reader.events(event)
                    for made in told:
                        self._heard(made)
                        yield made
            except Exception as error:
                failed = await self._begun.failed(error)
                self._result = getattr(failed, "run_data", None)
                raise failed from error.__cause__
            finally:
                self.is_complete = True
        self._result = await self._begun.result(self._stream.result)
        if self._cancelled != "immediate":
            self.final_output = self._result.final_output
        self.context_wrapper = self._result.context_wrapper

    def _heard(self, event: StreamEvent) -> None:
        if isinstance(event, RunItemStreamEvent):
            self.new_items.append(event.item)
        elif isinstance(event, AgentUpdatedStreamEvent):
            self.current_agent = self.last_agent = event.new_agent
        else:
            self.current_turn += event.data.type == "response.created"

    def __getattr__(self, name: str) -> Any:
        """The rest is the whole result's: `interruptions`, `to_state`, `raw_responses` ..."""
        if name.startswith("_") or self._result is None:
            raise AttributeError(
                f"{name!r} is there when the run has ended: read stream_events() to the end"
            )
        return getattr(self._result, name)

    def to_input_list(self) -> list[dict[str, Any]]:
        """The transcript so far, as plain dicts."""
        if self._result is not None:
            return list(self._result.to_input_list())
        return input_list(self._stream.messages if self._stream is not None else [])

    def cancel(self, mode: Literal["immediate", "after_turn"] = "immediate") -> None:
        """Stop the run: at once, or before the model is asked again. Its events end."""
        self._cancelled = mode
        if mode == "immediate" and self._stream is not None:
            self._stream.cancel()

    async def _before_turn(self, run: RunContext[Any]) -> None:
        """Stop between two turns, if whoever reads wants it after all that was told until now."""
        for _ in range(3 if self._turned else 0):
            await asyncio.sleep(0)
        if self._turned and self._cancelled:
            run.cancel.cancel()
            await asyncio.Event().wait()  # it is the cancel that ends this
        self._turned = True


class EventReader:
    """Makes the SDK's events of the core's.

    Args:
        agent: Whose run it is.
    """

    def __init__(self, agent: Any) -> None:
        self._agent = agent
        self._begun: set[int] = set()

    def events(self, event: Event) -> Iterator[StreamEvent]:
        """Those that one event of the core stands for."""
        for fields in self._raw(event):
            yield RawResponsesStreamEvent(_typed({"sequence_number": event.seq, **fields}))
        items: list[Item] = []
        if isinstance(event, Replied | ToolFinished):
            items = items_of(self._agent, event.message)
        for item in items:
            yield RunItemStreamEvent(_NAMES[item.type], item)
            if isinstance(item, HandoffOutputItem):
                self._agent = item.target_agent
                yield AgentUpdatedStreamEvent(self._agent)

    def _raw(self, event: Event) -> Iterator[dict[str, Any]]:
        match event:
            case TurnStarted():
                self._begun.clear()
                yield {"type": "response.created", "response": _response([])}
                yield {"type": "response.in_progress", "response": _response([])}
            case Streamed(delta=TextDelta(text=text)):
                if -1 not in self._begun:
                    yield self._added(-1, {"type": "message", "role": "assistant", "content": []})
                    part = {"type": "output_text", "text": "", "annotations": []}
                    yield {"type": "response.content_part.added", "part": part, **_TEXT}
                yield {"type": "response.output_text.delta", "delta": text, "logprobs": [], **_TEXT}
            case Streamed(delta=ReasoningDelta(text=text)) if text:
                place = {"output_index": 0, "summary_index": 0, "item_id": ""}
                yield {"type": "response.reasoning_summary_text.delta", "delta": text, **place}
            case Streamed(delta=CallDelta() as delta):
                if delta.index not in self._begun:
                    call = {"type": "function_call", "call_id": delta.id, "name": delta.name}
                    yield self._added(delta.index, {**call, "arguments": ""})
                if delta.arguments:
                    place = {"output_index": delta.index, "item_id": delta.id}
                    kind = "response.function_call_arguments.delta"
                    yield {"type": kind, "delta": delta.arguments, **place}
            case Replied():
                yield from self._whole([i.raw_item for i in items_of(self._agent, event.message)])

    def _added(self, index: int, item: dict[str, Any]) -> dict[str, Any]:
        self._begun.add(index)
        return {"type": "response.output_item.added", "output_index": max(index, 0), "item": item}

    def _whole(self, items: list[Any]) -> Iterator[dict[str, Any]]:
        for index, item in enumerate(items):
            for part in item["content"] if item["type"] == "message" and self._begun else ():
                text = part.get("text", "")
                yield {"type": "response.output_text.done", "text": text, "logprobs": [], **_TEXT}
                yield {"type": "response.content_part.done", "part": part, **_TEXT}
            if item["type"] == "function_call":
                told = {"arguments": item["arguments"], "name": item["name"], "item_id": item["id"]}
                kind = "response.function_call_arguments.done"
                yield {"type": kind, "output_index": index, **told}
            yield {"type": "response.output_item.done", "output_index": index, "item": item}
        yield {"type": "response.completed", "response": _response(items)}


_TEXT: Mapping[str, Any] = {"output_index": 0, "content_index": 0, "item_id": ""}
"""Where a text is told to stand."""


def _response(output: list[Any]) -> dict[str, Any]:
    return {"id": "", "object": "response", "output": output}


def _typed(fields: dict[str, Any]) -> Any:
    """An event with the type that OpenAI's SDK gives it, if that is there."""
    cls = _types().get(fields["type"])
    return Raw(fields) if cls is None else cls.construct(**fields)


@cache
def _types() -> Mapping[str, Any]:
    """OpenAI's types of events, by their ``type``: programs that look at raw events have its SDK."""
    try:
        union = import_module("openai.types.responses").ResponseStreamEvent
    except ImportError:
        return {}
    each = get_args(get_args(union)[0])
    return {get_args(one.model_fields["type"].annotation)[0]: one for one in each}


class AgentToolStreamEvent(TypedDict):
    """What happened in the run of an agent that was called as a tool."""

    event: StreamEvent
    agent: Any
    tool_call: Any


def telling(agent: Any, told: Callable[[AgentToolStreamEvent], Any]) -> Step:
    """A step around an agent as a tool: its run's events are told as they happen, in order.

    Args:
        agent: Whose runs they are.
        told: Who is told; may be async.
    """

    async def step(prepared: Prepared, context: ToolContext[Any], proceed: Proceed) -> object:
        run, reader = context.run, EventReader(agent)
        call = Raw(raw_call(context.call))
        heard: asyncio.Queue[StreamEvent | None] = asyncio.Queue()

        def hear(event: Event) -> None:
            if isinstance(event, Nested) and event.call_id == context.call.id:
                for made in reader.events(event.event):
                    heard.put_nowait(made)

        async def tell() -> None:
            while (event := await heard.get()) is not None:
                await maybe_await(told({"event": event, "agent": agent, "tool_call": call}))

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
