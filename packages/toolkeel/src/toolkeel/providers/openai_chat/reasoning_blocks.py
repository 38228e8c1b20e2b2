"""Blocks of reasoning with their signatures, as routers send them beside a text (OpenRouter, LiteLLM)."""

from __future__ import annotations

from toolkeel.providers.openai_chat.profile import REASONING_BLOCKS
from toolkeel.providers.wire.decoder import BREAK
from toolkeel.providers.wire.plain_json import Json, as_dict, as_list, as_text

_TEXTS = ("text", "summary", "thinking")
"""Keys of a block that hold its text."""


class ReasoningBlocks:
    """The blocks of one answer, complete or streamed.

    Attributes:
        by_key: The blocks so far, by the key of the message they came under.
    """

    def __init__(self) -> None:
        self.by_key: dict[str, list[Json]] = {}

    def add(self, message: Json, *, is_complete: bool) -> str:
        """Store the blocks in a message or delta. Return the text in those of one kind."""
        text = ""
        for key in REASONING_BLOCKS:
            listed = [as_dict(block) for block in as_list(message.get(key))]
            for block in listed:
                _add_block(self.by_key.setdefault(key, []), block, is_complete=is_complete)
            texts = (as_text(block.get(one)) for block in listed for one in _TEXTS)
            text = text or (BREAK if is_complete else "").join(filter(None, texts))
        return text


def _add_block(blocks: list[Json], block: Json, *, is_complete: bool) -> None:
    """Append a block to `blocks`, or join a piece to the last one, whose type, index and id it shares.

    A signature ends a block without an index. In a complete message each block is separate.
    """
    last = blocks[-1] if blocks else {}
    same = last and all(last.get(key) == block.get(key) for key in ("type", "index", "id"))
    is_over = "signature" in last and bool(last["signature"]) and last.get("index") is None
    if is_complete or not same or is_over or "data" in block:
        blocks.append(dict(block))
        return
    for key, value in block.items():
        if key in _TEXTS:
            last[key] = as_text(last.get(key)) + as_text(value)
        elif value is not None:
            last[key] = value
