"""The routes of OpenAI's Responses, and the list of models.

``GET v1/models``                    the agent's name
``POST v1/responses``                a message, approvals, results of client tools
``GET v1/responses/{id}``            a response, also while it is made; events with ``stream=true``
``POST v1/responses/{id}/cancel``    stop the run
``POST v1/chat/completions``         see `completions`
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable, Container, Sequence
from contextlib import aclosing
from time import time
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from toolkeel._records.entries import RunBegan, RunEnded
from toolkeel.define.options import external
from toolkeel.messages import AssistantMessage, ToolCall, ToolMessage
from toolkeel.sessions.errors import SessionError
from toolkeel_studio.serve.channel import Channel
from toolkeel_studio.serve.client_tools import (
    ClientTool,
    check_client_tools,
    check_result,
    load_client_tools,
)
from toolkeel_studio.serve.decisions import decide_ticket
from toolkeel_studio.serve.errors import ChannelError, UnknownApproval, UnknownSession
from toolkeel_studio.serve.items import Item, split_approval_id
from toolkeel_studio.serve.numbering import Numbering
from toolkeel_studio.serve.openai_api.completions import Completions
from toolkeel_studio.serve.openai_api.decode import ResponseRequest, decode_response_request
from toolkeel_studio.serve.openai_api.ids import ResponseId, parse_response_id
from toolkeel_studio.serve.openai_api.responses import ResponseEncoder
from toolkeel_studio.serve.service import Service, mask_error
from toolkeel_studio.serve.snapshot import Snapshot

Handler = Callable[[Request], Awaitable[Response]]


def openai_routes(service: Service) -> list[BaseRoute]:
    """Return the routes of Responses and Chat Completions."""
    front, chat = _Responses(service), Completions(service)
    one = "/v1/responses/{id}"
    return [
        Route("/v1/models", _with_errors(front.models), methods=["GET"]),
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
            kind = "not_found_error" if error.status == 404 else "invalid_request_error"
            shown = {"message": str(error), "type": kind, "param": None, "code": None}
            return JSONResponse({"error": shown}, error.status)

    return handle


class _Responses:
    """The handlers of the responses."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def models(self, request: Request) -> Response:
        """Return the agent's name as the only model."""
        await self._service.user_of(request)
        model = {"id": self._service.channels.agent.name, "object": "model", "created": 0}
        return JSONResponse({"object": "list", "data": [{**model, "owned_by": "toolkeel"}]})

    async def create(self, request: Request) -> Response:
        """Apply a request, and return or stream the response."""
        user = await self._service.user_of(request)
        asked = decode_response_request(await self._service.read_json(request))
        channel, id = await self._place(asked, user)
        await self._apply(channel, asked, user)
        if asked.is_background and not asked.is_stream:
            return JSONResponse((await self._read_now(channel, id)) | {"background": True})
        if asked.is_stream:
            events = self._events(channel, id, asked.tools or ())
            return self._service.stream(channel, _lines(events), {})
        async with aclosing(self._events(channel, id, asked.tools or ())) as events:
            *_, last = [event async for event in events]
        return JSONResponse(last["response"])

    async def retrieve(self, request: Request) -> Response:
        """Return a response as it is now, or stream its events after a number."""
        channel, id = await self._find(request)
        if request.query_params.get("stream") != "true":
            return JSONResponse(await self._read_now(channel, id))
        after = request.query_params.get("starting_after", "-1")
        if not after.removeprefix("-").isdecimal():
            raise ChannelError("starting_after is the number of an event")
        lines = _lines(_after(self._events(channel, id), int(after)))
        return self._service.stream(channel, lines, {})

    async def cancel(self, request: Request) -> Response:
        """Stop the run of a response, and return it."""
        channel, id = await self._find(request)
        await channel.cancel()
        async with aclosing(self._events(channel, id)) as events:
            *_, last = [event async for event in events]
        return JSONResponse(last["response"])

    async def _find(self, request: Request) -> tuple[Channel, ResponseId]:
        id = parse_response_id(request.path_params["id"])
        channel = await self._service.find(request, id.session)
        if not await asyncio.to_thread(_has_begun, channel, id.after):
            raise UnknownSession("there is no such response")
        return channel, id

    # — what a response consists of —

    async def _encoder(
        self, channel: Channel, id: ResponseId, tools: Sequence[ClientTool] = ()
    ) -> ResponseEncoder:
        calls = await asyncio.to_thread(_all_calls, channel)
        names = await asyncio.to_thread(_client_tool_names, channel)
        is_external = self._is_external(names | {each.name for each in tools})
        model = self._service.channels.agent.name
        return ResponseEncoder(id, model, calls, is_external, mask_error)

    def _is_external(self, names: Container[str]) -> Callable[[str], bool]:
        """Return a function that is True for the names of tools that the client runs.

        Args:
            names: Tools that the client has declared.
        """
        own = self._service.channels.agent.tools
        return lambda name: own[name].executor is external if name in own else name in names

    async def _events(
        self, channel: Channel, id: ResponseId, tools: Sequence[ClientTool] = ()
    ) -> AsyncGenerator[Any, None]:
        encoder = await self._encoder(channel, id, tools)
        for event in encoder.start(time()):
            yield event
        async with aclosing(channel.read(str(id.after), follow=False)) as items:
            async for item in items:
                for event in encoder.encode(item):
                    yield event
                if encoder.is_done:
                    return
        for event in encoder.end("answered"):
            yield event

    async def _read_now(self, channel: Channel, id: ResponseId) -> dict[str, Any]:
        encoder = await self._encoder(channel, id)
        list(encoder.start(time()))
        for item in await asyncio.to_thread(_items, channel, id.after):
            list(encoder.encode(item))
        return encoder.response()

    # — what a client sends —

    async def _place(self, asked: ResponseRequest, user: str) -> tuple[Channel, ResponseId]:
        """Return the session of a request, and the id of its response.

        Raises:
            ChannelError: there is no such response before, or the session is busy.
        """
        channels = self._service.channels
        if not asked.previous:
            name = asked.conversation or f"response-{secrets.token_hex(12)}"
            channel = channels.open(name, user)
            if channel.is_running:
                raise UnknownApproval("a response of this conversation is still being made")
            head = int((await asyncio.to_thread(channel.snapshot)).number.partition(".")[0])
            return channel, ResponseId(name, head)
        before = parse_response_id(asked.previous)
        channel = channels.open(before.session, user)
        if not await asyncio.to_thread(lambda: channel.session.exists):
            raise UnknownSession("there is no such response")
        end, later = await asyncio.to_thread(_end_of, channel, before.after)
        if not end:
            raise UnknownApproval("the response before is still being made")
        if not later or not asked.content:
            return channel, ResponseId(before.session, end)
        name = f"response-{secrets.token_hex(12)}"
        turns = await asyncio.to_thread(_turns_until, channel, end)
        try:
            fork = channels.sessions.fork
            await asyncio.to_thread(fork, before.session, name, turn=turns, scope=user)
        except SessionError as error:
            raise ChannelError(str(error)) from None
        channel = channels.open(name, user)
        head = int((await asyncio.to_thread(channel.snapshot)).number.partition(".")[0])
        return channel, ResponseId(name, head)

    async def _apply(self, channel: Channel, asked: ResponseRequest, user: str) -> None:
        """Apply a request: all of it, or nothing.

        Raises:
            ChannelError: a part of it is not allowed.
        """
        own = self._service.channels.agent.tools
        tools = None if asked.tools is None else check_client_tools(asked.tools, own)
        now = await asyncio.to_thread(channel.snapshot)
        await self._check(channel, now, asked, user)
        pending = {each.approval_id for each in now.pending if not each.is_decided}
        for id, choice in asked.answers.items():
            if id in pending:
                await channel.decide(id, choice.verdict, reason=choice.reason, who=user)
        waiting = _external_calls(now)
        for call_id, value in asked.results.items():
            if call_id in waiting:
                await channel.answer(call_id, check_result(value), who=user)
        if asked.content:
            await channel.say(asked.content, who=user, tools=tools)
        elif pending:
            await channel.resume()

    async def _check(
        self, channel: Channel, now: Snapshot, asked: ResponseRequest, user: str
    ) -> None:
        pending = {each.approval_id: each.ticket for each in now.pending if not each.is_decided}
        for id, choice in asked.answers.items():
            if (ticket := pending.get(id)) is not None and not ticket.external:
                await self._service.check_decider(user, ticket)
                decide_ticket(ticket, choice, self._service.channels.agent.tools)
            elif not await _was_decided(channel, id):
                raise UnknownApproval("no call with this approval id waits here")
        waiting = _external_calls(now)
        names = await asyncio.to_thread(_client_tool_names, channel)
        if asked.results.keys() - waiting - _answered_calls(now, self._is_external(names)):
            raise UnknownApproval("no call with this call_id waits for a result of the client")
        left = [t for id, t in pending.items() if id not in asked.answers and not t.external]
        if asked.content and (left or waiting - asked.results.keys()):
            raise UnknownApproval(
                "calls wait: send mcp_approval_response or function_call_output for all of them first"
            )


