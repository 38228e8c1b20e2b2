"""What inner agents do, as events of AG-UI 1.0: each inner run has its own, around the call that started it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from ag_ui.core import events as ui

from toolkeel._records import entries
from toolkeel.messages import AssistantMessage
from toolkeel_studio.serve.agui.history import parts_of
from toolkeel_studio.serve.call_arguments import call_arguments
from toolkeel_studio.serve.contents import plain_text
from toolkeel_studio.serve.items import Item


class InnerRuns:
    """The inner runs of one run of the protocol.

    Args:
        mask_error: Returns what a client gets of the text of an error.
        begun: Inner runs that had begun before the stream.
    """

    def __init__(
        self, mask_error: Callable[[str], str], begun: Iterable[entries.RunBegan] = ()
    ) -> None:
        self._mask_error = mask_error
        self._begun = {each.run: each for each in begun}
        self._active: dict[str, str] = {}
        """By active inner run: the call of the outer run around it."""
        self._runs: set[str] = set()

    def encode(self, item: Item) -> Iterator[ui.BaseEvent]:
        """Yield the events of the next item of an inner run; live items are left out."""
        entry = item.body
        run: str = getattr(entry, "run", "")
        if isinstance(entry, entries.RunBegan):
            self._begun[run] = entry
            yield from self._start(run, item.within)
        if run in self._runs and run not in self._active:
            return  # it has ended in this stream
        match entry:
            case entries.ModelReplied(turn=turn, message=message):
                yield from self._start(run, item.within)
                yield from _reply(run, f"{run}-{turn}", message)
            case entries.CallEnded(turn=turn, message=message) if not entry.within:
                yield from self._start(run, item.within)
                id = _inner_id(run, message.tool_call_id)
                yield ui.ToolCallResultEvent(
                    message_id=f"{run}-{turn}-{id}",
                    tool_call_id=id,
                    content=parts_of(message.content),
                    role="tool",
                    subagent_run_id=run,
                )
            case entries.RunEnded(reason="failed", error=error) if run in self._active:
                del self._active[run]
                text = self._mask_error(error)
                yield ui.SubagentErrorEvent(subagent_run_id=run, message=text, code="failed")
            case entries.RunEnded(reason=reason) if run in self._active and reason != "waiting":
                yield self._finish(run)
            case _:
                pass

    def _start(self, run: str, call: str) -> Iterator[ui.BaseEvent]:
        """Yield the start of a run within a call, after that of the inner run around it."""
        if run in self._runs:
            return
        self._runs.add(run)
        began = self._begun.get(run)
        if began is not None and began.parent in self._begun:
            yield from self._start(began.parent, call)
        self._active[run] = call
        yield ui.SubagentStartedEvent(
            subagent_run_id=run,
            name=(began and began.agent) or "agent",
            parent_tool_call_id=call,
            parent_subagent_run_id=began.parent if began and began.parent in self._active else None,
        )

    def _finish(self, run: str) -> ui.BaseEvent:
        del self._active[run]
        return ui.SubagentFinishedEvent(
            subagent_run_id=run, outcome=ui.SubagentFinishedSuccessOutcome()
        )

    def close(self, call: str) -> Iterator[ui.BaseEvent]:
        """Yield the end of the inner runs of a call that has ended."""
        for run in [run for run, around in self._active.items() if around == call]:
            yield self._finish(run)

    def close_all(self, suspended: Sequence[str]) -> Iterator[ui.BaseEvent]:
        """Yield the end of all inner runs.

        Args:
            suspended: Ids of the interrupts for which the run waits; empty if it has ended.
        """
        for run in tuple(self._active):
            if suspended:
                del self._active[run]
                outcome = ui.SubagentFinishedSuspendedOutcome(interrupt_ids=list(suspended))
                yield ui.SubagentFinishedEvent(subagent_run_id=run, outcome=outcome)
            else:
                yield self._finish(run)


def _reply(run: str, id: str, message: AssistantMessage) -> Iterator[ui.BaseEvent]:
    if text := plain_text(message.content):
        yield ui.TextMessageStartEvent(message_id=id, role="assistant", subagent_run_id=run)
        yield ui.TextMessageContentEvent(message_id=id, delta=text, subagent_run_id=run)
        yield ui.TextMessageEndEvent(message_id=id, subagent_run_id=run)
    for call in message.tool_calls:
        call_id = _inner_id(run, call.id)
        yield ui.ToolCallStartEvent(
            tool_call_id=call_id,
            tool_call_name=call.name,
            parent_message_id=id,
            subagent_run_id=run,
        )
        arguments = call_arguments(call)
        yield ui.ToolCallArgsEvent(tool_call_id=call_id, delta=arguments, subagent_run_id=run)
        yield ui.ToolCallEndEvent(tool_call_id=call_id, subagent_run_id=run)


def _inner_id(run: str, call_id: str) -> str:
    """Return an id that no call of another run has: models number their calls anew in each."""
    return f"{run}:{call_id}"
