"""Content in parts: thinking, text and what the text cites, complete and streamed."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from toolkeel.agent.reply_assembly import assemble
from toolkeel.messages import AssistantMessage
from toolkeel.providers.openai_chat import decode, decode_stream, encode_messages
from toolkeel.providers.openai_chat.content_parts import merge_fields

Json = dict[str, Any]


def whole(content: Any, **fields: Any) -> AssistantMessage:
    message = {"role": "assistant", "content": content, **fields}
    return decode({"choices": [{"message": message, "finish_reason": "stop"}]})


def streamed(contents: list[Any]) -> AssistantMessage:
    chunks = [{"choices": [{"index": 0, "delta": {"content": one}}]} for one in contents]
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    return assemble(decode_stream([*chunks, end]))


TEXTS = st.text(st.sampled_from("ab 北\n"), min_size=1, max_size=5)
PARTS = st.lists(st.one_of(TEXTS, st.integers(0, 9)), max_size=8)


@given(PARTS, st.booleans())
def test_each_reference_is_about_the_text_since_the_one_before(
    parts: list[Any], as_strings: bool
) -> None:
    """Of all orders of texts and references of Mistral's, complete and streamed."""
    content = [
        {"type": "text", "text": one}
        if isinstance(one, str)
        else {"type": "reference", "reference_ids": [one]}
        for one in parts
    ]
    pieces = [one["text"] if as_strings and "text" in one else [one] for one in content]
    expected: dict[str, set[str]] = {}
    since, cited = "", ""
    for one in parts:
        if isinstance(one, str):
            since += one
            continue
        cited, since = since or cited, ""
        expected.setdefault(str(one), set()).update({cited} if cited else ())
    for reply in (whole(content), streamed(pieces)):
        text = "".join(one for one in parts if isinstance(one, str))
        assert reply.text == text
        found = {one.id: {text[start:end] for start, end in one.spans} for one in reply.sources}
        assert found == expected


def test_a_reference_of_a_tool_has_its_address_and_never_the_search_engine() -> None:
    engine = {"type": "tool_reference", "tool": "web_search", "source": "brave"}
    page = {**engine, "title": "T", "url": "https://t.example", "description": "d"}
    reply = whole([{"type": "text", "text": "Cold"}, page, {**engine, "title": "B"}])
    assert [(one.url, one.title, one.text, one.id) for one in reply.sources] == [
        ("https://t.example", "T", "d", ""),
        ("", "B", "", ""),
    ]
    assert [one.spans for one in reply.sources] == [((0, 4),)] * 2


def test_annotations_of_one_text_count_from_its_start() -> None:
    cited = {"url": "https://b.example", "title": "B", "start_index": 1, "end_index": 3}
    parts = [
        {"type": "text", "text": "One. "},
        {
            "type": "text",
            "text": "Two.",
            "annotations": [{"type": "url_citation", "url_citation": cited}],
        },
        {
            "type": "text",
            "text": " Six",
            "citations": [{"type": "web_search_result_location", "url": "https://c.example"}],
        },
    ]
    for reply in (whole(parts), streamed([[one] for one in parts])):
        assert [reply.text[slice(*one.spans[0])] for one in reply.sources] == ["wo", " Six"]


def test_references_never_go_back() -> None:
    reply = whole([{"type": "text", "text": "Cold"}, {"type": "reference", "reference_ids": [1]}])
    assert encode_messages([reply]) == [{"role": "assistant", "content": "Cold"}]


@given(st.lists(st.dictionaries(st.sampled_from("ab"), st.lists(st.integers(), max_size=2))))
def test_lists_in_a_servers_own_object_grow(pieces: list[Json]) -> None:
    joined: Json = {}
    for one in pieces:
        joined = merge_fields(joined, one)
    for key in "ab":
        assert joined.get(key, []) == [each for one in pieces for each in one.get(key, [])]
