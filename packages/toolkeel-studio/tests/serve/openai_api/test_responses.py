"""Items as events of a response, read by OpenAI's own types."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from openai.types.responses import ResponseStreamEvent
from pydantic import TypeAdapter

from toolkeel import events
from toolkeel._records import entries
from toolkeel.messages import AssistantMessage, Reasoning
from toolkeel.model_interface import ReasoningDelta, TextDelta
from toolkeel_studio.serve.items import Item
from toolkeel_studio.serve.openai_api.ids import ResponseId
from toolkeel_studio.serve.openai_api.responses import STATUS, ResponseEncoder

EVENTS: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)


def encoder() -> ResponseEncoder:
    return ResponseEncoder(
        ResponseId("t", 0), "agent", {}, lambda name: False, lambda error: "masked"
    )


def item(body: Any) -> Item:
    return Item("1.0", "", body, message_id="m1")


@given(
    st.lists(
        st.builds(TextDelta, st.text(max_size=3)) | st.builds(ReasoningDelta, st.text(max_size=3))
    ),
    st.integers(0, 9),
)
def test_a_reply_is_complete_however_much_of_it_came_in_pieces(deltas: Any, shown: int) -> None:
    said = "".join(each.text for each in deltas if isinstance(each, TextDelta))
    thought = "".join(each.text for each in deltas if isinstance(each, ReasoningDelta))
    reply = AssistantMessage(said, reasoning=(Reasoning(thought),) if thought else ())
    made = encoder()
    out = list(made.start(1.0))
    bodies = [events.Streamed(1, 0.0, "r", each) for each in deltas[:shown]]
    for body in (*bodies, entries.ModelReplied("r", 1, reply), entries.RunEnded("r", "answered")):
        out += made.encode(item(body))
    assert [each["sequence_number"] for each in out] == list(range(len(out)))
    typed = [EVENTS.validate_python(each) for each in out]
    assert "".join(e.delta for e in typed if e.type == "response.output_text.delta") == said
    assert typed[-1].response.output_text == said and typed[-1].response.status == "completed"


def test_each_way_a_run_ends_is_a_status() -> None:
    for reason, status in STATUS.items():
        *_, last = encoder().encode(item(entries.RunEnded("r", reason, "CANARY")))
        assert EVENTS.validate_python(last).response.status == status
        assert "CANARY" not in str(last)


CITED = AssistantMessage(
    "Yes [1], no.",
    provider_options={
        "citations": ["https://a.example", {"url": "javascript:alert(1)", "title": "b"}],
        "annotations": [{"type": "file_citation", "file_id": "f1", "filename": "c.pdf"}],
    },
)


@given(st.lists(st.integers(0, 12)), st.booleans())
def test_what_a_reply_cites_is_an_annotation_of_its_text(cuts: list[int], thinks: bool) -> None:
    edges = sorted({0, *cuts})
    pieces: list[Any] = [TextDelta(CITED.text[a:b]) for a, b in pairwise(edges)]
    if thinks:
        pieces[1:1] = [ReasoningDelta("hm")]
    made = encoder()
    bodies = [events.Streamed(1, 0.0, "r", each) for each in pieces]
    out = list(made.start(1.0))
    for body in (*bodies, entries.ModelReplied("r", 1, CITED), entries.RunEnded("r", "answered")):
        out += made.encode(item(body))
    typed = [EVENTS.validate_python(each) for each in out]
    *_, last = [one for one in typed[-1].response.output if one.type == "message"]
    [part] = last.content
    added = [e.annotation for e in typed if e.type == "response.output_text.annotation.added"]
    assert [dict(one) for one in added] == [one.model_dump() for one in part.annotations]
    [page, file] = part.annotations
    assert (page.url, file.filename) == ("https://a.example", "c.pdf")
    assert part.text[page.start_index : page.end_index] in ("[1]", "")
    if len(last.content[0].text) == len(CITED.text):
        assert part.text[page.start_index : page.end_index] == "[1]"
    [done] = [e.part for e in typed if e.type == "response.content_part.done"][-1:]
    assert "javascript" not in str(out)
    assert done.annotations in ([], part.annotations)  # empty if it was done before the reply was
    assert thinks or done.annotations
