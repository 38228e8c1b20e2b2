"""What a front end says, decides and reads, whichever process runs the session."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from tests.serve.talking import (
    BOTH,
    PAY,
    RAN,
    Talk,
    approval,
    calls,
    kinds,
    pay,
    read,
    read_until,
    talking,
    text,
    texts,
)
from toolkeel import Agent
from toolkeel._records import entries
from toolkeel.content import Image, Text
from toolkeel.testing import Scripted, call
from toolkeel_studio.serve.errors import (
    ChannelError,
    InvalidDecision,
    UnknownApproval,
    UnknownSession,
)


@talking
async def test_a_reader_that_continues_from_a_number_gets_what_an_unbroken_reader_gets(
    talk: Talk,
) -> None:
    gate, more = asyncio.Event(), asyncio.Event()
    line: list[Any] = [*text("One, ")[:-1], gate, *text("two, ")[:-1], more, *text("three.")]
    channel = talk.channels([line]).open("t", "ada")
    await channel.say("Count.", id="u1")
    unbroken = asyncio.create_task(read(channel))
    first = await read_until(channel, "streamed")
    gate.set()
    second = await read_until(channel, "streamed", after=first[-1].number)
    more.set()
    whole = await unbroken  # the run has ended, and nobody reads: the pieces are there all the same
    third = await read(channel, second[-1].number)
    assert [*first, *second, *third] == whole
    assert texts(whole) == "One, two, three."
    assert await read(channel) == whole


@talking
async def test_a_reader_that_stalls_holds_up_neither_the_run_nor_others(talk: Talk) -> None:
    pieces = [f"{n} " for n in range(3000)]
    channel = talk.channels([text(*pieces)]).open("t")
    await channel.say("Count.")
    async with aclosing(channel.read(follow=False)) as stalled:
        first = await anext(stalled)
        one, other = await asyncio.gather(read(channel), read(channel))
        assert one == other and texts(one) == "".join(pieces)
        assert channel.session.info.ended == "answered"
        assert [first, *[item async for item in stalled]] == one


@talking
async def test_after_waiting_ids_and_numbers_continue_and_no_call_is_announced_twice(
    talk: Talk,
) -> None:
    channel = talk.channels([BOTH, text("done")]).open("t", "ada")
    await channel.say("Pay.", id="u1")
    before = await read(channel)
    assert kinds(before)[-2:] == ["waits", "run_ended"] and RAN == ["look x"]
    assert await channel.decide(approval(before), "approve", who="ada") is None
    after = await read(channel, before[-1].number)
    whole = [*before, *after]
    numbers = [item.position for item in whole]
    assert numbers == sorted(set(numbers))
    assert len({item.run_id for item in whole if item.kind != "checkpoint"}) == 1
    assert kinds(whole).count("run_began") == 1
    announced = [item for item in whole if isinstance(item.body, entries.ModelReplied)]
    assert [len(item.body.message.tool_calls) for item in announced] == [2, 0]  # type: ignore[union-attr]
    results = [(item.call_id, item.message_id) for item in whole if item.kind == "call_ended"]
    assert results == [("c2", announced[0].message_id), ("c1", announced[0].message_id)]
    assert RAN == ["look x", "pay 5"]


@talking
async def test_a_message_is_accepted_once_however_often_and_fast_it_is_sent(talk: Talk) -> None:
    channel = talk.channels([text("Hello."), text("Again?")]).open("t", "ada")
    accepted = await asyncio.gather(*(channel.say("Hi", id="u1") for _ in range(20)))
    await read(channel)
    assert accepted.count(True) == 1
    assert not await channel.say("Hi", id="u1")
    assert await channel.say("Hi", id="u2")  # the same text is another message
    await read(channel)
    said = [(m.id, m.message.text) for m in channel.snapshot().messages]
    assert [each for each in said if each[0][0] == "u"] == [("u1", "Hi"), ("u2", "Hi")]
    assert [each.message.text for each in channel.snapshot().messages] == [
        "Hi",
        "Hello.",
        "Hi",
        "Again?",
    ]


@talking
async def test_pictures_may_be_said(talk: Talk) -> None:
    channels = talk.channels([text("A dot.")])
    channel = channels.open("t")
    await channel.say((Text("What?"), Image(b"\x89PNG\r\n\x1a\n", "image/png")), id="u1")
    await read(channel)
    [request] = channels.agent.model.requests  # type: ignore[attr-defined]
    assert request.messages[0].content[1].data == b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize("id", ["x" * 201, "a\nb"])
def test_ids_that_no_client_makes_are_refused(id: str, tmp_path: Path) -> None:
    @talking
    async def use(talk: Talk) -> None:
        channel = talk.channels([]).open("t")
        with pytest.raises(ChannelError, match="printable"):
            await channel.say("Hi", id=id)
        with pytest.raises(ChannelError, match="empty"):
            await channel.say("", id="u1")
        assert not channel.session.exists

    use(tmp_path)


@talking
async def test_a_message_during_a_run_joins_it_and_one_while_it_waits_follows_the_result(
    talk: Talk,
) -> None:
    channels = talk.channels([PAY, text("paid and heard")])
    channel = channels.open("t")
    await channel.say("Pay.", id="u1")
    waiting = await read(channel)
    await channel.say("Hurry.", id="u2")
    assert [m.message.text for m in channel.snapshot().unread] == ["Hurry."]
    await channels.wait()
    assert not channel.is_running
    await channel.decide(approval(waiting), "approve")
    await read(channel)
    roles = [(type(m.message).__name__[:4], m.message.text) for m in channel.snapshot().messages]
    assert roles == [
        ("User", "Pay."),
        ("Assi", ""),
        ("Tool", "paid 5"),
        ("User", "Hurry."),
        ("Assi", "paid and heard"),
    ]


# — decisions —


@talking
async def test_only_the_approval_id_that_was_shown_decides(talk: Talk) -> None:
    channels = talk.channels([PAY, PAY, text("done"), text("done")])
    ada, eve = channels.open("t", "ada"), channels.open("t", "eve")
    await ada.say("Pay.")
    mine = approval(await read(ada))
    await eve.say("Pay.")
    hers = approval(await read(eve))
    ticket, _, seal = mine.partition(".")
    other = hers.partition(".")[2]
    changed = seal[:-1] + ("0" if seal[-1] != "0" else "1")
    forged: list[Any] = ["", "c1", ticket, f"{ticket}.", f"{ticket}.{other}", f"{ticket}.{changed}"]
    for id in [*forged, f"{'0' * 32}.{seal}", hers, seal, None, 1, {"id": mine}]:
        with pytest.raises(UnknownApproval):
            await ada.decide(id, "approve", who="ada")
    with pytest.raises(UnknownApproval):
        await channels.open("none", "ada").decide(mine, "approve")
    await channels.wait()
    assert RAN == [] and len(ada.session.pending) == 1 and ada.session.decisions == {}


@talking
async def test_a_decision_that_is_sent_again_gets_the_first_answer_and_runs_once(
    talk: Talk,
) -> None:
    channel = talk.channels([PAY, text("done")]).open("t", "ada")
    await channel.say("Pay.")
    id = approval(await read(channel))
    votes = (channel.decide(id, v, who=v) for v in ("approve", "deny", "approve"))  # type: ignore[arg-type]
    first, *others = await asyncio.gather(*votes)
    await read(channel)
    late = await channel.decide(id, "deny", who="late")
    counted = {each.decision.verdict for each in (*others, late, first) if each is not None}
    assert [first, *others].count(None) == 1 and len(counted) == 1
    assert (["pay 5"] if counted == {"approve"} else []) == RAN
    with pytest.raises(UnknownApproval):  # another seal than was shown, though it was decided
        await channel.decide(id[:-1] + ("0" if id[-1] != "0" else "1"), "deny")


@talking
async def test_two_tickets_are_both_decided_before_the_run_continues(talk: Talk) -> None:
    two = calls(("c1", "pay", '{"amount": 1}'), ("c2", "pay", '{"amount": 2}'))
    channel = talk.channels([two, text("done")]).open("t")
    await channel.say("Pay.")
    waiting = await read(channel)
    await channel.decide(approval(waiting, "c1"), "approve")
    assert kinds(await read(channel, waiting[-1].number)) == [] and RAN == []
    assert [p.is_decided for p in channel.snapshot().pending] == [True, False]
    await channel.decide(approval(waiting, "c2"), "deny", reason="not two")
    after = await read(channel, waiting[-1].number)
    assert RAN == ["pay 1"] and kinds(after)[-2] == "run_ended"
    results = {i.call_id: i.body.message.text for i in after if i.kind == "call_ended"}  # type: ignore[union-attr]
    assert results["c1"] == "paid 1" and "not two" in results["c2"]


@talking
async def test_edited_arguments_run_and_those_that_do_not_fit_change_nothing(talk: Talk) -> None:
    channel = talk.channels([PAY, text("done")]).open("t")
    await channel.say("Pay.")
    id = approval(await read(channel))
    for wrong in ({"amount": "much"}, {"sum": 3}, None):
        with pytest.raises(InvalidDecision):
            await channel.decide(id, "edit", arguments=wrong)
    with pytest.raises(InvalidDecision, match="permits"):
        await channel.decide(id, "perhaps")  # type: ignore[arg-type]
    assert channel.session.decisions == {}
    await channel.decide(id, "edit", arguments={"amount": 3})
    await read(channel)
    assert RAN == ["pay 3"]


@talking
async def test_an_external_call_is_answered_by_its_id_and_no_other_call_is(talk: Talk) -> None:
    line = calls(("c1", "pay", '{"amount": 5}'), ("c2", "pick", '{"color": "red"}'))
    channel = talk.channels([line, text("done")]).open("t")
    await channel.say("Go.")
    waiting = await read(channel)
    for id in ("c1", "c3", ""):
        with pytest.raises(UnknownApproval):
            await channel.answer(id, "yes")
    with pytest.raises(InvalidDecision, match="permits"):
        await channel.decide(approval(waiting, "c2"), "approve")
    with pytest.raises(InvalidDecision, match="at most"):
        await channel.answer("c2", "x" * 1_000_001)
    assert await channel.answer("c2", "crimson") is None
    again = await channel.answer("c2", "scarlet")
    assert again is not None and again.decision.value == "crimson"
    await channel.decide(approval(waiting, "c1"), "deny")
    after = await read(channel, waiting[-1].number)
    results = {i.call_id: i.body.message.text for i in after if i.kind == "call_ended"}  # type: ignore[union-attr]
    assert results["c2"] == "crimson" and RAN == []


# — cancel —


@talking
async def test_cancel_ends_a_run_and_a_message_after_it_starts_the_next(talk: Talk) -> None:
    never = asyncio.Event()
    channel = talk.channels([[*text("Well, ")[:-1], never], text("Yes?")]).open("t")
    await channel.say("Think.", id="u1")
    await read_until(channel, "streamed")
    await channel.cancel("enough")
    await channel.say("Hello?", id="u2")
    items = await read(channel)
    reasons = [i.body.reason for i in items if isinstance(i.body, entries.RunEnded)]
    assert reasons == ["cancelled", "answered"]


@talking
async def test_cancel_right_after_a_message_ends_the_run_that_is_about_to_start(
    talk: Talk,
) -> None:
    channel = talk.channels([text("too late")]).open("t")
    await channel.say("Think.")
    await channel.cancel()
    items = await read(channel)
    assert [i.body.reason for i in items if isinstance(i.body, entries.RunEnded)] == ["cancelled"]
    assert texts(items) == ""


@talking
async def test_a_run_that_waits_can_be_cancelled_and_its_ticket_decides_nothing_more(
    talk: Talk,
) -> None:
    channel = talk.channels([PAY]).open("t")
    await channel.say("Pay.")
    id = approval(await read(channel))
    await channel.cancel("no")
    assert channel.session.info.ended == "cancelled"
    with pytest.raises(UnknownApproval):
        await channel.decide(id, "approve")
    assert RAN == []


# — what goes wrong —


@talking
async def test_names_of_no_session_and_numbers_of_no_item_are_refused(talk: Talk) -> None:
    channels = talk.channels([text("Hi.")])
    channel = channels.open("t", "ada")
    for unknown in (channels.open("t", "eve"), channels.open("x", "ada")):
        with pytest.raises(UnknownSession, match="no such session"):
            await read(unknown)
        for act in (unknown.cancel, unknown.resume):
            with pytest.raises(UnknownSession):
                await act()
        assert unknown.snapshot().messages == () and not unknown.session.exists
    await channel.say("Hi")
    await read(channel)
    for number in ("x", "1.2.3", "-1", "", "9999", "1e3", "٣"):
        with pytest.raises(ChannelError, match=r"no (number|item)"):
            await read(channel, number)
    with pytest.raises(ChannelError):
        channels.open("", "ada")


@talking
async def test_a_run_that_cannot_start_is_a_problem_for_its_readers(talk: Talk) -> None:
    channels = talk.channels([text("never")])
    channels.options["model"] = 3  # no model
    channel = channels.open("t")
    await channel.say("Hi")
    items = await read(channel)
    assert kinds(items)[-1] == "problem" and not channel.is_running


@talking
async def test_a_model_that_fails_ends_the_run_once(talk: Talk) -> None:
    channel = talk.channels([RuntimeError("down"), text("Up again.")]).open("t")
    await channel.say("Hi", id="u1")
    items = await read(channel)
    assert kinds(items).count("run_ended") == 1 and "problem" not in kinds(items)
    await channel.say("Hi", id="u2")
    assert texts(await read(channel, items[-1].number)) == "Up again."


# — inner agents —


@talking
async def test_items_of_an_inner_agent_name_the_call_around_them(talk: Talk) -> None:
    inner = Agent(Scripted([call("pay", {"amount": 7}, id="i1"), "inner done"]), [pay])
    outer = [calls(("c9", "ask", '{"input": "Pay."}')), text("outer done")]
    channel = talk.channels(outer, [inner.as_tool("ask", "Ask.")]).open("t")
    await channel.say("Go.")
    before = await read(channel)
    shown = [i for i in before if i.kind == "waits"]
    assert [(i.within, i.call_id) for i in shown] == [("c9", "c9"), ("", "c9")]
    assert len({i.approval_id for i in shown}) == 1
    await channel.decide(approval(before), "approve")
    after = await read(channel, before[-1].number)
    own = [i for i in (*before, *after) if not i.within]
    assert [i.call_id for i in own if i.kind == "call_ended"] == ["c9"]
    assert {i.within for i in (*before, *after)} == {"", "c9"}
    assert RAN == ["pay 7"] and texts([i for i in own if not i.within]) == "outer done"


# — other processes —

PROGRAM = Path(__file__).with_name("other_process.py")


def start(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(PROGRAM), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@talking
async def test_after_a_kill_everything_is_read_and_no_call_runs_twice(talk: Talk) -> None:
    log = Path(talk.sessions.path).with_name("log")
    with start(talk.sessions.path, "hang", str(log)) as other:
        assert other.stdout is not None
        assert await asyncio.to_thread(other.stdout.readline) == "looked\n"
        other.send_signal(signal.SIGKILL)
    channel = talk.channels([text("After all.")]).open("t", "ada")
    before = await read(channel)
    assert kinds(before).count("call_ended") == 1 and kinds(before)[-1] == "model_asked"
    assert await channel.recover()
    after = await read(channel, before[-1].number)
    assert texts(after) == "After all." and log.read_text() == "look\n"
    assert {i.run_id for i in (*before, *after) if i.run_id} == {before[-1].run_id}


@pytest.mark.slow
@talking
async def test_a_message_that_several_processes_send_at_once_is_said_once(talk: Talk) -> None:
    others = [start(talk.sessions.path, "say") for _ in range(4)]
    said = [await asyncio.to_thread(each.communicate) for each in others]
    channel = talk.channels([]).open("t", "ada")
    assert sorted(out.strip() for out, _ in said) == ["False", "False", "False", "True"]
    assert [m.message.text for m in channel.snapshot().messages] == ["Hi", "Hello."]


@talking
async def test_what_another_process_does_is_read_and_stopped_from_here(talk: Talk) -> None:
    log = Path(talk.sessions.path).with_name("log")
    with start(talk.sessions.path, "hang", str(log)) as other:
        assert other.stdout is not None
        await asyncio.to_thread(other.stdout.readline)
        channel = talk.channels([]).open("t", "ada")
        assert channel.is_running
        reading = asyncio.create_task(read(channel))
        await channel.cancel("from outside")
        items = await reading
        assert "streamed" not in kinds(items)
        [ended] = [i.body for i in items if isinstance(i.body, entries.RunEnded)]
        assert ended.reason == "cancelled"
        assert await asyncio.to_thread(other.wait) == 0


@talking
async def test_a_cancel_counts_also_at_the_moment_at_which_a_run_starts_to_wait(talk: Talk) -> None:
    channel = talk.channels([PAY, PAY, text("Bye.")]).open("t")
    for n in range(2):
        await channel.say("Pay.", id=f"u{n}")
        await read_until(channel, "run_ended", after=channel.snapshot().number)
        await channel.cancel()  # the run has written its end, and its task has not ended
        await talk.idle()
        assert not channel.session.pending and channel.session.info.ended == "cancelled"
    await channel.say("Hi.", id="u2")
    await talk.idle()
    assert channel.session.messages[-1].text == "Bye." and RAN == []


@talking
async def test_of_messages_after_one_entry_that_come_to_several_processes_one_is_accepted(
    talk: Talk,
) -> None:
    processes = [talk.channels([text("Hello.")]).open("t") for _ in range(4)]
    said = [each.say("Hi.", after=0) for each in processes]
    found = await asyncio.gather(*said)
    await talk.idle()
    assert sorted(found) == [False, False, False, True]
    assert [m.text for m in processes[0].session.messages] == ["Hi.", "Hello."]
    assert await processes[0].say("More.", after=processes[0].session.info.head)
