"""Items are identified by their place: ids may be repeated, replaced or missing."""

from __future__ import annotations

from typing import Any, TypeAlias

from hypothesis import given
from hypothesis import strategies as st

from toolkeel.agent.reply_assembly import assemble
from toolkeel.messages import AssistantMessage
from toolkeel.model_interface import Delta
from toolkeel.providers.openai_responses import StreamDecoder, decode, decode_messages

Json: TypeAlias = dict[str, Any]

IDS = st.sampled_from(["", "a", "b"])


def make_item(kind: str, number: int, ids: tuple[str, str]) -> Json:
    """Return an item whose content is its number, with ids that may belong to others too."""
    id, call_id = ids
    named = {"id": id} if id else {}
    if kind == "reasoning":
        return {"type": kind, **named, "summary": [{"type": "summary_text", "text": f"t{number}."}]}
    if kind == "message":
        part = {"type": "output_text", "text": f"m{number}.", "annotations": []}
        return {"type": kind, **named, "role": "assistant", "content": [part]}
    call = {"call_id": call_id} if call_id else {}
    return {"type": kind, **named, **call, "name": f"f{number}", "arguments": f'{{"n":{number}}}'}


@st.composite
def outputs(draw: st.DrawFn) -> list[Json]:
    kinds = st.sampled_from(["reasoning", "message", "function_call"])
    drawn = draw(st.lists(st.tuples(kinds, st.tuples(IDS, IDS)), min_size=1, max_size=6))
    return [make_item(kind, number, ids) for number, (kind, ids) in enumerate(drawn)]


def whole(output: list[Json]) -> Json:
    return {"object": "response", "status": "completed", "output": output}


def events_of(index: int, item: Json, sent: tuple[bool, bool, bool]) -> list[Json]:
    """Return the events of one item, as far as the server sends them."""
    starts, streams, ends = sent
    place = {"output_index": index, "item_id": item.get("id")}
    if item["type"] == "function_call":
        empty: Json = {**item, "arguments": ""}
        delta = {"type": "response.function_call_arguments.delta", "delta": item["arguments"]}
    elif item["type"] == "message":
        empty = {**item, "content": []}
        delta = {"type": "response.output_text.delta", "delta": item["content"][0]["text"]}
    else:
        empty = {**item, "summary": []}
        delta = {"type": "response.reasoning_summary_text.delta", "summary_index": 0}
        delta |= {"delta": item["summary"][0]["text"]}
    events: list[Json] = []
    if starts:
        added = {"type": "response.output_item.added", "output_index": index, "item": empty}
        events.append(added)
    if streams and starts:
        events.append({**place, **delta})
    if ends:
        done = {"type": "response.output_item.done", "output_index": index, "item": item}
        events.append(done)
    return events


def check_reply(reply: Any, output: list[Json]) -> None:
    """Every item is in the reply, once and in its place."""
    said = [item["content"][0]["text"] for item in output if item["type"] == "message"]
    thought = [item["summary"][0]["text"] for item in output if item["type"] == "reasoning"]
    called = [item["name"] for item in output if item["type"] == "function_call"]
    assert reply.text == "".join(said)
    assert "\n\n".join(one.text for one in reply.reasoning) == "\n\n".join(thought)
    assert [call.name for call in reply.tool_calls] == called
    assert [call.arguments for call in reply.tool_calls] == [f'{{"n":{n[1:]}}}' for n in called]
    assert len({call.id for call in reply.tool_calls}) == len(called)


@given(outputs())
def test_every_item_of_a_whole_answer_is_read_whatever_the_ids(output: list[Json]) -> None:
    check_reply(decode(whole(output)), output)


@given(st.data(), outputs(), st.booleans())
def test_every_streamed_item_is_read_once_whatever_the_ids(
    data: st.DataObject, output: list[Json], repeated: bool
) -> None:
    sent = st.tuples(st.booleans(), st.booleans(), st.booleans())
    decoder = StreamDecoder()
    deltas: list[Delta | AssistantMessage] = []
    for index, item in enumerate(output):
        parts = data.draw(sent) if repeated else (True, True, True)
        for event in events_of(index, item, parts):
            deltas += decoder.feed(event)
    final = output if repeated else []
    deltas += decoder.feed({"type": "response.completed", "response": {"output": final}})
    check_reply(assemble([*deltas, *decoder.finish()]), output)


