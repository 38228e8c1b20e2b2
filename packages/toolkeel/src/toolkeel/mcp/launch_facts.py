"""What a server's entry starts or talks to, as facts: each with a line for a person and a bound value.

Consent covers every fact. The line may mask a secret; the value never does, and only its digest is
stored. The facts are those of the moment: a variable, a link or a script that changes is another
fact.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Iterable, Iterator

from toolkeel._records.record import record
from toolkeel.mcp.config import MASK, ServerConfig
from toolkeel.mcp.launch_files import project_files, resolve_program

LOADED = "Other files of the project that these load are not covered: they may change unasked."


@record
class LaunchFact:
    """One thing that decides what is started or talked to.

    Args:
        label: Its name, unique within a server.
        line: Line that is shown to a person; empty if another line shows it already.
        value: Value that the consent is bound to; may be secret.
    """

    label: str
    line: str
    value: str


def launch_facts(config: ServerConfig) -> tuple[LaunchFact, ...]:
    """Return everything that decides what a server named by a file starts or talks to, read now.

    Raises:
        SetupError: its command names too many files.
    """
    return tuple(_facts(config))


def _facts(config: ServerConfig) -> Iterator[LaunchFact]:
    """Yield the facts: program, command, folder, address, variables, options and files."""
    shown = config.shown_fields
    program = resolve_program(config) if config.command else None
    yield LaunchFact("server", "", f"{config.origin}\n{config.name}\n{config.kind}")
    if config.command:
        yield LaunchFact("command", shlex.join(shown["command"]), json.dumps(config.command))
        line = "" if program == config.command[0] else f"by the program {program or '(not found)'}"
        yield LaunchFact("program", line, program or "")
        yield LaunchFact("folder", f"in {config.cwd}" if config.cwd else "", config.cwd)
    else:
        yield LaunchFact("url", str(shown["url"]), config.url)
    for field, values in (("env", config.env), ("headers", config.headers)):
        for key, value in values.items():
            if key not in config.set_by_program:
                line = f"with {key}={shown[field].get(key, MASK)}"
                yield LaunchFact(f"{field} {key}", line, value)
    for key in config.unset:
        yield LaunchFact(f"unset {key}", f"without the variable {key}", "")
    for key, value in config.oauth.items():
        line = f"with the login's {key}={shown['oauth'].get(key, MASK)}"
        yield LaunchFact(f"oauth {key}", line, value)
    for key, value in config.tls.items():
        yield LaunchFact(f"tls {key}", f"with the TLS {key} {value}", value)
    yield from _choices(config)
    files = project_files(config, program)
    for path, digest in files.items():
        yield LaunchFact(f"file {path}", f"with the file {path} as it is now", digest)
    if files:
        yield LaunchFact("files", LOADED, "")


def _choices(config: ServerConfig) -> Iterator[LaunchFact]:
    """Yield the file's options about the server's tools and the protocol."""
    if config.include_tools:
        names = ", ".join(filter(None, config.include_tools)) or "none"
        yield LaunchFact(
            "only", f"with these tools only: {names}", json.dumps(config.include_tools)
        )
    if config.exclude_tools:
        names = ", ".join(config.exclude_tools)
        yield LaunchFact(
            "without", f"without these tools: {names}", json.dumps(config.exclude_tools)
        )
    for tool, change in config.transforms.items():
        written = config.shown_fields.get("transforms", config.transforms)[tool]
        line = f"with its tool {tool} changed: {json.dumps(written, ensure_ascii=False)}"
        yield LaunchFact(f"transform {tool}", line, json.dumps(change))
    if config.is_legacy:
        yield LaunchFact("protocol", "in an older revision of the protocol", "older")


def shown_lines(facts: Iterable[LaunchFact]) -> tuple[str, ...]:
    """Return the lines that a person is shown before they agree, without secrets."""
    return tuple(line for fact in facts for line in fact.line.split("\n") if fact.line)


def fingerprint(facts: Iterable[LaunchFact]) -> str:
    """Return the SHA-256 of labels and values."""
    text = json.dumps([(fact.label, fact.value) for fact in facts])
    return hashlib.sha256(text.encode()).hexdigest()
