"""Blocks of reasoning in pieces are the blocks that their provider signed."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from toolkeel.providers.openai_chat.reasoning_blocks import ReasoningBlocks

texts = st.text("ab 東", min_size=1, max_size=8)


@given(
    st.lists(st.tuples(texts, st.lists(st.integers(1, 7), max_size=3)), min_size=1, max_size=3),
    st.sampled_from(["", None]),
)
def test_pieces_with_an_empty_signature_are_one_block_until_the_signature(
    signed: list[tuple[str, list[int]]], nothing: str | None
) -> None:
    """LiteLLM sends each piece of thinking as a block."""
    blocks, seen = ReasoningBlocks(), ""
    for number, (text, cuts) in enumerate(signed):
        edges = sorted({0, len(text), *(cut % len(text) for cut in cuts)})
        pieces: list[dict[str, Any]] = [
            {"type": "thinking", "thinking": text[a:b], "signature": nothing}
            for a, b in pairwise(edges)
        ]
        pieces.append({"type": "thinking", "thinking": "", "signature": f"s{number}"})
        for piece in pieces:
            seen += blocks.add({"thinking_blocks": [piece]}, is_complete=False)
    assert blocks.by_key["thinking_blocks"] == [
        {"type": "thinking", "thinking": text, "signature": f"s{number}"}
        for number, (text, _) in enumerate(signed)
    ]
    assert seen == "".join(text for text, _ in signed)


@given(st.lists(texts, min_size=1, max_size=3))
def test_each_block_of_a_complete_message_is_separate(thoughts: list[str]) -> None:
    listed = [{"type": "reasoning.text", "text": one} for one in thoughts]
    blocks = ReasoningBlocks()
    text = blocks.add({"reasoning_details": listed}, is_complete=True)
    assert text == "\n\n".join(thoughts)
    assert blocks.by_key == {"reasoning_details": listed}
