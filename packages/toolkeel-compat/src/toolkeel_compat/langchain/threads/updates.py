"""Updates of a thread by the program, outside of its runs: `update_state`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from toolkeel._records.entries import Emitted, Entry, PersonSaid, RunBegan, StateChanged
from toolkeel._records.record import record
from toolkeel._records.tickets import new_id
from toolkeel._records.typed_values import dump_state_value, load_state
from toolkeel.agent.agent import Agent
from toolkeel.messages import Message, ToolMessage, unanswered
from toolkeel.sessions.journal_state import JournalState
from toolkeel_compat.langchain.command import InvalidUpdateError, Reducers, write_state
from toolkeel_compat.langchain.history import RemoveMessage
from toolkeel_compat.langchain.messages import convert_to_messages
from toolkeel_compat.langchain.threads.message_ids import (
    add_ids,
    get_id,
    read_transcript,
)

START = "__start__"
"""The node of a new input; the model follows."""
UPDATED = "update_state"
"""Key of the event that ends an update in a thread's journal. Its value is the next node; "" for none."""
BEGINS = "update_begins_run"
"""Key of the same event: True if the update has begun a run."""


@record
class Update:
    """An update of a thread.

    Args:
        values: New values by key of the state.
        as_node: The node whose result it stands for: ``__start__`` or `node`; None for the last one.
        node: The name of the model's node.
        reducers: See `Reducers`.
        agent: The core's agent.
    """

    values: Mapping[str, Any]
    as_node: str | None
    node: str
    reducers: Reducers | None
    agent: Agent[Any, Any]

    def to_entries(self, fold: JournalState) -> Iterator[Entry]:
        """Yield the entries of the update for a thread's state.

        Raises:
            InvalidUpdateError: A thread cannot have this update; the message says what to do.
        """
        if self.as_node not in (None, START, self.node):
            raise InvalidUpdateError(
                f"update_state(as_node={self.as_node!r}): give {START!r} for an input that the model "
                f"answers next, or {self.node!r} for an answer of the model; an agent has no other node "
                "whose result can be replaced"
            )
        messages, state = self._read_messages(fold), load_state(fold.state)
        starts = self.as_node == START or (self.as_node is None and not fold.last_run.run)
        if self.as_node == START and not messages:
            raise InvalidUpdateError(f"update_state(as_node={START!r}) needs messages")
        run = fold.last_run.run
        begins = starts and bool(messages) and not fold.has_unfinished_run
        if begins:
            run, agent = new_id(), self.agent
            yield RunBegan(run, agent.name, agent.model.name, str(agent.instructions))
        for message in messages:
            yield PersonSaid(run, message)
        for key, value in self.values.items():
            if key != "messages":
                write_state(state, key, value, self.reducers)
                yield StateChanged(run, key, dump_state_value(key, state[key]))
        goes_on = "tools" if unanswered(fold.view.messages) else "model"
        following = goes_on if starts or fold.has_unfinished_run else ""
        yield Emitted(run, {UPDATED: following, BEGINS: begins})

    def _read_messages(self, fold: JournalState) -> list[Message]:
        """Return the new messages. Raise `InvalidUpdateError` if they cannot follow the others."""
        update = self.values.get("messages", ())
        given = update if isinstance(update, list | tuple) else [update]
        removes = any(isinstance(one, RemoveMessage) for one in given)
        messages = [] if removes else add_ids(convert_to_messages(given))
        old_messages = read_transcript(fold.view.messages, {})
        known = {get_id(one) for one in old_messages} - {None}
        if removes or any(get_id(one) in known for one in messages):
            raise InvalidUpdateError(
                "update_state: a message of a thread is not removed or replaced; "
                "saver.sessions.edit(thread_id, turn, 'another') makes a thread from before the input "
                "of a turn, counted from 1, and before_model chooses the messages that a model gets"
            )
        if any(isinstance(one, ToolMessage) or getattr(one, "tool_calls", ()) for one in messages):
            raise InvalidUpdateError(
                "update_state: calls and their results come from the model and the tools; answer a "
                "waiting call with Command(resume=...), or add a HumanMessage or an AIMessage without "
                "calls"
            )
        if messages and unanswered(fold.view.messages):
            raise InvalidUpdateError(
                "update_state: calls of this thread have no results yet, so no message can follow: "
                "answer them with Command(resume=...), or go on with invoke(None, config)"
            )
        return messages


def read_update(entry: Entry) -> str | None:
    """Return the node that follows an update that an entry ends, "" for none; None for other entries."""
    value = entry.value if isinstance(entry, Emitted) else None
    return str(value[UPDATED]) if isinstance(value, dict) and UPDATED in value else None


def begins_run(entry: Entry) -> bool:
    """Return True if an entry ends an update that has begun a run."""
    value = entry.value if isinstance(entry, Emitted) else None
    return isinstance(value, dict) and value.get(BEGINS) is True
