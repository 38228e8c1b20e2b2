"""Parts of every library become blocks, and blocks parts again."""

from __future__ import annotations

import base64
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel.content import Audio, Block, File, Image, Text
from toolkeel.errors import SetupError
from toolkeel_compat.content_blocks import (
    read_fields,
    to_block,
    to_content,
    to_langchain_content,
)

PNG = b"\x89PNG\r\n\x1a\n"
CODED = base64.b64encode(PNG).decode()
WEB = "https://a.example/b.png"


@pytest.mark.parametrize(
    ("part", "block"),
    [
        ({"type": "input_text", "text": "a"}, Text("a")),
        ({"type": "refusal", "refusal": "no"}, Text("no")),
        ({"type": "image_url", "image_url": {"url": WEB}}, Image(url=WEB)),
        ({"type": "input_image", "image_url": WEB, "detail": "low"}, Image(url=WEB, extra={"detail": "low"})),
        ({"type": "input_audio", "input_audio": {"data": CODED, "format": "mp3"}}, "audio/mp3"),
        (
            {"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": CODED}},
            Image(PNG, "image/gif"),
        ),
        (
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "a"}},
            File(b"a", media_type="text/plain"),
        ),
        ({"type": "image", "source_type": "url", "url": WEB}, Image(url=WEB)),
        (
            {"type": "image", "source_type": "base64", "data": CODED, "mime_type": "image/png"},
            Image(PNG),
        ),
        ({"type": "file", "source_type": "text", "text": "a"}, Text("a")),
        ({"type": "image", "base64": CODED, "mime_type": "image/png"}, Image(PNG)),
        ({"type": "text-plain", "text": "a", "mime_type": "text/plain"}, Text("a")),
        (
            {"type": "file", "file": {"file_data": f"data:text/csv;base64,{CODED}", "filename": "t"}},
            File(PNG, "t", "text/csv"),
        ),
        (SimpleNamespace(type="text", text="an object"), Text("an object")),
        ("a text", Text("a text")),
    ],
    ids=str,
)  # fmt: skip
def test_a_part_of_any_library_is_a_block(part: Any, block: Block | str) -> None:
    made = to_block(part)
    if isinstance(block, str):
        assert made == Audio(PNG, block)
    else:
        assert made == block


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image", "file_id": "file_1"},
        {"type": "image", "base64": "no base64!"},
        {"type": "tool_use", "id": "1"},
        {"type": 3},
        {"text": "no type"},
        3,
    ],
    ids=str,
)
def test_what_cannot_be_shown_to_a_model_is_no_block_and_named(part: object) -> None:
    assert to_block(part) is None
    with pytest.raises(SetupError, match=str(read_fields(part).get("type"))):
        to_content([part])


def test_texts_alone_are_one_text_and_others_stay_apart() -> None:
    texts = [{"type": "text", "text": "a"}, "b"]
    assert to_content(texts) == "ab"
    assert to_content([*texts, Image(url=WEB)]) == (Text("a"), Text("b"), Image(url=WEB))
    with pytest.raises(SetupError, match="no content"):
        to_content(3)


@given(
    st.lists(
        st.one_of(
            st.builds(Text, st.text()),
            st.builds(Image, st.binary(min_size=1)),
            st.builds(Audio, st.binary(min_size=1)),
            st.builds(File, st.binary(min_size=1), st.text(min_size=1)),
        ),
        min_size=1,
    )
)
def test_what_was_written_is_read_again(blocks: list[Block]) -> None:
    read = to_content(to_langchain_content(tuple(blocks)))
    if isinstance(read, str):
        assert read == "".join(block.text for block in blocks if isinstance(block, Text))
    else:
        assert read == tuple(blocks)
