"""What the model is shown of a transcript, and where it may be cut."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from toolkeel import Agent
from toolkeel.agent.handoff import Handoff, remove_tool_calls
from toolkeel.agent.history import Cut, HistoryView, TranscriptWindow, find_turn_starts
from toolkeel.content import Image
from toolkeel.context import RunContext
from toolkeel.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from toolkeel.testing import Scripted, call


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
    found = find_turn_starts(messages)
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
    assert find_turn_starts(waiting) == [0]


@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=5),
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30), st.booleans()), max_size=4),
)
def test_a_view_knows_where_each_message_stands_after_any_cuts(
    turns: list[int], cuts: list[tuple[int, int, bool]]
) -> None:
    messages = talk(turns)
    view = HistoryView(messages)
    for start, stop, kept in cuts:
        stands_for = (UserMessage("summary"),) if kept else ()
        if start < stop <= len(messages):
            view.apply_cut(Cut(start, stop, stands_for))
    view.add(UserMessage("new"))
    assert view.total == len(messages) + 1
    assert view.positions == sorted(view.positions)
    whole = [*messages, UserMessage("new")]
    for place, message in zip(view.positions, view.messages, strict=True):
        assert message.text == "summary" or whole[place] is message or message.text == "new"


# — within a run —

SMALL = [UserMessage("a"), AssistantMessage("", (ToolCall("1", "f"), ToolCall("2", "f")))]


def view_of(*messages: Message, asked: int = 0) -> HistoryView:
    view = HistoryView(messages)
    view.reader_tool, view.prompt_position = "read", asked
    return view


def test_a_long_result_is_shown_by_its_beginning_and_a_name_to_read_it_by() -> None:
    text = "\n".join(f"line {n}" for n in range(2000))
    result = ToolMessage(text, "1", "f", details={"exit": 0})
    view = view_of(*SMALL, result, ToolMessage("b", "2"), AssistantMessage("c"))
    cut = view.shorten_result(2)
    assert cut is not None and (cut.start, cut.stop) == (2, 3)
    [shown] = cut.messages
    assert isinstance(shown, ToolMessage) and (shown.tool_call_id, shown.details) == (
        "1",
        {"exit": 0},
    )
    assert shown.text.startswith("line 0\nline 1\n") and len(shown.text) < 600
    assert f'all of it: read(path="{cut.name}")' in shown.text
    again = view_of(*SMALL, result, ToolMessage("b", "2"), AssistantMessage("c")).shorten_result(2)
    assert again == cut  # a run that is played again sends the same


def test_what_the_model_has_not_seen_yet_is_shown_whole() -> None:
    results = ToolMessage("x" * 9000, "1"), ToolMessage("y" * 9000, "2")
    assert view_of(*SMALL, *results).shorten_result(2) is None
    assert view_of(*SMALL, *results, UserMessage("and?")).shorten_result(2) is None
    assert view_of(*SMALL, *results, AssistantMessage("c")).shorten_result(2) is not None
    assert view_of(*SMALL).shorten_result(0) is None


def test_a_picture_that_was_seen_is_left_to_its_note() -> None:
    picture = ToolMessage((Image(b"...", "image/png"),), "1")
    cut = view_of(*SMALL, picture, AssistantMessage("c")).shorten_result(2)
    assert cut is not None and cut.messages[0].content == "[image/png, 3 bytes]"


def test_what_people_said_in_the_run_and_the_callers_instructions_stay() -> None:
    messages = [
        SystemMessage("Be brief."), UserMessage("old"), AssistantMessage("x"),
        UserMessage("task"), AssistantMessage("y"), UserMessage("hurry"), AssistantMessage("z"),
    ]  # fmt: skip
    view = view_of(*messages, asked=3)
    assert view.find_turn_starts() == [1, 3]
    turn, steps = view.omit(0, 3, "p"), view.omit(4, 6, "p")
    assert turn.messages[0].text == "Be brief." and len(turn.messages) == 2
    assert [m.text for m in steps.messages][1:] == ["hurry"]
    assert f'2 messages; all of it: read(path="{steps.name}")]' in steps.messages[0].text
    for cut in (turn, steps):
        view.apply_cut(cut)
    assert [m.text.partition(":")[0] for m in view.messages] == [
        "Be brief.", "[Left out here to save room", "task", "[Left out here to save room", "hurry", "z",
    ]  # fmt: skip
    assert view.find_turn_starts() == [2]  # neither notes nor what was said in the run begin a turn


def test_each_message_is_counted_once() -> None:
    counted: list[Message] = []

    def count(messages: Sequence[Message]) -> int:
        counted.extend(messages)
        return len(messages)

    view = HistoryView([UserMessage(str(n)) for n in range(5)])
    assert view.count_sizes(count) == view.count_sizes(count) == [1] * 5 and len(counted) == 5
    view.add(UserMessage("5"))
    assert sum(view.count_sizes(count)) == 6 and len(counted) == 6
    view.apply_cut(Cut(1, 4, (UserMessage("1 to 3"),)))
    assert view.count_sizes(count) == [1] * 4 and len(counted) == 9


def test_after_a_second_handoff_the_model_is_told_the_new_agents_instructions() -> None:
    """What was cut before must not bring the instructions of then."""
    model = Scripted([call("transfer_to_b"), call("transfer_to_c"), "done"])
    c = Agent(model, name="c", instructions="I am C.")
    b = Agent(model, name="b", instructions="I am B.", handoffs=[c])
    handoff = Handoff(b, input_filter=remove_tool_calls)
    a = Agent(model, name="a", instructions="I am A.", handoffs=[handoff])
    a.run_sync("hi")
    assert [request.messages[0].text for request in model.requests] == [
        "I am A.", "I am B.", "I am C.",
    ]  # fmt: skip


def test_messages_that_replace_others_together_are_not_parted_in_a_later_run() -> None:
    """A session knows one place for what an agent was shown at a handoff."""

    class Places:
        places = (0, 0, 0, 7)

    run: RunContext[None] = RunContext()
    run.loop_state.transcript = [
        *SMALL,
        ToolMessage("x" * 9000, "1"),
        AssistantMessage("c"),
        UserMessage("d"),
    ]
    run.recorder = Places()  # type: ignore[assignment]
    view = TranscriptWindow().view(run)
    assert view.positions == [0, 0, 0, 3, 4] and view.shorten_result(2) is None
    assert [view.can_split_at(index) for index in range(5)] == [True, False, False, True, True]
