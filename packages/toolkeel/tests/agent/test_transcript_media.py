"""Media that a model or its server does not take are told instead of shown."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from toolkeel.agent.transcript_media import media_size, within_limit, without_media
from toolkeel.content import Audio, Block, Content, Data, File, Image, Text
from toolkeel.messages import AssistantMessage, Message, ToolMessage, UserMessage

BLOCKS: st.SearchStrategy[Block] = st.one_of(
    st.builds(Text, st.text(max_size=5)),
    st.builds(Image, st.binary(max_size=30)),
    st.builds(Audio, st.binary(max_size=30)),
    st.builds(File, st.binary(max_size=30)),
    st.just(Image(url="https://example.org/cat.png")),
    st.just(Data([1], "[1]")),
)
CONTENT: st.SearchStrategy[Content] = st.text(max_size=5) | st.lists(BLOCKS, max_size=4).map(tuple)
MESSAGES = st.lists(
    st.builds(UserMessage, CONTENT)
    | st.builds(ToolMessage, CONTENT, st.just("c"))
    | st.builds(AssistantMessage, CONTENT),
    max_size=6,
)


@given(MESSAGES, st.integers(0, 120))
def test_the_newest_media_within_the_limit_are_shown_and_the_others_told(
    messages: list[Message], limit: int
) -> None:
    fitted = within_limit(messages, limit)
    assert [type(one) for one in fitted] == [type(one) for one in messages]
    sizes = [media_size(one) for one in messages if not isinstance(one, AssistantMessage)]
    kept = [media_size(one) for one in fitted if not isinstance(one, AssistantMessage)]
    assert sum(kept) <= max(limit, *[40, *sizes])
    if sum(sizes) <= limit:
        assert fitted == messages
    if any(sizes):
        assert any(kept)
    for before, after in zip(messages, fitted, strict=True):
        if before == after:
            assert before is after
        else:
            assert "left out: the conversation holds too many bytes" in after.text


def test_what_is_shown_has_no_gaps() -> None:
    small, large = Image(b"1" * 3), Image(b"1" * 300)
    turns = [UserMessage((small,)), UserMessage((large,)), UserMessage((small,))]
    fitted = within_limit(turns, 100)
    assert [media_size(one) > 0 for one in fitted] == [False, False, True]
    assert [media_size(one) > 0 for one in within_limit([turns[1]], 100)] == [True]


@given(MESSAGES)
def test_a_model_that_takes_text_alone_is_told_of_everything_else(messages: list[Message]) -> None:
    for message in messages:
        told = without_media(message)
        if isinstance(message, AssistantMessage):
            assert told is message
            continue
        assert media_size(told) == 0
        assert ("not shown: this model takes text only" in told.text) == (media_size(message) > 0)
