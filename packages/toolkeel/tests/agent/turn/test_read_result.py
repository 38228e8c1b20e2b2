"""What the model is no longer shown whole is read again by its name, by line and column."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from toolkeel import ToolContext
from toolkeel._records.result_store import RESULTS
from toolkeel.agent.history import Cut, ShortenedTranscript
from toolkeel.agent.turn import read_result
from toolkeel.agent.turn.read_result import MAX_CHARS, make_reading_tool
from toolkeel.call.toolset import Toolset
from toolkeel.context import RunContext
from toolkeel.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage

NAME = "output:test"


def whole(*messages: Message, stop: int = 1) -> ShortenedTranscript:
    cut = Cut(0, stop, (UserMessage("less"),), name=NAME)
    return ShortenedTranscript(lambda: [cut], lambda: messages)


def read(text: str, **arguments: object) -> ToolMessage:
    """What the tool says of a result with this text."""
    found = whole(ToolMessage(text))
    call = ToolCall("1", "read_result", {"path": NAME, **arguments})
    RESULTS.fallbacks.append(found.find)
    try:
        [result] = Toolset([make_reading_tool(found)]).run_sync([call])
    finally:
        RESULTS.fallbacks.remove(found.find)
        RESULTS.remove(NAME)
    return result


def test_a_line_is_read_by_its_number() -> None:
    text = "\n".join(f"line {n}" for n in range(1, 4801))
    assert read(text, offset=4711, limit=1).text == (
        f'line 4711\n\n[{NAME}: 4,800 lines. Read on with path="{NAME}", offset=4712]'
    )
    assert read(text, offset=4800).text == f"line 4800\n\n[{NAME}: 4,800 lines]"


def test_a_line_too_long_to_be_shown_at_once_is_read_on_by_its_column() -> None:
    text = "北" * MAX_CHARS + "京\nend"
    assert read(text).text.endswith(
        f'Read on with path="{NAME}", offset=1, column={MAX_CHARS + 1}]'
    )
    assert read(text, column=MAX_CHARS + 1).text.startswith("京\nend\n\n[")


@given(st.text("ab\n", max_size=200), st.integers(1, 5), st.integers(1, 30))
def test_who_reads_on_has_read_everything(text: str, limit: int, most: int) -> None:
    lines, place, pieces = text.split("\n"), (1, limit, 1), list[str]()
    before, read_result.MAX_CHARS = read_result.MAX_CHARS, most
    try:
        for _ in range(1000):
            shown = read_result._window(NAME, lines, place)
            body, _, note = shown.rpartition("\n\n[")
            pieces.append(body)
            if "Read on" not in note:
                break
            line = int(note.split("offset=")[1].rstrip("]").split(",")[0])
            column = int(note.rstrip("]").split("column=")[1]) if "column" in note else 1
            pieces.append("" if column > 1 else "\n")
            place = (line, limit, column)
    finally:
        read_result.MAX_CHARS = before
    assert "".join(pieces) == text


def test_what_is_no_place_or_no_name_is_said_to_the_model() -> None:
    assert "past its end" in read("a\nb", offset=3).text
    assert "count from 1" in read("a", offset=0).text
    assert "kept as 'output:other'" in read("a", path="output:other").text


def test_a_part_of_a_conversation_is_read_as_lines() -> None:
    call = ToolCall("1", "add", '{"a": 1}')
    messages = UserMessage("Add."), AssistantMessage("", (call,)), ToolMessage("2", "1", "add")
    found = whole(*messages, stop=3).find(NAME)
    assert found is not None
    assert found.decode() == (
        'Person: Add.\n\nAssistant: \n[called add with {"a": 1}]\n\nResult of add: 2'
    )
    assert whole(*messages).find("output:other") is None and whole(*messages).find("") is None


def test_the_tool_is_offered_as_long_as_there_is_something_to_read() -> None:
    nothing = ShortenedTranscript(lambda: [Cut(0, 1, ())], lambda: [UserMessage("a")])
    context = ToolContext(ToolCall("1", "read_result"), "read_result", RunContext())
    assert [make_reading_tool(each).enabled(context) for each in (nothing, whole())] == [
        False,
        True,
    ]  # type: ignore[operator]
