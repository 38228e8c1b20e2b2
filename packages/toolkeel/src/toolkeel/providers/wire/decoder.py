"""Answers of every wire, whole and streamed: as deltas, and as one message.

`Decoder` is what the stream decoders of all wires share, with the functions that a wire's package
gives to programs; a wire's own says what its events mean.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping
from typing import ClassVar, Generic, TypeVar

from toolkeel._records.record import NOTHING
from toolkeel.agent.reply_assembly import assemble, normalize_reply
from toolkeel.content import Block as Made
from toolkeel.messages import AssistantMessage, FinishReason, ToolCall, Usage
from toolkeel.model_interface import CallDelta, Delta, Finish, ReasoningDelta, TextDelta
from toolkeel.providers.wire.media import base64_block
from toolkeel.providers.wire.part_order import Kind, layout_of
from toolkeel.providers.wire.plain_json import (
    Json,
    TextPieces,
    as_dict,
    as_key,
    as_text,
    clean_text,
    extra_under,
    input_text,
    plain,
)
from toolkeel.providers.wire.server_errors import is_error, sent_error
from toolkeel.providers.wire.tools import Tools, WireTools, wire_tools

BREAK = "\n\n"
"""Separates blocks of reasoning."""
_NOTHING = ("", "[DONE]", b"", b"[DONE]")
_OF_ERRORS = frozenset({"error", "detail", "message"})


class Decoder:
    """Events in, deltas out, nothing else: feed it from any client, sync or async.

    Args:
        tools: The tools as they were sent; then calls carry their own names again.
        model: Which model was asked, for wires that do not say which one answers.

    Attributes:
        target: The wire's name, and whose form its tools have.
        empty: Whether nothing was said so far that could be an answer: then it is worth asking
            again.
        reasons: What the server's words for the end of a reply mean.
        says_model: Whether the wire says which model answers.
    """

    target: str = "plain"
    empty = False
    reasons: ClassVar[Mapping[str, FinishReason]] = {}
    says_model = True

    def __init__(self, tools: WireTools | None = None, model: str = "") -> None:
        self._tools = tools or WireTools(target=self.target)
        self._model = "" if self.says_model else model
        self._calls = 0
        """How many there were so far."""
        self._reason = ""
        """Why the reply ended, in the server's word."""
        self._media: list[Made] = []
        """What it made: pictures, sounds and files."""
        self._text = TextPieces()
        self._thought = TextPieces()
        self._last_thinking: list[str] | None = None
        """The pieces of the block that thought last, unless its signature ended it."""
        self._usage: Json = {}

    def feed(self, event: object) -> list[Delta]:
        """The deltas in one event.

        Args:
            event: A dict, its JSON text, or an SDK's event. Unknown ones hold nothing; a whole
                answer is one event, and so is a list of events.

        Raises:
            ModelError: if the event is an error, or no JSON.
        """
        if isinstance(event, (str, bytes)) and (mark := event.strip()) in _NOTHING:
            if mark:
                self.done()
            return []
        data = self.form(event)
        if isinstance(data, list):
            return [delta for one in data for delta in self.feed(one)]
        said = as_dict(data)
        if not _OF_ERRORS.isdisjoint(said) and is_error(said):
            raise sent_error(said)
        return self.take(said)

    form = staticmethod(plain)
    """An event as plain data, under the wire's names."""

    def done(self) -> None:
        """The server's mark of the end, ``[DONE]``, which most wires do not have."""

    def take(self, data: Json) -> list[Delta]:
        """The deltas in one event, as plain data."""
        raise NotImplementedError

    def read_response(self, reply: object) -> list[Delta]:
        """The deltas of a whole answer.

        Raises:
            ModelError: if it is an error, or nothing that could be an answer.
        """
        raise NotImplementedError

    def unfinished(self) -> list[Json]:
        """The messages that, sent behind the others, let a model go on that only pauses."""
        return []

    def finish(self) -> list[Delta | AssistantMessage]:
        """What is left at the end. There is no `Finish` in it if the reply did not end.

        The last is a whole message if what came last contradicts what was said before.
        """
        rest: list[Delta | AssistantMessage] = [*self.rest()]
        if self.ended():
            media = tuple(self._media)
            rest.append(Finish(self.why(), self.spent(), self._model, self.extra(), media))
        return rest

    def rest(self) -> Iterable[Delta]:
        """What could not be said earlier."""
        return ()

    def ended(self) -> bool:
        """Whether the server said that the reply is over."""
        return bool(self._reason)

    def why(self) -> FinishReason:
        """Why the reply ended."""
        reason = self.reasons.get(self._reason, "error")
        return "tool_calls" if reason == "stop" and self._calls else reason

    @staticmethod
    def usage_of(usage: Json) -> Usage:
        """What one answer cost, of what the server says of it."""
        raise NotImplementedError

    def spent(self) -> Usage:
        """What the reply cost."""
        return self.usage_of(self._usage)

    def billed(self) -> Usage:
        """What a reply that broke off cost, as far as the server said so."""
        return self.spent() if self._usage else Usage()

    def extra(self) -> Mapping[str, object]:
        """What a program does not know and the wire wants back."""
        return NOTHING

    def _show(self, data: object, media_type: object) -> None:
        """What the model made, whose bytes stand there as base64."""
        block = base64_block(data, media_type)
        if getattr(block, "data", b""):
            self._media.append(block)

    def _say(self, text: str, pieces: list[str] | None = None) -> list[Delta]:
        """What is said; kept in `pieces`, too."""
        said = self._text.feed(text)
        if pieces is not None:
            pieces.append(said)
        return [TextDelta(said)] if said else []

    def _think(self, text: str, pieces: list[str] | None = None) -> list[Delta]:
        """What is thought; kept in `pieces`, too. A blank line separates blocks without signatures."""
        thought = self._thought.feed(text)
        if pieces is not None:
            pieces.append(thought)
        if not thought:
            return []
        last, self._last_thinking = self._last_thinking, pieces
        separator = BREAK if last is not None and last is not pieces else ""
        return [ReasoningDelta(separator + thought)]

    # — what a wire's package gives to programs —

    @classmethod
    def decode(cls, reply: object, *, tools: Tools = (), model: str = "") -> AssistantMessage:
        """A whole answer as a message.

        Args:
            reply: What the server sent: dict, JSON text or SDK object. An `AssistantMessage` is
                only given proper call ids.
            tools: The tools as they were sent; then calls carry their own names again.
            model: Which model was asked, for wires that do not say which one answers.

        Raises:
            ModelError: if it is an error, or nothing that could be an answer.
        """
        if isinstance(reply, AssistantMessage):
            return normalize_reply(reply)
        decoder = cls(wire_tools(tools, cls.target), model)
        return assemble([*decoder.read_response(reply), *decoder.finish()])

    @classmethod
    def decode_calls(cls, reply: object, *, tools: Tools = ()) -> list[ToolCall]:
        """The calls in a whole answer, in order, each with an id of its own.

        Args:
            reply: As `decode` takes it.
            tools: The tools as they were sent; then calls carry their own names again.
        """
        return list(cls.decode(reply, tools=tools).tool_calls)

    @classmethod
    def decode_stream(
        cls, events: Iterable[object], *, tools: Tools = (), model: str = ""
    ) -> Iterator[Delta | AssistantMessage]:
        """A streamed answer as deltas, each as soon as its event is there.

        Args:
            events: What the client's stream yields: event objects, dicts or JSON text.
            tools: The tools as they were sent; then calls carry their own names again.
            model: Which model was asked, for wires that do not say which one answers.

        Yields:
            Deltas; then, only if the server's last word contradicts them, the whole message.

        Raises:
            ModelError: if the server sends an error.
        """
        decoder = cls(wire_tools(tools, cls.target), model)
        for event in events:
            yield from decoder.feed(event)
        yield from decoder.finish()

    @classmethod
    async def adecode_stream(
        cls, events: AsyncIterable[object], *, tools: Tools = (), model: str = ""
    ) -> AsyncIterator[Delta | AssistantMessage]:
        """`decode_stream` for an asynchronous client."""
        decoder = cls(wire_tools(tools, cls.target), model)
        async for event in events:
            for delta in decoder.feed(event):
                yield delta
        for last in decoder.finish():
            yield last


