"""The order of a reply's parts, kept and put together again."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from toolkeel.providers.wire.part_order import Kind, arrange_blocks, make_layout
from toolkeel.providers.wire.plain_json import as_text

kinds: Any = st.lists(st.sampled_from(["reasoning", "text", "call", "other"]), max_size=7)


def spoken(block: dict[str, object]) -> str:
    return as_text(block.get("text"))


@given(kinds)
def test_any_order_comes_back(order: list[Kind]):
    blocks: list[dict[str, object]]
    blocks = [{"text": f"<{i}>"} if kind == "text" else {kind: i} for i, kind in enumerate(order)]
    parts = list(zip(order, blocks, strict=True))
    own = [[block] for kind, block in parts if kind == "reasoning"]
    calls = [block for kind, block in parts if kind == "call"]
    texts = [block for kind, block in parts if kind == "text"]
    text = "".join(map(spoken, blocks))
    assert arrange_blocks(make_layout(parts), own, calls, (text, texts), spoken) == blocks


def test_the_plain_order_needs_no_layout() -> None:
    parts: Any = [("reasoning", {}), ("reasoning", {}), ("text", {}), ("call", {}), ("call", {})]
    assert make_layout(parts) == make_layout([]) == []


def test_a_message_that_was_changed_is_in_the_plain_order() -> None:
    layout = [{"text": "a"}, "call", {"search": 1}, "reasoning"]
    own, call = [[{"hm": 1}], [{"hm": 2}]], {"call": 1}
    said: Any = ("b", [{"text": "b"}])
    plain = [{"hm": 1}, {"hm": 2}, {"search": 1}, {"text": "b"}, call]
    assert arrange_blocks(layout, own, [call], said, spoken) == plain
    assert arrange_blocks(layout, own, [call], ("a", [{"text": "a"}]), spoken)[2:4] == [
        {"search": 1},
        {"text": "a"},
    ]
