"""What a run has read that restricts its later calls (taint): private data, strangers' text, secrets, each with its sources.

Labels only grow. They are set by the pipeline from a tool's effects, never by a model, and they are
of the whole tree of runs: an inner agent and code that calls tools share those of the run around.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from toolkeel._records.record import record

CALLER = "caller"
"""The origin of what the caller of a run attaches to the messages."""
FILES = "files"
"""The origin of text in a folder's files, which anybody may have written: it counts for what goes outside."""
INSTRUCTIONS = "instructions"
"""The tool of a source that is a part of the agent's instructions by another author than the operator."""
UNREAD = "unread"
"""Key in the details of a result or error: True if the call read nothing, as one that ended before, or only wrote."""
OURS = "ours"
"""Key of a tool's metadata: True if no stranger writes what it reads, whatever its resources."""
SESSION = "session"
"""The reach of a permit that later runs of the session keep."""
REVOKED = "revoked"
"""The reach of an entry that takes such a permit back."""
FILE_MARK = "user.toolkeel.stranger"
"""An attribute of files that hold strangers' text; it goes with the file when it is moved."""


@record
class Source:
    """One source of taint: a result that carries a label.

    Args:
        label: ``private``, ``stranger`` or ``secret``.
        tool: Name of the tool whose result it was.
        what: Which result, such as an address; may be empty.
        origin: Origin of the result, which decides for which calls it counts: `CALLER`, `FILES`, or a
            server. Without spaces.
    """

    label: str
    tool: str
    what: str = ""
    origin: str = ""

    def __str__(self) -> str:
        return f"{self.tool} {self.what}".rstrip()

    def to_text(self) -> str:
        """Return the source as one text, from which `parse_source` reads it."""
        return f" {self.origin} {self}" if self.origin else str(self)


def parse_source(label: str, text: str) -> Source:
    """Return the source of a label that `Source.to_text` wrote.

    >>> parse_source("stranger", Source("stranger", "add", "3", "mcp:1").to_text()).origin
    'mcp:1'
    """
    origin, _, rest = text[1:].partition(" ") if text.startswith(" ") else ("", "", text)
    tool, _, what = rest.partition(" ")
    return Source(label, tool, what, origin)


@record
class Permit:
    """What a person has permitted beyond one call, for one run or its session.

    Args:
        reach: ``target``: calls of a tool to a target; ``server``: those of a server's tools;
            ``source``: what was read of a source; ``session``: calls of a tool within a scope, also in
            later runs of the session.
        name: The tool, or the label of the source; empty for a server.
        value: The target or ``//host``, the server's origin, the source as text, or a digest of the tool
            and the scope.
    """

    reach: str
    name: str
    value: str


class Taint:
    """The taint of a tree of runs, and the acts that a person has permitted.

    Args:
        root: The `RunContext` of the outermost run, which a person can be asked in.

    Attributes:
        sources: Sources in the order of reading. One that a person trusted appears again when it is
            read again.
        trusted: Indexes in `sources` that a person trusts for this run.
        targets: Pairs of tool and target, or ``//host``, that a person permits for this run.
        servers: Origins whose tools a person permits for this run.
        session_permits: Pairs of tool and scope that a person permits for the session.
    """

    __slots__ = ("root", "servers", "session_permits", "sources", "targets", "trusted")

    def __init__(self, root: Any) -> None:
        self.root = root
        self.sources: list[Source] = []
        self.trusted: set[int] = set()
        self.targets: set[tuple[str, str]] = set()
        self.servers: set[str] = set()
        self.session_permits: set[tuple[str, str]] = set()

    def add(self, source: Source, *, is_read: bool = False) -> bool:
        """Add a source if it is new. Return True if it was added.

        Args:
            source: The source.
            is_read: True if a call has just read it. A trusted source is then added again, since its
                text may be another one.
        """
        known = [at for at, each in enumerate(self.sources) if each == source]
        if known and not (is_read and self.trusted.issuperset(known)):
            return False
        self.sources.append(source)
        return True

    def permit(self, given: Permit) -> None:
        """Add a permit. One for a source trusts only what was read of it so far."""
        if given.reach == "target":
            self.targets.add((given.name, given.value))
        elif given.reach == "server":
            self.servers.add(given.value)
        elif given.reach == SESSION:
            self.session_permits.add((given.name, given.value))
        else:
            wanted = parse_source(given.name, given.value)
            self.trusted.update(at for at, each in enumerate(self.sources) if each == wanted)

    def list_permits(self) -> tuple[Permit, ...]:
        """Return the permits, to save them; none for a source that was read again after it was trusted."""
        again = {each for at, each in enumerate(self.sources) if at not in self.trusted}
        trusted = dict.fromkeys(each for each in self.sources if each not in again)
        return (
            *(Permit("target", *each) for each in sorted(self.targets)),
            *(Permit("server", "", each) for each in sorted(self.servers)),
            *(Permit(SESSION, *each) for each in sorted(self.session_permits)),
            *(Permit("source", each.label, each.to_text()) for each in trusted),
        )

    def sources_before(self, seen: int) -> dict[str, list[Source]]:
        """Return the untrusted ones of the first `seen` sources, grouped by label.

        Args:
            seen: Number of sources visible to the request that produced the call.
        """
        found: dict[str, list[Source]] = {}
        for at, source in enumerate(self.sources[:seen]):
            if at not in self.trusted:
                found.setdefault(source.label, []).append(source)
        return found


def dump_sources(sources: Iterable[Source]) -> list[dict[str, str]]:
    """Return sources as JSON-ready data for a message's details: transcripts carry their labels."""
    return [
        {
            "label": s.label,
            "tool": s.tool,
            "what": s.what,
            **({"origin": s.origin} if s.origin else {}),
        }
        for s in sources
    ]


def load_sources(details: Mapping[str, object]) -> list[Source]:
    """Return the sources in a message's details, without malformed ones."""
    found = details.get("taint")
    return [
        Source(str(item["label"]), *(str(item.get(key, "")) for key in ("tool", "what", "origin")))
        for item in (found if isinstance(found, list | tuple) else ())
        if isinstance(item, Mapping) and item.get("label")
    ]


def mark_file(path: str, whose: str, below: str = "") -> None:
    """Mark a file as containing strangers' text. Do nothing if the file system or file does not allow it.

    Args:
        path: The file.
        whose: Origin of the text, in words.
        below: A folder that the opened file must be in, wherever links lead; anywhere if empty.
    """
    with suppress(OSError, ValueError, AttributeError):  # macOS and Windows keep none
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
        try:
            true = os.readlink(f"/proc/self/fd/{handle}")
            if not below or true.startswith(f"{os.path.realpath(below).rstrip(os.sep)}{os.sep}"):
                os.setxattr(handle, FILE_MARK, whose[:200].encode("utf-8", "replace"))
        finally:
            os.close(handle)


def read_file_mark(path: str) -> str:
    """Return the origin of the strangers' text in a file ("unknown" for an empty mark); "" if there is no mark to read."""
    with suppress(OSError, ValueError, AttributeError):
        return os.getxattr(path, FILE_MARK).decode("utf-8", "replace") or "unknown"
    return ""
