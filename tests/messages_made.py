"""Messages, calls and tickets as Hypothesis makes them, for all that writes and reads them."""

from __future__ import annotations

from typing import get_args

from hypothesis import strategies as st

from toolkeel import (
    AssistantMessage,
    Audio,
    File,
    Image,
    SystemMessage,
    Text,
    ToolCall,
    ToolMessage,
    Usage,
    UserMessage,
)
from toolkeel._records.tickets import Ticket
from toolkeel.content import Data
from toolkeel.errors import Kind
from toolkeel.messages import FinishReason, Origin, Reasoning

TEXT = st.text(max_size=12) | st.sampled_from(["查天气", "👩‍👩‍👧", "a\u0000b", "\u2028", '"\\'])
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
OBJECT = st.dictionaries(TEXT, JSON, max_size=3)
BLOCK = st.one_of(
    st.builds(Text, TEXT),
    st.builds(Image, st.binary(max_size=20), st.just("image/png"), TEXT),
    st.builds(Audio, st.binary(max_size=20), TEXT),
    st.builds(File, st.binary(max_size=20), TEXT, TEXT, TEXT),
    st.builds(Data, JSON, TEXT),
)
CONTENT = TEXT | st.lists(BLOCK, min_size=1, max_size=3).map(tuple)
USAGE = st.builds(Usage, *[st.integers(0, 10**6)] * 5)
CALL = st.builds(ToolCall, TEXT, TEXT, TEXT | OBJECT, st.booleans(), OBJECT)
REPLY = st.builds(
    AssistantMessage,
    CONTENT,
    st.lists(CALL, max_size=3).map(tuple),
    st.sampled_from(get_args(FinishReason)),
    USAGE,
    st.lists(st.builds(Reasoning, TEXT, TEXT, TEXT), max_size=2).map(tuple),
    TEXT,
    OBJECT,
)
RESULT = st.builds(
    ToolMessage,
    CONTENT,
    TEXT,
    TEXT,
    st.sampled_from(["success", "error"]),
    st.none() | st.sampled_from(get_args(Kind)),
    JSON,
    OBJECT,
    st.floats(0, 1e6),
)
MESSAGE = st.one_of(
    st.builds(SystemMessage, CONTENT),
    st.builds(UserMessage, CONTENT, st.sampled_from(get_args(Origin))),
    REPLY,
    RESULT,
)
TICKET = st.builds(Ticket, TEXT, TEXT, TEXT, OBJECT, TEXT, st.floats(0, 1e12), TEXT, OBJECT, TEXT)
