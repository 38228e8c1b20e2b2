"""Files of clients are data, and what is somewhere else is not fetched."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel.content import Audio, File, Image, Source, Text
from toolkeel.messages import AssistantMessage
from toolkeel_studio.serve.contents import (
    address_of,
    check_parts,
    decode_data_url,
    is_on_web,
    join_blocks,
    places_of,
    plain_text,
)
from toolkeel_studio.serve.errors import ChannelError

TYPES = ["image/png", "audio/wav", "application/pdf"]


@given(st.binary(min_size=1), st.sampled_from(TYPES))
def test_the_address_of_a_file_is_read_as_the_same_file(data: bytes, media_type: str) -> None:
    url = f"data:{media_type};base64,{base64.b64encode(data).decode()}"
    block = decode_data_url(url, "a.bin")
    kinds: list[Any] = [Image, Audio, File]
    assert type(block) is kinds[TYPES.index(media_type)] and block.data == data
    assert address_of(block) == url


@pytest.mark.parametrize(
    "url",
    ["http://169.254.169.254/", "file:///etc/passwd", "data:,x", "data:;base64,@", "", None, 3],
)
def test_what_is_no_data_is_refused(url: object) -> None:
    with pytest.raises(ChannelError):
        decode_data_url(url)


def test_texts_are_one_text_and_a_message_has_so_many_parts() -> None:
    assert join_blocks([Text("a"), Text("b")]) == "a\nb"
    attached = join_blocks([Text("a"), Text("b", {"attached": True})])
    assert isinstance(attached, tuple) and len(attached) == 2
    mixed = join_blocks([Text("a"), Image(b"x", "image/png")])
    assert len(mixed) == 2 and plain_text(mixed) == "a"
    check_parts([None] * 64)
    with pytest.raises(ChannelError):
        check_parts([None] * 65)


said = st.text("a猫 [1]", max_size=9)


@given(said, said, st.data())
def test_a_place_in_a_reply_is_the_same_text_in_what_a_client_has(
    before: str, text: str, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    source = Source("https://a.example", spans=((start, end),))
    client = before + text
    [(first, last)] = places_of(source, AssistantMessage(text), len(client))
    assert client[first:last] == text[start:end]
    cut = places_of(source, AssistantMessage(text), len(text[1:]))  # the client lacks the beginning
    assert all(0 <= first <= last <= len(text[1:]) for first, last in cut)


def test_a_source_without_a_known_place_is_at_the_end_of_the_text() -> None:
    pictured = AssistantMessage((Image(b"x", "image/png"), Text("Yes.")))
    for reply in (AssistantMessage("Yes."), pictured):
        spans = ((0, 2),) if reply is pictured else ()
        assert places_of(Source("https://a.example", spans=spans), reply, 4) == [(4, 4)]


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "data:text/html,x", "file:///etc", "a.md", ""]
)
def test_a_page_may_link_to_addresses_of_the_web_alone(url: str) -> None:
    assert not is_on_web(Source(url))
    assert is_on_web(Source("HTTPS://a.example"))
