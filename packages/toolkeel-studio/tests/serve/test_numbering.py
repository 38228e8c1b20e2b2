"""Items have the same ids for every reader, from wherever it starts."""

from __future__ import annotations

from dataclasses import replace

from tests.serve.talking import BOTH, Talk, approval, read, talking, text
from toolkeel import events
from toolkeel.messages import ToolMessage
from toolkeel.model_interface import CallDelta, Finish, ReasoningDelta, TextDelta
from toolkeel_studio.serve.items import Item, Problem
from toolkeel_studio.serve.numbering import is_live_only


def ids(item: Item) -> Item:
    """Return an item without its body, whose tuples are lists once they come from a journal."""
    return replace(item, body=Problem(""))


@talking
async def test_entries_have_the_same_ids_from_whichever_number_they_are_read(talk: Talk) -> None:
    lines = [BOTH, text("done"), text("Hello again.")]
    channel = talk.channels(lines).open("t", "ada")
    await channel.say("Pay.", id="u1")
    await channel.decide(approval(await read(channel)), "approve")
    await read(channel)
    await channel.say("Hi.", id="u2")
    live = [item for item in await read(channel) if item.position.delta == 0]
    other = talk.channels([])  # has followed nothing of it
    for cut in range(len(live)):
        after = live[cut - 1].number if cut else "0"
        found = await read(other.open("t", "ada"), after)
        assert [ids(item) for item in found] == [ids(item) for item in live[cut:]]


def test_live_items_are_what_no_entry_says() -> None:
    place = 1, 0.0, "r"
    deltas = [TextDelta("x"), ReasoningDelta("x"), CallDelta(0), Finish("stop")]
    streamed = [is_live_only(events.Streamed(*place, delta)) for delta in deltas]
    assert streamed == [True, True, True, False]
    done = events.ToolFinished(*place, "c", ToolMessage("x"), {"a": 1})
    same = events.ToolFinished(*place, "c", ToolMessage("x"))
    assert is_live_only(done) and not is_live_only(same)
    assert is_live_only(events.Nested(*place, "c", "inner", done))
    assert not is_live_only(events.Nested(*place, "c", "inner", same))
    assert not is_live_only(events.RunStarted(*place))
