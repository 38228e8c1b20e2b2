"""Items of a channel as the UI message stream of Vercel's ``ai`` package, which ``useChat`` reads.

A chunk is a dict with a ``type``; on the wire each is one server-sent event.

One UI message is all that the agent does after a message of a person, over all turns and also over
waiting. Its id is that of its first request, so a stream that continues after an approval starts with
the id of the message that asked, and the page goes on with that message.
"""

from __future__ import annotations

import json
import mimetypes
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

from toolkeel import events
from toolkeel._records import entries
from toolkeel._records.record_json import describe_value, to_json_data
from toolkeel._records.tickets import Decision, Ticket
from toolkeel.content import Content, Data
from toolkeel.messages import AssistantMessage, ToolCall, ToolMessage, Usage
from toolkeel_studio.serve.contents import address_of, is_on_web, media_of, plain_text
from toolkeel_studio.serve.items import Item, Problem, Question
from toolkeel_studio.serve.pieces import Piece, Pieces
from toolkeel_studio.serve.snapshot import Snapshot

Chunk: TypeAlias = dict[str, Any]
HEADERS: Final = {"x-vercel-ai-ui-message-stream": "v1"}
FINISH: Final[dict[str, str]] = {
    "answered": "stop",
    "returned": "stop",
    "waiting": "tool-calls",
    "refused": "content-filter",
    "cut_off": "length",
    "limit": "other",
    "failed": "error",
}
LIMIT_TEXT: Final = "The run has reached a limit."


