"""Runs of a session: when one starts, what it is asked, and how its questions are answered."""

from __future__ import annotations

import asyncio
from pathlib import Path
from time import time

import pytest

from tests.serve.talking import (
    PAY,
    RAN,
    Talk,
    approval,
    calls,
    kinds,
    look,
    read,
    read_until,
    talking,
    text,
)
from toolkeel import Effects, tool
from toolkeel._records.tickets import Ticket, new_id
from toolkeel.sessions import Sessions
from toolkeel_studio.serve.errors import InvalidDecision, UnknownApproval
from toolkeel_studio.serve.items import approval_id_of

FETCH, SEND = calls(("c1", "fetch", "{}")), calls(("c1", "send", "{}"))
FORM = {"type": "object", "properties": {"seat": {"type": "integer"}}, "required": ["seat"]}


def question() -> Ticket:
    """A server's question in the middle of a call."""
    return Ticket(new_id(), "c1", "book", {}, "d", time() + 60, "Which seat?", form=FORM)


@talking
async def test_a_servers_question_is_an_item_and_is_answered_like_a_ticket(talk: Talk) -> None:
    channels = talk.channels([])
    channel = channels.open("t")
    channel.session.say("Hi")
    runner = channels.runner_of(channel.session)
    await runner.feed.open()
    for verdict, fields in (("edit", {"seat": 7}), ("deny", None), ("cancel", None)):
        ticket = question()
        asking = asyncio.create_task(runner.ask(ticket))
        await asyncio.sleep(0)
        [id] = channel.questions
        assert id == approval_id_of(ticket)
        with pytest.raises(InvalidDecision):
            await channel.decide(id, "edit", arguments={"seat": "window"})
        with pytest.raises(InvalidDecision, match="permits"):
            await channel.decide(id, "approve")
        with pytest.raises(UnknownApproval):
            await channel.decide(f"{ticket.id}.{'0' * 64}", "deny")
        await channel.decide(id, verdict, arguments=fields)  # type: ignore[arg-type]
        answer = await asking
        assert (answer and answer.verdict) == (None if verdict == "cancel" else verdict)
        assert channel.questions == {}
    found = kinds(await read(channel))
    assert found.count("question") == found.count("question_closed") == 3


@talking
async def test_a_question_whose_call_was_stopped_has_no_answer_any_more(talk: Talk) -> None:
    channels = talk.channels([])
    channel = channels.open("t")
    channel.session.say("Hi")
    ticket = question()
    asking = asyncio.create_task(channels.runner_of(channel.session).ask(ticket))
    await asyncio.sleep(0)
    asking.cancel()
    await asyncio.wait([asking])
    with pytest.raises(UnknownApproval):
        await channel.decide(approval_id_of(ticket), "deny")


@talking
async def test_resume_acts_on_the_decisions_there_are_and_asks_about_the_rest_again(
    talk: Talk,
) -> None:
    two = calls(("c1", "pay", '{"amount": 1}'), ("c2", "pay", '{"amount": 2}'))
    channel = talk.channels([two, text("done")]).open("t")
    await channel.say("Pay.")
    waiting = await read(channel)
    await channel.decide(approval(waiting, "c1"), "approve")
    await channel.resume()
    after = await read(channel, waiting[-1].number)
    assert RAN == ["pay 1"] and kinds(after)[-1] == "run_ended"
    [left] = channel.snapshot().pending
    await channel.decide(left.approval_id, "approve")
    await read(channel)
    assert RAN == ["pay 1", "pay 2"]


@talking
async def test_resume_without_anything_to_do_writes_nothing(talk: Talk) -> None:
    channels = talk.channels([PAY, text("done")])
    channel = channels.open("t")
    await channel.say("Pay.")
    waiting = await read(channel)
    await channel.resume()
    await channels.wait()
    assert await read(channel) == waiting and len(channel.session.pending) == 1


@talking
async def test_deps_are_made_of_the_scope(talk: Talk) -> None:
    scopes: list[str] = []
    channels = talk.channels([text("Hi.")])
    channels._deps = scopes.append
    channel = channels.open("t", "ada")
    await channel.say("Hi")
    await read(channel)
    assert scopes == ["ada"]


@talking
async def test_a_run_waits_for_that_of_another_writer_and_then_finds_its_message_answered(
    talk: Talk,
) -> None:
    gate = asyncio.Event()
    first = talk.channels([[*text("well")[:-1], gate, *text(".")], text("both")])
    one = first.open("t")
    await one.say("One.", id="u1")
    await read_until(one, "streamed")
    storage = Sessions(talk.sessions.path)
    second = type(first)(first.agent, storage)
    other = second.open("t")
    await other.say("Two.", id="u2")
    gate.set()
    await first.wait()
    await second.wait()
    said = [m.message.text for m in one.snapshot().messages]
    assert said == ["One.", "well.", "Two.", "both"]
    await second.close()


@talking
async def test_a_run_that_a_stopping_server_leaves_continues_when_it_is_opened_again(
    talk: Talk,
) -> None:
    begun, never = asyncio.Event(), asyncio.Event()

    async def work(name: str) -> str:
        RAN.append(name)
        if RAN.count(name) == 1:
            begun.set()
            await never.wait()
        return name

    @tool(effects=Effects(read_only=True))
    async def fetch() -> str:
        """Fetch."""
        return await work("fetch")

    @tool
    async def send() -> str:
        """Send."""
        return await work("send")

    lines = {"model": [*text("One, ")[:-1], never], "fetch": FETCH, "send": SEND}
    for name, line in lines.items():
        first = talk.channels([line], [fetch, send])
        channel = first.open(name)
        await channel.say("Go.", id="u1")
        await (read_until(channel, "streamed") if name == "model" else begun.wait())
        await first.close()
        begun.clear()
        second = talk.channels([text("Done.")], [fetch, send])
        assert await second.open(name).recover()
        await second.wait()
        *_, last = channel.session.messages
        assert (last.text == "Done.") == (name != "send")
    assert RAN == ["fetch", "fetch", "send"]
    assert len(channel.session.pending) == 1  # a person says whether it was sent


@talking
async def test_a_run_may_end_while_a_server_stops(talk: Talk) -> None:
    gate = asyncio.Event()
    channels = talk.channels([[*text("One, ")[:-1], gate, *text("two.")]])
    channel = channels.open("t")
    await channel.say("Count.")
    await read_until(channel, "streamed")
    closing = asyncio.create_task(channels.close(grace=60))
    await asyncio.sleep(0)
    gate.set()
    await closing
    assert channel.session.messages[-1].text == "One, two."


def test_an_agent_whose_calls_never_ask_is_no_reason_for_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    @talking
    async def use(talk: Talk) -> None:
        channel = talk.channels([text("Hi.")], [look]).open("t")
        await channel.say("Hi")
        assert kinds(await read(channel))[-2] == "run_ended"

    use(tmp_path)
    assert caplog.text == ""
