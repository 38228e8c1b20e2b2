"""Call ids: the transcript's on one side, what a wire takes on the other.

A model's id may be empty, repeated, too long or of letters that another provider refuses. So each
request gives every call an id of its own: legal, used once, the same for the same transcript, and
on the call and its result alike. A legal id that nobody used before stays as it is.
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


def common_id(id: str) -> str:
    """`id` if it is ``[A-Za-z0-9_-]{1,64}``, which Anthropic and Bedrock take; else a name for it.

    >>> common_id("toolu_01A09q90qw90lq917835lq9")
    'toolu_01A09q90qw90lq917835lq9'
    >>> common_id("functions.weather:0")
    'functions_weather_0_c8cf447133'
    """
    if _LEGAL.fullmatch(id):
        return id
    digest = hashlib.sha256(id.encode()).hexdigest()[:_DIGITS]
    return f"{_REFUSED.sub('_', id)[: _LENGTH - _DIGITS - 1]}_{digest}"


class OpenCalls:
    """The calls of a transcript: ids of their own for all, and results for those of the latest reply.

    Args:
        legal: Gives an id that the wire takes: its argument itself, if it does.

    Attributes:
        calls: Those of the latest reply, each by its id on the wire, in order.
        late: Whether a result came when its call had been answered with a sentence already.
    """

    def __init__(self, legal: Callable[[str], str] = common_id) -> None:
        self._legal = legal
        self._own: dict[str, str] = {}
        """The transcript's ids by the wire's, of all calls so far."""
        self._repeats: dict[str, int] = {}
        self._waiting: dict[str, str] = {}
        """The same of the calls that have no result yet, in order."""
        self._by_own: dict[str, deque[str]] = {}
        self._made_up: set[str] = set()
        self.calls: dict[str, ToolCall] = {}
        self.late = False

    def add(self, call: ToolCall) -> str:
        """Open a call; gives its id on the wire, which no other call of the transcript has."""
        base = clean_text(call.id) or f"call_{len(self._own)}"
        wire_id = self._legal(base)
        number = self._repeats.get(base, 1)
        while wire_id in self._own:
            number += 1
            wire_id = self._legal(f"{base}_{number}")
        self._repeats[base] = number
        self._own[wire_id] = self._waiting[wire_id] = call.id
        self._by_own.setdefault(call.id, deque()).append(wire_id)
        self.calls[wire_id] = call
        return wire_id

    def take(self, result: ToolMessage) -> str:
        """Id on the wire of the call that a result answers; empty if it answers none.

        Of several calls with one id it is the first without a result; so it is for a result
        that names no call.
        """
        id = result.tool_call_id or next(iter(self._waiting.values()), "")
        same = self._by_own.get(id)
        if not same:
            self.late = self.late or id in self._made_up
            return ""
        wire_id = same.popleft()
        del self._waiting[wire_id]
        return wire_id

    def close(self) -> None:
        """End the turn: calls without a result were answered with a sentence."""
        self._made_up.update(self._waiting.values())
        self._waiting, self._by_own, self.calls = {}, {}, {}


def paired(calls: Sequence[ToolCall], results: Sequence[ToolMessage]) -> list[ToolMessage]:
    """The results in the order of their calls.

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
