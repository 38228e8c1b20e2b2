"""What a run has touched (taint): private data, strangers' text, secrets, each with its sources.

Labels only grow. They are set by the pipeline from a tool's effects, never by a model, and they are
of the whole tree of runs: an inner agent and code that calls tools share those of the run around.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from toolkeel._records.record import record

_MARK = "user.toolkeel.stranger"
"""An attribute of files that hold strangers' text; it goes with the file when it is moved."""


@record
class Source:
    """One thing that a run has touched.

    Args:
        label: ``private``, ``stranger`` or ``secret``.
        tool: Whose result it was.
        what: Which result, such as an address; may be empty.
    """

    label: str
    tool: str
    what: str = ""

    def __str__(self) -> str:
        return f"{self.tool} {self.what}".rstrip()


class Taint:
    """All that a run and those within it have touched, and what a person has let pass.

    Args:
        root: The `RunContext` the others are within: the person speaks there.

    Attributes:
        sources: In the order in which they were touched, each once.
        trusted: Sources a person trusts for this run.
        targets: Targets a person allows for this run, with the tool.
    """

    __slots__ = ("root", "sources", "targets", "trusted")

    def __init__(self, root: Any) -> None:
        self.root = root
        self.sources: list[Source] = []
        self.trusted: set[Source] = set()
        self.targets: set[tuple[str, str]] = set()

    def add(self, source: Source) -> bool:
        """Note a source; whether it is a new one."""
        if source in self.sources:
            return False
        self.sources.append(source)
        return True

    def until(self, seen: int) -> dict[str, list[Source]]:
        """The labels and their sources that count, of the first so many.

        Args:
            seen: How many there were when the request was sent that made the call.
        """
        found: dict[str, list[Source]] = {}
        for source in self.sources[:seen]:
            if source not in self.trusted:
                found.setdefault(source.label, []).append(source)
        return found


def as_details(sources: Iterable[Source]) -> list[dict[str, str]]:
    """Sources as JSON, for the details of a message: a transcript carries its labels."""
    return [{"label": s.label, "tool": s.tool, "what": s.what} for s in sources]


def of_details(details: Mapping[str, object]) -> list[Source]:
    """Back from `as_details`; what is not of that form is left out."""
    found = details.get("taint")
    return [
        Source(str(item["label"]), str(item.get("tool", "")), str(item.get("what", "")))
        for item in (found if isinstance(found, list | tuple) else ())
        if isinstance(item, Mapping) and item.get("label")
    ]


def mark_file(path: str, whose: str) -> None:
    """Note at a file that it holds strangers' text, where the file system keeps such notes.

    Args:
        path: The file.
        whose: Where the text is from, in words.
    """
    with suppress(OSError, ValueError, AttributeError):  # macOS and Windows keep none
        os.setxattr(path, _MARK, whose[:200].encode("utf-8", "replace"))


def mark_of(path: str) -> str:
    """Where the strangers' text in a file is from; empty if none is known to be there."""
    with suppress(OSError, ValueError, AttributeError):
        return os.getxattr(path, _MARK).decode("utf-8", "replace") or "unknown"
    return ""
