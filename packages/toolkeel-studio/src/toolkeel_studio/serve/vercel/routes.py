"""The routes of the UI message stream: send, resume, load, cancel.

``POST api/chat``               a message, approvals, results of client tools, or: answer again
``GET api/chat/{id}/stream``    the message that is being written, from its start; 204 for none
``GET api/chat/{id}``           all messages, for a page that loads
``POST api/chat/{id}/cancel``   stop the run
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection
from contextlib import aclosing
from dataclasses import replace
from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from toolkeel._records.entries import Decided
from toolkeel.sessions.errors import SessionError
from toolkeel.sessions.session import Session
from toolkeel_studio.serve.channel import Channel
from toolkeel_studio.serve.errors import ChannelError, UnknownSession
from toolkeel_studio.serve.items import Item, is_said
from toolkeel_studio.serve.json_responses import JsonResponse
from toolkeel_studio.serve.requests import apply_request
from toolkeel_studio.serve.service import Service, mask_error
from toolkeel_studio.serve.snapshot import Snapshot
from toolkeel_studio.serve.stream import DONE, encode_run, to_event
from toolkeel_studio.serve.vercel.decode import VercelRequest, check_inputs, decode_request
from toolkeel_studio.serve.vercel.encode import HEADERS, VercelEncoder
from toolkeel_studio.serve.vercel.history import (
    has_message,
    last_message,
    place_of_calls,
    read_messages,
    request_before,
    turn_of,
)

API = "/api/chat"
MAX_FORKS = 1000


def vercel_routes(service: Service) -> list[BaseRoute]:
    """Return the routes of the UI message stream."""
    front = _Front(service)
    return [
        Route(API, front.send, methods=["POST"]),
        Route(API + "/{id}", front.load, methods=["GET"]),
        Route(API + "/{id}/stream", front.resume, methods=["GET"]),
        Route(API + "/{id}/cancel", front.cancel, methods=["POST"]),
    ]


class _Front:
    """The handlers of the routes."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def _encoder(self, message_id: str = "", before: Snapshot | None = None) -> VercelEncoder:
        return VercelEncoder(self._service.is_external(), mask_error, message_id, before)

    async def _find(self, request: Request) -> Channel:
        """Return the channel of a chat, which need not exist: a page makes the name of a new one."""
        user = await self._service.user_of(request)
        return await asyncio.to_thread(self._current, request.path_params["id"], user)

    def _current(self, chat: str, user: str) -> Channel:
        """Return the channel of a chat: of the last fork, if messages were answered again."""
        found = self._service.channels.open(chat, user)
        for n in range(2, MAX_FORKS):
            later = self._service.channels.open(_fork_name(chat, n), user)
            if not later.session.exists:
                break
            found = later
        return found

    async def load(self, request: Request) -> Response:
        """Return all messages of a chat."""
        session = (await self._find(request)).session
        is_external = self._service.is_external()
        return JsonResponse(await asyncio.to_thread(read_messages, session, is_external))

    async def cancel(self, request: Request) -> Response:
        """Stop the run of a chat."""
        await (await self._find(request)).cancel()
        return JsonResponse({"cancelled": True})

    async def resume(self, request: Request) -> Response:
        """Stream the message that is being written, from its start."""
        channel = await self._find(request)
        exists = await asyncio.to_thread(lambda: channel.session.exists)
        if not (exists and await channel.recover()):
            return Response(status_code=204)
        number, _ = await asyncio.to_thread(last_message, channel.session)
        lines = self._lines(channel, number, self._encoder())
        return self._service.stream(channel, lines, HEADERS)

    async def send(self, request: Request) -> Response:
        """Apply a request, and stream what follows from it."""
        user = await self._service.user_of(request)
        sent = decode_request(await self._service.read_json(request))
        channel = await asyncio.to_thread(self._current, sent.chat, user)
        if await asyncio.to_thread(_replaces, channel.session, sent):
            channel = await self._replace(channel, sent, user)
        before = await channel.status()
        if not (sent.asked.content or sent.asked.answers or before.position.entry):
            raise UnknownSession("there is no such chat, and no message to start it")
        check_inputs(sent, before)
        earlier = {id: sent.earlier[id] for id in sent.earlier.keys() & before.undecided.keys()}
        asked = replace(sent.asked, answers={**earlier, **sent.asked.answers})
        applied = await apply_request(self._service, channel, before, asked, user)
        lines = self._lines(channel, *await self._place(channel, before, sent, applied.is_said))
        return self._service.stream(channel, lines, HEADERS)

    async def _place(
        self, channel: Channel, before: Snapshot, sent: VercelRequest, is_new: bool
    ) -> tuple[str, VercelEncoder, Callable[[Item], bool] | None]:
        """Return after which number the stream of a request begins, its encoder, and its first item."""
        if id := sent.asked.message_id:
            return before.number if is_new else "0.0", self._encoder(), partial(is_said, id=id)
        if sent.replaces is not None:  # from its start: what was done for it is part of it
            number, _ = await asyncio.to_thread(last_message, channel.session)
            await channel.resume()
            return number, self._encoder(), None
        calls = sent.asked.answers.keys() | sent.asked.results.keys()
        place = await asyncio.to_thread(place_of_calls, channel.session, calls)
        starts = partial(_is_decided, ids=place.deferred) if place.deferred else None
        return place.number or before.number, self._encoder(place.message_id, before), starts

    async def _lines(
        self,
        channel: Channel,
        after: str,
        encoder: VercelEncoder,
        starts: Callable[[Item], bool] | None = None,
    ) -> AsyncGenerator[str, None]:
        """Yield the events of one message; see `encode_run`."""
        run = encode_run(channel, after, encoder, starts=starts, is_across_waits=True)
        async with aclosing(run) as batches:
            async for chunks in batches:
                yield "".join(map(to_event, chunks))
        yield DONE

    async def _replace(self, channel: Channel, sent: VercelRequest, user: str) -> Channel:
        """Fork a session before the message of a person that changes, or before the last request of an answer.

        A run that is active or waits is canceled: nobody reads its answer any more.

        Raises:
            ChannelError: there is no such message, or it has joined a run.
        """
        source, sessions = channel.session, self._service.channels.sessions
        if id := sent.asked.message_id:
            place = await asyncio.to_thread(turn_of, source, id)
            fork = partial(sessions.edit, source.name, place, scope=user)
        else:
            place = await asyncio.to_thread(request_before, source, sent.replaces or "")
            fork = partial(sessions.fork, source.name, before=place, scope=user)
        if not place:
            raise UnknownSession("there is no such message, or it has joined a run")
        await channel.end()
        return await asyncio.to_thread(self._fork, sent.chat, user, fork)

    def _fork(self, chat: str, user: str, fork: Callable[..., object]) -> Channel:
        """Make a fork under the next free name, and return its channel."""
        for n in range(2, MAX_FORKS):
            made = self._service.channels.open(_fork_name(chat, n), user)
            if made.session.exists:
                continue
            try:
                fork(to=made.session.name)
            except SessionError as error:
                raise ChannelError(str(error)) from None
            return made
        raise ChannelError("this chat was answered again too often; start a new one")


def _fork_name(chat: str, n: int) -> str:
    return f"{chat}~{n}"


def _replaces(session: Session, sent: VercelRequest) -> bool:
    """Return True if a request replaces an answer or a message; one that never arrived is new."""
    id = sent.asked.message_id
    return sent.replaces is not None and (not id or has_message(session, id))


def _is_decided(item: Item, ids: Collection[str]) -> bool:
    """Return True for a decision on one of these approval ids."""
    return isinstance(item.body, Decided) and item.approval_id in ids
