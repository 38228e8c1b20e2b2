"""The route of OpenAI's Chat Completions.

Without the id of a session a completion stands alone: the server has no history, and what the client
sends as such is text of the client. The session lives until the run has ended, or as long as it waits.
With the id of a session, in one of the headers of `SESSION_HEADERS`, only the last message counts.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncGenerator
from contextlib import aclosing
from time import time
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from toolkeel.agent.agent import Agent
from toolkeel.content import Content, Text
from toolkeel.define.options import external
from toolkeel_studio.serve.channel import Channel
from toolkeel_studio.serve.client_tools import check_client_tools, check_result
from toolkeel_studio.serve.errors import UnknownApproval
from toolkeel_studio.serve.openai_api.chat import ChatEncoder
from toolkeel_studio.serve.openai_api.decode import ChatRequest, decode_chat_request
from toolkeel_studio.serve.openai_api.ids import parse_call_id
from toolkeel_studio.serve.service import Service, mask_error

SESSION_HEADERS: Final = ("x-openwebui-chat-id", "x-session-id")
EARLIER: Final = "The conversation so far, as the client tells it:\n{history}\n\nThe message now:\n"


class Completions:
    """The handler of chat completions.

    Args:
        service: What the front ends share.
    """

    def __init__(self, service: Service) -> None:
        self._service = service

    async def create(self, request: Request) -> Response:
        """Apply a request, and return or stream the completion."""
        user = await self._service.user_of(request)
        asked = decode_chat_request(await self._service.read_json(request))
        if asked.task:
            return await self._do_task(asked)
        named = next((v for h in SESSION_HEADERS if (v := request.headers.get(h))), "")
        channel, calls = self._place(asked, named, user)
        after = (await asyncio.to_thread(channel.snapshot)).number
        await self._apply(channel, asked, calls, not named, user)
        encoder = self._encoder(channel.session.name, asked)
        chunks = self._chunks(channel, after, encoder, not named)
        if asked.is_stream:
            return self._service.stream(channel, _lines(chunks, encoder, asked.has_usage), {})
        async with aclosing(chunks):
            async for _ in chunks:
                pass
        if encoder.error:
            shown = {"message": encoder.error, "type": "server_error", "param": None, "code": None}
            return JSONResponse({"error": shown}, 500)
        return JSONResponse(encoder.completion())

    def _encoder(self, session: str, asked: ChatRequest) -> ChatEncoder:
        names = {each.name for each in asked.tools or ()}
        own = self._service.channels.agent.tools

        def is_external(name: str) -> bool:
            return own[name].executor is external if name in own else name in names

        id = f"chatcmpl-{secrets.token_hex(12)}"
        return ChatEncoder(id, self._service.channels.agent.name, session, is_external, mask_error)

    def _place(self, asked: ChatRequest, named: str, user: str) -> tuple[Channel, dict[str, str]]:
        """Return the session of a request, and the results for its calls by the calls' own ids."""
        calls = {parse_call_id(id): value for id, value in asked.results.items()}
        names = {session for session, _ in calls}
        if len(names) > 1 or (named and names - {named}):
            raise UnknownApproval("the results are of calls of another conversation")
        name = named or next(iter(names), f"chat-{secrets.token_hex(12)}")
        results = {call: value for (_, call), value in calls.items()}
        return self._service.channels.open(name, user), results

    async def _apply(
        self,
        channel: Channel,
        asked: ChatRequest,
        calls: dict[str, str],
        is_alone: bool,
        user: str,
    ) -> None:
        own = self._service.channels.agent.tools
        tools = None if asked.tools is None else check_client_tools(asked.tools, own)
        waiting = (await asyncio.to_thread(channel.snapshot)).pending
        open_ids = {each.call_id for each in waiting if each.ticket.external}
        if calls.keys() - open_ids:
            raise UnknownApproval("no call with this tool_call_id waits for a result of the client")
        if asked.content and any(not each.is_decided for each in waiting):
            raise UnknownApproval("this conversation waits; its calls are decided elsewhere")
        for id, value in calls.items():
            await channel.answer(id, check_result(value), who=user)
        if asked.content:
            content = _with_history(asked) if is_alone else asked.content
            await channel.say(content, who=user, tools=tools)

    async def _chunks(
        self, channel: Channel, after: str, encoder: ChatEncoder, is_alone: bool
    ) -> AsyncGenerator[Any, None]:
        """Yield the chunks of a completion; one that stands alone ends with its reader."""
        try:
            yield encoder.start(time())
            async with aclosing(channel.read(after, follow=False)) as items:
                async for item in items:
                    for chunk in encoder.encode(item):
                        yield chunk
                    if encoder.is_done:
                        break
            if not encoder.is_done:
                for chunk in encoder.end("answered"):
                    yield chunk
        finally:
            if is_alone and not encoder.is_waiting:
                await self._forget(channel, is_done=encoder.is_done)

    async def _forget(self, channel: Channel, *, is_done: bool) -> None:
        if not is_done:
            await channel.cancel("the client has disconnected")
        session = channel.session
        if (runner := self._service.channels.find_runner(session)) is not None:
            await runner.wait()
        delete = self._service.channels.sessions.delete
        await asyncio.to_thread(delete, session.name, scope=session.scope)

    async def _do_task(self, asked: ChatRequest) -> Response:
        """Answer what a chat's own program asks for, such as a title: by the model alone."""
        encoder = self._encoder("", asked)
        start = encoder.start(time())
        made = await Agent(self._service.channels.agent.model).run(asked.content)
        encoder.text, encoder.usage = made.output, made.usage
        if not asked.is_stream:
            return JSONResponse(encoder.completion())
        chunks = [start, {**start, "choices": [_choice({"content": made.output}, None)]}]
        chunks.append({**start, "choices": [_choice({}, "stop")]})
        lines = [f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n" for chunk in chunks]
        return Response("".join([*lines, "data: [DONE]\n\n"]), media_type="text/event-stream")


def _choice(delta: dict[str, Any], finish_reason: str | None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}


def _with_history(asked: ChatRequest) -> Content:
    """Return a message with the history that a client tells, as one text of the client."""
    if not asked.history:
        return asked.content
    told = "\n".join(json.dumps(each, ensure_ascii=False) for each in asked.history)
    before = EARLIER.format(history=told)
    if isinstance(asked.content, str):
        return before + asked.content
    return (Text(before), *asked.content)


async def _lines(
    chunks: AsyncGenerator[Any, None], encoder: ChatEncoder, has_usage: bool
) -> AsyncGenerator[str, None]:
    async with aclosing(chunks):
        async for chunk in chunks:
            yield f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n"
    if encoder.error:
        shown = {"error": {"message": encoder.error, "type": "server_error"}}
        yield f"data: {json.dumps(shown, ensure_ascii=False)}\n\n"
    if has_usage and not encoder.error:
        yield f"data: {json.dumps(encoder.last_chunk(), ensure_ascii=False)}\n\n"
    yield "data: [DONE]\n\n"
