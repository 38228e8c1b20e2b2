"""A server that a file names is started only after a person saw what that starts, and agreed.

The file may have come with somebody's repository. Consent is bound to all `launch_facts`: the command
after variables are put in, the program it resolves to, the folder, the variables, the address, the
headers, and the scripts and manifests of the project that it runs. A change of any of them asks
again and says what changed; it is looked for once more each time the server is started.
"""

from __future__ import annotations

import dataclasses
import hmac
import secrets
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from toolkeel._common.data_folder import register_state
from toolkeel._records.record import record
from toolkeel.errors import SetupError
from toolkeel.mcp.config import ServerConfig
from toolkeel.mcp.launch_facts import LaunchFact, fingerprint, launch_facts, shown_lines
from toolkeel.mcp.state_files import load_object, mcp_state_folder, save_object

MAX_STATES = 8
"""Consents remembered for one server: a person may go back and forth between two branches."""


@record
class ConsentRequest:
    """A question to a person: may this server be started, or talked to?

    Args:
        config: The server.
        lines: What is started or talked to, without secrets.
        changes: Differences from the last consent; empty without one.
    """

    config: ServerConfig
    lines: tuple[str, ...]
    changes: tuple[str, ...] = ()


Prompter: TypeAlias = Callable[[ConsentRequest], bool]
"""Shows a person the request and returns True if they agree."""

Facts: TypeAlias = Sequence[LaunchFact]
_prompter: list[Prompter] = []


def set_prompter(prompter: Prompter) -> None:
    """Set the default prompter of `check_consent`, as the command line does."""
    _prompter[:] = [prompter]


class ConsentStore:
    """Stored consents of a person.

    Each is kept as keyed digests of its facts, under a key of its own: a short secret among them
    has no digest that another list knows.

    Args:
        path: A file of its own; the user's by default.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = register_state(path or mcp_state_folder() / "consents.json")

    def has(self, config: ServerConfig, facts: Facts | None = None) -> bool:
        """Return True if a person agreed to exactly this.

        Args:
            config: The server.
            facts: Its `launch_facts`; read now by default.

        Raises:
            SetupError: as for `launch_facts`, or the file of consents is damaged.
        """
        facts = launch_facts(config) if facts is None else facts
        return any(not _differences(state, facts) for state in self._states(config))

    def grant(self, config: ServerConfig, facts: Facts | None = None) -> None:
        """Store that a person agreed to this, as the newest of `MAX_STATES`. The arguments and errors are those of `has`."""
        facts = launch_facts(config) if facts is None else facts
        salt = secrets.token_hex(16)
        values = {fact.label: [_keyed(salt, fact.value), fact.line] for fact in facts}
        states = [old for old in self._states(config) if _differences(old, facts)]
        entry = {
            "file": config.origin,
            "server": config.name,
            "agreed": [*states, {"salt": salt, "facts": values}][-MAX_STATES:],
        }
        known = {
            key: value
            for key, value in load_object(self._path).items()
            if isinstance(value, dict) and "agreed" in value  # others are of an older form
        }
        save_object(self._path, {**known, _key(config): entry})

    def changes(self, config: ServerConfig, facts: Facts) -> tuple[str, ...]:
        """Return what differs from the last consent, in lines, or empty if there is none."""
        states = self._states(config)
        return _differences(states[-1], facts) if states else ()

    def _states(self, config: ServerConfig) -> list[Mapping[str, Any]]:
        """Return the consents that are stored for a server, or raise as `load_object`."""
        entry = load_object(self._path).get(_key(config))
        states = entry.get("agreed") if isinstance(entry, dict) else None
        found = states if isinstance(states, list) else []
        return [each for each in found if isinstance(each, dict) and _is_state(each)]


def check_consent(config: ServerConfig, prompter: Prompter | bool | None = None) -> ServerConfig:
    """Return the config, bound to what a person agreed to start or talk to; ask, and store the consent, if none has.

    Args:
        config: The server's configuration. One that the program itself named needs no consent.
        prompter: Asks a person who has not agreed yet; by default that of `set_prompter`. True agrees
            in the name of the program, to whatever the file says and will say; nothing is stored.

    Raises:
        SetupError: no person has agreed; it shows what would start, and how to agree.
    """
    if not config.origin or prompter is True:
        return config
    store, facts = ConsentStore(), launch_facts(config)  # what is shown is what is agreed to
    if not store.has(config, facts):
        ask = prompter if callable(prompter) else _prompter[0] if _prompter else None
        request = ConsentRequest(config, shown_lines(facts), store.changes(config, facts))
        if ask is None or ask(request) is not True:
            raise _refusal(request)
        store.grant(config, facts)
    return dataclasses.replace(config, agreed_fingerprint=fingerprint(facts))


def check_unchanged(config: ServerConfig) -> None:
    """Raise unless a server's start is still what its person agreed to.

    Raises:
        SetupError: the server's start has changed.
    """
    if not config.agreed_fingerprint:
        return
    facts = launch_facts(config)
    if fingerprint(facts) != config.agreed_fingerprint:
        changes = ConsentStore().changes(config, facts)
        raise _refusal(ConsentRequest(config, shown_lines(facts), changes))


def _refusal(request: ConsentRequest) -> SetupError:
    """Build the error that shows what would start, and how to agree."""
    config = request.config
    verb = "start" if config.command else "talk to"
    changes = "".join(f"\n    {line}" for line in request.changes)
    return SetupError(
        f"the server {config.name!r} of {config.origin} would {verb}\n\n"
        + "\n".join(f"    {line}" for line in request.lines)
        + (f"\n\nwhich has changed since a person agreed to it:\n{changes}" if changes else "")
        + "\n\nand nobody has agreed to that. If it is right, run in a terminal: "
        f"toolkeel mcp tools {config.origin}:{config.name}"
    )


def _differences(state: Mapping[str, Any], facts: Facts) -> tuple[str, ...]:
    """Return the differences between a consent and the current facts, as lines."""
    now = {fact.label: fact for fact in facts}
    found = []
    for label, (digest, line) in state["facts"].items():
        if label not in now:
            found.append(f"no more: {line or label}")
        elif not hmac.compare_digest(digest, _keyed(state["salt"], now[label].value)):
            new = now[label].line
            found += (
                [f"changed: {new or label}"] if new == line else [f"was: {line}", f"now: {new}"]
            )
    found += [
        f"new: {fact.line or label}" for label, fact in now.items() if label not in state["facts"]
    ]
    return tuple(found)


def _is_state(state: Mapping[str, Any]) -> bool:
    """Return True if stored data has the form of a consent."""
    facts = state.get("facts")
    return (
        isinstance(state.get("salt"), str)
        and isinstance(facts, dict)
        and all(
            isinstance(each, list)
            and len(each) == 2
            and all(isinstance(part, str) for part in each)
            for each in facts.values()
        )
    )


def _key(config: ServerConfig) -> str:
    """Return the key of a server among the consents."""
    return f"{config.origin}:{config.name}"


def _keyed(salt: str, value: str) -> str:
    """Return the keyed digest of a value."""
    return hmac.digest(salt.encode(), value.encode("utf-8", "surrogatepass"), "sha256").hex()
