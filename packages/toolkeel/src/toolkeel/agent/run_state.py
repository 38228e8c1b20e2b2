"""A run as JSON, to be resumed in another process.

Plain data with a version number: nothing in it is imported, called or evaluated, and each field is checked
when it is read. It contains the transcript, with the calls that will run; so whoever can write a saved run
decides what runs. Where that may be somebody else, pass a key in both directions.
"""

from __future__ import annotations

import dataclasses
import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Annotated, TypeAlias

from toolkeel._common.cancel import get_logger
from toolkeel._common.checked_arguments import ArgumentKind, checked
from toolkeel._records.messages_json import json_text, refuse_constant
from toolkeel._records.record import NOTHING, record
from toolkeel._records.record_json import (
    Codec,
    Json,
    dump_record,
    load_record,
    read_fields,
    record_codec,
    register_codecs,
    tuple_codec,
)
from toolkeel._records.taint_sources import Permit
from toolkeel._records.tickets import Decision, Ticket
from toolkeel._records.typed_values import StoredState
from toolkeel.agent.history import Cut
from toolkeel.errors import SetupError
from toolkeel.messages import Message, SystemMessage, Usage

VERSION = 3
READ = (1, 2, 3)
"""Versions that can be read: 1 had neither state nor instructions, 2 no types in its state."""

Key: TypeAlias = Annotated[
    bytes,
    ArgumentKind(lambda value: True, "bytes, which are text.encode() of a text", is_quotable=False),
]
"""A key that signs saved runs; its errors never quote it."""


@record
class InnerRun:
    """A saved inner run: a call of another run, which waits or was stopped with it.

    Args:
        state: Its state.
        decision: The approval of its call, if one was needed; the call is not asked about again.
        run: Its id, if it continues in the journal of a session; not part of the JSON.
        turn: Number of requests it has made, if so.
        call: Id of its call, if so.
        joined: True if the body of its call has started it; see `toolkeel.agent.inner_agent`.
    """

    state: RunState
    decision: Decision | None = None
    run: str = ""
    turn: int = 0
    call: str = ""
    joined: bool = False


def joined_key(call: str, run: str) -> str:
    """Return the key of a run that a call's body has started, in `RunState.inner`."""
    return f"{call}#{run}"


@record
class RunState:
    """The state of a run: all that is needed to resume it.

    Args:
        messages: The transcript.
        pending: Tickets of calls that wait for a person, those of inner runs included.
        inner: Runs of agents that were called as tools, by the id of their call; and those that bodies
            have started, by a key of their own.
        values: The run's `state`: what tools wrote, with its types.
        omitted_values: Paths of values in `state` that cannot be saved: ``"cart.items[2]"``. A tool's
            write of such a value fails; they come from the caller, or from changes inside a value.
        instructions: The agent's instructions, as evaluated when the run began; None before.
        agent: Name of the agent that owns the run.
        previous_agents: Names of the agents that owned it before, in order.
        cuts: Parts of the transcript that requests omit or replace.
        inbox: Messages to append to the transcript before the next request.
        follow_ups: Messages to append one by one when the run would end.
        model: Name of its model.
        usage: Tokens and requests so far.
        cost: The same in US dollars, where prices were known.
        counts: Counts of its limits, inner runs included; empty for a run without limits of its own.
        permits: What a person has permitted for the outermost run, beyond one call.
        labels: Taint labels of what the run has read, each with its source.
        made_by: Names of the agents that made waiting calls before they handed over, by call id.
    """

    messages: tuple[Message, ...]
    pending: tuple[Ticket, ...] = ()
    inner: Mapping[str, InnerRun] = NOTHING  # type: ignore[assignment]
    values: StoredState = NOTHING
    omitted_values: tuple[str, ...] = ()
    instructions: str | None = None
    agent: str = ""
    model: str = ""
    usage: Usage = Usage()
    cost: float = 0.0
    previous_agents: tuple[str, ...] = ()
    cuts: tuple[Cut, ...] = ()
    inbox: tuple[Message, ...] = ()
    follow_ups: tuple[Message, ...] = ()
    counts: Mapping[str, int] = NOTHING  # type: ignore[assignment]
    permits: tuple[Permit, ...] = ()
    labels: tuple[str, ...] = ()
    made_by: Mapping[str, str] = NOTHING  # type: ignore[assignment]

    @checked
    def to_json(self, key: Key = b"") -> str:
        """Return the run as JSON text, without the values that `omitted_values` names, which are logged.

        Args:
            key: Signs the text (HMAC-SHA256), so that `from_json` refuses what others have changed.

        Raises:
            SetupError: the key is no bytes, or a call's arguments cannot be represented in JSON.
        """
        if self.omitted_values:
            get_logger().warning(
                "saved without values that have no stored form: %s", ", ".join(self.omitted_values)
            )
        state: Json = {"version": VERSION, **_dump_state(self)}
        if key:
            state["signature"] = sign(state, key)
        return json_text(state)

    @classmethod
    @checked
    def from_json(cls, text: str, key: Key = b"") -> RunState:
        """Read a saved run, as `to_json` wrote it or an earlier version did.

        Without a key, approvals of inner agents' calls and permits beyond one call are dropped, since
        a file could forge them: a person is asked again.

        Args:
            text: The JSON text.
            key: The key it was signed with, if it was.

        Raises:
            SetupError: the key is no bytes, the text is not a saved run, its version is unknown, or its
                signature is not by this key.
        """
        try:
            data = json.loads(text, parse_constant=refuse_constant)
            if not isinstance(data, dict):
                raise ValueError("no object")
            version = data.get("version")
            if type(version) is not int or version not in READ:
                raise SetupError(f"a saved run of version {version!r:.40} cannot be read here")
            data.pop("terms", None)  # of the command that saved it; nothing here goes by them
            signature = data.pop("signature", "")
            if key:
                check_signature(data, signature, key)
            del data["version"]
            if version < VERSION:
                data = _rename_fields(data)
            state = _load_state(data) if key else _drop_approvals(_load_state(data))
            return _move_instructions(state) if version == 1 else state
        except (ValueError, RecursionError) as error:
            raise SetupError(f"this is not a saved run: {error}"[:300]) from None


