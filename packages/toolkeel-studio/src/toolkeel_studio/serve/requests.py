"""What a client sends, applied to a session: all of a request, or nothing of it."""

from __future__ import annotations

import asyncio
from collections.abc import Container, Mapping
from contextlib import suppress
from typing import Final, NamedTuple, cast

from toolkeel._records.entries import Waits
from toolkeel._records.record import NOTHING, record
from toolkeel._records.tickets import Ticket
from toolkeel.content import Content
from toolkeel.sessions.session import Session
from toolkeel_studio.serve.channel import Channel
from toolkeel_studio.serve.client_tools import ClientTool, check_client_tools, check_result
from toolkeel_studio.serve.decisions import Choice, decide_question, decide_ticket
from toolkeel_studio.serve.errors import NoRun, SessionBusy, UnknownApproval
from toolkeel_studio.serve.numbering import number_journal
from toolkeel_studio.serve.service import Service, mask_error
from toolkeel_studio.serve.snapshot import Snapshot

BUSY: Final = "another message of this conversation is being answered"
START_SECONDS: Final = 1.0
"""Seconds in which it is clear whether a run can start, before a message behind it is refused."""
NO_ANSWERS: Final = cast("Mapping[str, Choice]", NOTHING)


@record
class ClientRequest:
    """What a client sends; all other history in its request is ignored.

    Args:
        content: The new message of the person; empty for none.
        message_id: The client's id of it.
        answers: Decisions, by approval id.
        results: Results of calls that the client ran, by call id. Those of calls that do not wait are
            ignored.
        tools: Tools that the client has; None if it names none.
        after: Number of the entry after which no other message may have come; -1 for none.
    """

    content: Content = ""
    message_id: str = ""
    answers: Mapping[str, Choice] = NO_ANSWERS
    results: Mapping[str, object] = NOTHING
    tools: tuple[ClientTool, ...] | None = None
    after: int = -1


class Applied(NamedTuple):
    """What a request has changed.

    Args:
        late: Approval ids on which somebody else had decided before, or whose run was canceled.
        is_new: False if everything in the request was known, and a run has taken its message.
        is_said: True if its message was accepted now.
    """

    late: tuple[str, ...]
    is_new: bool
    is_said: bool


async def apply_request(
    service: Service, channel: Channel, now: Snapshot, asked: ClientRequest, user: str
) -> Applied:
    """Apply a request.

    Args:
        service: What the front ends share.
        channel: The session.
        now: The session as it is now.
        asked: The request.
        user: Who sends it.

    Raises:
        SessionBusy: another message was first; answers to calls are applied.
        NoRun: the same, and no run could start for that one.
        ChannelError: a part of it is not allowed; nothing was applied.
    """
    own = service.channels.agent.tools
    tools = None if asked.tools is None else check_client_tools(asked.tools, own)
    waiting = await _check_answers(service, channel, now, asked.answers, user)
    calls = now.external_calls
    results = {id: check_result(v) for id, v in asked.results.items() if id in calls}
    is_new, is_said = bool(results or waiting), False
    late = await _decide_all(channel, asked.answers, waiting, user)
    for id, value in results.items():
        with suppress(UnknownApproval):  # it was canceled since it was read
            await channel.answer(id, value, who=user)
    if asked.content:
        if asked.message_id:
            inbox = await asyncio.to_thread(lambda: channel.session.inbox)
            is_new = is_new or asked.message_id in {each.id for each in inbox}
        is_said = await channel.say(
            asked.content, id=asked.message_id, who=user, tools=tools, after=asked.after
        )
        if asked.after >= 0 and not is_said:
            await _check_stuck(service, channel)
            raise SessionBusy(BUSY)
    return Applied(tuple(late), is_new or is_said, is_said)


async def _decide_all(
    channel: Channel, answers: Mapping[str, Choice], waiting: Container[str], user: str
) -> list[str]:
    """Make decisions; return the approval ids of those that came too late, see `Applied`."""
    late: list[str] = []
    for id, choice in answers.items():
        try:
            first = await channel.decide(
                id, choice.verdict, reason=choice.reason, arguments=choice.arguments, who=user
            )
        except UnknownApproval:  # its run was canceled, maybe since it was read
            late.append(id)
        else:
            late += [id] if first is not None and id in waiting else []
    return late


async def _check_stuck(service: Service, channel: Channel) -> None:
    """Raise `NoRun` if no run can start for the message that is first; one that is about to has a second for it."""
    runner = service.channels.find_runner(channel.session)
    if runner is None:
        return
    if not runner.is_writing:
        with suppress(TimeoutError):
            await asyncio.wait_for(runner.wait(), START_SECONDS)
    if runner.is_stuck:
        raise NoRun(mask_error(runner.problem))


async def check_idle(service: Service, channel: Channel, now: Snapshot) -> None:
    """Raise `SessionBusy` if a run of a session is active or about to start; one that waits is not active.

    Raises:
        NoRun: it cannot start.
    """
    if await is_answering(channel, now):
        await _check_stuck(service, channel)
        raise SessionBusy(BUSY)


async def is_answering(channel: Channel, now: Snapshot) -> bool:
    """Return True if a run is active that has not written its end, or is about to start."""
    return await asyncio.to_thread(
        lambda: channel.is_running and not (now.reason and not channel.session.inbox)
    )


async def _check_answers(
    service: Service,
    channel: Channel,
    now: Snapshot,
    answers: Mapping[str, Choice],
    user: str,
) -> frozenset[str]:
    """Return the approval ids of the decisions on calls that wait.

    Raises:
        ChannelError: a call has never waited, or does not permit the decision, or somebody else decides.
    """
    waiting: dict[str, Ticket] = {id: each.ticket for id, each in now.undecided.items()}
    waiting |= channel.questions
    for id, choice in answers.items():
        if (ticket := waiting.get(id)) is None:
            is_over = await channel.was_decided(id)
            if not (is_over or await asyncio.to_thread(_has_waited, channel.session, id)):
                raise UnknownApproval("the call that was shown is not pending here")
            continue
        await service.check_decider(user, ticket)
        if ticket.form:
            decide_question(ticket, choice)
        else:
            decide_ticket(ticket, choice, service.channels.agent.tools)
    return frozenset(answers.keys() & waiting.keys())


def _has_waited(session: Session, approval_id: str) -> bool:
    """Return True if exactly what this approval id names has waited in a session."""
    return any(
        isinstance(item.body, Waits) and item.approval_id == approval_id
        for item in number_journal(session)
    )
