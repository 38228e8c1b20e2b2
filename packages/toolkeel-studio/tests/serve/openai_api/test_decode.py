"""Requests of OpenAI clients."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel.content import File, Image
from toolkeel_studio.serve.errors import ChannelError
from toolkeel_studio.serve.openai_api.decode import (
    decode_chat_request,
    decode_content,
    decode_response_request,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "role", "content", "text", "tools"]), inner)
    ),
    max_leaves=8,
)
FIELDS = ["input", "messages", "tools", "metadata", "stream", "conversation"]


@given(st.dictionaries(st.sampled_from(FIELDS), JSON))
def test_any_body_is_a_request_or_is_refused(body: dict[str, Any]) -> None:
    for decode in (decode_response_request, decode_chat_request):
        with suppress(ChannelError):
            decode(body)


def test_only_what_follows_the_last_message_of_others_is_new() -> None:
    said = [("user", "Old."), ("assistant", "Told."), ("user", "One."), ("user", "Two.")]
    items = [{"role": role, "content": text} for role, text in said]
    assert decode_response_request({"input": items}).asked.content == "One.\n\nTwo."


def test_files_are_data_and_addresses_are_refused() -> None:
    url = "data:image/png;base64,iVBORw0K"
    parts = [
        {"type": "input_image", "image_url": url},
        {"type": "image_url", "image_url": {"url": url}},
    ]
    parts.append(
        {"type": "file", "file": {"file_data": "data:text/plain;base64,YQ==", "filename": "a"}}
    )
    [first, second, file] = decode_content(parts)
    assert first == second == Image(b"\x89PNG\r\n", "image/png") and file == File(
        b"a", "a", "text/plain"
    )
    for bad in ("http://169.254.169.254/", "file:///etc/passwd", "data:,x", "data:;base64,@", None):
        with pytest.raises(ChannelError):
            decode_content([{"type": "input_image", "image_url": bad}])
    with pytest.raises(ChannelError):
        decode_content([{"type": "input_file", "file_id": "file-1"}])


def test_a_client_brings_functions_and_no_other_tools() -> None:
    for kind in ("mcp", "web_search", "code_interpreter"):
        with pytest.raises(ChannelError):
            decode_response_request({"input": "x", "tools": [{"type": kind}]})