class VercelEncoder:
    """The chunks of one UI message, from items in their order.

    Args:
        is_external: Returns True for the name of a tool that the client runs.
        mask_error: Returns what a client gets of the text of an error.
        message_id: Id of the message that this continues; by default that of the first request.
        before: The session when the stream starts, for the calls that wait in it.
        reasoning: Send the model's reasoning, without its signatures.

    Attributes:
        is_done: True once the run has ended or waits; nothing follows.
    """

    def __init__(
        self,
        is_external: Callable[[str], bool],
        mask_error: Callable[[str], str],
        message_id: str = "",
        before: Snapshot | None = None,
        *,
        reasoning: bool = True,
    ) -> None:
        self.is_done = False
        self._is_external = is_external
        self._mask_error = mask_error
        self._message_id = message_id
        self._has_reasoning = reasoning
        self._has_started = self._in_step = False
        self._part: tuple[str, str] | None = None
        self._part_count = 0
        self._usage = Usage()
        self._pieces = Pieces()
        self._calls: dict[str, ToolCall] = {}
        self._waiting: dict[str, dict[str, Ticket]] = {}
        """By call, then by approval id: what it waits for. A page is asked one thing per call at a time."""
        self._asked_tools: dict[str, str] = {}
        """By call: the tool that the page was asked about, which may be an inner agent's."""
        for waits in before.undecided.values() if before is not None else ():
            self._waiting.setdefault(waits.call_id, {})[waits.approval_id] = waits.ticket
            self._asked_tools[waits.call_id] = waits.ticket.tool
        for each in before.messages if before is not None and self._waiting else ():
            self._calls |= {call.id: call for call in getattr(each.message, "tool_calls", ())}

    def encode(self, item: Item) -> Iterator[Chunk]:
        """Yield the chunks of the next item."""
        if item.within or self.is_done:
            return
        for piece in self._pieces.take(item):
            yield from self._encode_piece(item, piece)
        match item.body:
            case entries.ModelAsked():
                self._message_id = self._message_id or item.message_id
                yield from self._end_step()
            case entries.ModelReplied(message=message):
                yield from self._reply(item, message)
            case entries.RunEnded(reason=reason, error=error):
                yield from self._end(reason, error)
            case Problem(error=error):
                yield from self._end("failed", error)
            case _:
                yield from self._encode_call(item)

    def _encode_call(self, item: Item) -> Iterator[Chunk]:
        """Yield the chunks of what happens to a call."""
        match item.body:
            case entries.Waits(ticket=ticket):
                if not ticket.external:
                    yield from self._start(item.message_id)
                    yield from self._wait(item, ticket)
            case entries.Decided(decision=decision):
                yield from self._start(item.message_id)
                yield from self._decide(item, decision)
            case events.ToolFinished(arguments=arguments, message=message) if arguments is not None:
                yield self._input(item.call_id, message.name, arguments)
            case entries.CallEnded(message=message):
                yield from self._result(item.call_id, message)
            case _:
                yield from self._data(item)

    def finish(self) -> Iterator[Chunk]:
        """Yield what ends a stream whose run has not ended here, such as one that found nothing."""
        if not self.is_done:
            yield from self._start("")
            yield from self._end_step()
            yield {"type": "finish"}

    # — parts —

    def _start(self, message_id: str) -> Iterator[Chunk]:
        if not self._has_started:
            self._has_started = True
            id = self._message_id or message_id
            yield {"type": "start", **({"messageId": id} if id else {})}

    def _start_step(self, item: Item) -> Iterator[Chunk]:
        yield from self._start(item.message_id)
        if not self._in_step:
            self._in_step = True
            yield {"type": "start-step"}

    def _end_step(self) -> Iterator[Chunk]:
        yield from self._end_part()
        if self._in_step:
            self._in_step = False
            yield {"type": "finish-step"}

    def _end_part(self) -> Iterator[Chunk]:
        if self._part is not None:
            kind, id = self._part
            self._part = None
            yield {"type": f"{kind}-end", "id": id}

    def _encode_piece(self, item: Item, piece: Piece) -> Iterator[Chunk]:
        if piece.kind == "call":
            yield from self._argue(item, piece)
        elif piece.kind == "text" or self._has_reasoning:
            yield from self._write(item, piece.kind, piece.text)

    def _write(self, item: Item, kind: str, text: str) -> Iterator[Chunk]:
        """Continue the open part if it is of this kind; start one otherwise."""
        yield from self._start_step(item)
        if self._part is None or self._part[0] != kind:
            yield from self._end_part()
            self._part_count += 1
            self._part = kind, f"{item.message_id}-{kind}-{self._part_count}"
            yield {"type": f"{kind}-start", "id": self._part[1]}
        yield {"type": f"{kind}-delta", "id": self._part[1], "delta": text}

    def _argue(self, item: Item, piece: Piece) -> Iterator[Chunk]:
        """Yield a piece of a call's arguments while they arrive; the reply has them complete."""
        if isinstance(item.body, entries.ModelReplied):
            return
        id = piece.call_id
        if piece.is_first:
            yield from self._start_step(item)
            yield from self._end_part()
            yield {"type": "tool-input-start", **self._call(id, piece.name)}
        if piece.text:
            yield {"type": "tool-input-delta", "toolCallId": id, "inputTextDelta": piece.text}

    def _call(self, id: str, name: str) -> Chunk:
        on_server = {} if self._is_external(name) else {"providerExecuted": True}
        return {"toolCallId": id, "toolName": name, "dynamic": True, **on_server}

    def _input(self, id: str, name: str, arguments: object) -> Chunk:
        input = to_json_data(arguments, other=describe_value)
        return {"type": "tool-input-available", **self._call(id, name), "input": input}

    def _reply(self, item: Item, message: AssistantMessage) -> Iterator[Chunk]:
        """Yield what follows the text of a complete reply."""
        self._usage = self._usage + message.usage
        yield from self._start_step(item)
        yield from self._end_part()
        yield from _sources(item.message_id, message)
        yield from _files(message.content)
        for call in message.tool_calls:
            self._calls[call.id] = call
            yield self._input(call.id, call.name, call_input(call))

    def _wait(self, item: Item, ticket: Ticket) -> Iterator[Chunk]:
        waiting = self._waiting.setdefault(item.call_id, {})
        waiting[item.approval_id] = ticket
        if len(waiting) == 1:
            yield from self._ask(item.call_id)

    def _ask(self, call_id: str) -> Iterator[Chunk]:
        """Ask for the first of what a call waits for, and show what would run, also in an inner agent."""
        approval_id, ticket = next(iter(self._waiting[call_id].items()))
        call = self._calls.get(call_id)
        self._asked_tools[call_id] = ticket.tool
        shown = to_json_data(ticket.arguments, other=describe_value)
        if call is None or (call.name, call_input(call)) != (ticket.tool, shown):
            yield self._input(call_id, ticket.tool, shown)
        asked = {"type": "tool-approval-request", "approvalId": approval_id, "toolCallId": call_id}
        yield asked | ({"reason": ticket.reason} if ticket.reason else {})

    def _decide(self, item: Item, decision: Decision) -> Iterator[Chunk]:
        asked = (id for id, each in self._waiting.items() if item.approval_id in each)
        call_id = next(asked, item.call_id)  # a call that was deferred is known here alone
        waiting = self._waiting.get(call_id, {})
        ticket = waiting.pop(item.approval_id, None)
        if decision.verdict == "edit" and ticket is not None:
            yield self._input(call_id, ticket.tool, decision.arguments)
        elif decision.verdict == "answer" and call_id:  # its page does not send the answer again
            value = to_json_data(decision.value, other=describe_value)
            yield {**_output(call_id, output=value), "providerExecuted": True}
        if waiting:
            yield from self._ask(call_id)

    def _result(self, id: str, message: ToolMessage) -> Iterator[Chunk]:
        yield from self._start("")
        if self._asked_tools.get(id, message.name) != message.name and id in self._calls:
            yield self._input(id, message.name, call_input(self._calls[id]))
        if message.kind == "denied":
            yield {"type": "tool-output-denied", "toolCallId": id}
        elif message.failed:
            yield _output(id, errorText=message.text)
        else:
            yield _output(id, output=output_of(message.content))
            yield from _files(message.content)

    def _data(self, item: Item) -> Iterator[Chunk]:
        match item.body:
            case events.Progress(message=text, done=done, total=total):
                shown = {"toolCallId": item.call_id, "message": text, "done": done, "total": total}
                yield from self._start(item.message_id)
                yield {"type": "data-progress", "data": shown, "transient": True}
            case entries.Emitted(value=value):
                yield from self._start(item.message_id)
                yield {"type": "data-emitted", "data": to_json_data(value, other=describe_value)}
            case entries.HandedOver(agent=agent):
                yield from self._start(item.message_id)
                yield {"type": "data-agent", "data": {"agent": agent}}
            case Question(ticket=ticket):
                shown = {"approvalId": item.approval_id, "message": ticket.reason}
                form = to_json_data(ticket.form, other=describe_value)
                yield from self._start(item.message_id)
                yield {"type": "data-form", "data": {**shown, "schema": form}, "transient": True}
            case _:
                pass

    def _end(self, reason: str, error: str) -> Iterator[Chunk]:
        self.is_done = True
        yield from self._start("")
        yield from self._end_step()
        if reason == "cancelled":
            yield {"type": "abort"}
            return
        if reason in ("failed", "limit"):
            text = LIMIT_TEXT if reason == "limit" else self._mask_error(error)
            yield {"type": "error", "errorText": text}
        used = {
            "inputTokens": self._usage.input_tokens,
            "outputTokens": self._usage.output_tokens,
        }
        finish = {"type": "finish", "finishReason": FINISH.get(reason, "other")}
        yield finish | ({"messageMetadata": {"usage": used}} if any(used.values()) else {})


