"""Decoders of answers on every wire, complete and streamed, into deltas or one message.

`Decoder` is the base of all wires' stream decoders and has the functions that each wire's package
exports; a subclass per wire interprets its events.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import ClassVar, Generic, TypeVar

from toolkeel._records.record import NOTHING
from toolkeel.agent.reply_assembly import assemble, normalize_reply
from toolkeel.content import Block as Made
from toolkeel.messages import AssistantMessage, FinishReason, ToolCall, Usage
from toolkeel.model_interface import CallDelta, Delta, Finish, ReasoningDelta, TextDelta
from toolkeel.providers.text_pieces import SurrogateJoiner
from toolkeel.providers.wire.media import base64_block
from toolkeel.providers.wire.part_order import Kind, make_layout
from toolkeel.providers.wire.plain_json import (
    Json,
    as_id,
    as_key,
    as_text,
    clean_text,
    complete_arguments_text,
    plain,
    wire_options,
)
from toolkeel.providers.wire.reasoning_ownership import ModelProfile, requested_model_note
from toolkeel.providers.wire.server_errors import is_error, is_mistake, reported_error
from toolkeel.providers.wire.tools import Tools, WireTools, wire_tools

BREAK = "\n\n"
"""Separates blocks of reasoning."""
_NO_EVENT = ("", "[DONE]", b"", b"[DONE]")
_ERROR_KEYS = frozenset({"error", "detail", "message"})


class Decoder:
    """Turns events of an answer into deltas; works with any client, sync or async.

    Args:
        tools: The tools as they were sent; calls get the tools' own names back.
        model: The requested model, for wires that do not report which one answers.

    Attributes:
        target: Name of the wire, and of the dialect of its tools.
        is_empty: True if nothing in the events so far can be an answer; a retry makes sense.
        finish_reasons: Our finish reasons by the server's words.
        reports_model: True if the wire reports which model answers.
    """

    target: str = "plain"
    is_empty = False
    finish_reasons: ClassVar[Mapping[str, FinishReason]] = {}
    reports_model = True

    def __init__(self, tools: WireTools | None = None, model: str = "") -> None:
        self._tools = tools or WireTools(target=self.target)
        self._model = "" if self.reports_model else model
        self._call_count = 0
        """Number of calls so far."""
        self._reason = ""
        """The server's word for why the reply ended."""
        self._media: list[Made] = []
        """Media that the model made."""
        self._text = SurrogateJoiner()
        self._thinking = SurrogateJoiner()
        self._last_thinking: list[str] | None = None
        """Pieces of the latest block of reasoning, unless its signature ended it."""
        self._usage: Json = {}

    def feed(self, event: object) -> list[Delta]:
        """Decode one event into deltas.

        Args:
            event: A dict, its JSON text, or an SDK's event. Unknown events give nothing; a complete
                answer is one event, and so is a list of events.

        Raises:
            ModelError: if the event is an error, or not JSON.
        """
        if isinstance(event, (str, bytes)) and (mark := event.strip()) in _NO_EVENT:
            if mark:
                self.mark_done()
            return []
        data = self.normalize(event)
        if isinstance(data, list):
            return [delta for one in data for delta in self.feed(one)]
        fields: Json = data if isinstance(data, dict) else {}
        if not _ERROR_KEYS.isdisjoint(fields) and is_error(fields):
            raise reported_error(fields)
        return self.handle_event(fields)

    normalize = staticmethod(plain)
    """Convert an event to plain data with the wire's names."""

    def mark_done(self) -> None:
        """Handle the end mark ``[DONE]``; does nothing unless a wire overrides it."""

    def handle_event(self, data: Json) -> list[Delta]:
        """Return the deltas of one event, given as plain data."""
        raise NotImplementedError

    def read_response(self, reply: object) -> list[Delta]:
        """Decode a complete answer into deltas.

        Raises:
            ModelError: if it is an error, or cannot be an answer.
        """
        raise NotImplementedError

    def continuation(self) -> list[Json]:
        """Return messages to append to the request so that a paused model continues; else empty."""
        return []

    def finish(self) -> list[Delta | AssistantMessage]:
        """Return the remaining deltas; without a `Finish` if the reply did not end.

        The last item is a complete message if the server's final form contradicts earlier deltas.
        """
        rest: list[Delta | AssistantMessage] = [*self.remaining_deltas()]
        if self.is_ended():
            media = tuple(self._media)
            rest.append(
                Finish(
                    self.finish_reason(), self.usage(), self._model, self.provider_options(), media
                )
            )
        return rest

    @staticmethod
    def is_sealed(key: str) -> bool:
        """Return True if what a reply has under a key of its options may go to its own server only."""
        return False

    def mistake(self) -> str:
        """Return what was wrong with a reply that the provider did not accept, in its words; "" for another."""
        return self._reason if is_mistake(self._reason) else ""

    def remaining_deltas(self) -> Iterable[Delta]:
        """Return deltas that could not be emitted earlier; none unless a wire overrides it."""
        return ()

    def is_ended(self) -> bool:
        """Return True if the server declared the reply complete."""
        return bool(self._reason)

    def finish_reason(self) -> FinishReason:
        """Return why the reply ended: "tool_calls" instead of "stop" if it has calls, "error" if unknown."""
        reason = self.finish_reasons.get(self._reason, "error")
        return "tool_calls" if reason == "stop" and self._call_count else reason

    @staticmethod
    def parse_usage(usage: Json) -> Usage:
        """Convert the server's usage of one answer."""
        raise NotImplementedError

    def usage(self) -> Usage:
        """Return the usage of the reply."""
        return self.parse_usage(self._usage)

    def reported_usage(self) -> Usage:
        """Return the usage of an interrupted reply as far as the server reported it; else of no request."""
        return self.usage() if self._usage else Usage()

    def provider_options(self) -> Mapping[str, object]:
        """Return data that only the wire's own encoder needs, to send it back later."""
        return NOTHING

    def _add_media(self, data: object, media_type: object) -> None:
        """Store a picture or sound that the model made, sent as base64; ignore anything else."""
        block = base64_block(data, media_type)
        if getattr(block, "data", b""):
            self._media.append(block)

    def _text_delta(self, text: str, pieces: list[str] | None = None) -> list[Delta]:
        """Return a delta for what is complete of a piece of text, if any, and append that to `pieces`."""
        clean = self._text.feed(text)
        if pieces is not None:
            pieces.append(clean)
        return [TextDelta(clean)] if clean else []

    def _thinking_delta(self, text: str, pieces: list[str] | None = None) -> list[Delta]:
        """Return a delta for a piece of reasoning, if it has text, and append the text to its block's `pieces`.

        A blank line precedes a new block, unless the block before was signed or has no `pieces`.
        """
        thought = self._thinking.feed(text)
        if pieces is not None:
            pieces.append(thought)
        if not thought:
            return []
        last, self._last_thinking = self._last_thinking, pieces
        separator = BREAK if last is not None and last is not pieces else ""
        return [ReasoningDelta(separator + thought)]

    # — exported by each wire's package —

    @classmethod
    def decode(cls, reply: object, *, tools: Tools = (), model: str = "") -> AssistantMessage:
        """Decode a complete answer into a message.

        Args:
            reply: The server's answer: dict, JSON text or SDK object. An `AssistantMessage` only gets
                unique call ids.
            tools: The tools as they were sent; calls get the tools' own names back.
            model: The requested model. If the reply reports another name, an alias or a deployment,
                `encode_messages` with this one sends the reply's reasoning back as its own.

        Raises:
            ModelError: if it is an error, or cannot be an answer.
        """
        if isinstance(reply, AssistantMessage):
            return normalize_reply(reply)
        decoder = cls(wire_tools(tools, cls.target), model)
        deltas = [*decoder.read_response(reply), *decoder.finish()]
        return assemble([decoder._with_request(one, model) for one in deltas])

    @classmethod
    def decode_calls(cls, reply: object, *, tools: Tools = ()) -> list[ToolCall]:
        """Decode the calls of a complete answer, in order, with unique ids, or raise `ModelError` as `decode`.

        Args:
            reply: As for `decode`.
            tools: The tools as they were sent; calls get the tools' own names back.
        """
        return list(cls.decode(reply, tools=tools).tool_calls)

    @classmethod
    def decode_stream(
        cls, events: Iterable[object], *, tools: Tools = (), model: str = ""
    ) -> Iterator[Delta | AssistantMessage]:
        """Yield the deltas of a streamed answer, each as soon as its event arrives.

        Args:
            events: Items of the client's stream: event objects, dicts or JSON text.
            tools: The tools as they were sent; calls get the tools' own names back.
            model: The requested model, as for `decode`.

        Yields:
            Deltas; then the complete message, only if the server's final form contradicts them.

        Raises:
            ModelError: if the server sends an error.
        """
        decoder = cls(wire_tools(tools, cls.target), model)
        for event in events:
            yield from decoder.feed(event)
        for last in decoder.finish():
            yield decoder._with_request(last, model)

    @classmethod
    async def adecode_stream(
        cls, events: AsyncIterable[object], *, tools: Tools = (), model: str = ""
    ) -> AsyncIterator[Delta | AssistantMessage]:
        """Yield the deltas of an async client's streamed answer, as `decode_stream` does."""
        decoder = cls(wire_tools(tools, cls.target), model)
        async for event in events:
            for delta in decoder.feed(event):
                yield delta
        for last in decoder.finish():
            yield decoder._with_request(last, model)

    def _with_request(self, last: Delta | AssistantMessage, model: str) -> Delta | AssistantMessage:
        """Note the requested model in a copy of a `Finish` or message that names another; others unchanged."""
        if not model or not isinstance(last, Finish | AssistantMessage):
            return last
        note = requested_model_note(self.target, ModelProfile(model), last.model)
        return replace(last, provider_options={**last.provider_options, **note}) if note else last


