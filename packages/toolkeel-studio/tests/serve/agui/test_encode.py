"""Items as events of AG-UI, applied as a client applies them."""

from __future__ import annotations

from typing import Any

from ag_ui.core import CustomEvent
from hypothesis import given
from hypothesis import strategies as st

from toolkeel import events
from toolkeel._records import entries
from toolkeel._records.tickets import Ticket
from toolkeel.messages import AssistantMessage, Reasoning, ToolCall
from toolkeel.model_interface import CallDelta, ReasoningDelta, TextDelta
from toolkeel_studio.serve.agui.encode import AguiEncoder, interrupt_of
from toolkeel_studio.serve.items import Item


def item(body: Any) -> Item:
    return Item("1.0", "", body, message_id="m1")


def streamed(delta: Any) -> Item:
    return item(events.Streamed(1, 0.0, "r", delta))


def read(items: list[Item]) -> dict[str, str]:
    """Return the texts that a client has at the end, by what they are of."""
    encoder, texts, open_ids = AguiEncoder("t", "r", str), {}, set()
    for each in items:
        for event in encoder.encode(each):
            kind, _, step = event.type.value.rpartition("_")
            if not kind.endswith(("MESSAGE", "CALL")):
                continue
            id = getattr(event, "tool_call_id", None) or event.message_id
            if step == "START":
                assert id not in open_ids
                open_ids.add(id)
            elif step == "END":
                open_ids.remove(id)
            else:
                assert id in open_ids
                texts[id] = texts.get(id, "") + event.delta
    assert not open_ids
    return texts


pieces = st.lists(
    st.one_of(
        st.builds(TextDelta, st.text(max_size=3)),
        st.builds(ReasoningDelta, st.text(max_size=3)),
        st.builds(CallDelta, st.integers(0, 2), st.just(""), st.just(""), st.text(max_size=3)),
    ),
    max_size=12,
)


@given(pieces, st.integers(0, 12))
def test_a_reply_is_complete_however_much_of_it_came_in_pieces(deltas: Any, shown: int) -> None:
    texts: dict[str, str] = {"text": "", "thought": "", "c0": "", "c1": "", "c2": ""}
    known: set[int] = set()
    sent = []
    for delta in deltas:
        if isinstance(delta, CallDelta):
            id = f"c{delta.index}"
            if delta.index not in known:
                known.add(delta.index)
                delta = CallDelta(delta.index, id, "look", delta.arguments)
            texts[id] += delta.arguments
        else:
            texts["text" if isinstance(delta, TextDelta) else "thought"] += delta.text
        sent.append(streamed(delta))
    calls = tuple(ToolCall(f"c{n}", "look", texts[f"c{n}"]) for n in sorted(known))
    thought = (Reasoning(texts["thought"]),) if texts["thought"] else ()
    reply = AssistantMessage(texts["text"], calls, reasoning=thought)
    done = item(entries.ModelReplied("r", 1, reply))
    expected = {"m1": texts["text"], "m1-reasoning": texts["thought"]}
    expected |= {f"c{n}": texts[f"c{n}"] for n in known}
    expected = {id: text for id, text in expected.items() if text}
    assert read([*sent[:shown], done]) == expected


def test_what_is_open_is_closed_before_a_run_ends() -> None:
    encoder = AguiEncoder("t", "r", str)
    for delta in (ReasoningDelta("hm"), TextDelta("so"), CallDelta(0, "c1", "look", "{")):
        list(encoder.encode(streamed(delta)))
    made = [each.type.value for each in encoder.encode(item(entries.RunEnded("r", "cancelled")))]
    assert made == ["TOOL_CALL_END", "RUN_FINISHED"]


def test_what_is_stored_to_resume_a_run_is_not_sent() -> None:
    for reason in ("answered", "refused", "limit", "cancelled"):
        ended = item(entries.RunEnded("r", reason, output={"saved": "CANARY"}))
        assert "CANARY" not in repr(list(AguiEncoder("t", "r", str).encode(ended)))


def test_clients_before_1_0_get_none_of_its_shapes() -> None:
    for reason in ("cancelled", "answered"):
        encoder = AguiEncoder("t", "r", str, is_current=False)
        made = [*encoder.start(), *encoder.encode(item(entries.RunEnded("r", reason)))]
        shapes = [each.model_dump(by_alias=True) for each in made]
        assert "protocolVersion" not in shapes[0] and "usage" not in shapes[1]
        assert shapes[1]["outcome"] == {"type": "success"}
    encoder = AguiEncoder("t", "r", str, is_current=False)
    [end] = encoder.wait([], ["c1"])
    assert "outcome" not in end.model_dump(by_alias=True)


def test_an_interrupt_shows_the_call_and_asks_for_a_form_of_its_own() -> None:
    ticket = Ticket("i", "c1", "pay", {"amount": 5}, "digest", 0.0, reason="much")
    asked = interrupt_of(ticket, "i.seal", "c1")
    assert asked.metadata == {"toolName": "pay", "args": {"amount": 5}}
    assert asked.id == "i.seal" and asked.message == "much"
    form = {"type": "object", "properties": {"name": {"type": "string"}}}
    asked = interrupt_of(Ticket("i", "c1", "ask", {}, "digest", 0.0, form=form), "i.seal", "c1")
    assert (asked.reason, asked.response_schema) == ("input_required", form)


def test_what_a_reply_cites_is_an_event_of_its_message() -> None:
    options = {"citations": [{"url": "https://a.example", "title": "A"}]}
    reply = AssistantMessage("Yes [1].", provider_options=options)
    made = list(AguiEncoder("t", "r", str).encode(item(entries.ModelReplied("r", 1, reply))))
    [event] = [each for each in made if isinstance(each, CustomEvent)]
    [source] = event.value["sources"]
    assert (event.name, event.value["messageId"]) == ("sources", "m1")
    assert (source["url"], source["mark"], source["spans"]) == (
        "https://a.example",
        "[1]",
        [[4, 7]],
    )
    plain = AguiEncoder("t", "r", str).encode(
        item(entries.ModelReplied("r", 1, AssistantMessage("x")))
    )
    assert not [each for each in plain if isinstance(each, CustomEvent)]