def _output(id: str, **result: object) -> Chunk:
    kind = "error" if "errorText" in result else "available"
    return {"type": f"tool-output-{kind}", "toolCallId": id, "dynamic": True, **result}


def call_input(call: ToolCall) -> object:
    """Return the arguments of a call as a value; its text if that is no JSON."""
    if not isinstance(call.arguments, str):
        return to_json_data(call.arguments, other=describe_value)
    try:
        return json.loads(call.arguments or "{}")
    except ValueError:
        return call.arguments


def output_of(content: Content) -> object:
    """Return a tool's result as a page gets it: its data if it is data, else its text."""
    if not isinstance(content, str) and len(content) == 1 and isinstance(content[0], Data):
        return content[0].value
    return plain_text(content)


def _sources(message_id: str, message: AssistantMessage) -> Iterator[Chunk]:
    """Yield what a reply cites, with the mark and the places in its text as metadata."""
    for number, source in enumerate(message.sources):
        chunk: Chunk = {"sourceId": f"{message_id}-source-{number}"}
        known = {"id": source.id, "mark": source.mark, "text": source.text}
        if is_on_web(source):
            chunk |= {"type": "source-url", "url": source.url}
            chunk |= {"title": source.title} if source.title else {}
        else:
            kind = mimetypes.guess_type(source.title)[0] or "application/octet-stream"
            title = source.title or source.id or source.url or source.text
            chunk |= {"type": "source-document", "mediaType": kind, "title": title}
            known["address"] = source.url
        more: Chunk = {key: value for key, value in known.items() if value}
        if source.spans:
            more["spans"] = [list(span) for span in source.spans]
        yield chunk | ({"providerMetadata": {"toolkeel": more}} if more else {})


def _files(content: Content) -> Iterator[Chunk]:
    for block in media_of(content):
        yield {"type": "file", "mediaType": block.media_type, "url": address_of(block)}
