"""What a person is asked before a call runs, and what they may answer."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Awaitable, Callable, Mapping
from time import time
from typing import Any, Final, Literal, TypeAlias, get_args

from toolwright.record import NOTHING, read_fields, record

LIFETIME = 24 * 3600.0
"""Seconds a ticket can be decided."""
CLOCKS: Final = 3600.0
"""Seconds by which the clocks of two machines may differ."""

Verdict = Literal["approve", "deny", "edit"]
VERDICTS = get_args(Verdict)


@record
class Ticket:
    """One call that waits for a decision.

    It names everything that will run, and its digest binds the decision to exactly that: a call
    whose tool, definition or arguments differ by a byte is another call. Its seal binds the
    decision to what was seen: a ticket that was changed since is another ticket.

    Args:
        id: 128 random bits, in hex.
        call_id: The call's id in the transcript.
        tool: Name of the tool.
        arguments: Final arguments, validated, as JSON.
        digest: SHA-256 of tool, definition and arguments; see `digest_of`.
        expires: Seconds since the epoch after which it can no longer be decided.
        reason: Why it asks.
        effects: The tool's hints, by name.
        origin: The digest of the call as the model made it, if a person has edited it since.
    """

    id: str
    call_id: str
    tool: str
    arguments: Mapping[str, object]
    digest: str
    expires: float
    reason: str = ""
    effects: Mapping[str, object] = NOTHING
    origin: str = ""

    @property
    def expired(self) -> bool:
        """Whether it is too late, or it claims to be good for longer than tickets are."""
        now = time()
        return not now < self.expires <= now + LIFETIME + CLOCKS

    @property
    def seal(self) -> str:
        """SHA-256 of the whole ticket: of all a person sees, and of how long it is good for."""
        return _sha256(self.to_dict())

    def approve(self) -> Decision:
        """Let the call run as it is."""
        return Decision(self.id, self.seal, "approve")

    def deny(self, reason: str = "") -> Decision:
        """Refuse the call; the model is told the reason."""
        return Decision(self.id, self.seal, "deny", reason)

    def edit(self, arguments: Mapping[str, object]) -> Decision:
        """Let the call run with other arguments, which are validated and guarded first."""
        return Decision(self.id, self.seal, "edit", arguments=arguments)

    def to_dict(self) -> dict[str, object]:
        """As JSON-ready data."""
        return {
            **_fields(self),
            "arguments": dict(self.arguments),
            "effects": dict(self.effects),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Ticket:
        """Back from `to_dict`.

        Raises:
            ValueError: if `data` is not a ticket.
        """
        return cls(**read_fields(data, _TICKET, _TICKET_MORE))


@record
class Decision:
    """The answer to one ticket; made by `Ticket.approve`, `deny` and `edit`.

    Args:
        ticket: The ticket's id.
        seal: The ticket's seal: what was decided on, as it was seen.
        verdict: What was decided.
        reason: For the model, if it was denied.
        arguments: What to run instead, if it was edited.
    """

    ticket: str
    seal: str
    verdict: Verdict
    reason: str = ""
    arguments: Mapping[str, object] = NOTHING

    def to_dict(self) -> dict[str, object]:
        """As JSON-ready data: one process decides, another goes on."""
        return {**_fields(self), "arguments": dict(self.arguments)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Decision:
        """Back from `to_dict`.

        Raises:
            ValueError: if `data` is not a decision.
        """
        fields = read_fields(data, _DECISION, _DECISION_MORE)
        if fields["verdict"] not in VERDICTS:
            raise ValueError(f"there is no verdict {fields['verdict']!r:.100}")
        return cls(**fields)


def _fields(item: Ticket | Decision) -> dict[str, object]:
    return {f.name: getattr(item, f.name) for f in dataclasses.fields(item)}


_TEXT, _OBJECT = (str,), (Mapping,)
_TICKET = {
    "id": _TEXT,
    "call_id": _TEXT,
    "tool": _TEXT,
    "arguments": _OBJECT,
    "digest": _TEXT,
    "expires": (int, float),
}
_TICKET_MORE = {"reason": _TEXT, "effects": _OBJECT, "origin": _TEXT}
_DECISION = {"ticket": _TEXT, "seal": _TEXT, "verdict": _TEXT}
_DECISION_MORE = {"reason": _TEXT, "arguments": _OBJECT}


Answer: TypeAlias = Decision | bool
Approver: TypeAlias = Callable[[Ticket], Answer | Awaitable[Answer]]
"""Asked while the run waits. Anything but a clear yes means no."""


def digest_of(tool: str, definition: Mapping[str, object], arguments: Mapping[str, object]) -> str:
    """The digest of what would run.

    Args:
        tool: Name of the tool.
        definition: Its description and schema.
        arguments: Final arguments, as JSON.

    >>> a = digest_of("rm", {}, {"path": "a", "force": True})
    >>> a == digest_of("rm", {}, {"force": True, "path": "a"})
    True
    >>> a == digest_of("rm", {}, {"force": True, "path": "b"})
    False
    """
    return _sha256([tool, definition, arguments])


def _sha256(data: object) -> str:
    import hashlib  # late: most programs never ask anybody
    import json

    text = json.dumps(data, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def new_id() -> str:
    """An id nobody can guess: 128 random bits, in hex."""
    return os.urandom(16).hex()
