"""The routes of AG-UI: run, messages, cancel.

``POST agui``                     a run: a message, decisions, results of the client's tools, or nothing new
``GET threads/{id}/messages``     all messages of a thread
``POST threads/{id}/cancel``      stop the run
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Collection, Iterable, Iterator
from contextlib import aclosing, suppress
from dataclasses import replace
from functools import partial

from ag_ui.core.events import BaseEvent, MessagesSnapshotEvent, ToolCallResultEvent
from ag_ui.encoder import EventEncoder
from pydantic_core import PydanticSerializationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from toolkeel._records.tickets import Ticket
from toolkeel_studio.serve.agui.decode import decode_request, fit_answer
from toolkeel_studio.serve.agui.encode import AguiEncoder, interrupt_of
from toolkeel_studio.serve.agui.history import messages_of
from toolkeel_studio.serve.channel import Channel
from toolkeel_studio.serve.errors import ChannelError, UnknownApproval
from toolkeel_studio.serve.items import is_said
from toolkeel_studio.serve.json_responses import JsonResponse
from toolkeel_studio.serve.requests import Applied, ClientRequest, apply_request
from toolkeel_studio.serve.service import Protocol, Service, mask_error
from toolkeel_studio.serve.snapshot import Snapshot
from toolkeel_studio.serve.stream import encode_run, to_event


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


class _Front:
    """The handlers of the routes."""

    def __init__(self, service: Service, keys: tuple[str, ...]) -> None:
        self._service = service
        self._keys = keys

    async def load(self, request: Request) -> Response:
        """Return all messages of a thread."""
        channel = await self._service.find(request, request.path_params["id"])
        messages = messages_of(await asyncio.to_thread(channel.snapshot))
        return JsonResponse([each.model_dump(by_alias=True) for each in messages])

    async def cancel(self, request: Request) -> Response:
        """Stop the run of a thread."""
        await (await self._service.find(request, request.path_params["id"])).cancel()
        return JsonResponse({"cancelled": True})

    async def run(self, request: Request) -> Response:
        """Apply a request, and stream what follows from it."""
        user = await self._service.user_of(request)
        body = decode_request(await self._service.read_json(request))
        channel = self._service.channels.open(body.thread_id, user)
        ids = body.thread_id, body.run_id
        before = await channel.status()
        encoder = AguiEncoder(
            *ids,
            mask_error,
            is_current=body.is_current,
            state=self._keys,
            begun=before.inner_runs,
        )
        try:
            asked = self._check(channel, before, body.asked)
            applied = await apply_request(self._service, channel, before, asked, user)
        except ChannelError as error:
            return self._service.stream(channel, _refused(encoder, str(error)), {})
        message_id = body.asked.message_id
        if not applied.is_new:
            before, message_id = await asyncio.to_thread(channel.snapshot), ""
        batches = self._events(channel, before, encoder, applied, message_id)
        if applied.is_new:  # else the client gets all messages first
            batches = _without_results(batches, body.asked.results.keys() & _external(before))
        return self._service.stream(channel, _lines(batches), {})

    def _check(self, channel: Channel, now: Snapshot, asked: ClientRequest) -> ClientRequest:
        """Return what a client sends, with decisions and results decoded.

        Raises:
            UnknownApproval: it does not decide all that waits.
        """
        waiting = _open_tickets(channel, now)
        if left := waiting.keys() - asked.answers.keys():
            if asked.answers.keys() & waiting.keys():
                raise UnknownApproval(
                    f"resume answers all open interrupts; {len(left)} are missing"
                )
            if asked.content:
                raise UnknownApproval("the thread waits: answer its interrupts with resume first")
        calls = now.external_calls
        answers = {
            id: fit_answer(choice, waiting.get(id, (None, ""))[0])
            for id, choice in asked.answers.items()
        }
        results = {
            id: self._value_of(calls[id].tool, str(text))
            for id, text in asked.results.items()
            if id in calls
        }
        return replace(asked, answers=answers, results=results)

    def _value_of(self, tool: str, text: str) -> object:
        """Return a result as JSON data if the tool declares that, else as text."""
        own = self._service.channels.agent.tools
        if tool in own and own[tool].output is not None:
            with suppress(ValueError):
                return json.loads(text)
        return text

    async def _events(
        self, channel: Channel, before: Snapshot, encoder: AguiEncoder, applied: Applied, said: str
    ) -> AsyncGenerator[list[BaseEvent], None]:
        """Yield the events of one run of the protocol.

        Args:
            channel: The session.
            before: The session before the request was applied.
            encoder: Makes the events.
            applied: What the request has changed; if nothing, the messages are sent first.
            said: Id of the new message; what comes before it is passed over.
        """
        made = [*encoder.start()]
        if not applied.is_new:
            made.append(MessagesSnapshotEvent(messages=messages_of(before)))
        made += encoder.snapshot_state(before.state)
        made += [encoder.note("already_decided", {"interruptId": id}) for id in applied.late]
        yield made
        if applied.is_new or (before.position.entry and await channel.recover()):
            starts = partial(is_said, id=said) if said else None
            run = encode_run(channel, before.number, encoder, starts=starts, is_across_waits=True)
            async with aclosing(run) as batches:
                async for batch in batches:
                    yield batch
        if encoder.is_waiting or not encoder.is_done:
            yield [*_wait(channel, await channel.status(), encoder)]


def _wait(channel: Channel, now: Snapshot, encoder: AguiEncoder) -> Iterator[BaseEvent]:
    """Yield the end of a run that waits, or in which nothing was to do."""
    yield from encoder.snapshot_state(now.state)
    waiting = _open_tickets(channel, now).items()
    asked = [interrupt_of(ticket, id, call_id) for id, (ticket, call_id) in waiting]
    yield from encoder.wait(asked, [*now.external_calls])


def _external(before: Snapshot) -> set[str]:
    """Return the ids of the calls that a client has run or is to run, among those that wait."""
    return {each.call_id for each in before.pending if each.ticket.external}


async def _without_results(
    batches: AsyncGenerator[list[BaseEvent], None], calls: Collection[str]
) -> AsyncGenerator[list[BaseEvent], None]:
    """Yield events without the results of these calls: their client has added them itself."""
    async with aclosing(batches):
        async for batch in batches:
            yield [
                event
                for event in batch
                if not (isinstance(event, ToolCallResultEvent) and event.tool_call_id in calls)
            ]


def _open_tickets(channel: Channel, now: Snapshot) -> dict[str, tuple[Ticket, str]]:
    """Return what waits for a decision and its call, by approval id."""
    calls = {id: (each.ticket, each.call_id) for id, each in now.undecided.items()}
    return calls | {id: (ticket, ticket.call_id) for id, ticket in channel.questions.items()}


async def _refused(encoder: AguiEncoder, reason: str) -> AsyncGenerator[str, None]:
    """Yield a run that a client may not have; it may know why."""
    for event in (*encoder.start(), *encoder.fail(reason)):
        yield _line(event)


async def _lines(batches: AsyncGenerator[list[BaseEvent], None]) -> AsyncGenerator[str, None]:
    async with aclosing(batches):
        async for batch in batches:
            yield "".join(map(_line, batch))


def _line(event: BaseEvent) -> str:
    try:
        return EventEncoder().encode(event)
    except PydanticSerializationError:  # half of a surrogate pair
        return to_event(event.model_dump(mode="json", by_alias=True))
