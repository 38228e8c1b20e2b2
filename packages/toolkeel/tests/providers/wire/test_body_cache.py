"""What is kept of a transcript, and for how long."""

from __future__ import annotations

from toolkeel.agent.transcript_media import media_size
from toolkeel.content import Image
from toolkeel.messages import AssistantMessage, Message, ToolMessage, UserMessage
from toolkeel.model_interface import ModelRequest, Settings
from toolkeel.providers.openai_chat.encode import ChatEncoder
from toolkeel.providers.openai_chat.profile import ChatTarget
from toolkeel.providers.wire import body_cache as growing
from toolkeel.providers.wire.body_cache import (
    BodyCache,
    EncodedTranscript,
    EncodedTranscripts,
    MediaPolicy,
    append_json,
)
from toolkeel.providers.wire.plain_json import Json
from toolkeel.providers.wire.reasoning_ownership import ModelProfile
from toolkeel.providers.wire.request import Encoder
from toolkeel.providers.wire.tools import WireTools


class Words(Encoder[ModelProfile]):
    """Keeps the texts it got, and whether it got a result."""

    def __init__(self) -> None:
        super().__init__(WireTools(), ModelProfile())
        self.texts: list[str] = []
        self.results = False

    @property
    def late(self) -> bool:
        return self.results

    def add(self, message: Message) -> list[Json]:
        if isinstance(message, ToolMessage):
            self.results = True
            return []
        self.texts.append(str(message.content))
        return [{"text": message.content}]


def texts(known: EncodedTranscript) -> list[str]:
    assert isinstance(known.encoder, Words)
    return known.encoder.texts


def test_a_transcript_that_goes_on_takes_in_what_is_new() -> None:
    known: EncodedTranscripts = EncodedTranscripts()
    messages: list[Message] = [UserMessage("a")]
    first = known.advance(messages, "k", Words)
    messages.append(UserMessage("b"))
    assert known.advance(messages, "k", Words) is first
    assert texts(first) == ["a", "b"]
    assert known.advance(list(messages), "k", Words) is first


def test_another_transcript_starts_anew() -> None:
    known: EncodedTranscripts = EncodedTranscripts()
    messages: list[Message] = [UserMessage("a"), UserMessage("b")]
    first = known.advance(messages, "k", Words)
    for other, key in (
        ([UserMessage("z"), messages[1]], "k"),
        (messages[:1], "k"),
        (messages, "other"),
    ):
        made = known.advance(other, key, Words)
        assert made is not first
        assert texts(made) == [message.content for message in other]
    assert texts(known.advance(messages, "k", Words)) == ["a", "b"]


class Incomparable:
    """An artifact such as an array, whose comparison is no yes or no."""

    def __eq__(self, other: object) -> bool:
        raise ValueError("the truth value of an array is ambiguous")


def test_artifacts_that_cannot_be_compared_make_no_trouble() -> None:
    def transcript() -> list[Message]:
        return [AssistantMessage("a", provider_options={"artifact": Incomparable()}), last]

    last = UserMessage("b")
    known: EncodedTranscripts = EncodedTranscripts()
    messages = transcript()
    first = known.advance(messages, "k", Words)
    assert known.advance([*messages, UserMessage("c")], "k", Words) is first
    assert known.advance([*transcript(), UserMessage("c")], "k", Words) is not first


def test_what_came_late_is_made_anew_in_order() -> None:
    known: EncodedTranscripts = EncodedTranscripts()
    messages: list[Message] = [UserMessage("a"), ToolMessage("?", "x")]
    assert texts(known.advance(messages, "k", Words)) == ["a"]
    messages.append(UserMessage("b"))
    again = known.advance(messages, "k", Words)
    assert (texts(again), again.encoder.needs_repair) == (["a", "b"], False)


def test_only_so_many_and_so_large_transcripts_are_remembered() -> None:
    known: EncodedTranscripts = EncodedTranscripts()
    large = "x" * (growing.MAX_BYTES // 4 - 100)
    for _ in range(10):
        known.advance([UserMessage(large)], "k", Words)
    assert len(known) == 5  # four are the most that is allowed beside the latest
    small: EncodedTranscripts = EncodedTranscripts()
    for _ in range(3 * growing.MAX_TRANSCRIPTS):
        small.advance([], "k", Words)
    assert len(small) == growing.MAX_TRANSCRIPTS


def test_what_depends_on_tools_and_settings_is_made_when_they_change() -> None:
    cache = BodyCache(ChatEncoder, ChatTarget("m"))

    def prepared(message: str, **options: object) -> object:
        settings = Settings(extra_body=options)
        return cache.prepare(ModelRequest([UserMessage(message)], (), settings))

    first = prepared("x", a=1)
    assert prepared("y", a=1) is first
    second = prepared("y", a=2)
    assert second is not first
    assert prepared("z", a=2) is second


def test_items_of_a_list_are_written_behind_each_other() -> None:
    buffer = bytearray()
    append_json(buffer, [{"a": "東"}])
    append_json(buffer, [])
    append_json(buffer, [{"b": 1}, {}])
    assert buffer.decode() == '{"a":"東"},{"b":1},{}'


class Pictures(Words):
    """Keeps whether each message still showed its picture."""

    def add(self, message: Message) -> list[Json]:
        self.texts.append("seen" if media_size(message) else "told")
        return []


def test_pictures_beyond_the_limit_are_told_now_and_then_and_not_every_turn() -> None:
    made: list[Pictures] = []

    def new() -> Pictures:
        made.append(Pictures())
        return made[-1]

    known: EncodedTranscripts = EncodedTranscripts(MediaPolicy(limit=4000))
    messages: list[Message] = []
    for turn in range(40):
        messages.append(UserMessage((Image(bytes(300)),)))  # 400 bytes each
        shown = texts(known.advance(messages, "k", new))
        seen = shown.count("seen")
        assert len(shown) == turn + 1
        assert min(turn + 1, 7) <= seen <= 10
        assert shown == ["told"] * (turn + 1 - seen) + ["seen"] * seen
    assert len(made) <= 40 / 3 + 1


def test_a_picture_larger_than_the_limit_is_shown_while_it_is_the_newest() -> None:
    known: EncodedTranscripts = EncodedTranscripts(MediaPolicy(limit=100))
    messages: list[Message] = [UserMessage((Image(bytes(300)),))]
    first = known.advance(messages, "k", Pictures)
    assert texts(first) == ["seen"]
    messages.append(UserMessage("and?"))
    assert known.advance(messages, "k", Pictures) is first
    messages.append(UserMessage((Image(bytes(300)),)))
    assert texts(known.advance(messages, "k", Pictures)) == ["told", "told", "seen"]


def test_without_a_limit_everything_is_shown_and_without_sight_nothing() -> None:
    messages: list[Message] = [UserMessage((Image(bytes(300)),))] * 3
    assert (
        texts(EncodedTranscripts(MediaPolicy(limit=None)).advance(messages, "k", Pictures))
        == ["seen"] * 3
    )
    blind = MediaPolicy(enabled=False, limit=1)
    assert texts(EncodedTranscripts(blind).advance(messages, "k", Pictures)) == ["told"] * 3
