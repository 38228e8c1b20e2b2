"""Text files that are not UTF-8."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel_workspace.files.encodings import decode_text, replace_invalid


@given(st.one_of(st.binary(max_size=60), st.text(max_size=30).map(lambda t: t.encode("gb18030"))))
def test_a_decoded_file_encodes_to_the_same_bytes(data: bytes) -> None:
    decoded = decode_text(data)
    assert decoded.encode(decoded.text) == data


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_utf_8_is_always_taken_for_utf_8(text: str) -> None:
    decoded = decode_text(text.encode())
    assert (decoded.codec, decoded.mark + decoded.text) == ("utf-8", text)


@pytest.mark.parametrize(
    ("codec", "text", "found"),
    [
        ("gbk", "# 这是一个配置文件，用于测试。\nname = 'x'\n", "gb18030"),
        ("utf-16", "hello\nworld\n", "utf-16-le"),
        ("utf-16-be", "\ufeffhello\n", "utf-16-be"),
        ("latin-1", "Größe = 'groß'  # déjà vu\n", "cp1252"),
        ("utf-8-sig", "hello\n", "utf-8"),
    ],
)
def test_common_encodings_are_found_out(codec: str, text: str, found: str) -> None:
    decoded = decode_text(text.encode(codec))
    assert (decoded.codec, decoded.text) == (found, text.removeprefix("\ufeff"))


@given(st.text(st.characters(exclude_categories=())))
def test_what_is_shown_can_be_sent(text: str) -> None:
    replace_invalid(text).encode()
    assert replace_invalid("a\udcffb") == "a\ufffdb"
