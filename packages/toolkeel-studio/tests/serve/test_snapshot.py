"""A session as it is now, for whoever loads a page."""

from __future__ import annotations

from tests.serve.talking import BOTH, Talk, approval, calls, read, talking, text
from toolkeel.sessions import Sessions


@talking
async def test_a_snapshot_has_what_the_transcript_has_with_ids(talk: Talk) -> None:
    two = calls(("c1", "look", '{"what": "a"}'), ("c2", "look", '{"what": "b"}'))
    channel = talk.channels([two, BOTH, text("done")]).open("t", "ada")
    await channel.say("Go.", id="u1")
    items = await read(channel)
    before = channel.snapshot()
    assert before.number == items[-1].number and before.reason == "waiting"
    assert [p.approval_id for p in before.pending] == [approval(items)]
    assert [(p.call_id, p.message_id) for p in before.pending] == [
        ("c1", next(i.message_id for i in items if i.kind == "waits"))
    ]
    await channel.decide(approval(items), "approve")
    await read(channel)
    after = channel.snapshot()
    assert [m.message for m in after.messages] == channel.session.messages
    assert {m.run_id for m in after.messages} == {after.run_id} and after.reason == "answered"
    assert after.pending == () and after.messages[0].id == "u1"
    other = Sessions(talk.sessions.path)
    assert talk.channels([]).open("t", "ada").snapshot() == after
    assert other.open("t", "ada").messages == channel.session.messages


@talking
async def test_messages_that_nobody_has_taken_are_unread(talk: Talk) -> None:
    channel = talk.channels([]).open("t")
    assert channel.snapshot().number == "0.0"
    channel.session.say("Later.", "ben", id="u7")
    [left] = channel.snapshot().unread
    assert (left.id, left.message.text) == ("u7", "Later.")
