"""What a person is asked before a call runs, what they may answer, and what was changed in it."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Awaitable, Callable, Mapping
from time import time
from typing import Any, Final, Literal, TypeAlias, get_args

from toolkeel._records.record import NOTHING, record
from toolkeel._records.record_json import Way, load_record, one_of, several, teach

LIFETIME = 24 * 3600.0
"""Seconds a ticket can be decided."""
PATIENCE = 30 * LIFETIME
"""The same of a ticket that waits for a result from outside: to answer it allows nothing."""
CLOCKS: Final = 3600.0
"""Seconds by which the clocks of two machines may differ."""

Reach = Literal["call", "target", "source"]
"""How far an approval goes, when what a run has touched is why it was asked: this call; this tool
with these targets; all that was read so far, which is trusted then. Never a tool for good."""
REACHES = get_args(Reach)
DecisionKind = Literal["approve", "deny", "edit", "answer"]
VERDICTS = get_args(DecisionKind)


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
        labels: What the run has touched, each with its source, if that is a reason.
        external: Whether nothing here runs the call: it is answered or denied.
        form: JSON Schema of the arguments, if they are a form to be filled in: a server's question in
            the middle of a call. Editing fills it in, denying declines, None cancels.
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
    labels: tuple[str, ...] = ()
    external: bool = False
    form: Mapping[str, object] = NOTHING

    @property
    def verdicts(self) -> tuple[DecisionKind, ...]:
        """What may be decided about it."""
        return ("deny", "answer") if self.external else VERDICTS

    @property
    def expired(self) -> bool:
        """Whether it is too late, or it claims to be good for longer than tickets are."""
        now = time()
        return not now < self.expires <= now + (PATIENCE if self.external else LIFETIME) + CLOCKS

    @property
    def seal(self) -> str:
        """SHA-256 of the whole ticket: of all a person sees, and of how long it is good for."""
        return _sha256(self.to_dict())

    def approve(self, reach: Reach = "call") -> Decision:
        """Let the call run as it is.

        Args:
            reach: ``target`` lets later calls of this tool to the same targets pass, too, and
                ``source`` trusts what this run has read so far; both for this run alone.
        """
        if reach not in REACHES:
            raise ValueError(f"approve({reach!r:.60}): give one of {', '.join(map(repr, REACHES))}")
        return Decision(self.id, self.seal, "approve", reach=reach)

    def deny(self, reason: str = "") -> Decision:
        """Refuse the call; the model is told the reason."""
        return Decision(self.id, self.seal, "deny", reason)

    def edit(self, arguments: Mapping[str, object]) -> Decision:
        """Let the call run with other arguments, which are validated and guarded first."""
        if not isinstance(arguments, Mapping):
            raise TypeError(f"edit({arguments!r:.60}): give all of the call's arguments as a dict")
        return Decision(self.id, self.seal, "edit", arguments=arguments)

    def answer(self, value: object) -> Decision:
        """Give the call's result: in a person's words, or from where it was done. Nothing runs.

        Args:
            value: Text, or other JSON data; it is held to the result that the tool promises.

        Raises:
            TypeError, ValueError: it has no JSON form.
        """
        try:
            value = json.loads(json.dumps(value, allow_nan=False))
        except (TypeError, ValueError) as error:
            fix = "give text, numbers, and lists and dicts of these; of a picture its address"
            raise type(error)(f"answer(...): {error}; {fix}") from None
        return Decision(self.id, self.seal, "answer", value=value)

    def to_dict(self) -> dict[str, object]:
        """As JSON-ready data."""
        return {**_fields(self), "labels": list(self.labels)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Ticket:
        """Back from `to_dict`.

        Raises:
            ValueError: if `data` is not a ticket.
        """
        return load_record(data, cls)


@record
class Decision:
    """The answer to one ticket; made by `Ticket.approve`, `deny` and `edit`.

    Args:
        ticket: The ticket's id.
        seal: The ticket's seal: what was decided on, as it was seen.
        verdict: What was decided.
        reason: For the model, if it was denied.
        arguments: What to run instead, if it was edited.
        reach: How far an approval goes.
        value: The call's result, if it was answered.
    """

    ticket: str
    seal: str
    verdict: DecisionKind
    reason: str = ""
    arguments: Mapping[str, object] = NOTHING
    reach: Reach = "call"
    value: object = None

    def to_dict(self) -> dict[str, object]:
        """As JSON-ready data: one process decides, another goes on."""
        return _fields(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Decision:
        """Back from `to_dict`.

        Raises:
            ValueError: if `data` is not a decision.
        """
        return load_record(data, cls)


def _fields(item: Ticket | Decision) -> dict[str, object]:
    found = {f.name: getattr(item, f.name) for f in dataclasses.fields(item)}
    return {k: dict(v) if isinstance(v, Mapping) else v for k, v in found.items()}


_TICKET = Way((Mapping,), lambda ticket: ticket.to_dict(), Ticket.from_dict)
teach(
    {
        "Ticket": _TICKET,
        "tuple[Ticket, ...]": several(_TICKET),
        "Decision": Way((Mapping,), lambda decision: decision.to_dict(), Decision.from_dict),
        "DecisionKind": one_of(*VERDICTS),
        "Reach": one_of(*REACHES),
    }
)

Answer: TypeAlias = Decision | bool | None
Approver: TypeAlias = Callable[[Ticket], Answer | Awaitable[Answer]]
"""Asked while the run waits. Anything but a clear yes means no; None, that the run ends and waits."""


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

    text = json.dumps(data, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def new_id() -> str:
    """An id nobody can guess: 128 random bits, in hex."""
    return os.urandom(16).hex()


@record
class Edit:
    """A change that somebody made to a call.

    Args:
        by: Who: ``a person``, ``the guard small``, ``a step``.
        arguments: All arguments afterwards, as JSON; secrets are masked.
        changes: What is different, one phrase each: ``amount from 500 to 5``.
        told: Whether the model is told: of steps it is not, which are part of the program.
    """

    by: str
    arguments: Mapping[str, object]
    changes: tuple[str, ...]
    told: bool = True
