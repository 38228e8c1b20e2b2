"""Requests of every wire: transcript, tools and settings in, the body out.

A wire is told by its `Encoder`: where its messages stand, what they look like, and what becomes of
tools and settings. `Encoder.encode` makes one body of that; `toolkeel.providers.wire.body_cache`
makes those of a run, each out of the last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import ClassVar, Generic, TypeVar

from toolkeel._records.record import record
from toolkeel.agent.transcript import make_missing_result, repair
from toolkeel.content import Audio, Block, File, Image
from toolkeel.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from toolkeel.model_interface import ModelRequest, Settings
from toolkeel.providers.wire.call_ids import OpenCalls, common_id, paired
from toolkeel.providers.wire.decoder import Decoder
from toolkeel.providers.wire.media import inline, kept_block, note, readable
from toolkeel.providers.wire.plain_json import Json, clean_text
from toolkeel.providers.wire.reasoning_ownership import Asked
from toolkeel.providers.wire.tools import Tools, WireTools, wire_tools

P = TypeVar("P", bound=Asked)


@record
class PreparedRequest:
    """What depends on a request's tools and settings alone.

    Args:
        tools: The tools on the wire.
        settings: The request's.
        fixed: The keys of the body that they make.
    """

    tools: WireTools
    settings: Settings
    fixed: Json


@record
class WireResults:
    """Results on the wire.

    Args:
        blocks: The results themselves.
        after: What they hold that must stand behind all results of the turn.
    """

    blocks: list[Json]
    after: list[Json]


class Encoder(Generic[P]):
    """Encodes a transcript message by message, so that a growing one is encoded once.

    Call ids become unique across the transcript and legal for the server, the same on the call
    and on its result. Results stand in the order of their calls. A call without one is answered
    with a sentence that says so, and a result without a call is left out, since servers refuse
    both (provider quirks Q1 to Q5).

    Args:
        tools: The request's; other names are made legal one by one.
        profile: What the model and its server take.
        legal: Gives a call id that the wire takes: its argument itself, if it does.

    Attributes:
        wire: Its name.
        key: Where the messages stand in the body.
        decoder: Reads the wire's answers.
        begun: Whether something stands before what is encoded.
    """

    wire: ClassVar[str]
    key: ClassVar[str] = "messages"
    decoder: ClassVar[type[Decoder]]

    def __init__(
        self, tools: WireTools, profile: P, legal: Callable[[str], str] = common_id
    ) -> None:
        self._tools = tools
        self._profile = profile
        self._open = OpenCalls(legal)
        self._encoded: dict[str, WireResults] = {}
        self._after: list[Json] = []
        self.begun = False

    @property
    def late(self) -> bool:
        """Whether a result stood elsewhere than behind its call, which was answered with a
        sentence: then the transcript must be put in order first (`toolkeel.agent.transcript.repair`)."""
        return self._open.late

    def add(self, message: Message) -> list[Json]:
        """The wire messages that are over with this one."""
        if not isinstance(message, ToolMessage):
            return self.said(message)
        if wire_id := self._open.take(message):
            self._encoded[wire_id] = self._encode_result(
                message, self._open.calls[wire_id], wire_id
            )
        return self.due()

    def due(self) -> list[Json]:
        """The results that can be said by now: those of all calls before them are there."""
        said: list[Json] = []
        while (first := next(iter(self._open.calls), "")) in self._encoded:
            result = self._encoded.pop(first)
            del self._open.calls[first]
            said += result.blocks
            self._after += result.after
        return said

    def rest(self) -> WireResults:
        """What the open calls are answered with so far: results, or a sentence for each without."""
        rest = WireResults([], [*self._after])
        for wire_id, call in self._open.calls.items():
            result = self._encoded.get(wire_id) or self._encode_result(
                make_missing_result(call), call, wire_id
            )
            rest.blocks.extend(result.blocks)
            rest.after.extend(result.after)
        return rest

    def close(self) -> None:
        """End the turn whose calls are open."""
        self._open.close()
        self._encoded.clear()
        self._after = []

    def _encode_result(self, result: ToolMessage, call: ToolCall, wire_id: str) -> WireResults:
        return self.encode_result(self._tools.told(result), call, wire_id)

    def end(self) -> list[Json]:
        """`tail`, as the end of a request."""
        return self.tail()

    def transcript(self, messages: Iterable[Message]) -> list[Json]:
        """All of `messages`, put in order if they are not, as wire messages."""
        return [*(wire for one in repair(messages) for wire in self.add(one)), *self.end()]

    # — what each wire says itself —

    def said(self, message: AssistantMessage | SystemMessage | UserMessage) -> list[Json]:
        """The wire messages that are over with this one."""
        raise NotImplementedError

    def encode_result(self, result: ToolMessage, call: ToolCall, wire_id: str) -> WireResults:
        """The result of the call that has `wire_id`."""
        raise NotImplementedError

    def tail(self) -> list[Json]:
        """The wire messages that the next message may change."""
        raise NotImplementedError

    def head(self, prepared: PreparedRequest) -> Json:
        """The keys of the body, beside the messages, that depend on them."""
        return {}

    @classmethod
    def sent(cls, tools: Tools, strict: bool | None, profile: P) -> WireTools:
        """The tools as they are sent."""
        return wire_tools(tools, cls.wire, strict, hosting=profile.hosting)

    @staticmethod
    def options(settings: Settings, tools: WireTools, profile: P) -> Json:
        """The body of a request without what depends on its messages."""
        raise NotImplementedError

    # — whole requests —

    @classmethod
    def prepare(cls, request: ModelRequest, profile: P) -> PreparedRequest:
        """What depends on a request's tools and settings alone.

        Raises:
            DefinitionError: if a tool cannot be put in the provider's form.
            SetupError: if the settings choose a tool that is not there.
        """
        tools = cls.sent(request.tools, request.settings.strict, profile)
        fixed = cls.options(request.settings, tools, profile)
        return PreparedRequest(tools, request.settings, fixed)

    @classmethod
    def encode(cls, request: ModelRequest, profile: P) -> Json:
        """The body of a request."""
        prepared = cls.prepare(request, profile)
        encoder = cls(prepared.tools, profile)
        messages = encoder.transcript(request.messages)
        return {cls.key: messages, **encoder.head(prepared), **prepared.fixed}

    @classmethod
    def turn(
        cls, reply: object, results: Sequence[ToolMessage], tools: WireTools, profile: P
    ) -> list[Json]:
        """A reply and the results of its calls alone, to stand behind what was said before.

        Raises:
            SetupError: if there is not one result for each call.
            ModelError: if the reply is none of this wire.
        """
        message = cls.decoder.decode(reply, tools=tools)
        ordered = paired(message.tool_calls, results)
        encoder = cls(tools, profile)
        encoder.begun = True
        wires = encoder.add(message)
        for call, result in zip(message.tool_calls, ordered, strict=True):
            wires += encoder.add(replace(result, tool_call_id=call.id))
        return wires + encoder.tail()


def encode_block(
    wire: str,
    block: Block,
    said: Callable[[str], Json],
    shown: Callable[[Image | Audio | File], list[Json]],
) -> list[Json]:
    """A block of content on a wire; a sentence about it, where the wire has no form for it.

    Args:
        wire: Whose own blocks go back as they came.
        block: Ours.
        said: The wire's block that says a text.
        shown: The wire's blocks for a picture, a sound or a file; none if it has no form for it.
    """
    if kept := kept_block(wire, block):
        return [kept]
    text = readable(block)
    if text is not None or not isinstance(block, Image | Audio | File):
        return [said(clean_text(text or ""))]
    block = inline(block)
    return shown(block) or [said(note(block, "cannot be shown"))]
