"""`ThreadStates`: the part of an agent that reads and updates the states of its threads."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from toolkeel._records.record import NOTHING
from toolkeel._records.tickets import Ticket
from toolkeel.agent.agent import Agent
from toolkeel.errors import SetupError
from toolkeel.sessions.session import Session
from toolkeel_compat.langchain.command import Reducers
from toolkeel_compat.langchain.middleware import Runtime
from toolkeel_compat.langchain.threads.checkpoints import InMemorySaver, StateSnapshot
from toolkeel_compat.langchain.threads.human_review import HumanInTheLoopMiddleware
from toolkeel_compat.langchain.threads.interrupts import (
    Interrupt,
    list_interrupts,
    load_interrupts,
)
from toolkeel_compat.langchain.threads.message_ids import read_transcript
from toolkeel_compat.langchain.threads.updates import Update
from toolkeel_compat.langchain.tool_node import Config, Invokable


class ThreadStates(Invokable):
    """An agent's methods for the states of its threads.

    Attributes:
        agent: The core's agent.
        node: The name of the model's node.
    """

    agent: Agent[Any, Any]
    node: str
    _saver: InMemorySaver | None
    _store: Any
    _reviewer: HumanInTheLoopMiddleware
    _reducers: Reducers | None
    _config: Mapping[str, Any] = NOTHING

    def _merge_config(self, config: Config) -> dict[str, Any]:
        """Return a run's config with the agent's own values where it has none."""
        own, given = self._config, config or {}
        both = {**(own.get("configurable") or {}), **(given.get("configurable") or {})}
        return {**own, **given} | ({"configurable": both} if both else {})

    def get_state(self, config: Mapping[str, Any]) -> StateSnapshot:
        """Return the current state of a thread.

        Args:
            config: The config with its ``thread_id``.

        Raises:
            SetupError: The agent has no checkpointer.
        """
        saver, config = self._need_saver("get_state()"), self._merge_config(config)
        snapshot = saver.snapshot(config)
        waits = self._list_waiting(saver.thread(config))
        return dataclasses.replace(snapshot, interrupts=tuple(waits))

    def _list_waiting(self, session: Session) -> list[Interrupt]:
        """Return the interrupts that wait in a thread."""
        if not session.exists:
            return []
        unseen: Runtime[Any] = Runtime(None, self._store, lambda value: None)
        state: dict[str, Any] = {"messages": read_transcript(session.messages, session.state)}
        state |= session.state
        return self._build_interrupts(session.pending, state, unseen)

    def _build_interrupts(
        self, tickets: Sequence[Ticket], state: dict[str, Any], runtime: Any
    ) -> list[Interrupt]:
        """Return the waiting interrupts: calls that need approval, and `interrupt` in tools."""
        inner = load_interrupts(state, tickets)
        known = {id for one in inner for id in one.ticket_ids}
        asked = [one for one in tickets if not (one.external or one.id in known)]
        about = self._reviewer.make_interrupts(asked, state, runtime)
        return [*about, *inner, *list_interrupts(tickets)]

    def get_state_history(self, config: Mapping[str, Any]) -> Iterator[StateSnapshot]:
        """Yield the states of a thread after each step, the latest first.

        Raises:
            SetupError: The agent has no checkpointer.
        """
        return self._need_saver("get_state_history()").history(self._merge_config(config))

    def update_state(
        self,
        config: Mapping[str, Any],
        values: Mapping[str, Any] | None,
        as_node: str | None = None,
    ) -> dict[str, Any]:
        """Add messages and values to a thread, without a run, and return its config.

        Args:
            config: The config with its ``thread_id``.
            values: New values by key of the state, joined by its reducers; messages are added.
            as_node: ``__start__`` if the model answers next, as it does in a new thread.

        Raises:
            InvalidUpdateError: The thread cannot have this update; the message says what to do.
            SessionBusy: A run of the thread is active.
            SetupError: The agent has no checkpointer.
        """
        saver, config = self._need_saver("update_state()"), self._merge_config(config)
        update = Update(values or {}, as_node, self.node, self._reducers, self.agent)
        return saver.update(config, update)

    async def aupdate_state(
        self,
        config: Mapping[str, Any],
        values: Mapping[str, Any] | None,
        as_node: str | None = None,
    ) -> dict[str, Any]:
        """Call `update_state`, for async code."""
        return await asyncio.to_thread(self.update_state, config, values, as_node)

    def _need_saver(self, method: str) -> InMemorySaver:
        if self._saver is None:
            raise SetupError(f"{method} needs an agent with a checkpointer")
        return self._saver

    async def aget_state(self, config: Mapping[str, Any]) -> StateSnapshot:
        """Call `get_state`, for async code."""
        return self.get_state(config)
