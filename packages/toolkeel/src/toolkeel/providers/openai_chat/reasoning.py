"""Reasoning that is sent back with the calls it led to, in the form in which it arrived."""

from __future__ import annotations

from toolkeel.messages import AssistantMessage
from toolkeel.providers.openai_chat.profile import REASONING_KEYS, ChatTarget, is_sealed_reasoning
from toolkeel.providers.text_calls.think_tags import CLOSE, OPEN, THINK_KEY
from toolkeel.providers.wire.plain_json import Json, as_text, clean_text
from toolkeel.providers.wire.reasoning_ownership import (
    is_from_server,
    is_own_thought,
    model_family,
)


def add_reasoning(wire: Json, message: AssistantMessage, target: ChatTarget, own: bool) -> None:
    """Add the reasoning behind a message's calls to its wire form, if the server wants it.

    Args:
        wire: The message on the wire, which is changed.
        message: The message.
        target: The requested model and its server.
        own: True if the message is the requested model's.
    """
    if target.server.reasoning == "never":
        return
    ours = [one for one in message.reasoning if is_own_thought(one, message, own, target)]
    text = clean_text("".join(one.text for one in ours))
    key = as_text(message.provider_options.get("reasoning_key"))
    if key == THINK_KEY and text:
        wire["content"] = f"{OPEN}\n{text}\n{CLOSE}\n\n{wire['content'] or ''}"
    elif key and text:
        wire[key] = text
    elif target.server.reasoning == "always":
        wire["reasoning_content"] = text
    if own and is_from_server(message, target):
        sealed = filter(is_sealed_reasoning, message.provider_options)
        wire |= {one: message.provider_options[one] for one in sealed}
    if _is_local_gpt_oss(message, target):
        _move_text_to_reasoning(wire, target)


def _is_local_gpt_oss(message: AssistantMessage, target: ChatTarget) -> bool:
    """Return True if a local server runs a gpt-oss model, or one wrote the message."""
    names = (target.model, message.model)
    return bool(target.server.kind) and any("gpt-oss" in model_family(name) for name in names)


def _move_text_to_reasoning(wire: Json, target: ChatTarget) -> None:
    """Append the text beside calls to the reasoning: gpt-oss's template refuses both at once."""
    key = next((key for key in REASONING_KEYS if wire.get(key)), "")
    if key and wire["content"]:
        wire[key] = f"{wire[key]}\n\n{wire['content']}"
        wire["content"] = None if target.server.null_content else ""