def _rename_fields(data: Json) -> Json:
    """Return a state of an earlier version with the fields' present names, inner runs included."""
    renamed = {_RENAMED.get(name, name): value for name, value in data.items()}
    inner = renamed.get("inner")
    if isinstance(inner, Mapping):
        renamed["inner"] = {
            id: {**one, "state": _rename_fields(one["state"])}
            if isinstance(one, Mapping) and isinstance(one.get("state"), Mapping)
            else one
            for id, one in inner.items()
        }
    return renamed


_RENAMED = {
    "left": "omitted_values",
    "path": "previous_agents",
    "said": "inbox",
    "later": "follow_ups",
}
"""Fields by their names in versions 1 and 2."""


def sign(data: Json, key: bytes) -> str:
    """Return the HMAC-SHA256 of JSON data, in hex."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def check_signature(data: Json, signature: object, key: bytes) -> None:
    """Raise `SetupError` unless a signature is that of `sign`."""
    if not hmac.compare_digest(sign(data, key).encode(), str(signature).encode()):
        raise SetupError("this saved run is not signed with this key, or was changed")


def _dump_inner(inner: InnerRun) -> Json:
    """Return a nested run's state and decision as JSON-ready data."""
    fields: Json = {"state": _dump_state(inner.state)}
    if inner.decision is not None:
        fields["decision"] = inner.decision.to_dict()
    return {**fields, "joined": True} if inner.joined else fields


def _dump_state(state: RunState) -> Json:
    """Return the fields of a state that differ from their defaults, and `messages` and `pending`, as JSON-ready data."""
    return {"messages": [], "pending": [], **dump_record(state)}


def _load_state(data: object) -> RunState:
    """Return the state that `_dump_state` wrote, or raise ValueError if a field is missing or wrong."""
    return load_record(data, RunState, ["messages", "pending"])


def _load_inner(data: object) -> InnerRun:
    """Load a nested run's state with its decision, or raise ValueError if a field is missing or wrong."""
    fields = read_fields(
        data, {"state": (dict,), "decision": (dict,), "joined": (bool,)}, ["state"]
    )
    decision = Decision.from_dict(fields["decision"]) if "decision" in fields else None
    return InnerRun(_load_state(fields["state"]), decision, joined=fields.get("joined", False))


register_codecs(
    {
        "Mapping[str, InnerRun]": Codec(
            (Mapping,),
            lambda inner: {id: _dump_inner(one) for id, one in inner.items()},
            lambda data: {id: _load_inner(one) for id, one in data.items()},
        ),
        "Mapping[str, int]": Codec(
            (Mapping,), dict, lambda data: read_fields(data, dict.fromkeys(data, (int,)))
        ),
        "Mapping[str, str]": Codec(
            (Mapping,), dict, lambda data: read_fields(data, dict.fromkeys(data, (str,)))
        ),
        "tuple[Cut, ...]": tuple_codec(record_codec(Cut)),
        "tuple[Permit, ...]": tuple_codec(record_codec(Permit)),
    }
)


def _drop_approvals(state: RunState) -> RunState:
    """Return the state without permits and decisions of its inner runs, which a file could forge."""
    inner = {
        id: InnerRun(_drop_approvals(one.state), joined=one.joined)
        for id, one in state.inner.items()
    }
    return dataclasses.replace(state, inner=inner or state.inner, permits=())


def _move_instructions(state: RunState) -> RunState:
    """Return a first-version state with its instructions in `instructions` instead of the transcript.

    Inner runs are converted, too.
    """
    inner = {
        id: InnerRun(_move_instructions(one.state), one.decision) for id, one in state.inner.items()
    }
    messages, instructions = state.messages, None
    if messages and isinstance(messages[0], SystemMessage):
        instructions, messages = messages[0].text, messages[1:]
    return dataclasses.replace(state, messages=messages, inner=inner, instructions=instructions)
