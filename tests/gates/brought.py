"""What the install lines of a document bring, so that its code can be run with nothing else."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterator
from functools import cache
from importlib import metadata

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.shared import ROOT

README = "toolkeel[openai,cli]"
"""The README's line; what needs no line of its own lives by it."""
# Other libraries, to go there and back: their blocks are not run here, and say so.
PEERS = frozenset({"langchain", "openai-agents", "pydantic-ai"})
# A block that is a test is run by whoever has a test runner.
RUNNERS = ("pytest",)

HIDE = """import sys

class Hiding:
    def __init__(self, finder):
        self.finder = finder

    def __getattr__(self, name):
        return getattr(self.finder, name)

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names!r}:
            return None
        return self.finder.find_spec(name, path, target)

sys.meta_path[:] = map(Hiding, sys.meta_path)
"""
"""The beginning of a program that shall not find some of the modules that are installed."""


def line_of(text: str) -> str:
    """What a reader of a document has installed who typed its lines.

    >>> line_of("pip install 'toolkeel[mcp]' ... pip install 'toolkeel[cli,mcp]'")
    'toolkeel[cli,mcp]'
    >>> line_of("no line of its own")
    'toolkeel[openai,cli]'
    """
    typed = ",".join(re.findall(r"pip install '?toolkeel\[([\w,-]+)\]", text))
    extras = sorted({*filter(None, typed.split(","))} - PEERS)
    return f"toolkeel[{','.join(extras)}]" if extras else README


def brought(line: str) -> set[str]:
    """The distributions that a line installs, with those that they need."""
    found: set[tuple[str, str]] = set()
    waiting = [Requirement(word) for word in (line, *RUNNERS)]
    while waiting:
        wanted = waiting.pop()
        for extra in ("", *wanted.extras):
            key = (canonicalize_name(wanted.name), extra)
            if key not in found:
                found.add(key)
                waiting += _needs(wanted.name, extra)
    return {name for name, _ in found}


def _declared(name: str, extra: str) -> list[str]:
    """List what a distribution of the repository declares, as it is now; empty for others."""
    file = ROOT / "packages" / name / "pyproject.toml"
    if not file.is_file():
        return []
    project = tomllib.loads(file.read_text("utf-8"))["project"]
    own: list[str] = project["optional-dependencies"][extra] if extra else project["dependencies"]
    return own


def _needs(name: str, extra: str) -> Iterator[Requirement]:
    try:
        words = _declared(name, extra) or metadata.requires(name) or []
    except metadata.PackageNotFoundError:
        return
    for word in words:
        needed = Requirement(word)
        if needed.marker is None or needed.marker.evaluate({"extra": extra}):
            yield needed


@cache  # reads the files of every distribution
def _owners() -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return each module that is installed here, with the distributions it belongs to."""
    owners = metadata.packages_distributions()
    return tuple((module, tuple(names)) for module, names in owners.items())


def hidden(line: str) -> set[str]:
    """The modules that are installed here, and that a line does not bring."""
    kept: Collection[str] = brought(line)
    return {
        module
        for module, owners in _owners()
        if not any(canonicalize_name(owner) in kept for owner in owners)
    }
