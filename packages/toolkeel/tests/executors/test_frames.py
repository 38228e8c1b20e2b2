"""Messages between a process and its workers: however the bytes are cut, and whatever they are."""

from __future__ import annotations

import socket
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel.executors import frames
from toolkeel.executors.frames import FrameDecoder, MessageTooLarge, pack_message, receive_message

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters()), st.lists, max_leaves=5
)


@given(st.lists(st.dictionaries(st.text(), JSON, max_size=3), max_size=5), st.integers(1, 40))
def test_messages_come_out_as_they_went_in_however_the_bytes_are_cut(
    messages: list[dict[str, object]], size: int
) -> None:
    data = b"".join(map(pack_message, messages))
    taker = FrameDecoder()
    got = [m for at in range(0, len(data), size) for m in taker.feed(data[at : at + size])]
    assert got == messages


def test_what_is_too_large_or_no_object_is_taken_by_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(MessageTooLarge):
        list(FrameDecoder().feed(struct.pack(">I", frames.MAX_MESSAGE_BYTES + 1)))
    with pytest.raises(ValueError, match="not a JSON object"):
        list(FrameDecoder().feed(struct.pack(">I", 2) + b"[]"))
    monkeypatch.setattr(frames, "MAX_MESSAGE_BYTES", 10)
    with pytest.raises(MessageTooLarge):
        pack_message({"a": "long enough"})


def test_who_waits_for_a_message_gets_it_or_learns_that_none_will_come() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(pack_message({"a": 1}))
        assert receive_message(ours) == {"a": 1}
        ours.settimeout(0.01)
        assert receive_message(ours) is None
        theirs.close()
        assert receive_message(ours) is None
