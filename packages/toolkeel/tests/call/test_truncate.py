"""Results that are too long: what the model is shown, and what is kept."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.call.test_result_message import PNG, rendered
from toolkeel import Image, Text, ToolCall, ToolMessage, ToolOutput, Toolset, tool
from toolkeel.call.truncate import MAX_MEDIA, NARROW, shorten


@given(st.integers(0, 300), st.integers(0, 100))
def test_a_long_text_keeps_head_and_tail_and_says_what_is_missing(length: int, limit: int) -> None:
    text = "".join(chr(0x4E00 + n % 500) for n in range(length))
    content = rendered(text, max_output=limit).text
    if length <= limit:
        assert content == text
        return
    assert f"{length - limit:,} of {length:,} characters" in content
    head, _, tail = content.partition("\n\n[")
    tail = tail.rpartition("]\n\n")[2]
    assert text.startswith(head) and text.endswith(tail)
    assert len(head) + len(tail) == limit


@pytest.mark.parametrize(
    "value",
    [
        "x" * 900,
        {"a": "x" * 900},
        [Text("x" * 900)],
        [Text("x" * 90), Text("x" * 800), Text("y" * 900), Image(PNG)],
        [{"big": "x" * 900}, Image(PNG)],
        ToolOutput("x" * 900),
        ToolMessage("x" * 900),
        ToolMessage((Text("x" * 900),)),
    ],
)
def test_every_kind_of_text_is_capped_and_the_whole_is_kept_for_the_program(value: object) -> None:
    message = rendered(value, max_output=100)
    assert len(message.text) < 700
    assert "left out" in message.text
    assert message.artifact is not None
    assert rendered(value, max_output=None).artifact is None
    assert "left out" not in rendered(value, max_output=None).text


def test_an_artifact_that_is_there_already_stays_when_the_text_is_capped() -> None:
    message = rendered(ToolOutput("x" * 900, artifact="mine"), max_output=100)
    assert message.artifact == "mine"


def test_shortening_a_text_shows_two_thirds_of_the_head() -> None:
    shown = shorten("a" * 600 + "z" * 300, 300)
    assert shown.startswith("a" * 200 + "\n") and shown.endswith("\n" + "z" * 100)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=200),
    lambda inner: (
        st.lists(inner, max_size=8) | st.dictionaries(st.text(max_size=5), inner, max_size=8)
    ),
    max_leaves=40,
)


@settings(max_examples=40)
@given(
    st.lists(JSON, min_size=1) | st.dictionaries(st.text(), JSON, min_size=1), st.integers(0, 900)
)
def test_json_that_is_too_long_stays_json_or_is_cut_as_text(value: object, limit: int) -> None:
    kept: list[bytes] = []

    def keep(data: bytes) -> str:
        kept.append(data)
        return "output:1"

    text = rendered(value, max_output=None).text
    shown = shorten(text, limit, ("look", keep))
    assert kept == [text.encode()] and 'all of it: look(path="output:1")]' in shown
    part, _, _ = shown.rpartition("\n\n[")
    if shown.endswith('look(path="output:1")]'):
        json.loads(part)
        assert len(part) <= limit


@given(st.lists(st.text(max_size=20), min_size=2, max_size=40), st.integers(1, 50))
def test_of_many_texts_the_first_are_shown_and_all_are_kept(texts: list[str], limit: int) -> None:
    message = rendered(tuple(map(Text, texts)), max_output=limit)
    if sum(map(len, texts)) <= limit:
        assert "left out" not in message.text
        return
    *blocks, notice = message.content
    assert sum(len(block.text) for block in blocks) == limit  # type: ignore[union-attr]
    assert f"of {len(texts)} texts are complete" in notice.text  # type: ignore[union-attr]


def test_only_what_is_all_of_it_is_called_so() -> None:
    keeper = ("look", lambda data: "output:2")
    cut_before = "x" * 400 + '\n[Lines 9 to 10 of 10. All of it is kept: path="output:1a"]'
    assert 'all of it: look(path="output:2")' in shorten("x" * 400, 200, keeper)
    assert 'all that was shown: look(path="output:2")' in shorten(cut_before, 200, keeper)
    assert 'All of it is kept: path="output:1a"' in shorten(cut_before, 200, keeper)


def test_of_very_many_pictures_the_first_ones_are_shown_and_the_rest_is_counted() -> None:
    picture = Image(b"\x89PNG\r\n\x1a\n", "image/png")

    @tool
    def pictures(count: int) -> list[Image]:
        """Return pictures."""
        return [picture] * count

    for count in (2, MAX_MEDIA, MAX_MEDIA + 1, 5000):
        [message] = Toolset([pictures]).run_sync([ToolCall("1", "pictures", {"count": count})])
        blocks = [block for block in message.content if isinstance(block, Image)]
        assert len(blocks) == min(count, MAX_MEDIA)
        left = f"[{count - MAX_MEDIA:,} of {count:,} pictures, sounds and files left out here; {NARROW}]"
        assert message.text.endswith(left) is (count > MAX_MEDIA)
        assert (message.artifact is not None) is (count > MAX_MEDIA)
