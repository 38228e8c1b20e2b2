"""What a person is asked before a call runs, what they may answer, and what was changed in it."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Awaitable, Callable, Mapping
from time import time
from typing import Any, Final, Literal, TypeAlias, get_args

from toolkeel._records.record import NOTHING, record
from toolkeel._records.record_json import (
    Codec,
    literal_codec,
    load_record,
    register_codecs,
    tuple_codec,
)

LIFETIME = 24 * 3600.0
"""Seconds a ticket can be decided."""
EXTERNAL_LIFETIME = 30 * LIFETIME
"""The same of a ticket that waits for a result from outside: to answer it allows nothing."""
CLOCK_TOLERANCE: Final = 3600.0
"""Seconds by which the clocks of two machines may differ."""

Reach = Literal["call", "target", "session", "server", "source"]
"""How far an approval goes in its run: this call; this tool with these targets, of one that only reads
with these hosts; this tool within the ticket's scope, also in later runs of the session; the tools of this MCP server; all that was read so far, which is trusted then. Never a
tool for good."""
REACHES = get_args(Reach)
DecisionKind = Literal["approve", "deny", "edit", "answer"]
VERDICTS = get_args(DecisionKind)


@record
class Ticket:
    """A call that waits for a decision.

    A ticket names everything that will run. Its digest binds a decision to exactly that: a call whose
    tool, definition or arguments differ by a byte is another call. Its seal binds the decision to what
    the person was shown: a ticket that has changed since is another ticket.

    Args:
        id: 128 random bits, in hex.
        call_id: The call's id in the transcript.
        tool: Name of the tool.
        arguments: Final arguments, validated, as JSON.
        digest: SHA-256 of tool, definition and arguments; see `call_digest`.
        expires: Time after which it cannot be decided, in seconds since the epoch.
        reason: Why a decision is needed.
        effects: The tool's hints, by name.
        origin: Digest of the call as the model made it, if a person has edited it since.
        labels: Taint labels with their sources, if they are a reason.
        external: True if no code here runs the call: a person answers or denies it.
        form: JSON Schema of the arguments, if they are a form to fill in: a server's question in the
            middle of a call. Editing fills it in, denying declines, None cancels.
        server: The MCP server whose tool it is; empty for others.
        scope: What an approval may cover in the session: ``host NAME``, ``folder PATH``, ``command LINE`` or
            ``tool``; empty if no more than the call.
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
    server: str = ""
    scope: str = ""

    @property
    def verdicts(self) -> tuple[DecisionKind, ...]:
        """The verdicts that are possible for this ticket."""
        return ("deny", "answer") if self.external else VERDICTS

    @property
    def expired(self) -> bool:
        """True if the ticket has expired, or its expiry is later than tickets can have."""
        now = time()
        return (
            not now
            < self.expires
            <= now + (EXTERNAL_LIFETIME if self.external else LIFETIME) + CLOCK_TOLERANCE
        )

    @property
    def seal(self) -> str:
        """SHA-256 of the complete ticket: of all that a person is shown, and of its expiry."""
        return _sha256(self.to_dict())

    @property
    def has_target(self) -> bool:
        """True if the tool declares a target, or reads from the one service that it is for."""
        reads = self.effects.get("read_only") and self.effects.get("open_world")
        return bool(self.effects.get("target") or reads)

    def approve(self, reach: Reach | None = None) -> Decision:
        """Return a decision that approves the call as it is.

        Args:
            reach: ``call``: this call only. ``target``: also later calls of this tool to the same
                targets, or hosts for a tool that only reads, or those without an address if it reads and
                declares no target; the default if the ticket has labels. ``session``: later calls of this
                tool within `scope`, also in later runs of the session. ``server``: calls of this MCP
                server's tools. ``source``: what this run has read so far is trusted. All but ``session``
                apply to this run only.

        Raises:
            ValueError: `reach` is ``target``, and the tool declares none; ``session``, and the ticket
                has no scope; or ``server``, and it is no server's tool.
        """
        if reach is None:
            reach = "target" if self.labels and self.has_target else "call"
        if reach not in REACHES:
            raise ValueError(f"approve({reach!r:.60}): give one of {', '.join(map(repr, REACHES))}")
        if reach == "target" and not self.has_target:
            raise ValueError(
                f"approve('target'): {self.tool} declares no target, so no later call has the same; "
                "name its parameters, as effects=acts('to') does, or approve the call"
            )
        if reach == "session" and not self.scope:
            raise ValueError(f"approve('session'): {self.tool} can only be approved call by call")
        if reach == "server" and not self.server:
            raise ValueError(f"approve('server'): {self.tool} is not a tool of an MCP server")
        return Decision(self.id, self.seal, "approve", reach=reach)

    def deny(self, reason: str = "") -> Decision:
        """Return a decision that refuses the call, with a reason for the model."""
        return Decision(self.id, self.seal, "deny", reason)

    def edit(self, arguments: Mapping[str, object]) -> Decision:
        """Return a decision that approves the call with other arguments, validated before it runs.

        Args:
            arguments: All arguments of the call.

        Raises:
            TypeError: the arguments are not a dict.
        """
        if not isinstance(arguments, Mapping):
            raise TypeError(f"edit({arguments!r:.60}): give all of the call's arguments as a dict")
        return Decision(self.id, self.seal, "edit", arguments=arguments)

    def answer(self, value: object) -> Decision:
        """Return a decision that supplies the call's result. The tool does not run.

        Args:
            value: Text or other JSON data; it is validated against the tool's declared output.

        Raises:
            TypeError, ValueError: the value cannot be represented in JSON.
        """
        try:
            value = json.loads(json.dumps(value, allow_nan=False))
        except (TypeError, ValueError) as error:
            fix = "give text, numbers, and lists and dicts of these; of a picture its address"
            raise type(error)(f"answer(...): {error}; {fix}") from None
        return Decision(self.id, self.seal, "answer", value=value)

    def to_dict(self) -> dict[str, object]:
        """Return the ticket as JSON-ready data."""
        fields = {**_fields(self), "labels": list(self.labels)}
        for later in ("server", "scope"):  # as tickets were before there were these
            if not fields[later]:
                del fields[later]
        return fields

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Ticket:
        """Return the ticket that `to_dict` wrote.

        Raises:
            ValueError: `data` is not a ticket.
        """
        return load_record(data, cls)


