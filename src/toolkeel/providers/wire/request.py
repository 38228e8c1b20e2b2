"""Requests of every wire: transcript, tools and settings in, the body out.

A wire is told by an `Encoding`: where its messages stand, who encodes them, and what becomes of
tools and settings. `encode_request` makes one body of that; `toolkeel.providers.wire.body_cache`
makes those of a run, each out of the last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from toolkeel._records.record import record
from toolkeel.agent.transcript import repair
from toolkeel.content import Audio, Block, File, Image
from toolkeel.messages import Message
from toolkeel.model import ModelRequest, Settings
from toolkeel.providers.wire.call_ids import OpenCalls, common_id
from toolkeel.providers.wire.media import inline, kept_block, note, readable
from toolkeel.providers.wire.plain_json import Json, clean_text
from toolkeel.providers.wire.tools import Tools, WireTools

P = TypeVar("P")


@record
class Prepared:
    """What depends on a request's tools and settings alone.

    Args:
        tools: The tools on the wire.
        settings: The request's.
        fixed: The keys of the body that they make.
    """

    tools: WireTools
    settings: Settings
    fixed: Json


class Encoder:
    """Encodes a transcript message by message, so that a growing one is encoded once.

    Args:
        legal: Gives a call id that the wire takes: its argument itself, if it does.
    """

    def __init__(self, legal: Callable[[str], str] = common_id) -> None:
        self._open = OpenCalls(legal)

    @property
    def late(self) -> bool:
        """Whether a result stood elsewhere than behind its call, which was answered with a
        sentence: then the transcript must be put in order first."""
        return self._open.late

    def add(self, message: Message) -> list[Json]:
        """The wire messages that are over with this one."""
        raise NotImplementedError

    def end(self) -> list[Json]:
        """The wire messages that the next message may change, as the end of a request."""
        raise NotImplementedError

    def head(self, prepared: Prepared) -> Json:
        """The keys of the body, beside the messages, that depend on them."""
        return {}


@record
class Encoding(Generic[P]):
    """How one wire makes requests.

    Args:
        key: Where the messages stand in the body.
        tools: The tools as they are sent: of definitions, whether they are strict, and a profile.
        encoder: Begins a transcript.
        options: The body of a request without what depends on its messages.
    """

    key: str
    tools: Callable[[Tools, bool | None, P], WireTools]
    encoder: Callable[[WireTools, P], Encoder]
    options: Callable[[Settings, WireTools, P], Json]

    def prepare(self, request: ModelRequest, profile: P) -> Prepared:
        """What depends on a request's tools and settings alone.

        Raises:
            DefinitionError: if a tool cannot be put in the provider's form.
            SetupError: if the settings choose a tool that is not there.
        """
        tools = self.tools(request.tools, request.settings.strict, profile)
        fixed = self.options(request.settings, tools, profile)
        return Prepared(tools, request.settings, fixed)


def encode_request(encoding: Encoding[P], request: ModelRequest, profile: P) -> Json:
    """The body of a request.

    Args:
        encoding: The wire's.
        request: Messages, tools and settings.
        profile: What the model and its server take.
    """
    prepared = encoding.prepare(request, profile)
    encoder = encoding.encoder(prepared.tools, profile)
    messages = encode_transcript(encoder, request.messages)
    return {encoding.key: messages, **encoder.head(prepared), **prepared.fixed}


def encode_transcript(encoder: Encoder, messages: Iterable[Message]) -> list[Json]:
    """All of `messages`, put in order if they are not, as wire messages.

    Args:
        encoder: A new one.
        messages: The transcript.
    """
    wires = [wire for message in repair(messages) for wire in encoder.add(message)]
    return wires + encoder.end()


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
