"""Items of a channel as events of a response of OpenAI.

Tools that run on the server are ``mcp_call`` items, and calls that the client runs ``function_call``. A call
that waits for approval is an ``mcp_approval_request``, whose id is the approval id; once it is decided,
the response that continues has its ``mcp_call``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from toolkeel._records import entries
from toolkeel.content import Content, Image, Source
from toolkeel.messages import AssistantMessage, ToolCall, ToolMessage, Usage
from toolkeel_studio.serve.call_arguments import call_arguments, to_arguments
from toolkeel_studio.serve.contents import base64_of, is_on_web, media_of, places_of
from toolkeel_studio.serve.items import Item, Problem
from toolkeel_studio.serve.openai_api.ids import ResponseId
from toolkeel_studio.serve.pieces import Pieces

Event: TypeAlias = dict[str, Any]
LABEL: Final = "agent"
"""The server's label in items of its tools."""
STATUS: Final = {
    "answered": "completed",
    "returned": "completed",
    "waiting": "completed",
    "refused": "completed",
    "cut_off": "incomplete",
    "limit": "incomplete",
    "cancelled": "cancelled",
    "failed": "failed",
}


class ResponseEncoder:
    """The events of one response, from items in their order.

    Args:
        id: Of the response.
        model: Name of the agent.
        calls: By id: the calls that were made before the response and have no result yet.
        is_external: Returns True for the name of a tool that the client runs.
        mask_error: Returns what a client gets of the text of an error.

    Attributes:
        is_done: True once the run has ended or waits; nothing follows.
    """

    def __init__(
        self,
        id: ResponseId,
        model: str,
        calls: Mapping[str, ToolCall],
        is_external: Callable[[str], bool],
        mask_error: Callable[[str], str],
    ) -> None:
        self.is_done = False
        self._id, self._model = id, model
        self._made = dict(calls)
        self._is_external = is_external
        self._mask_error = mask_error
        self._number = -1
        self._created = 0.0
        self._status, self._reason, self._error = "in_progress", "", ""
        self._usage = Usage()
        self._output: list[Event] = []
        self._open: tuple[str, int] | None = None
        self._pieces = Pieces()

    def start(self, created: float) -> Iterator[Event]:
        """Yield what every response starts with."""
        self._created = created
        yield self._event("response.created", response=self.response())
        yield self._event("response.in_progress", response=self.response())

    def encode(self, item: Item) -> Iterator[Event]:
        """Yield the events of the next item."""
        if item.within or self.is_done:
            return
        for piece in self._pieces.take(item):
            if piece.kind != "call":
                kind = "message" if piece.kind == "text" else "reasoning"
                yield from self._write(item.message_id, kind, piece.text)
        match item.body:
            case entries.ModelAsked():
                yield from self._close()
            case entries.ModelReplied(message=message):
                yield from self._reply(item.message_id, message)
            case entries.CallEnded(message=message):
                yield from self._result(item, message)
            case entries.Waits(ticket=ticket) if not ticket.external:
                asked = {"type": "mcp_approval_request", "id": item.approval_id}
                yield from self._add(**asked, **_named(ticket.tool, to_arguments(ticket.arguments)))
            case entries.RunEnded(reason=reason, error=error):
                yield from self.end(reason, error)
            case Problem(error=error):
                yield from self.end("failed", error)
            case _:
                pass

    def end(self, reason: str, error: str = "") -> Iterator[Event]:
        """Yield the end of the response."""
        yield from self._close()
        self.is_done = True
        self._status, self._reason = STATUS.get(reason, "failed"), reason
        self._error = self._mask_error(error) if self._status == "failed" else ""
        known = self._status in ("completed", "failed")
        name = self._status if known else "incomplete"
        yield self._event(f"response.{name}", response=self.response())

    def finish(self) -> Iterator[Event]:
        """Yield the end of a response in whose stream its run has not ended."""
        if not self.is_done:
            yield from self.end("answered")

    # — items —

    def _write(self, message_id: str, kind: str, text: str) -> Iterator[Event]:
        """Continue the open item if it is of this kind; start one otherwise."""
        if self._open is None or self._open[0] != kind:
            yield from self._close()
            index = len(self._output)
            self._open = kind, index
            id = f"{'msg' if kind == 'message' else 'rs'}_{message_id}_{index}"
            made: Event = {"type": kind, "id": id, "status": "in_progress"}
            made |= {"summary": []} if kind == "reasoning" else {"role": "assistant", "content": []}
            self._output.append(made)
            yield self._event("response.output_item.added", output_index=index, item=_copy(made))
            yield self._part_event("added", "")
            _texts(made).append(_part(kind, ""))
        _texts(self._output[self._open[1]])[0]["text"] += text
        yield self._text_event("delta", delta=text)

    def _close(self) -> Iterator[Event]:
        if self._open is None:
            return
        item = self._output[self._open[1]]
        text = _texts(item)[0]["text"]
        yield self._text_event("done", text=text)
        yield self._part_event("done", text)
        item["status"] = "completed"
        index = self._open[1]
        self._open = None
        yield self._event("response.output_item.done", output_index=index, item=_copy(item))

    def _text_event(self, step: str, **what: Any) -> Event:
        assert self._open is not None
        kind, index = self._open
        if kind == "reasoning":
            name, place = "reasoning_summary_text", {"summary_index": 0}
        else:
            name, place = "output_text", {"content_index": 0, "logprobs": []}  # type: ignore[dict-item]
        id = self._output[index]["id"]
        return self._event(
            f"response.{name}.{step}", item_id=id, output_index=index, **place, **what
        )

    def _part_event(self, step: str, text: str) -> Event:
        assert self._open is not None
        kind, index = self._open
        name, place = ("content_part", "content_index")
        if kind == "reasoning":
            name, place = "reasoning_summary_part", "summary_index"
        id, known = self._output[index]["id"], _texts(self._output[index])
        part = dict(known[0]) if known else _part(kind, text)
        where = {"item_id": id, "output_index": index, place: 0, "part": part}
        return self._event(f"response.{name}.{step}", **where)

    def _add(self, **item: Any) -> Iterator[Event]:
        """Yield an item that is complete at once."""
        yield from self._close()
        index = len(self._output)
        self._output.append(item)
        yield self._event("response.output_item.added", output_index=index, item=_copy(item))
        kind = {"mcp_call": "mcp_call", "function_call": "function_call"}.get(item["type"])
        if kind is not None:
            done = {"item_id": item["id"], "output_index": index, "arguments": item["arguments"]}
            more = {"name": item["name"]} if kind == "function_call" else {}
            yield self._event(f"response.{kind}_arguments.done", **done, **more)
        if kind == "mcp_call":
            end = "failed" if item["error"] is not None else "completed"
            where = {"item_id": item["id"], "output_index": index}
            yield self._event(f"response.mcp_call.{end}", **where)
        yield self._event("response.output_item.done", output_index=index, item=_copy(item))

    def _reply(self, message_id: str, message: AssistantMessage) -> Iterator[Event]:
        """Yield what follows the text of a complete reply."""
        self._usage = self._usage + message.usage
        yield from self._cite(message_id, message)
        yield from self._pictures(message.content, message_id)
        yield from self._close()
        for call in message.tool_calls:
            self._made[call.id] = call
            if self._is_external(call.name):
                made = {"type": "function_call", "id": f"fc_{call.id}", "call_id": call.id}
                named = {"name": call.name, "arguments": call_arguments(call)}
                yield from self._add(**made, **named, status="completed")

    def _cite(self, message_id: str, message: AssistantMessage) -> Iterator[Event]:
        """Yield an annotation of the reply's last text for each place of what the reply cites."""
        ids = [each["id"] for each in self._output]
        index = max(
            (n for n, id in enumerate(ids) if id.startswith(f"msg_{message_id}_")), default=-1
        )
        if index < 0:
            return
        part = _texts(self._output[index])[0]
        where = {"item_id": ids[index], "output_index": index, "content_index": 0}
        for source in (each for each in message.sources if is_on_web(each) or each.id):
            for start, end in places_of(source, message, len(part["text"])):
                number, cited = len(part["annotations"]), _citation(source, start, end)
                part["annotations"] = [*part["annotations"], cited]
                more = {"annotation_index": number, "annotation": cited}
                yield self._event("response.output_text.annotation.added", **where, **more)

    def _result(self, item: Item, message: ToolMessage) -> Iterator[Event]:
        call = self._made.pop(item.call_id, None)
        if call is None or self._is_external(call.name):
            return
        ended: dict[str, Any] = {"output": message.text, "error": None, "status": "completed"}
        if message.failed:
            said = [{"type": "text", "text": message.text}]
            error = {"type": "mcp_tool_execution_error", "content": said}
            ended = {"output": None, "error": error, "status": "failed"}
        made = {"type": "mcp_call", "id": f"mcp_{item.call_id}", "approval_request_id": None}
        yield from self._add(**made, **_named(call.name, call_arguments(call)), **ended)
        yield from self._pictures(message.content, item.call_id)

    def _pictures(self, content: Content, id: str) -> Iterator[Event]:
        """Yield an item for each picture of a reply or a result."""
        pictures = (each for each in media_of(content) if isinstance(each, Image) and each.data)
        for number, picture in enumerate(pictures):
            made = {"type": "image_generation_call", "id": f"ig_{id}_{number}"}
            yield from self._add(**made, status="completed", result=base64_of(picture))

    def _event(self, type: str, **fields: Any) -> Event:
        self._number += 1
        return {"type": type, "sequence_number": self._number, **fields}

    def response(self) -> Event:
        """Return the response as it is now."""
        used, why = self._usage, None
        if self._status == "incomplete":
            why = {"reason": "max_output_tokens"}
        return {
            "id": str(self._id),
            "object": "response",
            "created_at": self._created,
            "status": self._status,
            "error": {"code": "server_error", "message": self._error} if self._error else None,
            "incomplete_details": why,
            "instructions": None,
            "metadata": {},
            "model": self._model,
            "output": [_copy(item) for item in self._output],
            "parallel_tool_calls": True,
            "temperature": None,
            "tool_choice": "auto",
            "tools": [],
            "top_p": None,
            "usage": {
                "input_tokens": used.input_tokens,
                "input_tokens_details": {
                    "cached_tokens": used.cached_tokens,
                    "cache_write_tokens": used.cache_write_tokens,
                },
                "output_tokens": used.output_tokens,
                "output_tokens_details": {"reasoning_tokens": used.reasoning_tokens},
                "total_tokens": used.total_tokens,
            },
        }


def _citation(source: Source, start: int, end: int) -> Event:
    if is_on_web(source):
        cited = {"type": "url_citation", "url": source.url, "title": source.title or source.url}
        return {**cited, "start_index": start, "end_index": end}
    named = {"file_id": source.id, "filename": source.title or source.id}
    return {"type": "file_citation", **named, "index": end}


def _named(name: str, arguments: str) -> Event:
    return {"server_label": LABEL, "name": name, "arguments": arguments}


def _part(kind: str, text: str) -> Event:
    if kind == "reasoning":
        return {"type": "summary_text", "text": text}
    return {"type": "output_text", "text": text, "annotations": []}


def _texts(item: Event) -> list[Event]:
    found: list[Event] = item["summary" if item["type"] == "reasoning" else "content"]
    return found


def _copy(item: Event) -> Event:
    """Return an item that no longer changes."""
    return {
        key: [dict(part) for part in value] if isinstance(value, list) else value
        for key, value in item.items()
    }