@given(outputs(), st.data())
def test_a_final_list_without_its_reasoning_repeats_nothing(
    output: list[Json], data: st.DataObject
) -> None:
    named = [{**item, "id": f"i{index}"} for index, item in enumerate(output)]
    decoder = StreamDecoder()
    deltas: list[Delta | AssistantMessage] = []
    for index, item in enumerate(named):
        for event in events_of(index, item, (True, data.draw(st.booleans()), True)):
            deltas += decoder.feed(event)
    final = [item for item in named if item["type"] != "reasoning"]
    deltas += decoder.feed({"type": "response.completed", "response": {"output": final}})
    check_reply(assemble([*deltas, *decoder.finish()]), output)


@given(outputs(), st.integers(0, 6), st.sampled_from(["developer", "system", "user"]))
def test_an_item_with_a_role_hides_no_call_of_a_stored_conversation(
    output: list[Json], place: int, role: str
) -> None:
    tools = {"type": "additional_tools", "role": role, "tools": []}
    items = [*output[:place], tools, *output[place:]]
    read: Any = decode_messages([{"role": "user", "content": "q"}, *items])
    asked, reply = read
    assert asked.text == "q"
    check_reply(reply, output)
    assert tools in reply.provider_options["openai-responses"]["output"]


PARTS = {
    "message": ("output_text", "text", "content_index"),
    "refusal": ("refusal", "refusal", "content_index"),
    "reasoning": ("reasoning_summary_text", "text", "summary_index"),
}


@st.composite
def parted(draw: st.DrawFn) -> tuple[str, list[str], list[Json]]:
    """An item's kind, the texts of its parts, and events that carry each text one way or another."""
    kind = draw(st.sampled_from(list(PARTS)))
    texts = draw(st.lists(st.text("ab 猫\n", min_size=1, max_size=6), min_size=1, max_size=3))
    named, key, index = PARTS[kind]
    about = draw(st.sampled_from([{"output_index": 0}, {"item_id": "i"}, {}]))
    events: list[Json] = []
    for number, text in enumerate(texts):
        place = {**about, index: number}
        sent = draw(st.sampled_from([0, len(text) // 2, len(text)]))
        if sent:
            events.append({"type": f"response.{named}.delta", **place, "delta": text[:sent]})
        part = {"type": f"response.{named}.done", **place, key: text}
        holder = "reasoning_summary_part" if kind == "reasoning" else "content_part"
        whole = {"type": f"response.{holder}.done", **place, "part": {"type": named, key: text}}
        if kind == "reasoning":
            whole["part"]["type"] = "summary_text"
        blank = {**part, key: ""}  # as proxies send it that have only the pieces
        ends = [[part], [whole], [part, whole], [blank, whole]]
        events += draw(st.sampled_from([*ends, [], [blank]] if sent == len(text) else ends))
    return kind, texts, events


@given(parted(), st.booleans())
def test_a_part_is_read_once_however_much_of_it_came_before_its_end(
    sent: tuple[str, list[str], list[Json]], is_empty_at_the_end: bool
) -> None:
    kind, texts, events = sent
    wire = {"type": "reasoning" if kind == "reasoning" else "message", "id": "i"}
    if is_empty_at_the_end:
        done = {"type": "response.output_item.done", "output_index": 0}
        events = [*events, {**done, "item": {**wire, "content": []}}]
    end = {"type": "response.completed", "response": {"output": []}}
    decoder = StreamDecoder()
    deltas = [delta for event in [*events, end] for delta in decoder.feed(event)]
    reply = assemble([*deltas, *decoder.finish()])
    if kind == "reasoning":
        assert "".join(one.text for one in reply.reasoning) == "\n\n".join(texts)
    else:
        assert reply.text == "".join(texts)
        assert reply.finish_reason == ("refusal" if kind == "refusal" else "stop")
