"""Which messages the model gets, under LangChain's names."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypedDict, Unpack

from toolkeel._records.record import record
from toolkeel.content import Image
from toolkeel.errors import SetupError
from toolkeel.messages import Message, SystemMessage
from toolkeel_compat.check_options import check_options
from toolkeel_compat.langchain.messages import convert_to_messages
from toolkeel_compat.langchain.threads.message_ids import add_ids

REMOVE_ALL_MESSAGES = "__remove_all__"


@record
class RemoveMessage:
    """A request to remove one message, or all.

    Args:
        id: The message's id, or `REMOVE_ALL_MESSAGES`.
    """

    id: str | None


def apply_update(messages: Sequence[Message], update: Any) -> list[Message]:
    """Return messages with an update: one whose id is there already takes that message's place.

    Raises:
        SetupError: A `RemoveMessage` names no message.
    """
    result = list(messages)
    for one in update if isinstance(update, list) else [update]:
        if isinstance(one, RemoveMessage) and one.id == REMOVE_ALL_MESSAGES:
            result = []
            continue
        removes = isinstance(one, RemoveMessage)
        new = [] if removes else add_ids(convert_to_messages([one]))
        id = one.id if removes else getattr(new[0], "id", None)
        places = [at for at, old in enumerate(result) if id and getattr(old, "id", None) == id]
        if removes and not places:
            raise SetupError(
                f"RemoveMessage(id={id!r}): no message has this id: give the id of one of the state's "
                "messages, or RemoveMessage(REMOVE_ALL_MESSAGES) and the messages to keep"
            )
        at = places[0] if places else len(result)
        result[at : at + 1] = new
    return result


MessageTypes = str | type[Any] | Sequence[str | type[Any]] | None


class TrimOptions(TypedDict, total=False):
    """Options of `trim_messages`.

    Attributes:
        strategy: Keep the ``last`` messages, or the ``first``.
        start_on: Type of the first message: ``human``, ``ai``, ``system``, ``tool`` or a class.
        end_on: Type of the last message.
        include_system: Always keep a leading system message.
    """

    strategy: Literal["first", "last"]
    start_on: MessageTypes
    end_on: MessageTypes
    include_system: bool


def trim_messages(
    messages: object,
    *,
    max_tokens: int,
    token_counter: Callable[[list[Any]], int] | Literal["approximate"],
    **options: Unpack[TrimOptions],
) -> list[Message]:
    """Return as many complete messages as fit in `max_tokens`.

    >>> [m.content for m in trim_messages(["a", "b", "c"], max_tokens=2, token_counter=len)]
    ['b', 'c']

    Args:
        messages: In any form `convert_to_messages` accepts.
        max_tokens: The token limit.
        token_counter: A function that counts the tokens of a list of messages, `len` to count
            messages, or ``approximate`` for four characters a token.
        options: See `TrimOptions`.

    Raises:
        SetupError: `token_counter` is not callable.
        TypeError: An option is unknown.
    """
    reason = "messages stay whole here"
    refused = {"allow_partial": reason, "text_splitter": reason}
    check_options(options, TrimOptions, "trim_messages", refused)
    left = convert_to_messages(messages)
    count = count_tokens_approximately if token_counter == "approximate" else token_counter
    if not callable(count):
        raise SetupError("token_counter: give a function of a list of messages, or 'approximate'")
    system: list[Message] = []
    if options.get("include_system") and left and isinstance(left[0], SystemMessage):
        system, left = left[:1], left[1:]
    last = options.get("strategy", "last") == "last"
    left = _drop_until(left, options.get("end_on"), -1) if last else left
    while left and count([*system, *left]) > max_tokens:
        left = left[1:] if last else left[:-1]
    edge = options.get("start_on") if last else options.get("end_on")
    left = _drop_until(left, edge, 0 if last else -1)
    return [*system, *left]


def _drop_until(messages: list[Message], kinds: MessageTypes, at: int) -> list[Message]:
    """Drop messages from one end until one of the types is at that end."""
    while messages and kinds is not None and not _matches(messages[at], kinds):
        messages = messages[1:] if at == 0 else messages[:-1]
    return messages


def count_tokens_approximately(
    messages: Sequence[Message],
    *,
    chars_per_token: float = 4.0,
    extra_tokens_per_message: float = 3.0,
    count_name: bool = True,
    tokens_per_image: int = 85,
) -> int:
    """Estimate tokens, as LangChain does: of texts, calls, ids of calls, roles and names.

    Args:
        messages: The messages.
        chars_per_token: Characters that are one token.
        extra_tokens_per_message: Tokens of each message besides.
        count_name: Count the names of messages.
        tokens_per_image: Tokens of a picture.
    """
    total = 0.0
    made: list[Any] = [*convert_to_messages(messages)]
    for one in made:
        content = one.content
        blocks = [] if isinstance(content, str) else [*content]
        images = sum(isinstance(block, Image) for block in blocks)
        size = len(one.text) + len(_ROLES.get(one.type, one.type))
        if isinstance(content, str) and getattr(one, "tool_calls", None):
            calls = [
                {"name": call.name, "args": call.args, "id": call.id, "type": "tool_call"}
                for call in one.tool_calls
            ]
            size += len(repr(calls))
        size += len(getattr(one, "tool_call_id", "")) + len((count_name and one.name) or "")
        total += math.ceil(size / chars_per_token) + extra_tokens_per_message
        total += images * tokens_per_image
    return math.ceil(total)


_ROLES: Mapping[str, str] = {"ai": "assistant", "human": "user"}
"""Roles of OpenAI by a message's type, if they differ."""


def _matches(message: Any, kinds: MessageTypes) -> bool:
    each = [kinds] if isinstance(kinds, str | type) else kinds or ()
    return any(
        isinstance(message, kind) if isinstance(kind, type) else message.type == kind
        for kind in each
    )
