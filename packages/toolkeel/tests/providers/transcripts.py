"""Transcripts as they come about: of any models, interrupted, repaired badly, with odd ids."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from toolkeel.content import Audio, Data, File, Image, Text
from toolkeel.messages import (
    AssistantMessage,
    Message,
    Reasoning,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)

PNG = b"\x89PNG\r\n\x1a\n" + bytes(16)
PDF = b"%PDF-1.7 " + bytes(16)

text = st.text(max_size=12) | st.sampled_from(["", " ", "\n", "北京\ud83d", "a\0b", "🐱", "ok "])
ids = st.sampled_from(
    ["", "a", "b", "functions.f:0", "toolu_1", "x" * 80, "call|item", "é", "\ud83d"]
)
names = st.sampled_from(["f", "add", "clock.now", "查询天气", "x" * 70, "a b", "\ud83d"])
models = st.sampled_from(["", "claude-sonnet-4-5", "claude-sonnet-4-5-20250929", "gpt-5", "other"])
images = st.sampled_from(
    [
        Image(PNG),
        Image(PNG, "image/jpeg"),
        Image(b"tiff", "image/tiff"),
        Image(url="https://example.org/a.png"),
        Image(url="data:image/png;base64,iVBORw0KGgo="),
        Image(b""),
    ]
)
files = st.sampled_from(
    [
        File(PDF, "报告.pdf", "application/pdf"),
        File(PDF, "report.pdf", "application/pdf"),
        File(b"a,b", "t.csv", "text/csv"),
        File(b"\xff", "x.bin"),
        File(url="s3://bucket/a.pdf", name="a", media_type="application/pdf"),
        File(url="https://example.org/a.pdf", name="a", media_type="application/pdf"),
        File(b"v", "v.mp4", "video/mp4"),
    ]
)
blocks = st.one_of(
    st.builds(Text, text),
    st.builds(lambda value: Data(value, str(value)), st.integers()),
    images,
    files,
    st.just(Audio(b"RIFF", "audio/wav")),
)
content = text | st.lists(blocks, max_size=3).map(tuple)
values: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | text,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(text, inner, max_size=2),
    max_leaves=4,
)
arguments = st.dictionaries(text, values, max_size=3) | st.sampled_from(
    ["", "null", "{}", '{"a": 1}', '{"a": ', "[1]", '"x"', '"{\\"a\\": 1}"', "{} {}"]
)
calls = st.builds(ToolCall, ids, names, arguments)
reasoning = st.builds(Reasoning, text, st.sampled_from(["", "c2ln"]), models)
replies = st.builds(
    AssistantMessage,
    text,
    st.lists(calls, max_size=3).map(tuple),
    st.sampled_from(["stop", "tool_calls", "length", "error", "incomplete"]),
    reasoning=st.lists(reasoning, max_size=2).map(tuple),
    model=models,
)
results = st.builds(ToolMessage, content, ids, names, st.sampled_from(["success", "error"]))
anything: st.SearchStrategy[Message] = st.one_of(
    st.builds(SystemMessage, text), st.builds(UserMessage, content), replies, results
)


@st.composite
def answered(draw: st.DrawFn) -> list[Message]:
    """A reply with the results of its calls, as the loop leaves them."""
    reply = draw(replies)
    rest = [draw(st.builds(ToolMessage, content, st.just(call.id))) for call in reply.tool_calls]
    return [reply, *rest]


transcripts = st.lists(answered() | st.lists(anything, max_size=3), max_size=4).map(
    lambda turns: [message for turn in turns for message in turn]
)
"""Any transcript at all; half of its turns are in order."""
