"""Pictures and files in prompts, and in a history as JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest

from toolkeel import SetupError
from toolkeel.content import Audio, File, Image
from toolkeel.testing import Scripted
from toolkeel_compat.pydantic_ai import (
    Agent,
    BinaryContent,
    DocumentUrl,
    ImageUrl,
    ModelMessagesTypeAdapter,
)
from toolkeel_compat.pydantic_ai.media import read_part, write_part

PARTS: list[Any] = [
    BinaryContent(b"\x89PNG1", media_type="image/png", vendor_metadata={"detail": "low"}),
    BinaryContent(b"RIFF", media_type="audio/wav"),
    BinaryContent(b"%PDF", media_type="application/pdf"),
    ImageUrl("https://a.example/b.png"),
    DocumentUrl("https://a.example/b.pdf"),
]


def test_media_are_blocks_of_the_core() -> None:
    assert [type(one) for one in PARTS] == [Image, Audio, File, Image, File]
    assert (PARTS[3].media_type, PARTS[4].media_type) == ("image/png", "application/pdf")
    assert ImageUrl("https://a.example/b.jpg?sig=1#c.png").media_type == "image/jpeg"
    with pytest.raises(SetupError, match=r"identifier=.*as text"):
        BinaryContent(b"a", media_type="image/png", identifier="first")
    with pytest.raises(SetupError, match="give BinaryContent"):
        ImageUrl("https://a.example/b.png", force_download=True)


def test_a_history_with_media_is_json_and_back() -> None:
    model = Scripted(["a", "b"])
    agent = Agent(model)
    written = agent.run_sync(["look", *PARTS]).all_messages_json()
    content = json.loads(written)[0]["parts"][0]["content"]
    assert [one if isinstance(one, str) else one["kind"] for one in content] == [
        "look", "binary", "binary", "binary", "image-url", "document-url"
    ]  # fmt: skip
    agent.run_sync("go on", message_history=ModelMessagesTypeAdapter.validate_json(written))
    assert model.requests[1].messages[0] == model.requests[0].messages[0]


@pytest.mark.parametrize("part", PARTS)
def test_each_part_comes_back(part: Any) -> None:
    assert read_part(write_part(part)) == part


def test_a_film_by_its_address_is_refused() -> None:
    with pytest.raises(ValueError, match="video-url"):
        read_part({"kind": "video-url", "url": "https://a.example/b.mp4"})
