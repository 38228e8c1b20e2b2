"""The routes of AG-UI: run, messages, cancel.

``POST agui``                     a run: a message, decisions, results of the client's tools, or nothing new
``GET threads/{id}/messages``     all messages of a thread
``POST threads/{id}/cancel``      stop the run
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import aclosing
from typing import NamedTuple

from ag_ui.core.events import BaseEvent, MessagesSnapshotEvent
from ag_ui.encoder import EventEncoder
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from toolkeel._records.entries import PersonSaid, RunEnded, Steered
from toolkeel._records.tickets import Ticket
from toolkeel_studio.serve.agui.decode import AguiRequest, decode_request, for_call, for_form
from toolkeel_studio.serve.agui.encode import AguiEncoder, interrupt_of
from toolkeel_studio.serve.agui.history import messages_of
from toolkeel_studio.serve.channel import Channel
from toolkeel_studio.serve.client_tools import check_client_tools, check_result
from toolkeel_studio.serve.decisions import Choice, decide_question, decide_ticket
from toolkeel_studio.serve.errors import ChannelError, UnknownApproval
from toolkeel_studio.serve.items import Item, Question, split_approval_id
from toolkeel_studio.serve.service import Protocol, Service, mask_error
from toolkeel_studio.serve.snapshot import Snapshot


def agui_routes(service: Service) -> list[BaseRoute]:
    """Return the routes of AG-UI, whose clients see nothing of the sessions' state."""
    return agui()(service)


def agui(state: Iterable[str] = ()) -> Protocol:
    """Return AG-UI as a protocol for `app`.

    Args:
        state: Keys of the sessions' state that clients see. They can write none.
    """
    keys = tuple(state)

    def make_routes(service: Service) -> list[BaseRoute]:
        front = _Front(service, keys)
        return [
            Route("/agui", front.run, methods=["POST"]),
            Route("/threads/{id}/messages", front.load, methods=["GET"]),
            Route("/threads/{id}/cancel", front.cancel, methods=["POST"]),
        ]

    return make_routes


class _Open(NamedTuple):
    """A call or a question that waits for a decision."""

    ticket: Ticket
    call_id: str


class _Front:
    """The handlers of the routes."""

    def __init__(self, service: Service, keys: tuple[str, ...]) -> None:
        self._service = service
        self._keys = keys

    async def load(self, request: Request) -> Response:
        """Return all messages of a thread."""
        channel = await self._service.find(request, request.path_params["id"])
        messages = messages_of(await asyncio.to_thread(channel.snapshot))
        return JSONResponse([each.model_dump(by_alias=True) for each in messages])

    async def cancel(self, request: Request) -> Response:
        """Stop the run of a thread."""
        await (await self._service.find(request, request.path_params["id"])).cancel()
        return JSONResponse({"cancelled": True})

    async def run(self, request: Request) -> Response:
        """Apply a request, and stream what follows from it."""
        user = await self._service.user_of(request)
        asked = decode_request(await self._service.read_json(request))
        channel = self._service.channels.open(asked.thread_id, user)
        encoder = AguiEncoder(
            asked.thread_id,
            asked.run_id,
            mask_error,
            is_current=asked.is_current,
            state=self._keys,
        )
        before = await asyncio.to_thread(channel.snapshot)
        try:
            notes, is_new = await self._apply(channel, before, asked, user)
        except ChannelError as error:
            return self._service.stream(channel, _refused(encoder, str(error)), {})
        events = self._events(channel, before, encoder, asked if is_new else None, notes)
        return self._service.stream(channel, _lines(events), {})

    async def _events(
        self,
        channel: Channel,
        before: Snapshot,
        encoder: AguiEncoder,
        asked: AguiRequest | None,
        notes: list[str],
    ) -> AsyncGenerator[BaseEvent, None]:
        """Yield the events of one run of the protocol.

        Args:
            channel: The session.
            before: The session before the request was applied.
            encoder: Makes the events.
            asked: What was applied; None if nothing was new: then the messages are sent first.
            notes: Interrupts on which somebody else has decided first.
        """
        for event in encoder.start():
            yield event
        if asked is None:
            yield _messages_event(before)
        for event in encoder.snapshot_state(before.state):
            yield event
        for id in notes:
            yield encoder.note("already_decided", {"interruptId": id})
        said = "" if asked is None else asked.message_id
        if asked is not None or await asyncio.to_thread(lambda: channel.is_running):
            async with aclosing(self._follow(channel, before.number, encoder, said)) as events:
                async for event in events:
                    yield event
        if not encoder.is_done:
            now = await asyncio.to_thread(channel.snapshot)
            for event in _wait(channel, now, encoder):
                yield event

    async def _follow(
        self, channel: Channel, after: str, encoder: AguiEncoder, said: str
    ) -> AsyncGenerator[BaseEvent, None]:
        """Yield the events of items until the run ends or waits.

        Args:
            channel: The session.
            after: Where to start.
            encoder: Makes the events.
            said: Id of a message of the person; what comes before it is passed over.
        """
        async with aclosing(channel.read(after, follow=False)) as items:
            async for item in items:
                if said:
                    said = "" if _is_said(item, said) else said
                    continue
                for event in encoder.encode(item):
                    yield event
                if encoder.is_done or isinstance(item.body, Question):
                    return
                if isinstance(item.body, RunEnded) and item.body.reason == "waiting":
                    now = await asyncio.to_thread(channel.snapshot)
                    if not item.within and any(not each.is_decided for each in now.pending):
                        return

    # — what a client sends —

    async def _apply(
        self, channel: Channel, before: Snapshot, asked: AguiRequest, user: str
    ) -> tuple[list[str], bool]:
        """Apply a request: all of it, or nothing.

        Returns:
            The interrupts on which somebody else has decided first, and True if anything was new.

        Raises:
            ChannelError: a part of it is not allowed.
        """
        own = self._service.channels.agent.tools
        tools = None if asked.tools is None else check_client_tools(asked.tools, own)
        waiting = _open_tickets(channel, before)
        choices = await self._check_answers(channel, waiting, asked, user)
        calls = {
            each.call_id: each.ticket.tool
            for each in before.pending
            if _is_external(each.ticket, each.is_decided)
        }
        results = {
            id: check_result(self._value_of(calls[id], text))
            for id, text in asked.results.items()
            if id in calls
        }
        notes, is_new = [], bool(choices or results)
        for id, choice in choices.items():
            first = await channel.decide(
                id, choice.verdict, reason=choice.reason, arguments=choice.arguments, who=user
            )
            notes += [id] if first is not None and id in waiting else []
        for id, value in results.items():
            await channel.answer(id, value, who=user)
        if asked.message_id:
            is_said = await channel.say(asked.content, id=asked.message_id, who=user, tools=tools)
            is_new = is_said or is_new
        return notes, is_new

    def _value_of(self, tool: str, text: str) -> object:
        """Return a result as JSON data if the tool declares that, else as text."""
        own = self._service.channels.agent.tools
        if tool in own and own[tool].output is not None:
            try:
                return json.loads(text)
            except ValueError:
                return text
        return text

    async def _check_answers(
        self, channel: Channel, waiting: dict[str, _Open], asked: AguiRequest, user: str
    ) -> dict[str, Choice]:
        """Return the decisions of a request, by approval id.

        Raises:
            ChannelError: one is not allowed, or not all that waits is decided.
        """
        if waiting and not asked.answers:
            if asked.is_empty or not asked.message_id:
                return {}
            raise UnknownApproval("the thread waits: answer its interrupts with resume first")
        if left := waiting.keys() - asked.answers.keys():
            raise UnknownApproval(f"resume answers all open interrupts; {len(left)} are missing")
        choices: dict[str, Choice] = {}
        for id, choice in asked.answers.items():
            if (each := waiting.get(id)) is None:
                await _check_decided(channel, id)
                continue
            await self._service.check_decider(user, each.ticket)
            if each.ticket.form:
                choices[id] = for_form(choice)
                decide_question(each.ticket, choices[id])
            else:
                choices[id] = for_call(choice)
                decide_ticket(each.ticket, choices[id], self._service.channels.agent.tools)
        return choices


