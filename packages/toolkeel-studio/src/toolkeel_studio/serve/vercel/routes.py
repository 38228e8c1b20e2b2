"""The routes of the UI message stream: send, resume, load, cancel.

``POST api/chat``               a message, approvals, results of client tools, or: answer again
``GET api/chat/{id}/stream``    the message that is being written, from its start; 204 for none
``GET api/chat/{id}``           all messages, for a page that loads
``POST api/chat/{id}/cancel``   stop the run
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial
from typing import Literal

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from toolkeel._records.entries import RunEnded
from toolkeel._records.tickets import Ticket
from toolkeel.define.options import external
from toolkeel.sessions.errors import SessionError
from toolkeel_studio.serve.channel import Channel
from toolkeel_studio.serve.errors import ChannelError, UnknownApproval, UnknownSession
from toolkeel_studio.serve.items import Item
from toolkeel_studio.serve.service import Service, mask_error
from toolkeel_studio.serve.snapshot import PendingApproval, Snapshot
from toolkeel_studio.serve.vercel.decode import VercelRequest, check_input, decode_request
from toolkeel_studio.serve.vercel.encode import HEADERS, VercelEncoder, call_input
from toolkeel_studio.serve.vercel.history import (
    is_said,
    last_message,
    read_messages,
    request_before,
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

    def _encoder(self, message_id: str = "") -> VercelEncoder:
        return VercelEncoder(self._is_external, mask_error, message_id)

    def _is_external(self, name: str) -> bool:
        tools = self._service.channels.agent.tools
        return name in tools and tools[name].executor is external

    async def _find(self, request: Request) -> Channel:
        user = await self._service.user_of(request)
        channel = await asyncio.to_thread(self._current, request.path_params["id"], user)
        if not channel.session.exists:
            raise UnknownSession("there is no such chat")
        return channel

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
        channel = await self._find(request)
        messages = await asyncio.to_thread(read_messages, channel.session, self._encoder)
        return JSONResponse(messages)

    async def cancel(self, request: Request) -> Response:
        """Stop the run of a chat."""
        await (await self._find(request)).cancel()
        return JSONResponse({"cancelled": True})

    async def resume(self, request: Request) -> Response:
        """Stream the message that is being written, from its start."""
        channel = await self._find(request)
        if not await asyncio.to_thread(lambda: channel.is_running):
            return Response(status_code=204)
        number, _ = await asyncio.to_thread(last_message, channel.session)
        lines = self._lines(channel, number, self._encoder(), "")
        return self._service.stream(channel, lines, HEADERS)

    async def send(self, request: Request) -> Response:
        """Apply a request, and stream what follows from it."""
        user = await self._service.user_of(request)
        asked = decode_request(await self._service.read_json(request))
        channel = await asyncio.to_thread(self._current, asked.chat, user)
        if asked.replaces is not None:
            channel = await self._answer_again(channel, asked, user)
        before = await asyncio.to_thread(channel.snapshot)
        await self._decide(channel, before, asked, user)
        if asked.message_id:
            if not await channel.say(asked.content, id=asked.message_id, who=user):
                before = Snapshot("0.0")
            encoder, number = self._encoder(), before.number
        elif asked.replaces is not None:  # from its start: what was done for it is part of it
            encoder = self._encoder()
            number, _ = await asyncio.to_thread(last_message, channel.session)
            await channel.resume()
        else:
            _, id = await asyncio.to_thread(last_message, channel.session)
            encoder, number = self._encoder(id), before.number
        lines = self._lines(channel, number, encoder, asked.message_id)
        return self._service.stream(channel, lines, HEADERS)

    async def _lines(
        self, channel: Channel, after: str, encoder: VercelEncoder, said: str
    ) -> AsyncGenerator[str, None]:
        """Yield the events of one message.

        Args:
            channel: The session.
            after: Where to start.
            encoder: Makes the chunks.
            said: Id of a message of the person; what comes before it is passed over.
        """
        async with aclosing(channel.read(after, follow=False)) as items:
            async for item in items:
                if said:
                    said = "" if is_said(item) and item.message_id == said else said
                    continue
                if await _has_continued(channel, item):
                    continue
                for chunk in encoder.encode(item):
                    yield _event(chunk)
                if encoder.is_done:
                    break
        for chunk in encoder.finish():
            yield _event(chunk)
        yield "data: [DONE]\n\n"

    async def _decide(
        self, channel: Channel, before: Snapshot, asked: VercelRequest, user: str
    ) -> None:
        """Apply the decisions and results of a request: all of them, or none.

        Raises:
            ChannelError: one of them is not allowed.
        """
        pending = {each.approval_id: each for each in before.pending}
        inputs = _inputs(before)
        for answer in asked.answers:
            waits = pending.get(answer.approval_id)
            if waits is not None:
                check_input(answer, waits.ticket, inputs.get(waits.call_id))
                await self._service.check_decider(user, waits.ticket)
            elif not await _was_decided(channel, answer.approval_id):
                raise UnknownApproval("what was shown does not wait any more")
        for answer in asked.answers:
            verdict: Literal["approve", "deny"] = "approve" if answer.approved else "deny"
            await channel.decide(answer.approval_id, verdict, reason=answer.reason, who=user)
        open_calls = {t.call_id for t in _externals(before.pending)}
        for result in asked.results:
            if result.call_id in open_calls:
                await channel.answer(result.call_id, result.value, who=user)

    async def _answer_again(self, channel: Channel, asked: VercelRequest, user: str) -> Channel:
        """Fork a session before the last request of a message, so that the model is asked again.

        Raises:
            ChannelError: there is no such message, or a run is active.
        """
        if asked.message_id:
            raise ChannelError("a message that was sent cannot be changed; send a new one")
        if channel.is_running:
            raise UnknownApproval("the run has not ended; stop it first")
        source = channel.session
        seq = await asyncio.to_thread(request_before, source, asked.replaces or "")
        if not seq:
            raise UnknownSession("there is no such message")
        for n in range(2, MAX_FORKS):
            to, sessions = _fork_name(asked.chat, n), self._service.channels.sessions
            fork = partial(sessions.fork, source.name, to, before=seq, scope=user)
            if not self._service.channels.open(to, user).session.exists:
                try:
                    await asyncio.to_thread(fork)
                except SessionError as error:
                    raise ChannelError(str(error)) from None
                return self._service.channels.open(to, user)
        raise ChannelError("this chat was answered again too often; start a new one")


def _fork_name(chat: str, n: int) -> str:
    return f"{chat}~{n}"


def _event(chunk: object) -> str:
    return f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n"


def _inputs(snapshot: Snapshot) -> dict[str, object]:
    """Return the arguments of all calls as they were sent, by the call's id."""
    return {
        call.id: call_input(call)
        for each in snapshot.messages
        for call in getattr(each.message, "tool_calls", ())
    }


def _externals(pending: tuple[PendingApproval, ...]) -> list[Ticket]:
    return [each.ticket for each in pending if each.ticket.external and not each.is_decided]


async def _has_continued(channel: Channel, item: Item) -> bool:
    """Return True for the end of a run that has only waited there, and has continued since."""
    if not isinstance(item.body, RunEnded) or item.body.reason != "waiting":
        return False
    info = await asyncio.to_thread(lambda: channel.session.info)
    return info.head > item.position.entry


async def _was_decided(channel: Channel, approval_id: str) -> bool:
    ticket, _, seal = approval_id.partition(".")
    first = await asyncio.to_thread(channel.session.find_decision, ticket)
    return first is not None and first.decision.seal == seal
