"""What the model is shown of a transcript, and where it may be cut."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from toolkeel.agent.history import Cut, View, borders
from toolkeel.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage


def talk(turns: list[int]) -> list[Message]:
    """Turns with so many calls each."""
    messages: list[Message] = []
    for turn, calls in enumerate(turns):
        made = tuple(ToolCall(f"{turn}-{n}", "add") for n in range(calls))
        messages.append(UserMessage(f"q{turn}"))
        if made:
            messages.append(AssistantMessage("", made))
            messages += [ToolMessage("r", each.id) for each in made]
        messages.append(AssistantMessage(f"a{turn}"))
    return messages


@given(st.lists(st.integers(0, 3), max_size=5))
def test_a_border_stands_in_front_of_a_person_and_parts_no_call_from_its_result(
    turns: list[int],
) -> None:
    messages = talk(turns)
    found = borders(messages)
    assert len(found) == len(turns)
    for place in found:
        assert isinstance(messages[place], UserMessage)
        calls = {
            c.id for m in messages[:place] if isinstance(m, AssistantMessage) for c in m.tool_calls
        }
        results = {m.tool_call_id for m in messages[:place] if isinstance(m, ToolMessage)}
        assert calls == results


def test_nothing_is_cut_where_a_call_has_no_result_yet() -> None:
    waiting = [UserMessage("a"), AssistantMessage("", (ToolCall("1", "x"),)), UserMessage("b")]
    assert borders(waiting) == [0]


@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=5),
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30), st.booleans()), max_size=4),
)
def test_a_view_knows_where_each_message_stands_after_any_cuts(
    turns: list[int], cuts: list[tuple[int, int, bool]]
) -> None:
    messages = talk(turns)
    view = View(messages)
    for start, stop, kept in cuts:
        stands_for = (UserMessage("summary"),) if kept else ()
        if start < stop <= len(messages):
            view.cut(Cut(start, stop, stands_for))
    view.add(UserMessage("new"))
    assert view.total == len(messages) + 1
    assert view.places == sorted(view.places)
    whole = [*messages, UserMessage("new")]
    for place, message in zip(view.places, view.messages, strict=True):
        assert message.text == "summary" or whole[place] is message or message.text == "new"
