"""The loop around every encoder: from the message that was said to the end of its run, in batches."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator

import pytest

from tests.serve.talking import PAY, Talk, approval, read, talking, text
from toolkeel_studio.serve.channel import Channel
from toolkeel_studio.serve.items import Item, is_said
from toolkeel_studio.serve.stream import encode_run, to_event, with_heartbeat


class Kinds:
    """Encodes each item as its kind, up to the end of a run."""

    def __init__(self) -> None:
        self.is_done = False

    def encode(self, item: Item) -> Iterator[str]:
        self.is_done = item.kind == "run_ended"
        yield item.kind

    def finish(self) -> Iterator[str]:
        yield from [] if self.is_done else ["finish"]


async def kinds(channel: Channel, after: str = "0", **options: object) -> list[str]:
    batches = encode_run(channel, after, Kinds(), **options)  # type: ignore[arg-type]
    return [each async for batch in batches for each in batch]


@talking
async def test_a_stream_begins_with_the_message_that_was_said_and_ends_with_its_run(
    talk: Talk,
) -> None:
    channel = talk.channels([text("one"), text("two"), text("three")]).open("t")
    for n in ("u1", "u2"):
        await channel.say("Go.", id=n)
        await read(channel)
    made = await kinds(channel, starts=lambda item: is_said(item, "u2"))
    assert made[-1] == "run_ended" and made.count("model_replied") == 1
    assert made[0] == "steered" and "run_began" not in made


@talking
async def test_a_run_that_has_continued_is_one_stream_only_if_asked_for(talk: Talk) -> None:
    channel = talk.channels([PAY, text("Paid.")]).open("t")
    await channel.say("Pay.", id="u1")
    waiting = await read(channel)
    assert (await kinds(channel, is_across_waits=True)).count("model_replied") == 1
    await channel.decide(approval(waiting), "approve")
    await read(channel)
    assert (await kinds(channel)).count("model_replied") == 1
    assert (await kinds(channel, is_across_waits=True)).count("model_replied") == 2


@talking
async def test_a_stream_in_which_nothing_was_to_do_ends_by_the_encoder(talk: Talk) -> None:
    channel = talk.channels([text("one")]).open("t")
    await channel.say("Go.", id="u1")
    items = await read(channel)
    assert (await kinds(channel, items[-1].number)) in (["finish"], ["checkpoint", "finish"])


def test_a_quiet_stream_sends_comments_and_loses_no_line() -> None:
    async def use() -> list[str]:
        gate = asyncio.Event()

        async def lines() -> AsyncGenerator[str, None]:
            yield "one"
            await gate.wait()
            yield "two"

        found: list[str] = []
        async for line in with_heartbeat(lines(), 0.01):
            found.append(line)
            if found.count(": still here\n\n") == 3:
                gate.set()
        return found

    found = asyncio.run(use())
    assert found[0] == "one" and found[-1] == "two" and len(found) >= 5


def test_a_stream_that_fails_fails_its_reader_and_closes() -> None:
    async def use() -> None:
        closed: list[bool] = []

        async def lines() -> AsyncGenerator[str, None]:
            try:
                yield "one"
                raise ValueError("broken")
            finally:
                closed.append(True)

        with pytest.raises(ValueError, match="broken"):
            async for _ in with_heartbeat(lines(), 10):
                pass
        assert closed == [True]

    asyncio.run(use())


def test_an_event_is_one_line_of_json_in_any_language() -> None:
    assert to_event({"text": "猫\n"}) == 'data: {"text":"猫\\n"}\n\n'
    assert to_event([1], "made").startswith("event: made\ndata: ")