class Block:
    """A content block that is still arriving.

    Args:
        wire: The block as received so far.
    """

    __slots__ = ("arguments", "call_index", "is_open", "name", "pieces", "wire")

    def __init__(self, wire: Json) -> None:
        self.wire = wire
        self.name = ""
        self.call_index = -1
        """Index of the call in the reply."""
        self.pieces: list[str] = []
        """Pieces of text, reasoning or arguments."""
        self.arguments = SurrogateJoiner(keep_lone=True)
        self.is_open = True

    @property
    def layout_kind(self) -> Kind | None:
        """The block's kind in a layout; None if it is empty."""
        raise NotImplementedError

    def to_wire(self) -> Json:
        """Return the block in the form that is sent back."""
        raise NotImplementedError


B = TypeVar("B", bound=Block)


class BlockDecoder(Decoder, Generic[B]):
    """Base of decoders whose answers are content blocks, each with a start, pieces and an end.

    Attributes:
        call_keys: Keys of a call's block that become part of `ToolCall`; others are kept beside it.
        index_key: Key of an event that names its block.
    """

    call_keys: ClassVar[frozenset[str]]
    index_key: ClassVar[str]

    def __init__(self, tools: WireTools | None = None, model: str = "") -> None:
        super().__init__(tools, model)
        self._blocks: list[B] = []
        self._by_index: dict[object, B] = {}
        self._extra: Json = {}

    def _block_key(self, event: Json) -> object:
        """Return the key of the block that an event is about."""
        return as_key(event.get(self.index_key))

    def _add_block(self, place: object, block: B) -> B:
        """Register a block that starts at `place`, and return it."""
        self._blocks.append(block)
        self._by_index[place] = block
        return block

    def _end_block(self, event: Json) -> list[Delta]:
        """Close the block of an event and return its remaining deltas; none for an unknown block."""
        block = self._by_index.get(self._block_key(event))
        return self._close_block(block) if block is not None else []

    def remaining_deltas(self) -> Iterable[Delta]:
        """Close the blocks that the server left open, and return their deltas."""
        return [delta for block in self._blocks for delta in self._close_block(block)]

    def provider_options(self) -> Mapping[str, object]:
        """Return the data beside the blocks, and the blocks' order if it is unusual."""
        layout = make_layout(
            [(one.layout_kind, one.to_wire()) for one in self._blocks if one.layout_kind]
        )
        beside = self._extra | ({"content": layout} if layout else {})
        return wire_options(self.target, beside)

    def _signature_delta(self, block: Block, signature: object) -> list[Delta]:
        """Store the signature of reasoning in its block, and return its delta; an empty list without one."""
        signed = clean_text(as_text(signature))
        if not signed:
            return []
        block.wire["signature"] = signed
        self._last_thinking = None
        return [ReasoningDelta("", signed)]

    def _start_call(self, block: Block, id: object) -> list[Delta]:
        """Assign an index and a name to the call in a block, and return its first delta."""
        block.call_index, self._call_count = self._call_count, self._call_count + 1
        name = as_text(block.wire.get("name"))
        block.name = self._tools.name_of(name)
        beside = {k: v for k, v in block.wire.items() if v is not None and k not in self.call_keys}
        if block.name in self._tools.natives:
            beside["name"] = name
        extra = wire_options(self.target, beside)
        return [CallDelta(block.call_index, as_id(id), block.name, "", extra)]

    def _arguments_delta(self, block: Block, piece: str) -> list[Delta]:
        """Append a piece of arguments; return its delta, but none for a server tool or before a translation."""
        text = block.arguments.feed(piece)
        if text.strip() == "{}" and not "".join(block.pieces).strip():
            return []  # it is all there is, or a proxy's placeholder before the arguments
        block.pieces.append(text)
        if block.layout_kind != "call" or not text or self._is_translated(block.name):
            return []
        return [CallDelta(block.call_index, arguments=text)]

    def _close_block(self, block: Block) -> list[Delta]:
        """Close a call's block, and return its arguments if they were not emitted yet; no deltas for other blocks."""
        if not block.is_open or block.layout_kind != "call":
            return []
        block.is_open = False
        text = "".join(block.pieces)
        if not text.strip():
            text = complete_arguments_text(block.wire.get("input"))
        elif not self._is_translated(block.name):
            return []
        return [self._complete_call(block, text)]

    def _complete_call(self, block: Block, text: str) -> CallDelta:
        """Return a delta with all arguments of a call, under the tool's own names of properties."""
        return CallDelta(block.call_index, arguments=self._tools.from_wire(block.name, text))

    def _is_translated(self, name: str) -> bool:
        """Return True if a call's arguments differ from the wire's and must be emitted at once."""
        return name in self._tools.keys or name in self._tools.natives
