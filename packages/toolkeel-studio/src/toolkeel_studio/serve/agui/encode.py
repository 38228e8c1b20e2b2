"""Items of a channel as events of AG-UI.

One stream is one run of the protocol: from ``RUN_STARTED`` to ``RUN_FINISHED`` or ``RUN_ERROR``, both with
the client's own id of the run. All that is open is closed before it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from ag_ui.core import events as ui
from ag_ui.core.types import Interrupt

from toolkeel import events
from toolkeel._records import entries
from toolkeel._records.record_json import describe_value, to_json_data
from toolkeel._records.tickets import Ticket
from toolkeel._records.typed_values import load_state
from toolkeel.messages import AssistantMessage, ToolMessage
from toolkeel_studio.serve.agui.history import files_of, parts_of, result_id
from toolkeel_studio.serve.agui.inner_runs import InnerRuns
from toolkeel_studio.serve.items import Item, Problem, Question
from toolkeel_studio.serve.pieces import Piece, Pieces

LIMIT_TEXT: Final = "The run has reached a limit."
APPROVAL_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "approved": {"type": "boolean"},
        "editedArgs": {"type": "object", "description": "Replaces all arguments of the call."},
        "reason": {"type": "string", "description": "For the agent, of a denial."},
    },
    "required": ["approved"],
}


class AguiEncoder:
    """The events of one run of the protocol, from items in their order.

    Args:
        thread_id: The session's name.
        run_id: The client's id of the run.
        mask_error: Returns what a client gets of the text of an error.
        is_current: The client declares 1.0; older ones get no shapes that came with it.
        state: Keys of the session's state that clients see.
        begun: Inner runs that had begun before the stream.

    Attributes:
        is_done: True once the run has ended or waits.
        is_waiting: True if it waits: `wait` makes its end.
    """

    def __init__(
        self,
        thread_id: str,
        run_id: str,
        mask_error: Callable[[str], str],
        *,
        is_current: bool = True,
        state: Iterable[str] = (),
        begun: Iterable[entries.RunBegan] = (),
    ) -> None:
        self.is_done = self.is_waiting = False
        self._ids: dict[str, Any] = {"thread_id": thread_id, "run_id": run_id}
        self._mask_error = mask_error
        self._is_current = is_current
        self._keys = frozenset(state)
        self._sent_keys: set[str] = set()
        self._open: dict[str, list[ui.BaseEvent]] = {}
        """By what is open, such as the text of a message: the events that close it."""
        self._pieces = Pieces()
        self._usage: dict[str, dict[str, Any]] = {}
        self._step = ""
        self._inner_runs = InnerRuns(mask_error, begun)

    def start(self) -> Iterator[ui.BaseEvent]:
        """Yield what every run starts with."""
        version = "1.0" if self._is_current else None
        yield ui.RunStartedEvent(**self._ids, protocol_version=version)

    def encode(self, item: Item) -> Iterator[ui.BaseEvent]:
        """Yield the events of the next item."""
        if self.is_done:
            return
        if item.within:
            if self._is_current:
                yield from self._inner_runs.encode(item)
            return
        for piece in self._pieces.take(item):
            yield from self._encode_piece(item.message_id, piece)
        match item.body:
            case entries.ModelReplied(message=message):
                yield from self._reply(item.message_id, message)
            case entries.CallEnded(message=message):
                yield from self._result(item, message)
            case entries.StateChanged():
                yield from self._change_state(item.body)
            case entries.RunEnded(reason="waiting") | Question():
                self.is_done = self.is_waiting = True
            case entries.RunEnded():
                yield from self._end(item.body)
            case _:
                yield from self._more(item)

    def finish(self) -> Iterator[ui.BaseEvent]:
        """Yield nothing: `wait` ends a stream in which nothing was to do."""
        yield from ()

    # — text, reasoning, calls —

    def _encode_piece(self, message_id: str, piece: Piece) -> Iterator[ui.BaseEvent]:
        if piece.kind == "text":
            yield from self._write(message_id, piece.text)
        elif piece.kind == "reasoning":
            yield from self._think(f"{message_id}-reasoning", piece.text)
        else:
            yield from self._argue(message_id, piece)

    def _write(self, id: str, text: str) -> Iterator[ui.BaseEvent]:
        if "text" not in self._open:
            yield from self._close("reasoning")
            self._open["text"] = [ui.TextMessageEndEvent(message_id=id)]
            yield ui.TextMessageStartEvent(message_id=id, role="assistant")
        yield ui.TextMessageContentEvent(message_id=id, delta=text)

    def _think(self, id: str, text: str) -> Iterator[ui.BaseEvent]:
        if "reasoning" not in self._open:
            yield from self._close("text")
            end = ui.ReasoningMessageEndEvent(message_id=id), ui.ReasoningEndEvent(message_id=id)
            self._open["reasoning"] = list(end)
            yield ui.ReasoningStartEvent(message_id=id)
            yield ui.ReasoningMessageStartEvent(message_id=id)
        yield ui.ReasoningMessageContentEvent(message_id=id, delta=text)

    def _argue(self, parent: str, piece: Piece) -> Iterator[ui.BaseEvent]:
        id = piece.call_id
        if piece.is_first:
            yield from self._close("text", "reasoning")
            self._open[f"call {id}"] = [ui.ToolCallEndEvent(tool_call_id=id)]
            yield ui.ToolCallStartEvent(
                tool_call_id=id, tool_call_name=piece.name, parent_message_id=parent
            )
        if piece.text:
            yield ui.ToolCallArgsEvent(tool_call_id=id, delta=piece.text)

    def _reply(self, message_id: str, message: AssistantMessage) -> Iterator[ui.BaseEvent]:
        """Yield what follows the text and the calls of a complete reply."""
        yield from self._close(*self._open)
        self._count_usage(message)
        if files := files_of(message.content):
            id = f"{message_id}-files"
            yield ui.ActivitySnapshotEvent(message_id=id, activity_type="files", content=files)
        if cited := _json(message.sources):
            yield self.note("sources", {"messageId": message_id, "sources": cited})

    def _count_usage(self, message: AssistantMessage) -> None:
        used, spent = self._usage.setdefault(message.model, {}), message.usage
        for field, count in (
            ("input_tokens", spent.input_tokens),
            ("output_tokens", spent.output_tokens),
            ("reasoning_tokens", spent.reasoning_tokens),
            ("cached_input_tokens", spent.cached_tokens),
        ):
            used[field] = used.get(field, 0) + count

    def _result(self, item: Item, message: ToolMessage) -> Iterator[ui.BaseEvent]:
        yield from self._inner_runs.close(item.call_id)
        yield ui.ToolCallResultEvent(
            message_id=result_id(item.message_id, item.call_id),
            tool_call_id=item.call_id,
            content=parts_of(message.content),
            role="tool",
        )

    def _close(self, *names: str) -> Iterator[ui.BaseEvent]:
        for name in names:
            yield from self._open.pop(name, ())

    # — state, and what else happens —

    def snapshot_state(self, state: Mapping[str, object]) -> Iterator[ui.BaseEvent]:
        """Yield the state that clients see, if they see any."""
        if self._keys:
            shown = {key: _json(state[key]) for key in state if key in self._keys}
            self._sent_keys = set(shown)
            yield ui.StateSnapshotEvent(snapshot=shown)

    def _change_state(self, change: entries.StateChanged) -> Iterator[ui.BaseEvent]:
        key = change.key
        if key not in self._keys:
            return
        path = "/" + key.replace("~", "~0").replace("/", "~1")
        if not change.removed:
            self._sent_keys.add(key)
            value = _json(load_state({key: change.value})[key])
            yield ui.StateDeltaEvent(delta=[{"op": "add", "path": path, "value": value}])  # type: ignore[list-item]
        elif key in self._sent_keys:
            self._sent_keys.discard(key)
            yield ui.StateDeltaEvent(delta=[{"op": "remove", "path": path}])  # type: ignore[list-item]

    def _more(self, item: Item) -> Iterator[ui.BaseEvent]:
        match item.body:
            case events.Progress(message=text, done=done, total=total):
                shown = {"toolCallId": item.call_id, "message": text, "done": done, "total": total}
                id = f"{result_id(item.message_id, item.call_id)}-progress"
                yield ui.ActivitySnapshotEvent(
                    message_id=id, activity_type="progress", content=shown
                )
            case Problem(error=error):
                yield from self._fail(self._mask_error(error), "failed")
            case entries.Emitted(value=value):
                yield ui.CustomEvent(name="emitted", value=_json(value))
            case entries.HandedOver(agent=agent):
                yield from self._end_step()
                self._step = agent
                yield ui.StepStartedEvent(step_name=agent)
            case _:
                pass

    def note(self, name: str, value: Mapping[str, object]) -> ui.BaseEvent:
        """Return an event of our own."""
        return ui.CustomEvent(name=name, value=dict(value))

    # — ends —

    def wait(self, asked: Sequence[Interrupt], calls: Sequence[str]) -> Iterator[ui.BaseEvent]:
        """Yield the end of a run that waits.

        Args:
            asked: What waits for a decision.
            calls: Ids of the calls that the client runs.
        """
        suspended = [each.id for each in asked]
        yield from self._close_all(suspended)
        if asked:
            yield self._finish(ui.RunFinishedInterruptOutcome(interrupts=list(asked)))
        elif self._is_current:
            yield self._finish(
                ui.RunFinishedSuccessOutcome(pending_tool_call_ids=list(calls) or None)
            )
        else:
            yield self._finish(None)

    def fail(self, message: str, code: str = "refused") -> Iterator[ui.BaseEvent]:
        """Yield the end of a run that a client may not have, for a reason that it may know."""
        yield from self._fail(message, code)

    def _end(self, ended: entries.RunEnded) -> Iterator[ui.BaseEvent]:
        yield from self._close_all(())
        reason = ended.reason
        if reason == "failed":
            yield from self._fail(self._mask_error(ended.error), "failed")
        elif reason == "limit":
            yield from self._fail(LIMIT_TEXT, "limit")
        elif reason == "cancelled" and self._is_current:
            yield self._finish(ui.RunFinishedCancelledOutcome())
        else:
            is_odd = reason in ("refused", "cut_off", "cancelled")
            more: dict[str, Any] = {"metadata": {"reason": reason}} if is_odd else {}
            yield self._finish(ui.RunFinishedSuccessOutcome(), **more)

    def _fail(self, message: str, code: str) -> Iterator[ui.BaseEvent]:
        self.is_done = True
        yield ui.RunErrorEvent(message=message, code=code, **self._spent())

    def _finish(self, outcome: Any, **more: Any) -> ui.BaseEvent:
        self.is_done = True
        return ui.RunFinishedEvent(**self._ids, outcome=outcome, **self._spent(), **more)

    def _spent(self) -> dict[str, Any]:
        used = [
            ui.TokenUsage(model=model or None, **spent)
            for model, spent in self._usage.items()
            if any(spent.values())
        ]
        return {"usage": used} if used and self._is_current else {}

    def _end_step(self) -> Iterator[ui.BaseEvent]:
        if self._step:
            yield ui.StepFinishedEvent(step_name=self._step)
            self._step = ""

    def _close_all(self, suspended: Sequence[str]) -> Iterator[ui.BaseEvent]:
        yield from self._close(*self._open)
        yield from self._inner_runs.close_all(suspended)
        yield from self._end_step()


def interrupt_of(ticket: Ticket, approval_id: str, call_id: str) -> Interrupt:
    """Return what a client is asked about a call that waits, or by a server during a call."""
    is_form = bool(ticket.form)
    schema = to_json_data(ticket.form, other=describe_value) if is_form else APPROVAL_SCHEMA
    return Interrupt(
        id=approval_id,
        reason="input_required" if is_form else "tool_call",
        message=ticket.reason or None,
        tool_call_id=call_id or None,
        response_schema=schema,
        metadata=None if is_form else {"toolName": ticket.tool, "args": _json(ticket.arguments)},
    )


def _json(value: object) -> Any:
    return to_json_data(value, other=describe_value)