def _wait(channel: Channel, now: Snapshot, encoder: AguiEncoder) -> Iterator[BaseEvent]:
    """Yield the end of a run that waits, or in which nothing was to do."""
    yield from encoder.snapshot_state(now.state)
    waiting = _open_tickets(channel, now).items()
    asked = [interrupt_of(each.ticket, id, each.call_id) for id, each in waiting]
    calls = [each.call_id for each in now.pending if _is_external(each.ticket, each.is_decided)]
    yield from encoder.wait(asked, calls)


def _open_tickets(channel: Channel, snapshot: Snapshot) -> dict[str, _Open]:
    """Return what waits for a decision, by approval id; without the calls that the client runs."""
    calls = {
        each.approval_id: _Open(each.ticket, each.call_id)
        for each in snapshot.pending
        if not (each.is_decided or each.ticket.external)
    }
    return calls | {id: _Open(ticket, ticket.call_id) for id, ticket in channel.questions.items()}


def _is_external(ticket: Ticket, is_decided: bool) -> bool:
    return ticket.external and not is_decided


async def _check_decided(channel: Channel, approval_id: str) -> None:
    """Raise unless a call was decided with this approval id."""
    ticket, seal = split_approval_id(approval_id)
    first = await asyncio.to_thread(channel.session.find_decision, ticket)
    if first is None or first.decision.seal != seal:
        raise UnknownApproval("this interrupt is not open in this thread")


def _is_said(item: Item, id: str) -> bool:
    return isinstance(item.body, PersonSaid | Steered) and not item.within and item.message_id == id


def _messages_event(snapshot: Snapshot) -> BaseEvent:
    return MessagesSnapshotEvent(messages=messages_of(snapshot))


async def _refused(encoder: AguiEncoder, reason: str) -> AsyncGenerator[str, None]:
    """Yield a run that a client may not have; it may know why."""
    for event in (*encoder.start(), *encoder.fail(reason)):
        yield EventEncoder().encode(event)


async def _lines(events: AsyncGenerator[BaseEvent, None]) -> AsyncGenerator[str, None]:
    encoder = EventEncoder()
    async with aclosing(events):
        async for event in events:
            yield encoder.encode(event)
