"""Whatever the deltas of a reply were, its pieces have every text and every call exactly once."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from toolkeel import events
from toolkeel._records import entries
from toolkeel.messages import AssistantMessage, Reasoning, ToolCall
from toolkeel.model_interface import CallDelta, ReasoningDelta, TextDelta
from toolkeel_studio.serve.items import Item
from toolkeel_studio.serve.pieces import Piece, Pieces

TEXTS = st.lists(st.text("ab 猫", max_size=3), max_size=3)


def pieces(deltas: list[Any], message: AssistantMessage) -> list[Piece]:
    """Return the pieces of a reply that arrives so."""
    bodies = [
        entries.ModelAsked("r", 1),
        *(events.Streamed("r", 1, 0.0, delta=each) for each in deltas),
        entries.ModelReplied("r", 1, message),
    ]
    made = Pieces()
    return [p for body in bodies for p in made.take(Item("1.0", body.__class__.__name__, body))]  # type: ignore[arg-type]


@given(TEXTS, TEXTS, st.lists(TEXTS, max_size=3), st.data())
def test_pieces_add_up_to_the_reply(
    said: list[str], thought: list[str], arguments: list[list[str]], data: Any
) -> None:
    calls = [ToolCall(f"c{n}", f"tool{n}", "".join(each)) for n, each in enumerate(arguments)]
    reply = AssistantMessage("".join(said), tuple(calls), reasoning=(Reasoning("".join(thought)),))
    sources: list[list[Any]] = [
        [TextDelta(each) for each in said],
        [ReasoningDelta(each) for each in thought],
    ]
    for n, each in enumerate(arguments):
        named = data.draw(st.sampled_from([(f"c{n}", f"tool{n}"), (f"c{n}", ""), ("", "")]))
        parts = [CallDelta(n, *named, "")] if data.draw(st.booleans()) else []
        parts += [CallDelta(n, "", "", text) for text in each]
        sources.append([*parts, CallDelta(n, f"c{n}", f"tool{n}", "")])
    deltas: list[Any] = []
    while left := [source for source in sources if source]:
        deltas.append(data.draw(st.sampled_from(left)).pop(0))
    kept = deltas[: data.draw(st.integers(0, len(deltas)))]
    made = pieces(kept, reply)
    for kind, text in (("text", "".join(said)), ("reasoning", "".join(thought))):
        assert "".join(p.text for p in made if p.kind == kind) == text
    for call in calls:
        of_call = [p for p in made if p.call_id == call.id]
        assert "".join(p.text for p in of_call) == call.arguments
        assert [p.is_first for p in of_call] == [True, *[False] * (len(of_call) - 1)]
        assert {p.name for p in of_call} == {call.name}


def test_the_calls_of_the_next_reply_begin_anew() -> None:
    made = Pieces()
    call = AssistantMessage("", (ToolCall("c1", "pay", "{}"),))
    for _ in range(2):
        items: list[Any] = [entries.ModelAsked("r", 1), entries.ModelReplied("r", 1, call)]
        found = [p for body in items for p in made.take(Item("1.0", "x", body))]
        assert found == [Piece("call", "{}", "c1", "pay", True)]
