"""The routes of OpenAI's Responses, and the list of models.

``GET v1/models``                    the agent's name; with ``/{id}``, the agent as a model
``POST v1/responses``                a message, approvals, results of client tools
``GET v1/responses/{id}``            a response, also while it is made; events with ``stream=true``
``POST v1/responses/{id}/cancel``    stop the run
``POST v1/chat/completions``         see `completions`
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from time import time
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from toolkeel._records.entries import RunBegan, RunEnded
from toolkeel.messages import AssistantMessage, ToolCall, ToolMessage
from toolkeel.sessions.errors import SessionError
from toolkeel_studio.serve.channel import Channel
from toolkeel_studio.serve.client_tools import ClientTool
from toolkeel_studio.serve.errors import (
    ChannelError,
    SessionBusy,
    UnknownApproval,
    UnknownSession,
)
from toolkeel_studio.serve.items import Item
from toolkeel_studio.serve.json_responses import JsonResponse
from toolkeel_studio.serve.numbering import number_journal
from toolkeel_studio.serve.openai_api.completions import Completions
from toolkeel_studio.serve.openai_api.decode import ResponseRequest, decode_response_request
from toolkeel_studio.serve.openai_api.ids import ResponseId, parse_response_id
from toolkeel_studio.serve.openai_api.responses import Event, ResponseEncoder
from toolkeel_studio.serve.requests import (
    ClientRequest,
    apply_request,
    check_idle,
    is_answering,
)
from toolkeel_studio.serve.service import Service, mask_error
from toolkeel_studio.serve.snapshot import Snapshot
from toolkeel_studio.serve.stream import encode_run, to_event

MAX_DIGITS = 18
"""Most characters of the number of an event: Python reads no endless one."""
KINDS: Final = {404: "not_found_error", 500: "server_error"}
"""Types of errors by status."""
Handler = Callable[[Request], Awaitable[Response]]


def openai_routes(service: Service) -> list[BaseRoute]:
    """Return the routes of Responses and Chat Completions."""
    front, chat = _Responses(service), Completions(service)
    one = "/v1/responses/{id}"
    return [
        Route("/v1/models", _with_errors(front.models), methods=["GET"]),
        Route("/v1/models/{id:path}", _with_errors(front.models), methods=["GET"]),
        Route("/v1/responses", _with_errors(front.create), methods=["POST"]),
        Route(one, _with_errors(front.retrieve), methods=["GET"]),
        Route(one + "/cancel", _with_errors(front.cancel), methods=["POST"]),
        Route("/v1/chat/completions", _with_errors(chat.create), methods=["POST"]),
    ]


def _with_errors(handler: Handler) -> Handler:
    """Return a handler whose refusals have the shape that OpenAI's clients read."""

    async def handle(request: Request) -> Response:
        try:
            return await handler(request)
        except ChannelError as error:
            kind = KINDS.get(error.status, "invalid_request_error")
            shown = {"message": str(error), "type": kind, "param": None, "code": None}
            if isinstance(error, SessionBusy):  # the Agents SDK tries again after exactly this
                locked = {"param": "conversation", "code": "conversation_locked"}
                return JsonResponse({"error": shown | locked}, 400)
            return JsonResponse({"error": shown}, error.status)

    return handle


