"""Blocks that hold their bytes in an address, and files that are text."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel._records.data_urls import inline, is_text_type
from toolkeel.content import Audio, File, Image, data_url

PNG = b"\x89PNG\r\n\x1a\n"


@given(st.binary(), st.sampled_from(["image/png", "text/plain", "a/b"]))
def test_a_data_url_becomes_the_bytes_it_holds_and_keeps_the_rest(data: bytes, kind: str) -> None:
    extra = {"annotations": {"priority": 1}}
    url = data_url(File(data, "f", kind))
    assert inline(File(url=url, name="f", extra=extra)) == File(data, "f", kind, "", extra)


def test_a_picture_named_wrongly_gets_its_right_type() -> None:
    assert inline(Image(PNG, "image/jpeg")).media_type == "image/png"
    assert inline(Image(url="data:image/gif;base64," + base64.b64encode(PNG).decode())) == Image(
        PNG
    )


@pytest.mark.parametrize("url", ["https://example.org/a.png", "data:x"])
def test_any_other_address_is_left_as_it_is(url: str) -> None:
    assert inline(Image(url=url)) == Image(url=url)
    assert inline(Audio(b"a")) == Audio(b"a")


def test_text_is_known_by_its_media_type() -> None:
    assert all(map(is_text_type, ["text/csv", "application/json", "application/geo+json"]))
    assert not any(map(is_text_type, ["application/pdf", "image/png", ""]))
