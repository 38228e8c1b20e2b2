"""Requests of an editor over ACP: sessions, prompts, cancel.

A session belongs to the folder that the editor has open: the folder is the session's scope. The person at
the editor started the agent, and decides; `editor_session` has what the folder and the mode permit. Servers that the editor would bring are not connected.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterator, Sequence
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any, Final, Literal
from urllib.parse import unquote

from acp import RequestError
from acp.interfaces import Client
from acp.schema import (
    AgentCapabilities,
    AudioContentBlock,
    CloseSessionResponse,
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    Implementation,
    InitializeResponse,
    ListSessionsResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PromptCapabilities,
    PromptResponse,
    ResourceContentBlock,
    ResumeSessionResponse,
    SessionCapabilities,
    SessionCloseCapabilities,
    SessionInfo,
    SessionListCapabilities,
    SessionResumeCapabilities,
    SetSessionModeResponse,
    TextContentBlock,
    TextResourceContents,
)
from pydantic import ValidationError

from toolkeel._records.entries import RunEnded
from toolkeel.agent.agent import Agent
from toolkeel.call.steps.mentioned_targets import ATTACHED
from toolkeel.content import Audio, Block, Content, File, Image, Text
from toolkeel.errors import describe_error
from toolkeel.sessions.sessions import Sessions
from toolkeel_studio.serve.acp.editor_session import MODES, EditorSession
from toolkeel_studio.serve.acp.updates import (
    UpdateEncoder,
    is_allowed,
    permission_call,
    permission_options,
)
from toolkeel_studio.serve.channel import Channel
from toolkeel_studio.serve.contents import decode_base64, join_blocks
from toolkeel_studio.serve.errors import ChannelError, UnknownApproval
from toolkeel_studio.serve.items import Item, Position, Problem, Question, is_said
from toolkeel_studio.serve.numbering import number_journal
from toolkeel_studio.serve.service import log, mask_error

VERSION: Final = 1
STOP: Final[dict[str, Any]] = {
    "refused": "refusal",
    "cut_off": "max_tokens",
    "limit": "max_turn_requests",
    "cancelled": "cancelled",
}
NOT_ASKED: Final = "The editor could not ask its person."
NOT_HERE: Final = "An editor cannot run this call."


class AcpAgent:
    """An agent for one editor; the methods are those of the protocol.

    Args:
        agent: Answers.
        sessions: Where the sessions are.
    """

    def __init__(self, agent: Agent[Any, Any], sessions: Sessions) -> None:
        self._agent = agent
        self._sessions = sessions
        self._client: Client | None = None
        self._open: dict[str, EditorSession] = {}

    def on_connect(self, conn: Client) -> None:
        """Remember the connection to the editor."""
        self._client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> InitializeResponse:
        """Return what this agent can do."""
        able = AgentCapabilities(
            load_session=True,
            prompt_capabilities=PromptCapabilities(image=True, audio=True, embedded_context=True),
            session_capabilities=SessionCapabilities(
                list=SessionListCapabilities(),
                resume=SessionResumeCapabilities(),
                close=SessionCloseCapabilities(),
            ),
        )
        me = Implementation(name=self._agent.name, version="0.1.0")
        return InitializeResponse(protocol_version=VERSION, agent_capabilities=able, agent_info=me)

    async def new_session(self, cwd: str, **_: Any) -> NewSessionResponse:
        """Start a session; it is listed after its first message."""
        name = secrets.token_hex(16)
        session = self._open[name] = self._make_session(name, cwd)
        return NewSessionResponse(session_id=name, modes=session.modes)

    async def load_session(self, cwd: str, session_id: str, **_: Any) -> LoadSessionResponse:
        """Open a session, and send everything that happened in it before answering."""
        session = await self._find(cwd, session_id)
        encoder = UpdateEncoder(with_prompts=True)
        for item in await asyncio.to_thread(lambda: list(number_journal(session.channel.session))):
            await self._send(session_id, encoder, item)
        return LoadSessionResponse(modes=session.modes)

    async def resume_session(self, session_id: str, cwd: str, **_: Any) -> ResumeSessionResponse:
        """Open a session without sending what happened in it."""
        session = await self._find(cwd, session_id)
        return ResumeSessionResponse(modes=session.modes)

    async def set_session_mode(
        self, session_id: str, mode_id: str, **_: Any
    ) -> SetSessionModeResponse:
        """Change what a session permits, from its next call on."""
        session = self._session_of(session_id)
        if mode_id not in MODES:
            raise _invalid(f"there is no such mode; there are {', '.join(MODES)}")
        session.mode = mode_id
        return SetSessionModeResponse()

    async def list_sessions(self, cwd: str | None = None, **_: Any) -> ListSessionsResponse:
        """Return the sessions of a folder; of those that are open here if it is not named."""
        scopes = [cwd] if cwd else {each.channel.session.scope for each in self._open.values()}
        listing = self._sessions.list
        found = [info for s in scopes for info in await asyncio.to_thread(listing, s)]
        made = [
            SessionInfo(
                session_id=info.name,
                cwd=info.scope,
                title=info.first[:80] or None,
                updated_at=datetime.fromtimestamp(info.updated, UTC).isoformat(),
            )
            for info in found
        ]
        return ListSessionsResponse(sessions=made)

    async def close_session(self, session_id: str, **_: Any) -> CloseSessionResponse:
        """Stop the run of a session; it can be loaded again."""
        await self.cancel(session_id)
        if (session := self._open.pop(session_id, None)) is not None:
            await session.channels.close("the editor has closed the session")
        return CloseSessionResponse()

    async def close(self, reason: str) -> None:
        """Stop all runs."""
        for session in self._open.values():
            await session.channels.close(reason)

    async def cancel(self, session_id: str, **_: Any) -> None:
        """Stop the run of a session, also while its person is asked."""
        if (session := self._open.get(session_id)) is not None:
            for canceled in session.prompts.values():
                canceled.set()
            with suppress(ChannelError):
                await session.channel.cancel()

    async def prompt(self, session_id: str, prompt: Sequence[Any], **_: Any) -> PromptResponse:
        """Say something, ask about calls that wait, and return when the run has ended.

        During another prompt, the message joins its run: once the run takes the message, the earlier
        prompt returns, and this one sends the updates.
        """
        session = self._session_of(session_id)
        id, canceled = secrets.token_hex(8), asyncio.Event()
        session.prompts[id] = canceled
        try:
            before = (await session.channel.status()).number
            await session.channel.say(decode_prompt(prompt), id=id, who="editor")
            async with session.sending:
                session.sent = max(session.sent, before, key=Position.parse)
                await self._ask_all(session, canceled)
                return PromptResponse(stop_reason=await self._run(session, id))
        except ChannelError as error:
            raise _invalid(str(error)) from None
        finally:
            del session.prompts[id]

    # — a run —

    async def _run(self, session: EditorSession, id: str) -> Any:
        """Send the updates of a run until it ends, or takes another prompt's message; return why.

        Args:
            session: The session.
            id: Of the prompt's message.
        """
        encoder, channel, canceled = UpdateEncoder(), session.channel, session.prompts[id]
        async with aclosing(channel.read(session.sent, follow=False)) as items:
            async for item in items:
                if is_said(item) and item.message_id in session.prompts:
                    if item.message_id != id:
                        return "end_turn"  # the other prompt reads from this item on
                    if canceled.is_set():  # while the message waited for this run
                        await channel.cancel()
                session.sent = item.number
                await self._send(channel.session.name, encoder, item)
                if isinstance(item.body, Question):
                    await channel.decide(item.approval_id, "cancel")
                if isinstance(item.body, Problem):
                    raise RequestError.internal_error({"message": mask_error(item.body.error)})
                if isinstance(item.body, RunEnded) and not item.within:
                    if item.body.reason != "waiting":
                        return "cancelled" if canceled.is_set() else _stop_reason(item.body)
                    await self._ask_all(session, canceled)
        return "cancelled"

    async def _send(self, session_id: str, encoder: UpdateEncoder, item: Item) -> None:
        assert self._client is not None
        for update in encoder.encode(item):
            await self._client.session_update(session_id=session_id, update=update)

    async def _ask_all(self, session: EditorSession, canceled: asyncio.Event) -> None:
        """Ask the person about each call that waits, unless the mode approves it.

        Calls for somewhere else are denied, and calls about which the editor returns an error.
        """
        channel = session.channel
        for waiting in (await channel.status()).pending:
            if waiting.is_decided or canceled.is_set():
                continue
            if waiting.ticket.external:
                await channel.decide(waiting.approval_id, "deny", reason=NOT_HERE, who="editor")
                continue
            if await session.accepts(waiting.ticket):
                await channel.decide(waiting.approval_id, "approve", who=f"mode {session.mode}")
                continue
            reason = ""
            try:
                allowed = await self._ask(channel, waiting, canceled)
            except (RequestError, ValidationError) as error:
                log.warning("the editor did not ask about a call: %s", describe_error(error))
                allowed, reason = False, NOT_ASKED
            if not canceled.is_set():
                verdict: Literal["approve", "deny"] = "approve" if allowed else "deny"
                with suppress(UnknownApproval):  # decided elsewhere, or the run was canceled
                    id = waiting.approval_id
                    await channel.decide(id, verdict, reason=reason, who="editor")

    async def _ask(self, channel: Channel, waiting: Any, canceled: asyncio.Event) -> bool:
        """Return True if the person allows a call; stop waiting if the editor cancels."""
        assert self._client is not None
        asking = asyncio.ensure_future(
            self._client.request_permission(
                session_id=channel.session.name,
                tool_call=permission_call(waiting.ticket, waiting.call_id, channel.session.scope),
                options=permission_options(waiting.approval_id),
            )
        )
        stopping = asyncio.ensure_future(canceled.wait())
        try:
            await asyncio.wait([asking, stopping], return_when=asyncio.FIRST_COMPLETED)
            return asking.done() and is_allowed(asking.result(), waiting.approval_id)
        finally:
            for task in (asking, stopping):
                task.cancel()
            await asyncio.gather(asking, stopping, return_exceptions=True)

    # — sessions —

    def _session_of(self, session_id: str) -> EditorSession:
        """Return a session that is open."""
        if (session := self._open.get(session_id)) is None:
            raise _invalid("there is no such session")
        return session

    def _make_session(self, name: str, cwd: str) -> EditorSession:
        try:
            return EditorSession(self._agent, self._sessions, name, cwd)
        except ChannelError as error:
            raise _invalid(str(error)) from None

    async def _find(self, cwd: str, session_id: str) -> EditorSession:
        """Return a session of a folder, open already or not."""
        session = self._open.get(session_id)
        if session is None or session.channel.session.scope != cwd:
            session = self._make_session(session_id, cwd)
        if not await asyncio.to_thread(lambda: session.channel.session.exists):
            raise _invalid("there is no such session")
        self._open[session_id] = session
        return session


def _invalid(message: str) -> RequestError:
    return RequestError.invalid_params({"message": message})


def _stop_reason(ended: RunEnded) -> Any:
    if ended.reason == "failed":
        raise RequestError.internal_error({"message": mask_error(ended.error)})
    return STOP.get(ended.reason, "end_turn")


def decode_prompt(blocks: Sequence[Any]) -> Content:
    """Return a prompt as content: files as text with their address, links as text.

    Raises:
        ChannelError: a picture or file is no base64.
    """
    return join_blocks([each for block in blocks for each in _decode_links(block)])


def _decode_links(block: Any) -> Iterator[Block]:
    """Yield a block; of a link its address, and its title as attached, since a page or file has it."""
    if not isinstance(block, ResourceContentBlock):
        yield _decode_block(block)
        return
    yield Text(block.uri)
    if block.name != unquote(PurePosixPath(block.uri).name):
        yield Text(block.name, {ATTACHED: True})


def _decode_block(block: Any) -> Block:
    if isinstance(block, TextContentBlock):
        return Text(block.text)
    if isinstance(block, ImageContentBlock):
        return Image(decode_base64(block.data), block.mime_type)
    if isinstance(block, AudioContentBlock):
        return Audio(decode_base64(block.data), block.mime_type)
    assert isinstance(block, EmbeddedResourceContentBlock)
    resource = block.resource
    if isinstance(resource, TextResourceContents):
        return Text(f"{resource.uri}:\n{resource.text}", {ATTACHED: True})
    media = resource.mime_type or "application/octet-stream"
    return File(decode_base64(resource.blob), resource.uri.rpartition("/")[2] or "file", media)
