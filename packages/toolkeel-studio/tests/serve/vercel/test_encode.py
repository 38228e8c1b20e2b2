"""What a page shows of a run equals what the journal says, in whichever pieces it arrives."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.serve.talking import Talk, approval, calls, look, read, talking, text
from toolkeel import Agent, ToolOutput, tool
from toolkeel.content import Image
from toolkeel.messages import AssistantMessage, Reasoning, ToolCall
from toolkeel.model_interface import Finish, ReasoningDelta, TextDelta
from toolkeel_studio.serve.items import Item
from toolkeel_studio.serve.vercel.encode import Chunk, VercelEncoder
from toolkeel_studio.serve.vercel.history import (
    apply_chunk,
    last_message,
    new_message,
    read_messages,
)

CANARIES = [f"CANARY-{n}" for n in range(8)]


def encoder() -> VercelEncoder:
    """An encoder of a server without client tools."""
    return VercelEncoder(lambda name: name == "pick", lambda error: "masked")


def encode(items: list[Item], made: VercelEncoder | None = None) -> list[Chunk]:
    """Return the chunks of items."""
    own = made or encoder()
    return [chunk for item in items for chunk in own.encode(item)]


def show(chunks: list[Chunk]) -> dict[str, Any]:
    """Return the message that a page makes of chunks."""
    message = new_message()
    for chunk in chunks:
        apply_chunk(message, chunk)
    return message


PIECES = st.lists(st.text("ab 猫\n", min_size=1, max_size=4), min_size=1, max_size=3)
REPLIES = st.one_of(
    PIECES.map(lambda pieces: [TextDelta(each) for each in pieces]),
    PIECES.map(lambda pieces: [ReasoningDelta(each) for each in pieces]),
)


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(REPLIES, min_size=1, max_size=4), st.integers(0, 3), st.booleans())
def test_a_page_shows_the_same_of_pieces_and_of_whole_replies(
    tmp_path_factory: Any, groups: list[list[Any]], count: int, whole: bool
) -> None:
    deltas = [delta for group in groups for delta in group]
    made = [(f"c{n}", "look", json.dumps({"what": "猫" * n})) for n in range(count)]
    assume(count or any(isinstance(d, TextDelta) and d.text.strip() for d in deltas))
    first: Any = [*deltas, *(calls(*made) if made else [Finish("stop")])]
    if whole:
        said = "".join(d.text for d in deltas if isinstance(d, TextDelta))
        thought = "".join(d.text for d in deltas if isinstance(d, ReasoningDelta))
        asked = tuple(ToolCall(*each) for each in made)
        first = AssistantMessage(said, asked, reasoning=(Reasoning(thought),))

    @talking
    async def use(talk: Talk) -> None:
        channel = talk.channels([first, text("done")], [look]).open("t")
        await channel.say("Go.", id="u1")
        items = await read(channel)
        live = show(encode(items))
        entries = show(encode([item for item in items if not item.position.delta]))
        [_, loaded] = read_messages(channel.session, lambda name: name == "pick")
        assert loaded == entries
        kinds = ("text", "reasoning")
        for kind in kinds:
            texts = [
                "".join(p["text"] for p in each["parts"] if p["type"] == kind)
                for each in (live, entries)
            ]
            assert texts[0] == texts[1]
        others = [[p for p in each["parts"] if p["type"] not in kinds] for each in (live, entries)]
        assert others[0] == others[1] and live["id"] == entries["id"]
        for chunks in (encode(items),):
            check_order(chunks)

    use(tmp_path_factory.mktemp("talk"))


def check_order(chunks: list[Chunk]) -> None:
    """Check that every part is started before it goes on, and ended before the message is."""
    open_parts: set[str] = set()
    known: set[str] = set()
    for chunk in chunks:
        kind = chunk["type"]
        if kind.endswith(("text-start", "reasoning-start")):
            open_parts.add(chunk["id"])
        elif kind.endswith(("text-delta", "reasoning-delta")):
            assert chunk["id"] in open_parts
        elif kind.endswith(("text-end", "reasoning-end")):
            open_parts.remove(chunk["id"])
        elif kind in ("tool-input-start", "tool-input-available"):
            known.add(chunk["toolCallId"])
        elif kind.startswith("tool-"):
            assert chunk["toolCallId"] in known
            assert chunk.get("dynamic") or "output" not in kind  # version 5 finds the call by it
        elif kind in ("finish", "finish-step"):
            assert not open_parts
    names = [chunk["type"] for chunk in chunks]
    assert names[0] == "start" and names.count("start") == names.count("finish") == 1
    assert names.count("start-step") == names.count("finish-step")


@talking
async def test_nothing_leaves_the_server_that_is_not_for_the_page(talk: Talk) -> None:
    @tool
    def secretive() -> ToolOutput:
        """Return something."""
        return ToolOutput("fine", artifact=CANARIES[0], details={"x": CANARIES[1]})

    reply = AssistantMessage(
        "Hm.",
        (ToolCall("c1", "secretive", "{}", provider_options={"x": CANARIES[2]}),),
        reasoning=(Reasoning("thinking", CANARIES[3]),),
        provider_options={"x": CANARIES[4]},
    )
    lines: list[Any] = [reply, RuntimeError(CANARIES[5])]
    channels = talk.channels(lines, [secretive])
    channels.agent = Agent(channels.agent.model, [secretive], instructions=CANARIES[6])
    channels._deps = lambda scope: CANARIES[7]
    channel = channels.open("t")
    await channel.say("Go.", id="u1")
    chunks = encode(await read(channel))
    sent = json.dumps([chunks, read_messages(channel.session, lambda name: name == "pick")])
    assert "fine" in sent and "thinking" in sent
    assert [canary for canary in CANARIES if canary in sent] == []


@talking
async def test_edited_arguments_reach_the_page(talk: Talk) -> None:
    line = calls(("c1", "pay", '{"amount": 5}'))
    channel = talk.channels([line, text("done")]).open("t")
    await channel.say("Pay.", id="u1")
    waiting = await read(channel)
    await channel.decide(approval(waiting), "edit", arguments={"amount": 3})
    after = await read(channel, waiting[-1].number)
    made = encoder()
    encode(waiting, made)
    made.is_done = False
    inputs = [c["input"] for c in encode(after, made) if c["type"] == "tool-input-available"]
    assert inputs[0] == {"amount": 3}


@talking
async def test_pictures_of_a_result_are_files_of_the_message(talk: Talk) -> None:
    @tool
    def draw() -> Image:
        """Draw."""
        return Image(b"\x89PNG\r\n\x1a\n", "image/png")

    channel = talk.channels([calls(("c1", "draw", "{}")), text("done")], [draw]).open("t")
    await channel.say("Draw.", id="u1")
    [file] = [c for c in encode(await read(channel)) if c["type"] == "file"]
    assert file["url"] == "data:image/png;base64,iVBORw0KGgo="


@talking
async def test_a_message_has_the_same_id_when_its_first_reply_failed(talk: Talk) -> None:
    lines = [[ReasoningDelta("Hm."), Finish("stop")], text("Fine.")]
    channel = talk.channels(lines).open("t")
    await channel.say("Go.", id="u1")
    [start] = [c for c in encode(await read(channel)) if c["type"] == "start"]
    assert (
        start["messageId"] == read_messages(channel.session, lambda name: name == "pick")[1]["id"]
    )
    assert start["messageId"] == last_message(channel.session)[1]