def _client_tool_names(channel: Channel) -> set[str]:
    """Return the names of tools that the client of a session has declared."""
    session = channel.session
    return {each.name for each in load_client_tools(session.state)} if session.exists else set()


def _has_begun(channel: Channel, after: int) -> bool:
    """Return True if the session has something after an entry, or is about to."""
    head = channel.session.info.head
    return head > after or (head == after and (channel.is_running or bool(channel.session.inbox)))


async def _was_decided(channel: Channel, approval_id: str) -> bool:
    ticket, seal = split_approval_id(approval_id)
    first = await asyncio.to_thread(channel.session.find_decision, ticket)
    return first is not None and first.decision.seal == seal


def _items(channel: Channel, after: int) -> list[Item]:
    """Return the items of the entries that are in the journal now."""
    numbering = Numbering()
    made = [numbering.number_entry(each) for each in channel.session.entries()]
    return [item for item in made if item.position.entry > after]


def _end_of(channel: Channel, after: int) -> tuple[int, bool]:
    """Return the number of a response's last entry, 0 if it is being made, and if anything follows."""
    for item in _items(channel, after):
        if isinstance(item.body, RunEnded) and not item.within:
            later = (each for each in _items(channel, item.position.entry))
            return item.position.entry, any(isinstance(each.body, RunBegan) for each in later)
    return 0, False


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


def _external_calls(now: Snapshot) -> set[str]:
    return {each.call_id for each in now.pending if each.ticket.external and not each.is_decided}


def _answered_calls(now: Snapshot, is_external: Callable[[str], bool]) -> set[str]:
    results = (each.message for each in now.messages)
    return {m.tool_call_id for m in results if isinstance(m, ToolMessage) and is_external(m.name)}


async def _after(events: AsyncGenerator[Any, None], number: int) -> AsyncGenerator[Any, None]:
    """Yield the events after a number; at least the last, which has the complete response."""
    last: dict[str, Any] = {}
    async with aclosing(events):
        async for event in events:
            last = event
            if event["sequence_number"] > number:
                yield event
    if last and last["sequence_number"] <= number:
        yield {**last, "sequence_number": number + 1}


async def _lines(events: AsyncGenerator[Any, None]) -> AsyncGenerator[str, None]:
    async with aclosing(events):
        async for event in events:
            text = json.dumps(event, ensure_ascii=False)
            yield f"event: {event['type']}\ndata: {text}\n\n"
