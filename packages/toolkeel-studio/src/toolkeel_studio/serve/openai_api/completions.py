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
from dataclasses import replace
from time import time
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from toolkeel.agent.agent import Agent
from toolkeel.call.steps.mentioned_targets import ATTACHED
from toolkeel.content import Content, Text
from toolkeel.messages import AssistantMessage
from toolkeel_studio.serve.channel import Channel
from toolkeel_studio.serve.errors import UnknownApproval
from toolkeel_studio.serve.json_responses import JsonResponse
from toolkeel_studio.serve.openai_api.chat import ChatEncoder, Chunk
from toolkeel_studio.serve.openai_api.decode import ChatRequest, decode_chat_request
from toolkeel_studio.serve.openai_api.ids import parse_call_id
from toolkeel_studio.serve.requests import ClientRequest, apply_request, check_idle
from toolkeel_studio.serve.service import Service, mask_error, while_connected
from toolkeel_studio.serve.snapshot import Snapshot
from toolkeel_studio.serve.stream import DONE, encode_run, to_event

SESSION_HEADERS: Final = ("x-openwebui-chat-id", "x-session-id")
EARLIER: Final = "The conversation so far, as the client tells it:"
NOW: Final = "The message now:"


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
        sent = decode_chat_request(await self._service.read_json(request))
        if sent.task:
            return await self._do_task(request, sent)
        named = next((v for h in SESSION_HEADERS if (v := request.headers.get(h))), "")
        channel, results = self._place(sent.asked, named, user)
        now = await channel.status()
        asked = replace(sent.asked, results=results)
        if asked.content and not named:
            asked = replace(asked, content=_with_history(sent))
        if named and asked.content:
            await check_idle(self._service, channel, now)
            asked = replace(asked, after=now.position.entry)
        _check(now, asked)
        await apply_request(self._service, channel, now, asked, user)
        encoder = self._encoder(channel.session.name, sent)
        batches = self._chunks(channel, now.number, encoder, not named)
        first = await anext(batches)  # from here on it ends with its reader, even if none comes
        if sent.is_stream:
            lines = _lines(first, batches, encoder, sent.has_usage)
            return self._service.stream(channel, lines, {})
        await self._service.read_all(request, channel, batches)
        if encoder.error:
            shown = {"message": encoder.error, "type": "server_error", "param": None, "code": None}
            return JsonResponse({"error": shown}, 500)
        return JsonResponse(encoder.completion())

    def _encoder(self, session: str, sent: ChatRequest) -> ChatEncoder:
        is_external = self._service.is_external({each.name for each in sent.asked.tools or ()})
        id = f"chatcmpl-{secrets.token_hex(12)}"
        return ChatEncoder(id, self._service.channels.agent.name, session, is_external, mask_error)

    def _place(
        self, asked: ClientRequest, named: str, user: str
    ) -> tuple[Channel, dict[str, object]]:
        """Return the session of a request, and the results for its calls by the calls' own ids."""
        calls = {parse_call_id(id): value for id, value in asked.results.items()}
        names = {session for session, _ in calls}
        if len(names) > 1 or (named and names - {named}):
            raise UnknownApproval("the results are of calls of another conversation")
        name = named or next(iter(names), f"chat-{secrets.token_hex(12)}")
        results = {call: value for (_, call), value in calls.items()}
        return self._service.channels.open(name, user), results

    async def _chunks(
        self, channel: Channel, after: str, encoder: ChatEncoder, is_alone: bool
    ) -> AsyncGenerator[list[Chunk], None]:
        """Yield the chunks of a completion; one without a session ends with its reader."""
        try:
            yield [encoder.start(time())]
            async with aclosing(encode_run(channel, after, encoder)) as batches:
                async for batch in batches:
                    yield batch
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

    async def _do_task(self, request: Request, sent: ChatRequest) -> Response:
        """Answer a request of the chat program itself, such as for a title, by the model alone, within a run's limits."""
        encoder, channels = self._encoder("", sent), self._service.channels
        limits = channels.options.get("limits") or channels.agent.plan_for({}).limits
        task = Agent(channels.agent.model, limits=limits)
        made = await while_connected(request, task.run(sent.asked.content))
        encoder.usage, last = made.usage, made.messages[-1]
        said = last.text if isinstance(last, AssistantMessage) else ""
        chunks = [encoder.start(time()), encoder.write(said), *encoder.end(made.reason)]
        if not sent.is_stream:
            return JsonResponse(encoder.completion())
        return Response("".join([*map(to_event, chunks), DONE]), media_type="text/event-stream")


def _check(now: Snapshot, asked: ClientRequest) -> None:
    """Raise unless results are of calls that wait for them, and a message comes when nothing waits.

    Raises:
        UnknownApproval: they are not.
    """
    if asked.results.keys() - now.external_calls.keys():
        raise UnknownApproval("no call with this tool_call_id waits for a result of the client")
    if asked.content and any(not each.is_decided for each in now.pending):
        raise UnknownApproval("this conversation waits; its calls are decided elsewhere")


def _with_history(sent: ChatRequest) -> Content:
    """Return a message with the history that a client tells, as text of the client.

    Answers of the agent may quote whatever it has read: they count as attached, not as the person's words.
    """
    content = sent.asked.content
    if not sent.history:
        return content
    errors_text = [
        Text(
            json.dumps((role, text), ensure_ascii=False), {ATTACHED: True} if role != "user" else {}
        )
        for role, text in sent.history
    ]
    now = (Text(content),) if isinstance(content, str) else content
    return (Text(EARLIER), *errors_text, Text(NOW), *now)


async def _lines(
    first: list[Chunk],
    batches: AsyncGenerator[list[Chunk], None],
    encoder: ChatEncoder,
    has_usage: bool,
) -> AsyncGenerator[str, None]:
    async with aclosing(batches):
        yield "".join(map(to_event, first))
        async for batch in batches:
            yield "".join(map(to_event, batch))
    if encoder.error:
        yield to_event({"error": {"message": encoder.error, "type": "server_error"}})
    elif has_usage:
        yield to_event(encoder.last_chunk())
    yield DONE
