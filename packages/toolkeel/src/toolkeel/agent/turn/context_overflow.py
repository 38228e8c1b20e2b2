"""Requests that exceed the model's context: how much must go, and the policy for agents without one."""

from __future__ import annotations

from toolkeel.agent.history import Cut, HistoryPolicy, HistoryView
from toolkeel.errors import RequestTooLarge
from toolkeel.messages import UserMessage
from toolkeel.model_interface import Model, make_history_policy

MAX_SHORTENINGS = 3
"""Times a request is shortened because it exceeds the context, before its error is raised."""
SMALL_CONTEXT = 32_768
"""Tokens of a context up to which an agent without a history policy gets one."""
ROOM = 0.6
"""Part of a small context that messages may take; tools, instructions and the reply need the rest."""
ANY_SIZE = 2**40
"""Tokens for a policy that shortens only what did not fit."""
_UNKNOWN_RATIO = 2.0
_LEAST_RATIO = 1.25


def small_context_policy(model: Model) -> HistoryPolicy | None:
    """Return the policy for a model whose server reported a small context, or None for any other."""
    length = getattr(model, "context_length", None)
    if not isinstance(length, int) or not 0 < length <= SMALL_CONTEXT:
        return None
    policy: HistoryPolicy | None = make_history_policy(int(length * ROOM))
    return policy


def overflow_ratio(error: RequestTooLarge) -> float | None:
    """Return how many times too large a request was: 0 if unknown, None if it had too many bytes."""
    if error.tokens and error.token_limit:
        return max(1.0, error.tokens / error.token_limit)
    return None if error.status == 413 and error.token_limit is None else 0.0


def shortening_ratio(ratio: float) -> float:
    """Return by how many times to shorten a request that was `ratio` times too large."""
    return max(_LEAST_RATIO, ratio) if ratio else _UNKNOWN_RATIO


def can_fit(view: HistoryView, ratio: float) -> bool:
    """Return True if the request would fit without all that may be cut: the last prompt must stay."""
    start = next(reversed(view.find_turn_starts()), 0)
    prompt = [one for one in view.messages[start:] if isinstance(one, UserMessage)]
    total = sum(len(message.text) for message in view.messages)
    size = sum(len(message.text) for message in prompt)
    return size < total and size * (ratio or 1.0) <= total


def leave_out_turn(view: HistoryView) -> Cut | None:
    """Return the cut of the last turn, which no request can contain, or None if it has none."""
    start = next(reversed(view.find_turn_starts()), None)
    if start is None:
        return None
    size = sum(len(message.text) for message in view.messages[start:])
    text = f"[Left out here: a message of {size:,} characters, which exceeds the model's context]"
    note = (UserMessage(text, "omission"),)
    return Cut(view.positions[start], view.total, note, "overflow")
