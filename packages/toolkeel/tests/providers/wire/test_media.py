"""Content blocks as providers can take them."""

from __future__ import annotations

from typing import Any

import pytest

from toolkeel.content import Audio, Data, File, Image, Text
from toolkeel.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage
from toolkeel.providers import anthropic, bedrock, gemini, openai_chat, openai_responses
from toolkeel.providers.wire.media import block_text, inline, is_blank, omission_note

PNG = b"\x89PNG\r\n\x1a\n"


def test_text_data_and_files_of_text_can_be_read() -> None:
    assert block_text(Text("a")) == "a"
    assert block_text(Data({"a": 1}, '{"a":1}')) == '{"a":1}'
    assert block_text(File("é".encode(), "a.md", "text/markdown")) == "a.md:\né"
    assert block_text(File(b"{}", "a.json", "application/vnd.api+json")) == "a.json:\n{}"


@pytest.mark.parametrize(
    "block",
    [
        Image(PNG),
        Audio(b"x"),
        File(b"\xff", "a.txt", "text/plain"),
        File(b"%PDF", "a.pdf", "application/pdf"),
        File(url="https://example.org/a.txt", media_type="text/plain"),
    ],
)
def test_other_blocks_cannot_be_read(block: Any) -> None:
    assert block_text(block) is None


def test_a_picture_gets_the_type_that_its_bytes_have() -> None:
    assert inline(Image(PNG, "image/jpeg")) == Image(PNG, "image/png")
    assert inline(Image(b"?", "image/tiff")) == Image(b"?", "image/tiff")


def test_data_urls_are_read() -> None:
    assert inline(Image(url="data:image/png;base64,iVBORw0KGgo=")) == Image(PNG, "image/png")
    assert inline(File(url="data:text/plain,a%20b", name="n")) == File(b"a b", "n", "text/plain")
    assert inline(Image(url="data:;base64,iVBORw0KGgo=")) == Image(PNG)


@pytest.mark.parametrize("url", ["https://example.org/a.png", "data:image/png;base64,a", "data:x"])
def test_other_addresses_stay_as_they_are(url: str) -> None:
    assert inline(Image(url=url)) == Image(url=url)


def test_a_note_says_what_stood_there() -> None:
    assert (
        omission_note(Image(url="https://e.org/a"), "not shown")
        == "[image/png, https://e.org/a, not shown]"
    )


def test_only_text_can_be_blank() -> None:
    assert is_blank("") and is_blank(" \n") and is_blank(()) and is_blank((Text(" "),))
    assert not is_blank("a") and not is_blank((Image(PNG),)) and not is_blank((Data("", ""),))


@pytest.mark.parametrize("wire", [openai_chat, openai_responses, anthropic, gemini, bedrock])
@pytest.mark.parametrize("kind", ["image/png", "image/jpeg", "image/webp"])
def test_bytes_that_are_no_picture_are_sent_to_no_provider_as_one(wire: Any, kind: str) -> None:
    for data, is_shown in ((b"<html>no</html>", False), (PNG, True)):
        picture = Image(data, kind)
        call = ToolCall("c1", "look", "{}")
        messages = [
            UserMessage((Text("see"), picture)),
            AssistantMessage("", (call,)),
            ToolMessage((Text("seen"), picture), "c1", "look"),
        ]
        body = repr(wire.encode_messages(messages))
        assert ("not shown: it is no picture" in body) is not is_shown
        assert "PGh0bWw+" not in body and "b'<html>" not in body