class _Responses:
    """The handlers of the responses."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def models(self, request: Request) -> Response:
        """Return the agent as the only model."""
        await self._service.user_of(request)
        name = self._service.channels.agent.name
        model = {"id": name, "object": "model", "created": 0, "owned_by": "toolkeel"}
        asked = request.path_params.get("id")
        if asked is None:
            return JsonResponse({"object": "list", "data": [model]})
        if asked != name:
            raise UnknownSession("there is no such model")
        return JsonResponse(model)

    async def create(self, request: Request) -> Response:
        """Apply a request, and return or stream the response."""
        user = await self._service.user_of(request)
        sent = decode_response_request(await self._service.read_json(request))
        channel, id = await self._place(sent, user)
        now = await channel.status()
        await self._check(channel, now, sent.asked)
        asked = replace(sent.asked, after=id.after)
        await apply_request(self._service, channel, now, asked, user)
        if now.undecided and not sent.asked.content:
            await channel.resume()
        if sent.is_background and not sent.is_stream:
            return JsonResponse((await self._read_now(channel, id)) | {"background": True})
        encoder = await self._encoder(channel, now, id, sent.asked.tools or ())
        events = self._events(channel, id, encoder)
        if sent.is_stream:
            lines, is_background = _lines(events), sent.is_background
            return self._service.stream(channel, lines, {}, is_background=is_background)
        *_, last = await self._service.read_all(request, channel, events)
        return JsonResponse(last[-1]["response"])

    async def retrieve(self, request: Request) -> Response:
        """Return a response as it is now, or stream its events after a number."""
        channel, id = await self._find(request)
        await channel.recover()
        if request.query_params.get("stream") != "true":
            return JsonResponse(await self._read_now(channel, id))
        after = request.query_params.get("starting_after", "-1")
        if not after.removeprefix("-").isdecimal() or len(after) > MAX_DIGITS:
            raise ChannelError("starting_after is the number of an event")
        encoder = await self._encoder(channel, await channel.status(), id)
        lines = _lines(_after(self._events(channel, id, encoder), int(after)))
        return self._service.stream(channel, lines, {}, is_background=True)

    async def cancel(self, request: Request) -> Response:
        """Stop the run of a response, and return it."""
        channel, id = await self._find(request)
        await channel.cancel()
        encoder = await self._encoder(channel, await channel.status(), id)
        async with aclosing(self._events(channel, id, encoder)) as batches:
            *_, last = [batch async for batch in batches]
        return JsonResponse(last[-1]["response"])

    async def _find(self, request: Request) -> tuple[Channel, ResponseId]:
        id = parse_response_id(request.path_params["id"])
        channel = await self._service.find(request, id.session)
        if not await asyncio.to_thread(_has_begun, channel, id.after):
            raise UnknownSession("there is no such response")
        return channel, id

    # — what a response consists of —

    async def _encoder(
        self, channel: Channel, now: Snapshot, id: ResponseId, tools: Sequence[ClientTool] = ()
    ) -> ResponseEncoder:
        calls: dict[str, ToolCall] = {}
        if now.pending or now.position.entry > id.after:
            calls = await asyncio.to_thread(_all_calls, channel)
        is_external = self._service.is_external(now.client_tools | {each.name for each in tools})
        model = self._service.channels.agent.name
        return ResponseEncoder(id, model, calls, is_external, mask_error)

    async def _events(
        self, channel: Channel, id: ResponseId, encoder: ResponseEncoder
    ) -> AsyncGenerator[list[Event], None]:
        yield [*encoder.start(time())]
        run = encode_run(channel, str(id.after), encoder, is_joined=False)
        async with aclosing(run) as batches:
            async for batch in batches:
                yield batch

    async def _read_now(self, channel: Channel, id: ResponseId) -> Event:
        encoder = await self._encoder(channel, await channel.status(), id)
        list(encoder.start(time()))
        for item in await asyncio.to_thread(_items, channel, id.after):
            list(encoder.encode(item))
        return encoder.response()

    # — what a client sends —

    async def _place(self, sent: ResponseRequest, user: str) -> tuple[Channel, ResponseId]:
        """Return the session of a request, and the id of its response.

        Raises:
            ChannelError: there is no such response before, or the session is busy.
        """
        channels = self._service.channels
        if not sent.previous:
            name = sent.conversation or f"response-{secrets.token_hex(12)}"
            channel = channels.open(name, user)
            now = await channel.status()
            await check_idle(self._service, channel, now)
            return channel, ResponseId(name, now.position.entry)
        before = parse_response_id(sent.previous)
        channel = channels.open(before.session, user)
        if not await asyncio.to_thread(lambda: channel.session.exists):
            raise UnknownSession("there is no such response")
        now = await channel.status()  # first: what comes after it makes the response a branch
        end, later = await asyncio.to_thread(_end_of, channel, before.after)
        if not end:
            raise UnknownApproval("the response before is still being made")
        later = later or await is_answering(channel, now)
        if not sent.asked.content:
            return channel, ResponseId(before.session, end)
        if not later:  # what waited may have been canceled since
            return channel, ResponseId(before.session, max(end, now.position.entry))
        name = f"response-{secrets.token_hex(12)}"
        turns = await asyncio.to_thread(_turns_until, channel, end)
        try:
            fork = channels.sessions.fork
            await asyncio.to_thread(fork, before.session, name, turn=turns, scope=user)
        except SessionError as error:
            raise ChannelError(str(error)) from None
        channel = channels.open(name, user)
        return channel, ResponseId(name, (await channel.status()).position.entry)

    async def _check(self, channel: Channel, now: Snapshot, asked: ClientRequest) -> None:
        """Raise unless results are of calls that the client runs, and a message comes when none waits.

        Raises:
            UnknownApproval: they are not.
        """
        waiting = now.external_calls.keys()
        if asked.results.keys() - waiting:
            whole = await asyncio.to_thread(channel.snapshot)
            answered = _answered_calls(whole, self._service.is_external(now.client_tools))
            if asked.results.keys() - waiting - answered:
                raise UnknownApproval("no call with this call_id waits for a result of the client")
        left = now.undecided.keys() - asked.answers.keys()
        if asked.content and (left or waiting - asked.results.keys()):
            raise UnknownApproval(
                "calls wait: send mcp_approval_response or function_call_output for all of them first"
            )


def _has_begun(channel: Channel, after: int) -> bool:
    """Return True if the session has something after an entry, or is about to."""
    session = channel.session
    left = session.inbox or session.decisions
    return (head := session.info.head) > after or (
        head == after and (channel.is_running or bool(left))
    )


def _items(channel: Channel, after: int) -> list[Item]:
    """Return the items after an entry that are in the journal now."""
    return [each for each in number_journal(channel.session) if each.position.entry > after]


def _end_of(channel: Channel, after: int) -> tuple[int, bool]:
    """Return the number of a response's last entry, 0 if it is being made, and if anything follows."""
    end = 0
    for item in _items(channel, after):
        if isinstance(item.body, RunEnded) and not (end or item.within):
            end = item.position.entry
        elif end and isinstance(item.body, RunBegan):
            return end, True
    return end, False


