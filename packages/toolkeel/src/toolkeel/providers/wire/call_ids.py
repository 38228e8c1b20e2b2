"""Call ids: the transcript's ids on one side, legal wire ids on the other.

A model's call id may be empty, repeated, too long or contain letters that another provider refuses.
So each request gives every call a wire id: legal, unique, the same for the same transcript, and the
same on the call and its result. A legal id without a duplicate stays unchanged.
"""

from __future__ import annotations

import hashlib
import re
from collections import deque
from collections.abc import Callable, Sequence

from toolkeel.errors import SetupError
from toolkeel.messages import ToolCall, ToolMessage
from toolkeel.providers.wire.plain_json import clean_text

_LEGAL = re.compile(r"[A-Za-z0-9_-]{1,64}")
_REFUSED = re.compile(r"[^A-Za-z0-9_-]")
_LENGTH = 64
_DIGITS = 10
_CHAT_LENGTH = 40
_SHORT = re.compile(r"[A-Za-z0-9]{9}")


def make_legal_id(id: str) -> str:
    """Return an id that matches ``[A-Za-z0-9_-]{1,64}``, the form Anthropic and Bedrock require.

    >>> make_legal_id("toolu_01A09q90qw90lq917835lq9")
    'toolu_01A09q90qw90lq917835lq9'
    >>> make_legal_id("functions.weather:0")
    'functions_weather_0_c8cf447133'
    """
    if _LEGAL.fullmatch(id):
        return id
    digest = hashlib.sha256(id.encode()).hexdigest()[:_DIGITS]
    return f"{_REFUSED.sub('_', id)[: _LENGTH - _DIGITS - 1]}_{digest}"


def cut_id(id: str) -> str:
    """Return an id of at most 40 characters, as Chat Completions requires; a longer one ends with its hash."""
    if len(id) <= _CHAT_LENGTH:
        return id
    digest = hashlib.sha256(id.encode()).hexdigest()[:_DIGITS]
    return f"{id[: _CHAT_LENGTH - _DIGITS - 1]}_{digest}"


def make_short_id(id: str) -> str:
    """Return an id of nine letters and digits, as Mistral requires: the id if it is one, else its hash."""
    return id if _SHORT.fullmatch(id) else hashlib.sha256(id.encode()).hexdigest()[:9]


class OpenCalls:
    """Assigns wire ids to all calls of a transcript and matches results to the open ones.

    Args:
        legal: Turns an id into a legal one; a legal id stays unchanged.

    Attributes:
        calls: Calls of the latest reply by wire id, in order; an encoder removes those it has answered.
        has_late_result: True if a result came after its call had been answered with a placeholder.
    """

    def __init__(self, legal: Callable[[str], str] = make_legal_id) -> None:
        self._make_legal = legal
        self._own_ids: dict[str, str] = {}
        """The transcript's ids by wire id, of all calls so far."""
        self._repeats: dict[str, int] = {}
        self._unanswered: dict[str, str] = {}
        """The same for calls without a result, in order."""
        self._wire_ids: dict[str, deque[str]] = {}
        self._answered_by_us: set[str] = set()
        self.calls: dict[str, ToolCall] = {}
        self.has_late_result = False

    def add(self, call: ToolCall) -> str:
        """Register a call and return its wire id, unique in the transcript."""
        base = clean_text(call.id) or f"call_{len(self._own_ids)}"
        wire_id = self._make_legal(base)
        number = self._repeats.get(base, 1)
        while wire_id in self._own_ids:
            number += 1
            wire_id = self._make_legal(f"{base}_{number}")
        self._repeats[base] = number
        self._own_ids[wire_id] = self._unanswered[wire_id] = call.id
        self._wire_ids.setdefault(call.id, deque()).append(wire_id)
        self.calls[wire_id] = call
        return wire_id

    def match_result(self, result: ToolMessage) -> str:
        """Return the wire id of the call that a result answers, or empty if there is none.

        The call is answered from then on; a result that comes after its placeholder sets
        `has_late_result`. Of several calls with one id, the first without a result counts, also for a
        result without a call id.
        """
        id = result.tool_call_id or next(iter(self._unanswered.values()), "")
        same = self._wire_ids.get(id)
        if not same:
            self.has_late_result = self.has_late_result or id in self._answered_by_us
            return ""
        wire_id = same.popleft()
        del self._unanswered[wire_id]
        return wire_id

    def close_turn(self) -> None:
        """End the turn: its calls take no more results, and later ones count as late."""
        self._answered_by_us.update(self._unanswered.values())
        self._unanswered, self._wire_ids, self.calls = {}, {}, {}


def pair_results(calls: Sequence[ToolCall], results: Sequence[ToolMessage]) -> list[ToolMessage]:
    """Return the results in the order of their calls.

    A call's result is the one with its id, else the next that has no call's id; if ids repeat,
    the order alone counts.

    Raises:
        SetupError: if there is not one result for each call.
    """
    if len(calls) != len(results):
        raise SetupError(
            f"encode_turn(results=...): the reply has {len(calls)} calls and there are "
            f"{len(results)} results; pass all that Toolset.run returned for these calls"
        )
    ids = {call.id for call in calls}
    named = {result.tool_call_id: result for result in results if result.tool_call_id in ids}
    if len(named) < sum(result.tool_call_id in ids for result in results):
        named = {}
    rest = iter([result for result in results if result.tool_call_id not in named])
    return [named[call.id] if call.id in named else next(rest) for call in calls]
