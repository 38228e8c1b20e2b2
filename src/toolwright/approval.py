"""What a person is asked before a call runs, and what they may answer."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import secrets
from collections.abc import Awaitable, Callable, Mapping
from time import time
from typing import Any, Literal, TypeAlias

from toolwright.record import NOTHING, record

LIFETIME = 24 * 3600.0
"""Seconds a ticket can be decided."""


@record
class Ticket:
    """One call that waits for a decision.

    It names everything that will run, and its digest binds the decision to exactly that: a call
    whose tool, definition or arguments differ by a byte is another call.

    Args:
        id: 128 random bits, in hex.
        call_id: The call's id in the transcript.
        tool: Name of the tool.
        arguments: Final arguments, validated, as JSON.
        digest: SHA-256 of tool, definition and arguments; see `digest_of`.
        expires: Seconds since the epoch after which it can no longer be decided.
        reason: Why it asks.
        effects: The tool's hints, by name.
    """

    id: str
    call_id: str
    tool: str
    arguments: Mapping[str, object]
    digest: str
    expires: float
    reason: str = ""
    effects: Mapping[str, object] = NOTHING

    @property
    def expired(self) -> bool:
        """Whether it is too late."""
        return time() >= self.expires

    def approve(self) -> Decision:
        """Let the call run as it is."""
        return Decision(self.id, self.digest, "approve")

    def deny(self, reason: str = "") -> Decision:
        """Refuse the call; the model is told the reason."""
        return Decision(self.id, self.digest, "deny", reason)

    def edit(self, arguments: Mapping[str, object]) -> Decision:
        """Let the call run with other arguments, which are validated and guarded first."""
        return Decision(self.id, self.digest, "edit", arguments=arguments)

    def to_dict(self) -> dict[str, object]:
        """As JSON-ready data."""
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return {**fields, "arguments": dict(self.arguments), "effects": dict(self.effects)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Ticket:
        """Back from `to_dict`.

        Raises:
            ValueError: if `data` is not a ticket.
        """
        try:
            return cls(**{f.name: data[f.name] for f in dataclasses.fields(cls)})
        except (KeyError, TypeError) as error:
            raise ValueError(f"not a ticket: {error}") from None


@record
class Decision:
    """The answer to one ticket; made by `Ticket.approve`, `deny` and `edit`.

    Args:
        ticket: The ticket's id.
        digest: The ticket's digest: what was decided on.
        verdict: What was decided.
        reason: For the model, if it was denied.
        arguments: What to run instead, if it was edited.
    """

    ticket: str
    digest: str
    verdict: Literal["approve", "deny", "edit"]
    reason: str = ""
    arguments: Mapping[str, object] = NOTHING


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
    text = json.dumps([tool, definition, arguments], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def new_ticket(
    call_id: str,
    tool: str,
    arguments: Mapping[str, object],
    digest: str,
    reason: str,
    effects: Mapping[str, object],
) -> Ticket:
    """A ticket with an id nobody can guess."""
    expires, id = time() + LIFETIME, secrets.token_hex(16)
    return Ticket(id, call_id, tool, arguments, digest, expires, reason, effects)