def _turns_until(channel: Channel, end: int) -> int:
    began = (i for i in _items(channel, 0) if isinstance(i.body, RunBegan) and not i.within)
    return sum(1 for item in began if item.position.entry <= end)


def _all_calls(channel: Channel) -> dict[str, ToolCall]:
    """Return the calls of a session, by id."""
    calls: dict[str, ToolCall] = {}
    for each in channel.snapshot().messages:
        if isinstance(each.message, AssistantMessage):
            calls |= {call.id: call for call in each.message.tool_calls}
    return calls


def _answered_calls(now: Snapshot, is_external: Callable[[str], bool]) -> set[str]:
    results = (each.message for each in now.messages)
    return {m.tool_call_id for m in results if isinstance(m, ToolMessage) and is_external(m.name)}


async def _after(
    batches: AsyncGenerator[list[Event], None], number: int
) -> AsyncGenerator[list[Event], None]:
    """Yield the events after a number; at least the last, which has the complete response."""
    last: Event = {}
    async with aclosing(batches):
        async for batch in batches:
            last = batch[-1]
            if left := [event for event in batch if event["sequence_number"] > number]:
                yield left
    if last and last["sequence_number"] <= number:
        yield [{**last, "sequence_number": number + 1}]


async def _lines(batches: AsyncGenerator[list[Event], None]) -> AsyncGenerator[str, None]:
    async with aclosing(batches):
        async for batch in batches:
            yield "".join(to_event(event, event["type"]) for event in batch)
