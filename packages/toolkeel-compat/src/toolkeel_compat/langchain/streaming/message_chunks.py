"""The pieces of a streamed reply, and replies whose content is LangChain's blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, cast

from pydantic_core import from_json

from toolkeel._records.record import NOTHING
from toolkeel.content import Content, Text
from toolkeel.messages import AssistantMessage, Reasoning
from toolkeel_compat.langchain.messages import AIMessage
from toolkeel_compat.langchain.tool_calls import (
    ToolCall,
    dump_arguments,
    has_object_args,
    to_tool_call,
)

_PIECES, _POSITION = "tool_call_chunks", "chunk_position"
"""Keys of a piece's metadata: its pieces of calls, and ``last`` for the last piece."""


class AIMessageChunk(AIMessage):
    """A piece of a model's reply; ``+`` joins it with the next one."""

    __slots__ = ()
    __match_args__ = AIMessage.__match_args__
    type: ClassVar[str] = "AIMessageChunk"

    def __new__(
        cls,
        content: Content | None = "",
        tool_calls: Iterable[Any] | None = (),
        *rest: Any,
        tool_call_chunks: Sequence[Mapping[str, Any]] = (),
        chunk_position: str | None = None,
        **kwargs: Any,
    ) -> AIMessageChunk:
        """Create a piece.

        Args:
            content: See `AIMessage`.
            tool_calls: Complete calls.
            rest: Further fields of `AIMessage`.
            tool_call_chunks: Pieces of calls: ``name``, ``args`` as a part of the JSON text, ``id`` and
                ``index``. The calls are read from them as far as they have come.
            chunk_position: ``last`` if the reply ends with this piece.
            kwargs: Further fields of `AIMessage`.
        """
        made: dict[str, Any] = {_POSITION: chunk_position} if chunk_position else {}
        if tool_call_chunks:
            pieces = [_complete_piece(**one) for one in tool_call_chunks]
            given = {one.id: one.provider_options for one in map(to_tool_call, tool_calls or ())}
            read = [_read_call(one, given) for one in pieces]
            made[_PIECES], tool_calls = pieces, [one for one in read if has_object_args(one)]
        if made:
            kwargs["metadata"] = {**kwargs.get("metadata", NOTHING), **made}
        return super().__new__(cls, content, tool_calls, *rest, **kwargs)  # type: ignore[return-value]

    if TYPE_CHECKING:

        def __init__(self, *_: Any, **__: Any) -> None: ...

    @property
    def chunk_position(self) -> str | None:
        """``last`` if the reply ends with this piece."""
        return cast("str | None", self.metadata.get(_POSITION))

    @property
    def tool_call_chunks(self) -> list[dict[str, Any]]:
        """The pieces of calls, as LangChain's dicts."""
        pieces: Any = self.metadata.get(_PIECES)
        if pieces is not None:
            return [dict(one) for one in pieces]
        calls = self.tool_calls
        return [_complete_piece(one.name, dump_arguments(one), one.id) for one in calls]

    @property
    def invalid_tool_calls(self) -> list[ToolCall]:
        """The pieces of calls whose arguments are no beginning of a JSON object."""
        calls = [_read_call(one, NOTHING) for one in self.tool_call_chunks]
        return [one for one in calls if not has_object_args(one)]

    @property
    def content_blocks(self) -> list[dict[str, Any]]:
        """As of `AIMessage`; calls whose end may not have come are pieces of calls."""
        blocks = super().content_blocks
        if self.content or self.chunk_position == "last":
            return blocks
        order = ("type", "id", "name", "args", "index")
        pieces = [
            {key: one[key] for key in order if key != "index" or one[key] is not None}
            for one in self.tool_call_chunks
        ]
        return [one for one in blocks if one["type"] != "tool_call"] + pieces

    @property
    def response_metadata(self) -> dict[str, Any]:
        """As of `AIMessage`, in the piece that names the model; else empty."""
        return super().response_metadata if self.model else {}

    def __add__(self, other: AIMessageChunk | Sequence[AIMessageChunk]) -> AIMessageChunk:
        """Join this piece of a reply with the next one, or with several."""
        if isinstance(other, list | tuple):
            joined = self
            for one in other:
                joined += one
            return joined
        if not isinstance(other, AIMessageChunk):
            return NotImplemented
        ends = other if other.model else self
        metadata = {**other.metadata, **self.metadata}
        metadata |= {_POSITION: "last"} if other.chunk_position else {}
        return AIMessageChunk(
            _join_content(self.content, other.content),
            self.tool_calls + other.tool_calls,
            finish_reason=ends.finish_reason,
            usage=self.usage + other.usage,
            reasoning=_join_reasoning(self.reasoning, other.reasoning),
            model=ends.model,
            provider_options={**self.provider_options, **other.provider_options},
            metadata=metadata,
            tool_call_chunks=_join_pieces(self.tool_call_chunks + other.tool_call_chunks),
        )


