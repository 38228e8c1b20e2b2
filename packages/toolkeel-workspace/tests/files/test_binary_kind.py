"""Files that are no text are named as what they are."""

from __future__ import annotations

import pytest

from toolkeel_workspace.files.binary_kind import HEAD_BYTES, find_binary_kind


@pytest.mark.parametrize("codec", ["UTF-16LE", "UTF-16BE"])
@pytest.mark.parametrize(
    "text", ["abc\n", "größe = 1\r\n", "nő\n", "привет\n", "中文 的 文件\n", "x" * HEAD_BYTES]
)
def test_utf_16_without_a_mark_is_called_probable_and_not_read(codec: str, text: str) -> None:
    kind = find_binary_kind(text.encode(codec)[:HEAD_BYTES])
    assert kind.startswith(f"probably {codec} without a byte order mark, which is a guess")


@pytest.mark.parametrize(
    "data",
    [
        b"a\0",
        b"a\0b",
        b"\0\0\0\0",
        b"abc\0def\n",
        "größe\0ab cd ef\n".encode(),
        b"ab\0\0cd",
        b"\x01\0\x02\0\x03\0",
    ],
)
def test_other_data_with_zero_bytes_is_binary(data: bytes) -> None:
    assert find_binary_kind(data) == "binary, not text"


def test_text_and_marked_utf_16_are_no_binary_data() -> None:
    assert not find_binary_kind("größe".encode())
    assert not find_binary_kind("größe".encode("utf-16"))
    assert "UTF-32" in find_binary_kind("abc".encode("utf-32"))
