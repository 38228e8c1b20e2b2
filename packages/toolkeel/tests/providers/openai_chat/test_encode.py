"""Messages become what Chat Completions takes."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.providers.judge import check_body
from tests.providers.transcripts import transcripts
from toolkeel.content import Audio, Block, Data, File, Image, Text
from toolkeel.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from toolkeel.model_interface import ModelRequest
from toolkeel.providers import openai_chat
from toolkeel.providers.chat_servers import COMPATIBLE, OPENAI, PRESETS, ChatProfile
from toolkeel.providers.openai_chat.encode import NO_OUTPUT, ChatEncoder
from toolkeel.providers.openai_chat.profile import ChatTarget
from toolkeel.providers.wire.body_cache import BodyCache
from toolkeel.providers.wire.tools import WireTools

Json = dict[str, Any]
PNG = Image(b"\x89PNG\r\n\x1a\n", "image/png")


def encode(
    messages: Sequence[Message], profile: ChatProfile = COMPATIBLE, model: str = "m", **names: str
) -> list[Json]:
    tools = WireTools(target=profile.target)
    tools.names.update(names)
    encoder = ChatEncoder(tools, ChatTarget(model, server=profile))
    wires = [wire for message in messages for wire in encoder.add(message)] + encoder.encode_end()
    check_body({"model": "m", "messages": wires})
    json.dumps(wires, ensure_ascii=False).encode()
    return wires


def turn(*calls: ToolCall, results: Sequence[ToolMessage] = (), **more: Any) -> list[Message]:
    return [AssistantMessage(tool_calls=calls, **more), *results]


def test_text_is_sent_as_plain_strings() -> None:
    assert encode([SystemMessage("sei kurz"), UserMessage("你好"), AssistantMessage("好")]) == [
        {"role": "system", "content": "sei kurz"},
        {"role": "user", "content": "你好"},
        {"role": "assistant", "content": "好"},
    ]


def test_a_name_is_sent_and_nothing_else_of_what_the_program_keeps_with_a_message() -> None:
    kept = {"id": "7", "name": "Ann"}
    said = [UserMessage("hi", metadata=kept), AssistantMessage("ho", metadata=kept)]
    assert encode(said) == [
        {"role": "user", "content": "hi", "name": "Ann"},
        {"role": "assistant", "content": "ho", "name": "Ann"},
    ]


def test_a_reply_that_only_calls_has_null_content() -> None:
    [wire, *_] = encode(turn(ToolCall("c", "f", "")))
    assert wire == {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        ],
    }


def test_a_reply_that_says_and_calls_nothing_is_left_out() -> None:
    assert encode([AssistantMessage(" \n"), AssistantMessage()]) == []


def test_pictures_and_files_of_a_person_are_parts() -> None:
    content = (
        Text("see"),
        PNG,
        Image(url="https://example.org/a.png"),
        Audio(b"RIFF", "audio/wav"),
        File(b"%PDF-", "a.pdf", "application/pdf"),
        File("名,1\n".encode(), "a.csv", "text/csv"),
        Data({"a": 1}, '{"a":1}'),
        Audio(b"OggS", "audio/ogg"),
        File(name="b.zip", media_type="application/zip", url="https://example.org/b.zip"),
    )
    [wire] = encode([UserMessage(content)])
    kinds = [part["type"] for part in wire["content"]]
    assert kinds == ["text", "image_url", "image_url", "input_audio", "file", *["text"] * 4]
    texts = [part["text"] for part in wire["content"] if part["type"] == "text"]
    assert texts[1:] == [
        "a.csv:\n名,1\n",
        '{"a":1}',
        "[audio/ogg, 4 bytes, not shown]",
        "[application/zip, https://example.org/b.zip, not shown]",
    ]


def test_parts_that_are_all_text_become_one_string() -> None:
    assert encode([UserMessage((Text("a"), Data(1, "1")))])[0]["content"] == "a\n1"


def test_a_server_without_pictures_gets_a_note() -> None:
    blind = ChatProfile(media=False)
    [wire] = encode([UserMessage((Text("see"), PNG))], blind)
    assert wire["content"] == "see\n[image/png, 8 bytes, not shown]"
    wires = encode(turn(ToolCall("c", "f"), results=[ToolMessage((PNG,), "c", "f")]), blind)
    assert wires[1]["content"] == "[image/png, 8 bytes, cannot be shown]"
    assert len(wires) == 2


def test_pictures_in_results_follow_after_the_last_result() -> None:
    calls = ToolCall("a", "shot"), ToolCall("b", "add")
    results = ToolMessage((Text("here"), PNG), "a", "shot"), ToolMessage("3", "b", "add")
    wires = encode([*turn(*calls, results=results), AssistantMessage("nice")])
    assert [wire["role"] for wire in wires] == ["assistant", "tool", "tool", "user", "assistant"]
    assert wires[1]["content"] == "here\n[image/png, 8 bytes, shown in the next message]"
    intro, picture = wires[3]["content"]
    assert intro["text"] == "Output of shot, call a:"
    assert picture["image_url"]["url"].startswith("data:image/png;base64,iVBOR")


def test_pictures_at_the_end_of_the_transcript_wait_for_no_message() -> None:
    encoder = ChatEncoder(WireTools(target="openai-chat"), ChatTarget())
    encoder.add(AssistantMessage(tool_calls=(ToolCall("a", "shot"), ToolCall("b", "shot"))))
    encoder.add(ToolMessage((PNG,), "a", "shot"))
    none, media = encoder.encode_end()
    assert none["tool_call_id"] == "b"
    assert [none, media] == encoder.encode_end()
    encoder.add(ToolMessage((PNG,), "b", "shot"))
    [wire] = encoder.encode_end()
    assert [part["type"] for part in wire["content"]] == ["text", "image_url"] * 2  # type: ignore[index,attr-defined]
    assert encoder.add(UserMessage("ok"))[0] == wire
    assert encoder.encode_end() == []


def test_an_empty_result_says_so() -> None:
    for content in ("", "  \n", (), (Text(""),)):
        wires = encode(turn(ToolCall("c", "f"), results=[ToolMessage(content, "c", "f")]))
        assert wires[1]["content"] == NO_OUTPUT


def test_a_failed_result_says_so_once() -> None:
    for said, sent in [("disk full", "Error: disk full"), ("error: no", "error: no")]:
        failed = ToolMessage(said, "c", "f", "error", "tool_error")
        assert encode(turn(ToolCall("c", "f"), results=[failed]))[1]["content"] == sent


def test_ids_that_repeat_are_told_apart_on_both_sides() -> None:
    twins = turn(
        ToolCall("x", "f"),
        ToolCall("x", "g"),
        results=[ToolMessage("1", "x"), ToolMessage("2", "x")],
    )
    wires = encode([*twins, *twins])
    called = [call["id"] for wire in wires for call in wire.get("tool_calls", ())]
    answered = [wire["tool_call_id"] for wire in wires if wire["role"] == "tool"]
    assert called == answered == ["x", "x_2", "x_3", "x_4"]


def test_a_result_that_names_no_call_answers_the_next_one() -> None:
    results = [ToolMessage("1"), ToolMessage("2", "gone")]
    wires = encode(turn(ToolCall("", "f"), ToolCall("", "g"), results=results))
    assert [wire["tool_call_id"] for wire in wires[1:]] == ["call_0", "call_1"]


def test_ids_longer_than_the_wire_allows_are_shortened_and_stay_different() -> None:
    first, second = ToolCall("x" * 50 + "1", "f"), ToolCall("x" * 50 + "2", "f")
    results = [ToolMessage("2", second.id), ToolMessage("1", first.id)]
    wires = encode(turn(first, second, results=results))
    one, two = (call["id"] for call in wires[0]["tool_calls"])
    assert one != two
    assert len(one) == len(two) == 40
    assert [wire["tool_call_id"] for wire in wires[1:]] == [one, two]


def test_a_reply_without_words_says_null_where_a_server_takes_it() -> None:
    turn = [UserMessage("go"), AssistantMessage(tool_calls=(ToolCall("c1", "f"),))]
    for profile, said in ((OPENAI, None), (PRESETS["llamacpp"].profile, "")):
        assert openai_chat.encode_messages(turn, profile=profile)[1]["content"] == said


def test_names_go_by_their_alias_and_unknown_ones_are_made_legal() -> None:
    calls = (
        ToolCall("a", "clock.now"),
        ToolCall("b", "查询"),
        ToolCall("c", ""),
        ToolCall("d", "f" * 99),
    )
    [wire, *_] = encode(turn(*calls), **{"clock.now": "clock_now_2"})
    sent = [call["function"]["name"] for call in wire["tool_calls"]]
    assert sent[0] == "clock_now_2"
    assert all(0 < len(name) <= 64 and name.isascii() for name in sent)


def test_what_a_call_carried_goes_back_with_it() -> None:
    google = {"google": {"thought_signature": "c2ln"}}
    [wire, *_] = encode(turn(ToolCall("c", "f", "{}", provider_options={"extra_content": google})))
    assert wire["tool_calls"][0]["extra_content"] == google


def test_a_custom_call_goes_back_as_one_where_the_server_has_them() -> None:
    messages = turn(ToolCall("c", "sql", "SELECT 1", provider_options={"type": "custom"}))
    [wire, *_] = encode(messages, OPENAI)
    custom = {"name": "sql", "input": "SELECT 1"}
    assert wire["tool_calls"] == [{"id": "c", "type": "custom", "custom": custom}]
    [wire, *_] = encode(messages)
    function = {"name": "sql", "arguments": '{"input":"SELECT 1"}'}
    assert wire["tool_calls"] == [{"id": "c", "type": "function", "function": function}]


anything = st.text(st.characters(codec=None, categories=None), max_size=6)
blocks: st.SearchStrategy[Block] = st.one_of(
    st.builds(Text, anything),
    st.builds(Data, st.none(), anything),
    st.builds(Image, st.binary(max_size=3), st.just("image/png")),
    st.builds(Audio, st.binary(max_size=3), st.sampled_from(["audio/wav", "audio/ogg"])),
    st.builds(
        File, st.binary(max_size=3), anything, st.sampled_from(["text/csv", "application/pdf"])
    ),
)
contents = anything | st.lists(blocks, max_size=3).map(tuple)
ids = st.sampled_from(["", "a", "b", "x" * 50, "\ud83d"])
calls = st.builds(
    ToolCall, ids, anything, anything | st.dictionaries(anything, anything, max_size=2)
)


@st.composite
def turns(draw: st.DrawFn) -> list[Message]:
    made = draw(st.lists(calls, max_size=3))
    answers = [
        ToolMessage(draw(contents), call.id, call.name, draw(st.sampled_from(["success", "error"])))
        for call in made
    ]
    said: list[Message] = [UserMessage(draw(contents)), SystemMessage(draw(contents))]
    return [*said, AssistantMessage(draw(contents), tuple(made)), *answers]


@given(st.lists(turns(), max_size=3), st.sampled_from([COMPATIBLE, ChatProfile(short_ids=True)]))
def test_any_transcript_of_whole_turns_is_one_that_every_server_takes(
    transcript: list[list[Message]], profile: ChatProfile
):
    wires = encode([message for one in transcript for message in one], profile)
    waiting: list[str] = []
    seen: set[str] = set()
    for wire in wires:
        if wire["role"] == "tool":
            assert wire["tool_call_id"] == waiting.pop(0)
            assert wire["content"].strip()
            continue
        assert not waiting
        waiting = [call["id"] for call in wire.get("tool_calls", ())]
        assert not seen & {*waiting}
        seen |= {*waiting}
        assert all(
            isinstance(json.loads(call["function"]["arguments"]), dict)
            for call in wire.get("tool_calls", ())
        )
    assert not waiting


# — every call has its one result —


def roles(*messages: Message, profile: ChatProfile = OPENAI) -> list[tuple[str, str]]:
    wires = openai_chat.encode_messages(messages, profile=profile)
    return [(str(one["role"]), str(one.get("tool_call_id", one["content"]))) for one in wires]


def test_a_call_without_a_result_is_answered_with_a_sentence_wherever_it_stands() -> None:
    calls = AssistantMessage(tool_calls=(ToolCall("a", "f"), ToolCall("b", "f")))
    one = ToolMessage("ok", "b", "f")
    assert roles(calls) == [("assistant", "None"), ("tool", "a"), ("tool", "b")]
    assert roles(calls, one, UserMessage("hi")) == [
        ("assistant", "None"),
        ("tool", "a"),
        ("tool", "b"),
        ("user", "hi"),
    ]


def test_results_without_a_call_and_second_results_are_left_out() -> None:
    call = AssistantMessage(tool_calls=(ToolCall("a", "f"),))
    stray, result = ToolMessage("?", "z"), ToolMessage("ok", "a", "f")
    assert roles(stray, UserMessage("hi"), call, result, stray, result) == [
        ("user", "hi"),
        ("assistant", "None"),
        ("tool", "a"),
    ]


def test_a_late_result_moves_to_its_call_in_a_growing_transcript_too() -> None:
    late = ToolMessage("late", "a", "f")
    messages: list[Message] = [
        AssistantMessage(tool_calls=(ToolCall("a", "f"),)),
        UserMessage("hi"),
    ]
    cache = BodyCache(ChatEncoder, ChatTarget("m"))
    before = json.loads(cache.encode(ModelRequest(messages)))["messages"]
    assert "has no result" in before[1]["content"]
    messages.append(late)
    after = json.loads(cache.encode(ModelRequest(messages)))["messages"]
    assert [one["content"] for one in after] == [None, "late", "hi"]


def test_some_servers_want_the_model_between_results_and_a_person() -> None:
    call = AssistantMessage(tool_calls=(ToolCall("a", "f"),))
    shot = ToolMessage((PNG,), "a", "f")
    mistral = PRESETS["mistral"].profile
    for rest in ([UserMessage("hi")], [AssistantMessage("ok"), UserMessage("hi")], []):
        said = [role for role, _ in roles(UserMessage("go"), call, shot, *rest, profile=mistral)]
        assert said[:5] == ["user", "assistant", "tool", "assistant", "user"]
        assert ("tool", "user") not in itertools.pairwise(said)
    plain = [role for role, _ in roles(call, shot, UserMessage("hi"))]
    assert plain == ["assistant", "tool", "user", "user"]


@given(transcripts, st.booleans())
def test_any_transcript_has_each_result_right_behind_its_call(
    messages: list[Message], strict: bool
) -> None:
    profile = PRESETS["mistral"].profile if strict else OPENAI
    open_calls: set[str] = set()
    seen: set[str] = set()
    last = ""
    for wire in openai_chat.encode_messages(messages, profile=profile):
        if wire["role"] == "tool":
            open_calls.remove(str(wire["tool_call_id"]))
        else:
            assert not open_calls
            ids = [one["id"] for one in wire.get("tool_calls", ())]  # type: ignore[attr-defined]
            open_calls = set(ids)
            assert len(open_calls) == len(ids)
            assert not open_calls & seen
            seen |= open_calls
        assert not (strict and (last, wire["role"]) == ("tool", "user"))
        last = str(wire["role"])
    assert not open_calls


@given(
    st.integers(1, 400),
    st.sampled_from(
        [OPENAI, PRESETS["openrouter"].profile, ChatProfile(max_calls=3, reasoning="always")]
    ),
    st.randoms(),
    st.booleans(),
)
def test_more_calls_than_a_message_may_have_go_back_in_several(
    count: int, profile: ChatProfile, random: Any, missing: bool
) -> None:
    calls = tuple(ToolCall(f"c{n}", "add", "{}") for n in range(count))
    results: list[Message] = [ToolMessage(str(n), f"c{n}", "add") for n in range(count - missing)]
    random.shuffle(results)
    reply = AssistantMessage("Now.", calls, "tool_calls")
    wires = encode([UserMessage("?"), reply, *results, UserMessage("!")], profile)
    expected = iter(calls)
    most = profile.max_calls or 0
    while wires:
        wire = wires.pop(0)
        group = wire.get("tool_calls", [])
        assert len(group) <= most
        if group and profile.reasoning == "always":
            assert "reasoning_content" in wire
        for call in group:
            assert call["id"] == next(expected).id
        assert [wires.pop(0)["tool_call_id"] for _ in group] == [call["id"] for call in group]
    assert next(expected, None) is None


def test_a_turn_of_many_calls_grows_in_a_conversation_as_it_is_sent_alone() -> None:
    calls = tuple(ToolCall(f"c{n}", "add", "{}") for n in range(300))
    messages: list[Message] = [UserMessage("?"), AssistantMessage("", calls, "tool_calls")]
    messages += [ToolMessage(str(n), f"c{n}", "add") for n in range(300)]
    cache = BodyCache(ChatEncoder, ChatTarget("m", server=OPENAI))
    for upto in (2, 100, 202, len(messages)):
        request = ModelRequest(messages[:upto])
        sent = json.loads(cache.encode(request))
        assert sent["messages"] == openai_chat.encode_messages(messages[:upto], model="m")


def test_mistral_gets_documents_by_their_address_or_with_their_bytes() -> None:
    mistral = PRESETS["mistral"].profile
    here = File(b"%PDF-1.7", "a.pdf", "application/pdf")
    there = File(url="https://a.example/b.pdf", name="b.pdf", media_type="application/pdf")
    [wire] = openai_chat.encode_messages(
        [UserMessage([Text("Read."), here, there])], profile=mistral
    )
    assert wire["content"] == [
        {"type": "text", "text": "Read."},
        {"type": "document_url", "document_url": "data:application/pdf;base64,JVBERi0xLjc=", "document_name": "a.pdf"},
        {"type": "document_url", "document_url": "https://a.example/b.pdf", "document_name": "b.pdf"},
    ]  # fmt: skip
    [other] = encode([UserMessage([here])], OPENAI)
    assert other["content"][0]["type"] == "file"
