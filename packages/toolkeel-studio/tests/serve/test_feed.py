"""The list of latest items is bounded, and whoever falls behind it reads the journal."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from tests.serve.talking import Talk, kinds, read, read_until, talking, text, texts
from toolkeel import Agent
from toolkeel.sessions import Sessions
from toolkeel.testing import Scripted
from toolkeel_studio.serve import feed
from toolkeel_studio.serve.channel import Channel
from toolkeel_studio.serve.items import Item


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the list retain only ten items besides the last reply."""
    monkeypatch.setattr(feed, "KEPT", 10)


@talking
async def test_a_reader_who_falls_behind_continues_with_the_entries_of_the_journal(
    talk: Talk,
) -> None:
    pieces = [f"{n} " for n in range(40)]
    channel = talk.channels([text(*pieces), text(*pieces), text("end")]).open("t")
    async with aclosing(_say(channel)) as stalled:
        first = [await anext(stalled) for _ in range(8)]
        for n in ("u2", "u3"):
            await channel.say("More.", id=n)
            await read(channel)
        rest: list[Item] = []
        while kinds(rest).count("run_ended") < 3:
            rest.append(await anext(stalled))
    seen = [*first, *rest]
    numbers = [item.position for item in seen]
    assert numbers == sorted(set(numbers))
    entries = [item for item in seen if item.position.delta == 0]
    replies = [i.body.message.text for i in entries if i.kind == "model_replied"]  # type: ignore[union-attr]
    assert replies == ["".join(pieces)] * 2 + ["end"]
    # Of a reply that has left the list no later piece is delivered: what was read is its beginning.
    assert replies[0].startswith(texts([i for i in seen if i.message_id == first[-1].message_id]))


async def _say(channel: Channel) -> AsyncGenerator[Item, None]:
    """Say something, then read on for ever."""
    await channel.say("Count.", id="u1")
    async for item in channel.read():
        yield item


@talking
async def test_the_reply_that_is_being_written_is_there_from_its_first_piece(talk: Talk) -> None:
    gate, pieces = asyncio.Event(), [f"{n} " for n in range(100)]
    channel = talk.channels([[*text(*pieces)[:-1], gate, *text("end")]]).open("t")
    await channel.say("Count.")
    await read_until(channel, "streamed", 100)
    late = await read_until(channel, "streamed", 100)
    assert texts(late) == "".join(pieces)
    gate.set()
    assert texts(await read(channel)) == "".join(pieces) + "end"


@talking
async def test_pieces_beyond_the_most_are_left_to_the_entry_of_the_reply(talk: Talk) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(feed, "MOST", 5)
        channel = talk.channels([text(*"abcdefgh"), text("more")]).open("t")
        await channel.say("Go.", id="u1")
        items = await read(channel)
        assert texts(items) == "abcde" and "model_replied" in kinds(items)
        await channel.say("Go.", id="u2")
        assert texts(await read(channel, items[-1].number)) == "more"


@talking
async def test_entries_of_another_writer_between_two_runs_are_in_their_place(talk: Talk) -> None:
    channel = talk.channels([text("one"), text("three")]).open("t")
    await channel.say("One?", id="u1")
    before = await read(channel)
    elsewhere = Sessions(talk.sessions.path)  # the journal grows without this feed
    session = elsewhere["t"]
    session._storage.live._watchers.clear()
    await Agent(Scripted(["two"])).run("Two?", session=session)
    await channel.say("Three?", id="u3")
    whole = await read(channel)
    of_run = [item.number for item in before if not item.position.delta]
    entries = [item.position.entry for item in whole if not item.position.delta]
    assert [f"{number}.0" for number in entries[: len(of_run)]] == of_run
    assert entries == [*range(1, entries[-1] + 1)]
