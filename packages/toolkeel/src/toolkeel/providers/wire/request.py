"""Requests of every wire: transcript, tools and settings in, the body out.

Each wire has an `Encoder`: where messages go, their form, and the form of tools and settings.
`Encoder.encode` makes one body; `toolkeel.providers.wire.body_cache` makes those of a run, each
from the last.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
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
from toolkeel.providers.wire.call_ids import OpenCalls, make_legal_id, pair_results
from toolkeel.providers.wire.decoder import Decoder
from toolkeel.providers.wire.media import (
    block_text,
    describe_false_picture,
    inline,
    omission_note,
    original_block,
)
from toolkeel.providers.wire.plain_json import Json, clean_text
from toolkeel.providers.wire.reasoning_ownership import ModelProfile
from toolkeel.providers.wire.sampling import report_lost_settings
from toolkeel.providers.wire.tools import Tools, WireTools, wire_tools

P = TypeVar("P", bound=ModelProfile)


@record
class PreparedRequest:
    """The part of a request that depends on its tools and settings alone.

    Args:
        tools: The tools on the wire.
        settings: The request's settings.
        static_keys: Keys of the body made from them.
    """

    tools: WireTools
    settings: Settings
    static_keys: Json


@record
class WireResults:
    """Results on the wire.

    Args:
        blocks: The results.
        trailing: Content of theirs that must follow all results of the turn.
    """

    blocks: list[Json]
    trailing: list[Json]


class Encoder(Generic[P]):
    """Encodes a transcript message by message, so that a growing one is encoded once.

    Call ids become unique across the transcript and legal for the server, the same on the call and on
    its result. Results come in the order of their calls. A call without a result is answered with a
    placeholder, and a result without a call is dropped, since servers refuse both (provider quirks Q1
    to Q5).

    Args:
        tools: The request's tools; names of other tools are made legal one by one.
        profile: What the model and its server accept.
        legal: Turns a call id into a legal one; a legal id stays unchanged.

    Attributes:
        wire: Name of the wire.
        key: Key of the body that holds the messages.
        decoder: Decodes the wire's answers.
        has_messages: True if messages come before the encoded ones.
    """

    wire: ClassVar[str]
    key: ClassVar[str] = "messages"
    decoder: ClassVar[type[Decoder]]

    def __init__(
        self, tools: WireTools, profile: P, legal: Callable[[str], str] = make_legal_id
    ) -> None:
        self._tools = tools
        self._profile = profile
        self._open = OpenCalls(legal)
        self._encoded: dict[str, WireResults] = {}
        self._after: list[Json] = []
        self.has_messages = False

    @property
    def needs_repair(self) -> bool:
        """True if a result came late, after its call was answered with a placeholder.

        The transcript must then be reordered first (`toolkeel.agent.transcript.repair`).
        """
        return self._open.has_late_result

    def add(self, message: Message) -> list[Json]:
        """Encode a message; return wire messages that are complete now. A result waits for earlier ones.

        A result that answers no open call is dropped.
        """
        if not isinstance(message, ToolMessage):
            return self.encode_message(message)
        if wire_id := self._open.match_result(message):
            self._encoded[wire_id] = self._encode_result(
                message, self._open.calls[wire_id], wire_id
            )
        return self.take_ready_results()

    def take_ready_results(self) -> list[Json]:
        """Remove and return the results that can be sent: all earlier ones are there.

        Their trailing content waits.
        """
        make_text: list[Json] = []
        while (first := next(iter(self._open.calls), "")) in self._encoded:
            result = self._encoded.pop(first)
            del self._open.calls[first]
            make_text += result.blocks
            self._after += result.trailing
        return make_text

    def open_results(self) -> WireResults:
        """Return answers for the open calls (results, or placeholders), and all trailing content of the turn."""
        rest = WireResults([], [*self._after])
        for wire_id, call in self._open.calls.items():
            result = self._encoded.get(wire_id) or self._encode_result(
                make_missing_result(call), call, wire_id
            )
            rest.blocks.extend(result.blocks)
            rest.trailing.extend(result.trailing)
        return rest

    def close_turn(self) -> None:
        """End the turn: drop its results, and let its open calls take no more."""
        self._open.close_turn()
        self._encoded.clear()
        self._after = []

    def _encode_result(self, result: ToolMessage, call: ToolCall, wire_id: str) -> WireResults:
        """Encode the result of a call, with tool names in it replaced by wire names."""
        return self.encode_result(self._tools.with_wire_names(result), call, wire_id)

    def encode_end(self) -> list[Json]:
        """Return the last wire messages of a request."""
        return self.encode_tail()

    def encode_transcript(self, messages: Iterable[Message]) -> list[Json]:
        """Encode all messages to their end, reordering them if necessary."""
        return [*(wire for one in repair(messages) for wire in self.add(one)), *self.encode_end()]

    # — defined by each wire —

    def encode_message(self, message: AssistantMessage | SystemMessage | UserMessage) -> list[Json]:
        """Encode a message that is not a result. Return the wire messages that are complete now."""
        raise NotImplementedError

    def encode_result(self, result: ToolMessage, call: ToolCall, wire_id: str) -> WireResults:
        """Encode the result of the call that has `wire_id`."""
        raise NotImplementedError

    def encode_tail(self) -> list[Json]:
        """Return the wire messages that the next message may still change."""
        raise NotImplementedError

    def encode_head(self, prepared: PreparedRequest) -> Json:
        """Return keys of the body, beside the messages, that depend on them; none unless a wire overrides it."""
        return {}

    @classmethod
    def make_wire_tools(cls, tools: Tools, strict: bool | None, profile: P) -> WireTools:
        """Convert the tools to the form in which they are sent, cached and raising as `wire_tools`."""
        return wire_tools(tools, cls.wire, strict, hosting=profile.hosting)

    @staticmethod
    def select_messages(request: ModelRequest) -> Sequence[Message]:
        """Return the messages to send: all, unless a wire leaves out those stored at its server."""
        return request.messages

    @staticmethod
    def encode_options(settings: Settings, tools: WireTools, profile: P) -> Json:
        """Return the keys of a body that do not depend on its messages."""
        raise NotImplementedError

    @staticmethod
    def unsupported_settings(settings: Settings, profile: P) -> Collection[str]:
        """Return the names of settings that are not sent: none, unless a wire says so."""
        return ()

    # — complete requests —

    @classmethod
    def prepare(cls, request: ModelRequest, profile: P) -> PreparedRequest:
        """Prepare the part of a request that depends on its tools and settings alone.

        Settings that are not sent are logged, once for each model.

        Raises:
            DefinitionError: if a tool cannot be put in the provider's form.
            SetupError: if the settings choose a tool that is not there, or the provider does not have a
                tool that must run there.
        """
        tools = cls.make_wire_tools(request.tools, request.settings.strict, profile)
        lost = cls.unsupported_settings(request.settings, profile)
        report_lost_settings(cls.wire, profile.model, request.settings, lost)
        fixed = cls.encode_options(request.settings, tools, profile)
        return PreparedRequest(tools, request.settings, fixed)

    @classmethod
    def encode(cls, request: ModelRequest, profile: P) -> Json:
        """Encode the body of a request; log and raise as `prepare` does."""
        prepared = cls.prepare(request, profile)
        encoder = cls(prepared.tools, profile)
        messages = encoder.encode_transcript(cls.select_messages(request))
        return {cls.key: messages, **encoder.encode_head(prepared), **prepared.static_keys}

    @classmethod
    def encode_turn(
        cls, reply: object, results: Sequence[ToolMessage], tools: WireTools, profile: P
    ) -> list[Json]:
        """Encode a reply and the results of its calls, to append to earlier messages.

        Raises:
            SetupError: if there is not one result for each call.
            ModelError: if the reply is not of this wire.
        """
        message = cls.decoder.decode(reply, tools=tools)
        ordered = pair_results(message.tool_calls, results)
        encoder = cls(tools, profile)
        encoder.has_messages = True
        wires = encoder.add(message)
        for call, result in zip(message.tool_calls, ordered, strict=True):
            wires += encoder.add(replace(result, tool_call_id=call.id))
        return wires + encoder.encode_tail()


def encode_block(
    wire: str,
    block: Block,
    make_text: Callable[[str], Json],
    make_media: Callable[[Image | Audio | File], list[Json]],
) -> list[Json]:
    """Encode a content block; a note replaces one that the wire has no form for.

    Args:
        wire: Name of the wire, whose own blocks are sent back unchanged.
        block: The block.
        make_text: Makes the wire's text block.
        make_media: Makes the wire's blocks for a picture, a sound or a file; none if it has no form for it.
    """
    if original := original_block(wire, block):
        return [original]
    text = block_text(block)
    if text is not None or not isinstance(block, Image | Audio | File):
        return [make_text(clean_text(text or ""))]
    block = inline(block)
    if note := describe_false_picture(block):
        return [make_text(note)]
    return make_media(block) or [make_text(omission_note(block, "cannot be shown"))]
