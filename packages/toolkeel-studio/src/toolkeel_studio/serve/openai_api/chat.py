"""Items of a channel as chunks of a chat completion of OpenAI; nothing but standard chunks.

Calls of tools that run on the server are not shown: a client would run them. A call that waits for
approval is text that says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

from toolkeel._records import entries
from toolkeel.content import Image
from toolkeel.messages import AssistantMessage, Usage
from toolkeel_studio.serve.call_arguments import call_arguments
from toolkeel_studio.serve.contents import address_of, is_on_web, media_of, places_of
from toolkeel_studio.serve.items import Item, Problem
from toolkeel_studio.serve.openai_api.ids import pack_call_id
from toolkeel_studio.serve.pieces import Pieces

Chunk: TypeAlias = dict[str, Any]
FINISH: Final = {"refused": "content_filter", "cut_off": "length", "limit": "length"}
WAITS: Final = "\n\n[{tool} waits for approval, which is given elsewhere.]"


class ChatEncoder:
    """The chunks of one completion, from items in their order.

    Args:
        id: Of the completion.
        model: Name of the agent.
        session: Name of the session, for the ids of the client's calls.
        is_external: Returns True for the name of a tool that the client runs.
        mask_error: Returns what a client gets of the text of an error.

    Attributes:
        is_done: True once the run has ended or waits; nothing follows.
        is_waiting: True if the run waits for something.
        error: What went wrong, masked; empty for nothing.
        text: All text so far.
        calls: The calls that the client is to run.
        annotations: The pages that the replies cite.
        finish_reason: Why the completion ended.
        usage: Of all requests.
    """

    def __init__(
        self,
        id: str,
        model: str,
        session: str,
        is_external: Callable[[str], bool],
        mask_error: Callable[[str], str],
    ) -> None:
        self.is_done = self.is_waiting = False
        self.error, self.text, self.finish_reason = "", "", "stop"
        self.calls: list[Chunk] = []
        self.annotations: list[Chunk] = []
        self.usage = Usage()
        self._id, self._model, self._session = id, model, session
        self._is_external = is_external
        self._mask_error = mask_error
        self._created = 0
        self._pieces = Pieces()

    def start(self, created: float) -> Chunk:
        """Return the first chunk."""
        self._created = int(created)
        return self._chunk({"role": "assistant", "content": ""})

    def encode(self, item: Item) -> Iterator[Chunk]:
        """Yield the chunks of the next item."""
        if item.within or self.is_done:
            return
        for piece in self._pieces.take(item):
            if piece.kind == "text":
                yield self.write(piece.text)
        match item.body:
            case entries.ModelReplied(message=message):
                yield from self._reply(message)
            case entries.Waits(ticket=ticket) if not ticket.external:
                yield self.write(WAITS.format(tool=ticket.tool))
            case entries.RunEnded(reason=reason, error=error):
                yield from self.end(reason, error)
            case Problem(error=error):
                yield from self.end("failed", error)
            case _:
                pass

    def end(self, reason: str, error: str = "") -> Iterator[Chunk]:
        """Yield the end; for a run that was canceled or failed there is no last chunk."""
        self.is_done, self.is_waiting = True, reason == "waiting"
        if reason == "failed":
            self.error = self._mask_error(error)
        elif reason != "cancelled":
            known = "tool_calls" if self.calls and self.is_waiting else "stop"
            self.finish_reason = FINISH.get(reason, known)
            yield self._chunk({}, self.finish_reason)

    def finish(self) -> Iterator[Chunk]:
        """Yield the end of a completion in which nothing was to do."""
        if not self.is_done:
            yield from self.end("answered")

    def last_chunk(self) -> Chunk:
        """Return the chunk with the usage, which has no choices."""
        return {**self._chunk({}), "choices": [], "usage": self.dump_usage()}

    def completion(self) -> Chunk:
        """Return the completion as one object."""
        message: Chunk = {"role": "assistant", "content": self.text or None, "refusal": None}
        if self.annotations:
            message["annotations"] = self.annotations
        if self.calls:
            fields = ("id", "type", "function")
            message["tool_calls"] = [{name: call[name] for name in fields} for call in self.calls]
        made = {"index": 0, "message": message, "logprobs": None}
        choice = {**made, "finish_reason": self.finish_reason}
        shared = self._chunk({}) | {"object": "chat.completion", "choices": [choice]}
        return shared | {"usage": self.dump_usage()}

    def dump_usage(self) -> Chunk:
        """Return the usage of all requests."""
        return {
            "prompt_tokens": self.usage.input_tokens,
            "completion_tokens": self.usage.output_tokens,
            "total_tokens": self.usage.total_tokens,
        }

    def _reply(self, message: AssistantMessage) -> Iterator[Chunk]:
        self.usage = self.usage + message.usage
        if cited := list(self._cite(message)):
            self.annotations += cited
            yield self._chunk({"annotations": cited})
        for picture in (each for each in media_of(message.content) if isinstance(each, Image)):
            yield self.write(f"\n\n![]({address_of(picture)})\n\n")
        for call in message.tool_calls:
            if self._is_external(call.name):
                id = pack_call_id(self._session, call.id)
                function = {"name": call.name, "arguments": call_arguments(call)}
                made = {"index": len(self.calls), "id": id, "type": "function"}
                self.calls.append({**made, "function": function})
                yield self._chunk({"tool_calls": [self.calls[-1]]})

    def _cite(self, message: AssistantMessage) -> Iterator[Chunk]:
        """Yield an annotation for each place of a page that a reply cites."""
        for source in filter(is_on_web, message.sources):
            for start, end in places_of(source, message, len(self.text)):
                cited = {"url": source.url, "title": source.title or source.url}
                place = {"start_index": start, "end_index": end}
                yield {"type": "url_citation", "url_citation": {**cited, **place}}

    def write(self, text: str) -> Chunk:
        """Return a chunk of text."""
        self.text += text
        return self._chunk({"content": text})

    def _chunk(self, delta: Chunk, finish_reason: str | None = None) -> Chunk:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return {
            "id": self._id,
            "object": "chat.completion.chunk",
            "created": self._created,
            "model": self._model,
            "choices": [choice],
        }
