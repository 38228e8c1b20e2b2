"""Ids of messages: each message of a state has one, and `RemoveMessage` removes messages by id.

A run stores the ids of inputs and replies with these messages. The id of a tool's result is derived from
the id of the reply that called the tool, so it is the same wherever a transcript is read.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from time import time_ns
from typing import Any, Final
from uuid import UUID, uuid4

from toolkeel._records.messages_json import dump_message, load_message
from toolkeel._records.record import record
from toolkeel.agent.turn.steps import ModelStep, SendRequest
from toolkeel.context import RunContext
from toolkeel.errors import SetupError
from toolkeel.events import Emitted
from toolkeel.messages import AssistantMessage, Message, ToolMessage
from toolkeel.model_interface import ModelRequest
from toolkeel_compat.langchain.messages import convert_to_messages
from toolkeel_compat.langchain.threads.interrupts import CHANGES_KEY

_REPLY_PREFIX: Final = "lc_run--"
_ADDED: Final = ""
"""Where the changes have added messages, each with the id of the message before it; "" at the start."""


@record
class ReplyBegan:
    """The id of the reply that a model begins; in an `Emitted` event.

    Args:
        id: The id of its chunks.
    """

    id: str


def uuid7() -> UUID:
    """Return a new id that sorts by the time of its creation, such as for a thread."""
    bits = (time_ns() // 10**6) << 80 | secrets.randbits(80)
    bits = bits & ~(0xF << 76) | 7 << 76  # the version
    return UUID(int=bits & ~(0b11 << 62) | 0b10 << 62)  # the variant


def make_reply_id() -> str:
    """Return a new id for a model's reply."""
    return f"{_REPLY_PREFIX}{uuid7()}-0"


def get_id(message: Any) -> str | None:
    """Return a message's id, also of a message of the core."""
    place: Mapping[str, Any] = getattr(
        message, "details" if isinstance(message, ToolMessage) else "metadata", {}
    )
    return place.get("id")


def set_id(message: Any, id: str) -> Any:
    """Return a message with an id."""
    place = "details" if isinstance(message, ToolMessage) else "metadata"
    return dataclasses.replace(message, **{place: {**getattr(message, place), "id": id}})


def add_ids(messages: Iterable[Message]) -> list[Any]:
    """Return messages that each have an id; those without one get a new one."""
    return [one if get_id(one) else set_id(one, str(uuid4())) for one in messages]


def read_transcript(messages: Sequence[Any], state: Mapping[str, Any]) -> list[Any]:
    """Return the messages of a transcript with their ids, as hooks have changed them.

    Args:
        messages: Messages of the core.
        state: The state, with the changes of messages.
    """
    reply, made = None, []
    for one in convert_to_messages(messages):
        if isinstance(one, AssistantMessage):
            reply = get_id(one)
        made.append(add_result_id(one, reply))
    changes: Mapping[str, Any] = state.get(CHANGES_KEY) or {}
    return convert_to_messages(_apply_changes(made, changes)) if changes else made


def _apply_changes(messages: list[Any], changes: Mapping[str, Any]) -> Iterator[Any]:
    """Yield messages as changed: see `record_changes`. Insert those that were added into `messages`."""
    for before, saved in changes.get(_ADDED, ()):
        ids, message = [get_id(one) for one in messages], load_message(saved)
        if get_id(message) not in ids:
            at = ids.index(before) + 1 if before in ids else len(ids) if before else 0
            messages.insert(at, message)
    for one in messages:
        message_id = get_id(one)
        change = changes[message_id] if message_id and message_id in changes else one
        if change is not None:
            yield one if change is one else load_message(change)


def add_result_id(message: Any, reply_id: str | None) -> Any:
    """Return a tool's result with the id derived from the reply that called the tool."""
    if not isinstance(message, ToolMessage) or get_id(message) or not reply_id:
        return message
    return set_id(message, _derive_id(reply_id, message.tool_call_id))


def _derive_id(*known: str) -> str:
    digest = hashlib.sha256(json.dumps(known).encode()).digest()
    return str(UUID(bytes=digest[:16], version=4))


def record_changes(
    state: Any, before: Sequence[Any], after: Sequence[Any], *, may_add: bool
) -> None:
    """Record in a run's state which messages an update removed, replaced and added.

    Args:
        state: The run's state.
        before: The messages before the update.
        after: The messages after it.
        may_add: False to do nothing if messages were added: another record has them.

    Raises:
        SetupError: The update moves a message among those before it.
    """
    known, left = _by_id(before), _by_id(after)
    new = [id for id in left if id not in known]
    if new and not may_add:
        return
    _check_order(known, left)
    changes: dict[str, Any] = {}
    for id, message in known.items():
        if message is not left.get(id):
            changes[id] = dump_message(left[id]) if id in left else None
    if new:
        order = ["", *left]
        added = [[order[order.index(id) - 1], dump_message(left[id])] for id in new]
        changes[_ADDED] = [*(state.get(CHANGES_KEY) or {}).get(_ADDED, ()), *added]
    if changes:
        state[CHANGES_KEY] = {**(state.get(CHANGES_KEY) or {}), **changes}


def _check_order(known: Mapping[str, Any], left: Mapping[str, Any]) -> None:
    """Raise `SetupError` if the common messages of two lists have another order in the second."""
    if [id for id in known if id in left] != [id for id in left if id in known]:
        raise SetupError(
            "a hook moved a message among older ones, where a thread keeps its place: remove it with "
            "RemoveMessage, and add a copy with another id"
        )


def _by_id(messages: Iterable[Any]) -> dict[str, Any]:
    return {id: one for one in messages if (id := get_id(one))}


def make_id_step(*, at_model: bool, name: str | None = None) -> ModelStep:
    """Return the model step that gives a reply an id if it has none, and the agent's name.

    Args:
        at_model: The step is next to the model, and the id is that of its reply.
        name: The agent's name; None for a reply without one.
    """

    async def step(
        request: ModelRequest, run: RunContext[Any], proceed: SendRequest
    ) -> AssistantMessage:
        if not at_model:
            reply: AssistantMessage = add_ids([await proceed(request)])[0]
            named = {} if name is None else {"name": name}
            return dataclasses.replace(reply, metadata={**named, **reply.metadata})
        id = make_reply_id()
        if run.listeners:
            run.emit(Emitted(*run.next_event_fields(), "", ReplyBegan(id)))
        reply = await proceed(request)
        if get_id(reply):
            return reply
        made: AssistantMessage = set_id(reply, id)
        return made

    return step
