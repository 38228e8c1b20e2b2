"""What is kept of a transcript, and for how long."""

from __future__ import annotations

from toolkeel.agent.transcript_media import media_size
from toolkeel.content import Image
from toolkeel.messages import AssistantMessage, Message, ToolMessage, UserMessage
from toolkeel.model import ModelRequest, Settings
from toolkeel.providers.wire import body_cache as growing
from toolkeel.providers.wire.body_cache import Constant, Media, Transcripts, append_json


class Words:
    """Keeps the texts it got."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.size = 0
        self.late = False

    def add(self, message: Message) -> None:
        if isinstance(message, ToolMessage):
            self.late = True
            return
        self.texts.append(str(message.content))
        self.size += len(str(message.content))


def test_a_transcript_that_goes_on_takes_in_what_is_new() -> None:
    known: Transcripts[Words] = Transcripts()
    messages: list[Message] = [UserMessage("a")]
    first = known.of(messages, "k", Words)
    messages.append(UserMessage("b"))
    assert known.of(messages, "k", Words) is first
    assert first.texts == ["a", "b"]
    assert known.of(list(messages), "k", Words) is first


def test_another_transcript_starts_anew() -> None:
    known: Transcripts[Words] = Transcripts()
    messages: list[Message] = [UserMessage("a"), UserMessage("b")]
    first = known.of(messages, "k", Words)
    for other, key in (
        ([UserMessage("z"), messages[1]], "k"),
        (messages[:1], "k"),
        (messages, "other"),
    ):
        made = known.of(other, key, Words)
        assert made is not first
        assert made.texts == [message.content for message in other]
    assert known.of(messages, "k", Words).texts == ["a", "b"]


class Incomparable:
    """An artifact such as an array, whose comparison is no yes or no."""

    def __eq__(self, other: object) -> bool:
        raise ValueError("the truth value of an array is ambiguous")


def test_artifacts_that_cannot_be_compared_make_no_trouble() -> None:
    def transcript() -> list[Message]:
        return [AssistantMessage("a", provider_options={"artifact": Incomparable()}), last]

    last = UserMessage("b")
    known: Transcripts[Words] = Transcripts()
    messages = transcript()
    first = known.of(messages, "k", Words)
    assert known.of([*messages, UserMessage("c")], "k", Words) is first
    assert known.of([*transcript(), UserMessage("c")], "k", Words) is not first


def test_what_came_late_is_made_anew_in_order() -> None:
    known: Transcripts[Words] = Transcripts()
    messages: list[Message] = [UserMessage("a"), ToolMessage("?", "x")]
    assert known.of(messages, "k", Words).texts == ["a"]
    messages.append(UserMessage("b"))
    again = known.of(messages, "k", Words)
    assert (again.texts, again.late) == (["a", "b"], False)


def test_only_so_many_and_so_large_transcripts_are_remembered() -> None:
    known: Transcripts[Words] = Transcripts()
    large = "x" * (growing.MAX_BYTES // 4)
    for _ in range(10):
        known.of([UserMessage(large)], "k", Words)
    assert len(known) == 5  # four are the most that is allowed beside the latest
    small: Transcripts[Words] = Transcripts()
    for _ in range(3 * growing.MAX_TRANSCRIPTS):
        small.of([], "k", Words)
    assert len(small) == growing.MAX_TRANSCRIPTS


def test_what_depends_on_tools_and_settings_is_made_when_they_change() -> None:
    made: list[ModelRequest] = []
    constant = Constant(lambda request: made.append(request) or len(made))
    settings = Settings(provider_options={"a": 1})
    for _ in range(3):
        assert constant.of(ModelRequest([], (), settings)) == 1
    assert constant.of(ModelRequest([], (), Settings(provider_options={"a": 2}))) == 2
    assert (
        constant.of(ModelRequest([UserMessage("x")], (), Settings(provider_options={"a": 2}))) == 2
    )


def test_items_of_a_list_are_written_behind_each_other() -> None:
    buffer = bytearray()
    append_json(buffer, [{"a": "東"}])
    append_json(buffer, [])
    append_json(buffer, [{"b": 1}, {}])
    assert buffer.decode() == '{"a":"東"},{"b":1},{}'


class Pictures(Words):
    """Keeps whether each message still showed its picture."""

    def add(self, message: Message) -> None:
        self.texts.append("seen" if media_size(message) else "told")


def test_pictures_beyond_the_limit_are_told_now_and_then_and_not_every_turn() -> None:
    made: list[Pictures] = []

    def new() -> Pictures:
        made.append(Pictures())
        return made[-1]

    known: Transcripts[Pictures] = Transcripts(Media(limit=4000))
    messages: list[Message] = []
    for turn in range(40):
        messages.append(UserMessage((Image(bytes(300)),)))  # 400 bytes each
        shown = known.of(messages, "k", new).texts
        seen = shown.count("seen")
        assert len(shown) == turn + 1
        assert min(turn + 1, 7) <= seen <= 10
        assert shown == ["told"] * (turn + 1 - seen) + ["seen"] * seen
    assert len(made) <= 40 / 3 + 1


def test_a_picture_larger_than_the_limit_is_shown_while_it_is_the_newest() -> None:
    known: Transcripts[Pictures] = Transcripts(Media(limit=100))
    messages: list[Message] = [UserMessage((Image(bytes(300)),))]
    first = known.of(messages, "k", Pictures)
    assert first.texts == ["seen"]
    messages.append(UserMessage("and?"))
    assert known.of(messages, "k", Pictures) is first
    messages.append(UserMessage((Image(bytes(300)),)))
    assert known.of(messages, "k", Pictures).texts == ["told", "told", "seen"]


def test_without_a_limit_everything_is_shown_and_without_sight_nothing() -> None:
    messages: list[Message] = [UserMessage((Image(bytes(300)),))] * 3
    assert (
        Transcripts[Pictures](Media(limit=None)).of(messages, "k", Pictures).texts == ["seen"] * 3
    )
    blind = Media(shown=False, limit=1)
    assert Transcripts[Pictures](blind).of(messages, "k", Pictures).texts == ["told"] * 3
