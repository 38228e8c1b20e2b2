"""Which messages a model is shown, under LangChain's names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypedDict, Unpack

from toolkeel._records.record import record
from toolkeel.errors import SetupError
from toolkeel.messages import Message, SystemMessage
from toolkeel_compat.check_options import only_known
from toolkeel_compat.langchain.messages import convert_to_messages

REMOVE_ALL_MESSAGES = "__remove_all__"


@record
class RemoveMessage:
    """Stands for the removal of messages: of all, as messages have no ids here.

    Args:
        id: `REMOVE_ALL_MESSAGES`.

    Raises:
        SetupError: for any other id, when it is applied.
    """

    id: str


def applied(messages: Sequence[Message], update: Any) -> list[Message]:
    """Messages with those of an update added, or in their place after a `RemoveMessage`."""
    more = update if isinstance(update, list) else [update]
    kept = list(messages)
    for at, one in enumerate(more):
        if isinstance(one, RemoveMessage):
            if one.id != REMOVE_ALL_MESSAGES:
                raise SetupError("RemoveMessage: messages have no ids; remove all, give those kept")
            return applied([], more[at + 1 :])
    return [*kept, *convert_to_messages(more)]


Kinds = str | type[Any] | Sequence[str | type[Any]] | None


class TrimOptions(TypedDict, total=False):
    """How `trim_messages` chooses.

    Attributes:
        strategy: Whether the ``last`` messages stay, or the ``first``.
        start_on: What the first of them may be: ``human``, ``ai``, ``system``, ``tool`` or a class.
        end_on: The same of the last.
        include_system: Whether a system message at the beginning stays in any case.
    """

    strategy: Literal["first", "last"]
    start_on: Kinds
    end_on: Kinds
    include_system: bool


def trim_messages(
    messages: object,
    *,
    max_tokens: int,
    token_counter: Callable[[list[Any]], int] | Literal["approximate"],
    **options: Unpack[TrimOptions],
) -> list[Message]:
    """As many whole messages as there is room for.

    >>> [m.content for m in trim_messages(["a", "b", "c"], max_tokens=2, token_counter=len)]
    ['b', 'c']

    Args:
        messages: In any form `convert_to_messages` reads.
        max_tokens: The room.
        token_counter: Counts the tokens of a list of messages: a function, `len` to count the
            messages, or ``approximate``: four characters each.
        options: See `TrimOptions`.

    Raises:
        SetupError: for a counter that is none.
        TypeError: for an option that is not here.
    """
    whole = "messages stay whole here"
    refused = {"allow_partial": whole, "text_splitter": whole}
    only_known(options, TrimOptions, "trim_messages", refused)
    left = convert_to_messages(messages)
    count = count_tokens_approximately if token_counter == "approximate" else token_counter
    if not callable(count):
        raise SetupError("token_counter: give a function of a list of messages, or 'approximate'")
    system: list[Message] = []
    if options.get("include_system") and left and isinstance(left[0], SystemMessage):
        system, left = left[:1], left[1:]
    last = options.get("strategy", "last") == "last"
    left = _until(left, options.get("end_on"), -1) if last else left
    while left and count([*system, *left]) > max_tokens:
        left = left[1:] if last else left[:-1]
    edge = options.get("start_on") if last else options.get("end_on")
    left = _until(left, edge, 0 if last else -1)
    return [*system, *left]


def _until(messages: list[Message], kinds: Kinds, at: int) -> list[Message]:
    """Messages without those at one end that are none of the kinds."""
    while messages and kinds is not None and not _is(messages[at], kinds):
        messages = messages[1:] if at == 0 else messages[:-1]
    return messages


def count_tokens_approximately(messages: Sequence[Message]) -> int:
    """Four characters a token, and four tokens a message."""
    return sum(len(one.text) // 4 + 4 for one in messages)


def _is(message: Any, kinds: Kinds) -> bool:
    each = [kinds] if isinstance(kinds, str | type) else kinds or ()
    return any(
        isinstance(message, kind) if isinstance(kind, type) else message.type == kind
        for kind in each
    )
