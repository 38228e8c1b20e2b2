"""Content blocks: bytes know their kind, and every content has a text."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel.content import (
    Audio,
    Block,
    Data,
    File,
    Image,
    Text,
    block_from_bytes,
    content_text,
    data_url,
    detect_media_type,
)

blocks: st.SearchStrategy[Block] = st.one_of(
    st.builds(Text, st.text()),
    st.builds(Image, st.binary(max_size=8)),
    st.builds(Audio, st.binary(max_size=8)),
    st.builds(File, st.binary(max_size=8), st.text()),
    st.builds(Data, st.integers(), st.text()),
)


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (b"\x89PNG\r\n\x1a\n....", "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF87a..", "image/gif"),
        (b"GIF89a..", "image/gif"),
        (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp"),
        (b"RIFF\x00\x00\x00\x00WAVEfmt ", "audio/wav"),
        (b"RIFF\x00\x00\x00\x00AVI LIST", "application/octet-stream"),
        (b"RIFF", "application/octet-stream"),
        (b"OggS\x00", "audio/ogg"),
        (b"ID3\x04", "audio/mpeg"),
        (b"fLaC\x00", "audio/flac"),
        (b"%PDF-1.7", "application/pdf"),
        (b"", "application/octet-stream"),
        ("猫".encode(), "application/octet-stream"),
    ],
)
def test_the_first_bytes_tell_the_media_type(data: bytes, media_type: str) -> None:
    assert detect_media_type(data) == media_type


@given(st.binary())
def test_any_bytes_become_a_block_that_holds_them_whole(data: bytes) -> None:
    block = block_from_bytes(data, "kept.bin")
    assert isinstance(block, Image | Audio | File)
    assert block.data == data
    assert block.media_type == detect_media_type(data)


def test_bytes_become_the_block_that_fits_them() -> None:
    assert block_from_bytes(b"GIF89a") == Image(b"GIF89a", "image/gif")
    assert block_from_bytes(b"OggS") == Audio(b"OggS", "audio/ogg")
    assert block_from_bytes(b"%PDF-", "a.pdf") == File(b"%PDF-", "a.pdf", "application/pdf")


@given(st.text())
def test_plain_text_is_its_own_text(text: str) -> None:
    assert content_text(text) == text
    assert content_text((Text(text),)) == text


@given(st.lists(blocks, max_size=5))
def test_every_block_has_one_part_in_the_text_and_no_bytes_leak_into_it(made: list[Block]) -> None:
    assert content_text(tuple(made)) == "\n".join(content_text((block,)) for block in made)


@pytest.mark.parametrize(
    ("block", "text"),
    [
        (Text("看"), "看"),
        (Data({"a": "猫"}, '{"a": "猫"}'), '{"a": "猫"}'),
        (Image(b"1234"), "[image/png, 4 bytes]"),
        (Image(url="https://example.org/a.png"), "[image/png, https://example.org/a.png]"),
        (Audio(b"12"), "[audio/wav, 2 bytes]"),
        (File(b"1", "a.zip", "application/zip"), "[application/zip, 1 bytes]"),
    ],
)
def test_a_block_that_is_not_text_becomes_a_short_note(block: Block, text: str) -> None:
    assert content_text((block,)) == text


@given(st.binary(max_size=64))
def test_the_address_of_a_block_holds_its_bytes(data: bytes) -> None:
    head, _, body = data_url(Audio(data, "audio/ogg")).partition(",")
    assert head == "data:audio/ogg;base64"
    assert base64.b64decode(body) == data


def test_a_block_with_an_address_of_its_own_keeps_it() -> None:
    assert data_url(Image(url="https://example.org/a.png")) == "https://example.org/a.png"
    assert data_url(File(b"x", url="https://example.org/f")) == "https://example.org/f"
