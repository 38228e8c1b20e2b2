"""Texts, pictures and files that tools return, as models or dicts."""

from __future__ import annotations

from typing import Any

import pytest

from toolkeel import File, Image, Text, ToolCall, Toolset
from toolkeel_compat.openai_agents import (
    ToolOutputFileContent,
    ToolOutputImage,
    ToolOutputText,
    function_tool,
)
from toolkeel_compat.openai_agents.tool_outputs import read_parts

PICTURE = "https://example.com/a.png"


@pytest.mark.parametrize(
    ("value", "part"),
    [
        (ToolOutputText(text="hi"), Text("hi")),
        (ToolOutputImage(image_url=PICTURE), Image(url=PICTURE)),
        ({"type": "image", "image_url": PICTURE, "detail": "auto"}, Image(url=PICTURE)),
        (
            ToolOutputFileContent(file_data="aGk=", filename="a.pdf"),
            File(b"hi", "a.pdf", "application/pdf"),
        ),
        (
            {"type": "file", "file_url": "https://example.com/a.pdf"},
            File(url="https://example.com/a.pdf"),
        ),
    ],
)
def test_a_part_is_what_the_model_sees_alone_or_in_a_list(value: Any, part: Any) -> None:
    assert read_parts(value) == (part,)
    assert read_parts([value, "x"]) is None

    @function_tool
    def shown() -> Any:
        """Show."""
        return [value, value]

    [message] = Toolset([shown]).run_sync([ToolCall("c1", "shown", "{}")])
    assert message.content == (part, part)


@pytest.mark.parametrize("value", [{"type": "image"}, {"type": "image", "image_url": 1}, {}, [], 5])
def test_what_only_looks_like_a_part_is_a_value_like_any_other(value: Any) -> None:
    assert read_parts(value) is None
