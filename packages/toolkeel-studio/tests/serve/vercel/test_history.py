"""Where the last message begins, and before which request a message is answered again."""

from __future__ import annotations

from tests.serve.talking import Talk, calls, read, talking, text
from toolkeel_studio.serve.vercel.history import last_message, request_before


@talking
async def test_a_message_is_answered_again_from_its_last_request(talk: Talk) -> None:
    look = calls(("c1", "look", '{"what": "x"}'))
    channel = talk.channels([look, text("one"), text("two")]).open("t")
    await channel.say("One?", id="u1")
    first = await read(channel)
    await channel.say("Two?", id="u2")
    second = await read(channel, first[-1].number)
    asked = [i.position.entry for i in (*first, *second) if i.kind == "model_asked"]
    ids = [i.message_id for i in (*first, *second) if i.kind == "model_replied"]
    assert request_before(channel.session, "") == asked[2]
    assert request_before(channel.session, ids[2]) == asked[2]
    assert request_before(channel.session, ids[0]) == asked[1]
    assert request_before(channel.session, "none") == 0
    number, id = last_message(channel.session)
    assert id == ids[2] and [i.number for i in second if i.kind == "steered"] == [number]