@record
class Decision:
    """A decision on one ticket, made by `Ticket.approve`, `deny`, `edit` or `answer`.

    Args:
        ticket: The ticket's id.
        seal: The seal of the ticket as it was shown.
        verdict: What was decided.
        reason: For the model, if the call was denied.
        arguments: What to run instead, if the call was edited.
        reach: How far an approval extends.
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
        """Return the decision as JSON-ready data, to send it to the process that resumes the run."""
        return _fields(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Decision:
        """Return the decision that `to_dict` wrote.

        Raises:
            ValueError: `data` is not a decision.
        """
        return load_record(data, cls)


def _fields(item: Ticket | Decision) -> dict[str, object]:
    """Return all fields of a record as a dict."""
    found = {f.name: getattr(item, f.name) for f in dataclasses.fields(item)}
    return {k: dict(v) if isinstance(v, Mapping) else v for k, v in found.items()}


_TICKET = Codec((Mapping,), lambda ticket: ticket.to_dict(), Ticket.from_dict)
register_codecs(
    {
        "Ticket": _TICKET,
        "tuple[Ticket, ...]": tuple_codec(_TICKET),
        "Decision": Codec((Mapping,), lambda decision: decision.to_dict(), Decision.from_dict),
        "DecisionKind": literal_codec(*VERDICTS),
        "Reach": literal_codec(*REACHES),
    }
)

Answer: TypeAlias = Decision | bool | None
Approver: TypeAlias = Callable[[Ticket], Answer | Awaitable[Answer]]
"""Asked while the run waits. Anything but a clear yes means no; None, that the run ends and waits."""


def call_digest(
    tool: str, definition: Mapping[str, object], arguments: Mapping[str, object]
) -> str:
    """Return the digest of a call.

    Args:
        tool: Name of the tool.
        definition: Its description and schema.
        arguments: Final arguments, as JSON.

    >>> a = call_digest("rm", {}, {"path": "a", "force": True})
    >>> a == call_digest("rm", {}, {"force": True, "path": "a"})
    True
    >>> a == call_digest("rm", {}, {"force": True, "path": "b"})
    False
    """
    return _sha256([tool, definition, arguments])


def _sha256(data: object) -> str:
    """Return the SHA-256 of JSON data with sorted keys, in hex."""
    import hashlib  # late: most programs never ask anybody

    text = json.dumps(data, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def new_id() -> str:
    """Return an unguessable id: 128 random bits, in hex."""
    return os.urandom(16).hex()


@record
class Edit:
    """A change to the arguments of a call.

    Args:
        by: Author of the change: ``a person``, ``the guard small``, ``a step``.
        arguments: All arguments afterwards, a mapping of plain JSON values; secrets are masked.
        changes: The differences, one phrase each: ``amount from 500 to 5``.
        told: True if the model is informed. It is not informed of changes by steps, which are part of
            the program.
    """

    by: str
    arguments: Mapping[str, object]
    changes: tuple[str, ...]
    told: bool = True
