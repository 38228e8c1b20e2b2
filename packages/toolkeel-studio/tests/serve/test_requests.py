"""A request is applied as a whole or not at all."""

from __future__ import annotations

from typing import Any

import pytest

from tests.serve.talking import RAN, Talk, calls, read, talking, text
from toolkeel_studio.serve.channel import Channel
from toolkeel_studio.serve.client_tools import ClientTool
from toolkeel_studio.serve.decisions import Choice
from toolkeel_studio.serve.errors import ChannelError
from toolkeel_studio.serve.requests import Applied, ClientRequest, apply_request
from toolkeel_studio.serve.service import Service

TWO = calls(("c1", "pay", '{"amount": 5}'), ("c2", "pay", '{"amount": 6}'))


async def waiting(talk: Talk, line: Any) -> tuple[Service, Channel, list[str]]:
    """Return a session that waits, and the approval ids in order."""
    channels = talk.channels([line, text("done"), text("more")])
    channel = channels.open("t")
    await channel.say("Go.", id="u1")
    ids = [item.approval_id for item in await read(channel) if item.kind == "waits"]
    return Service(channels, None, "user"), channel, ids


async def apply(service: Service, channel: Channel, **asked: Any) -> Applied:
    now = await channel.status()
    return await apply_request(service, channel, now, ClientRequest(**asked), "ada")


@talking
async def test_one_decision_that_is_not_allowed_leaves_all_of_a_request_undone(talk: Talk) -> None:
    service, channel, [one, two] = await waiting(talk, TWO)
    bad: list[dict[str, Any]] = [
        {"answers": {one: Choice("approve"), two[:-1] + "x": Choice("approve")}},
        {"answers": {one: Choice("approve"), two: Choice("edit", arguments={"amount": "猫"})}},
        {"answers": {one: Choice("approve"), two: Choice("cancel")}},
        {"answers": {one: Choice("approve")}, "tools": (ClientTool("pay", "", {}),)},
    ]
    for asked in bad:
        with pytest.raises(ChannelError):
            await apply(service, channel, content="More.", message_id="u2", **asked)
    await talk.idle()
    assert RAN == [] and channel.session.decisions == {} and channel.session.inbox == ()
    done = await apply(service, channel, answers={one: Choice("approve"), two: Choice("deny")})
    await read(channel)
    assert done == Applied((), True, False) and RAN == ["pay 5"]


@talking
async def test_who_decides_too_late_learns_that_and_changes_nothing(talk: Talk) -> None:
    service, channel, [one] = await waiting(talk, calls(("c1", "pay", '{"amount": 5}')))
    now = await channel.status()
    await channel.decide(one, "deny", who="ben")
    await read(channel)
    late = ClientRequest(answers={one: Choice("approve")})
    assert (await apply_request(service, channel, now, late, "ada")).late == (one,)
    again = await apply(service, channel, answers={one: Choice("approve")})
    assert again == Applied((), False, False) and RAN == []


@talking
async def test_who_decides_a_call_that_was_canceled_learns_that_and_changes_nothing(
    talk: Talk,
) -> None:
    service, channel, [one] = await waiting(talk, calls(("c1", "pay", '{"amount": 5}')))
    await channel.cancel()
    late = await apply(service, channel, answers={one: Choice("approve")})
    assert late == Applied((one,), False, False) and RAN == []
    with pytest.raises(ChannelError):
        await apply(service, channel, answers={one[:-1] + "x": Choice("approve")})


@talking
async def test_results_count_only_for_calls_that_wait_for_them(talk: Talk) -> None:
    pick = calls(("c1", "pick", '{"color": "red"}'), ("c2", "pay", '{"amount": 5}'))
    service, channel, _ = await waiting(talk, pick)
    forged = await apply(service, channel, results={"c2": "paid", "c9": "x"})
    assert forged == Applied((), False, False) and RAN == []
    assert (await apply(service, channel, results={"c1": "crimson"})).is_new
