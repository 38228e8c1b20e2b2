"""A text that is read while it comes: pieces, or all of it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest

from toolkeel.events import Replied, Streamed
from toolkeel.messages import AssistantMessage
from toolkeel.model_interface import TextDelta
from toolkeel_compat.langchain.streaming.run_stream import RunStream


async def parts() -> AsyncGenerator[tuple[str, Any], None]:
    for piece in ("a", "b"):
        yield "events", Streamed(1, 0.0, "r", TextDelta(piece))
    yield "events", Replied(2, 0.0, "r", AssistantMessage("ab"))


def test_a_text_comes_in_pieces() -> None:
    [message] = list(RunStream(parts).messages)
    assert list(message.text) == ["a", "b"]


def test_a_text_is_read_to_its_end() -> None:
    message = next(iter(RunStream(parts).messages))
    assert str(message.text) == "ab" and bool(message.text)
    assert message.output.text == "ab" and list(message.tool_calls) == []


def test_what_ends_the_run_ends_its_texts() -> None:
    async def fails() -> AsyncGenerator[tuple[str, Any], None]:
        yield "events", Streamed(1, 0.0, "r", TextDelta("a"))
        raise ValueError("broken")

    message = next(iter(RunStream(fails).messages))
    with pytest.raises(ValueError, match="broken"):
        list(message.text)