class Block:
    """A content block whose pieces are still coming.

    Args:
        wire: As the wire has it so far.
    """

    __slots__ = ("arguments", "name", "number", "open", "pieces", "wire")

    def __init__(self, wire: Json) -> None:
        self.wire = wire
        self.name = ""
        self.number = -1
        """Of a call, which one of the reply it is."""
        self.pieces: list[str] = []
        """Of what is said, thought or argued."""
        self.arguments = TextPieces(keep_lone=True)
        self.open = True

    @property
    def part(self) -> Kind | None:
        """What it is in a layout; None if there is nothing in it."""
        raise NotImplementedError

    def back(self) -> Json:
        """The block as it goes back."""
        raise NotImplementedError


B = TypeVar("B", bound=Block)


class BlockDecoder(Decoder, Generic[B]):
    """What wires share whose answers are content blocks: each has a start, pieces and an end.

    Attributes:
        call_keys: What of a call's block a program knows; the rest is kept beside the call.
        index: Under which key an event says which block it is about.
    """

    call_keys: ClassVar[frozenset[str]]
    index: ClassVar[str]

    def __init__(self, tools: WireTools | None = None, model: str = "") -> None:
        super().__init__(tools, model)
        self._blocks: list[B] = []
        self._by_index: dict[object, B] = {}
        self._told: Json = {}

    def _place(self, event: Json) -> object:
        """Which block an event is about."""
        return as_key(event.get(self.index))

    def _add(self, place: object, block: B) -> B:
        """A block that begins."""
        self._blocks.append(block)
        self._by_index[place] = block
        return block

    def _end_block(self, event: Json) -> list[Delta]:
        block = self._by_index.get(self._place(event))
        return self._close(block) if block is not None else []

    def rest(self) -> Iterable[Delta]:
        """The ends of blocks that the server left open."""
        return [delta for block in self._blocks for delta in self._close(block)]

    def extra(self) -> Mapping[str, object]:
        """What stood beside the blocks, and their order if it is not the plain one."""
        layout = layout_of([(one.part, one.back()) for one in self._blocks if one.part])
        told = self._told | ({"content": layout} if layout else {})
        return extra_under(self.target, told)

    def _sign(self, block: Block, signature: object) -> list[Delta]:
        """The signature of what was thought."""
        signed = clean_text(as_text(signature))
        if not signed:
            return []
        block.wire["signature"] = signed
        self._last_thinking = None
        return [ReasoningDelta("", signed)]

    def _begin_call(self, block: Block, id: object) -> list[Delta]:
        """The call that a block begins."""
        block.number, self._calls = self._calls, self._calls + 1
        name = as_text(block.wire.get("name"))
        block.name = self._tools.name_of(name)
        kept = {key: one for key, one in block.wire.items() if one is not None}
        kept = {key: one for key, one in kept.items() if key not in self.call_keys}
        if block.name in self._tools.natives:
            kept["name"] = name
        extra = extra_under(self.target, kept)
        return [CallDelta(block.number, as_text(id), block.name, "", extra)]

    def _argue(self, block: Block, piece: str) -> list[Delta]:
        """A piece of a call's arguments, or of what a tool of the server's own was given."""
        text = block.arguments.feed(piece)
        block.pieces.append(text)
        if block.part != "call" or not text or self._is_rewritten(block.name):
            return []
        return [CallDelta(block.number, arguments=text)]

    def _close(self, block: Block) -> list[Delta]:
        """End a block; a call's arguments are said now if they have not been yet."""
        if not block.open or block.part != "call":
            return []
        block.open = False
        text = "".join(block.pieces)
        if not text.strip():
            text = input_text(block.wire.get("input"))
        elif not self._is_rewritten(block.name):
            return []
        return [self._whole_call(block, text)]

    def _whole_call(self, block: Block, text: str) -> CallDelta:
        """The arguments of a call that is said at once."""
        return CallDelta(block.number, arguments=self._tools.from_wire(block.name, text))

    def _is_rewritten(self, name: str) -> bool:
        """Whether a call's arguments are others here than on the wire: then it is said whole."""
        return name in self._tools.keys or name in self._tools.natives