def end_reply(
    reply: AssistantMessage, metadata: Mapping[str, Any], **rest: Any
) -> Iterator[AIMessageChunk]:
    """Yield the pieces that follow the text of a streamed reply: its calls, each whole, and the end.

    Args:
        reply: The complete reply.
        metadata: Metadata of the pieces.
        rest: Further fields of the last piece.
    """
    calls = [
        _complete_piece(one.name, dump_arguments(one), one.id, place)
        for place, one in enumerate(reply.tool_calls)
    ]
    if calls:
        yield AIMessageChunk("", reply.tool_calls, tool_call_chunks=calls, metadata=metadata)
    names = ("finish_reason", "usage", "model", "provider_options")
    kept = {name: getattr(reply, name) for name in names}
    yield AIMessageChunk(**kept, metadata=metadata, chunk_position="last", **rest)


def message_chunk_to_message(chunk: Any) -> Any:
    """Return a piece, or the sum of pieces, as an `AIMessage`; another message as it is."""
    if not isinstance(chunk, AIMessageChunk):
        return chunk
    values = {name: getattr(chunk, name) for name in AIMessage.__match_args__}
    own = {k: v for k, v in chunk.metadata.items() if k not in (_PIECES, _POSITION)}
    calls = [*chunk.tool_calls, *chunk.invalid_tool_calls]
    return AIMessage(**{**values, "tool_calls": calls, "metadata": own or NOTHING})


def _complete_piece(
    name: str | None = None,
    args: str | None = None,
    id: str | None = None,
    index: int | None = None,
    type: str = "tool_call_chunk",
) -> dict[str, Any]:
    """Return a piece of a call with all keys."""
    return {"name": name, "args": args, "id": id, "index": index, "type": type}


def _read_call(piece: Mapping[str, Any], given: Mapping[str, Any]) -> ToolCall:
    """Return the call of a piece, with the arguments that have come; their text if they are no JSON.

    Args:
        piece: The piece.
        given: What the provider sent with calls, by their ids.
    """
    text = piece["args"] or "{}"
    try:
        args = from_json(text, allow_partial="trailing-strings")
    except ValueError:
        args = text
    id = piece["id"] or ""
    return ToolCall(id, piece["name"] or "", args, True, given.get(id, NOTHING))


def _join_pieces(pieces: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Join the pieces of each index; one without an index stays by itself."""
    made: dict[object, dict[str, Any]] = {}
    for place, piece in enumerate(pieces):
        key = ("alone", place) if piece["index"] is None else piece["index"]
        if (known := made.get(key)) is None:
            made[key] = dict(piece)
            continue
        for name in ("name", "args"):
            known[name] = (known[name] or "") + (piece[name] or "") or None
        known["id"] = known["id"] or piece["id"]
    return [*made.values()]


def _join_content(first: Content, second: Content) -> Content:
    if isinstance(first, str) and isinstance(second, str):
        return first + second
    parts = [(Text(one),) if isinstance(one, str) else one for one in (first, second) if one]
    return tuple(block for part in parts for block in part)


def _join_reasoning(*parts: tuple[Reasoning, ...]) -> tuple[Reasoning, ...]:
    """Join pieces of reasoning; a signature ends one."""
    made: list[Reasoning] = []
    for one in (one for part in parts for one in part):
        if made and not made[-1].signature:
            made[-1] = Reasoning(made[-1].text + one.text, one.signature)
        else:
            made.append(one)
    return tuple(made)
