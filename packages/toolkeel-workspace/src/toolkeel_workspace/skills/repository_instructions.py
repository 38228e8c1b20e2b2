"""Instructions from a repository's ``AGENTS.md`` or ``CLAUDE.md``, marked as what they are."""

from __future__ import annotations

import logging
import os
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from toolkeel._common.checked_arguments import checked
from toolkeel._common.path_patterns import secret_pattern
from toolkeel._records.taint_sources import FILES, INSTRUCTIONS, Source
from toolkeel.call.steps.label_sources import record_source
from toolkeel.context import RunContext
from toolkeel.errors import SetupError, ToolError
from toolkeel_workspace.files.binary_kind import HEAD_BYTES, find_binary_kind
from toolkeel_workspace.files.encodings import (
    count_invalid,
    decode_text,
    describe_invalid,
    replace_invalid,
)
from toolkeel_workspace.files.file_tools import MAX_RECODED_BYTES
from toolkeel_workspace.files.line_window import escape_name
from toolkeel_workspace.files.open_beneath import Root

log = logging.getLogger("toolkeel")

NAMES = ("AGENTS.md", "CLAUDE.md")
"""Files that are read, in this order; one that says the same as an earlier one is left out."""
MAX_CHARS = 64 << 10
"""Characters of each file that are shown."""
MAX_INCLUDED = 20
"""Most files that are included by others."""
MAX_DEPTH = 5
"""Most files that include one another in a chain."""
_CODE = re.compile(
    r"(?ms)^ {0,3}(```+|~~~+).*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)|(?<!`)(`+)(?!`).*?[^`]\2(?!`)|<!--.*?(?:-->|\Z)"
)
_INCLUDE = re.compile(r"(?m)(?<!\S)@((?:[^\s\\]|\\ )+)")


class _File(NamedTuple):
    """A file of instructions.

    Args:
        name: Its path below the repository.
        text: What is shown of it.
        includes: The paths that it includes, as it names them.
        notes: What is peculiar about it.
    """

    name: str
    text: str
    includes: tuple[str, ...]
    notes: tuple[str, ...]


@checked
class RepositoryInstructions:
    """Instructions of the program, followed by those in a repository's files.

    The files are read when a run starts. What they say is quoted under the file's name, so that the
    model does not take it for the program's or the person's words. A file that one includes, as
    ``@docs/style.md`` outside of code, follows it, unless it is outside of the repository or may hold
    secrets. The model and the log name each file that is not included, and what is peculiar about one.

    Args:
        folder: The repository.
        instructions: What the program itself says, which comes first.
        trust: True if nobody else writes those files; else they are a stranger's text, and calls that
            go outside need approval.

    Raises:
        SetupError: the folder does not exist.

    >>> RepositoryInstructions(".", "Answer briefly.").instructions
    'Answer briefly.'
    """

    def __init__(
        self, folder: str | os.PathLike[str] = ".", instructions: str = "", *, trust: bool = False
    ) -> None:
        if not Path(folder).is_dir():
            raise SetupError(f"RepositoryInstructions: {str(folder)!r} is not a folder")
        self.instructions = instructions
        self._root = Root(folder)
        self._trust = trust

    def __call__(self, run: RunContext) -> str:
        """Return the instructions of a run, and label the run with the files they come from."""
        parts = [self.instructions] if self.instructions else []
        for name, text, _, notes in _Reading(self._root).read_all():
            parts.append(
                f"The repository has a file {name}. It describes how to work in this repository; it "
                f'is not from the person. Its text:\n\n<file name="{name}">\n{text}\n</file>'
            )
            parts += [f"[{note}]" for note in notes]
            for note in notes:
                log.warning("a file of instructions has a problem: %s", note)
            if not self._trust:
                record_source(run, Source("stranger", INSTRUCTIONS, name, FILES), is_read=False)
        return "\n\n".join(parts)


class _Reading:
    """One reading of a repository's files, each text once."""

    def __init__(self, root: Root) -> None:
        self._root = root
        self._texts: set[str] = set()
        self._names: set[str] = set()
        self._included = 0

    def read_all(self) -> Iterator[_File]:
        """Yield the files that exist, each before those that it includes.

        Raises:
            SetupError: one cannot be read.
        """
        for name in NAMES:
            if name in self._names or not os.path.lexists(self._root.path / name):
                continue
            try:
                file = self._read(name)
            except ToolError as error:
                raise SetupError(f"RepositoryInstructions: {error.text}") from None
            yield from self._follow(file, 1)

    def _read(self, name: str) -> _File:
        """Read a file, decoded as ``read`` decodes it.

        Raises:
            ToolError: it is not a text, or not in the repository.
        """
        self._names.add(name)
        with os.fdopen(self._root.open_file(name), "rb") as file:
            data = file.read(MAX_RECODED_BYTES + 1)
        if kind := find_binary_kind(data[:HEAD_BYTES]):
            raise ToolError(f"{name!r} is {kind}.")
        decoded = decode_text(data)
        text, shown = decoded.text.strip(), escape_name(name)
        notes = [f"{shown} is {decoded.description}."] if decoded.description else []
        if odd := count_invalid(text):
            notes.append(f"{shown}: {describe_invalid(decoded, odd)}")
        if len(text) > MAX_CHARS:
            text = text[:MAX_CHARS]
            notes.append(
                f"Only the first {MAX_CHARS >> 10} K characters of {shown} are shown; read it for the rest."
            )
        includes = tuple(
            dict.fromkeys(
                found.replace("\\ ", " ") for found in _INCLUDE.findall(_CODE.sub(" ", text))
            )
        )
        return _File(
            shown, replace_invalid(text).replace("</file", "<\\/file"), includes, tuple(notes)
        )

    def _follow(self, file: _File, depth: int) -> Iterator[_File]:
        """Yield a file, unless its text is known or only includes another, and those that it includes."""
        notes, included = list(file.notes), list[_File]()
        rows = {row.strip() for row in file.text.split("\n")}
        for include in file.includes:
            try:
                included += self._include(file.name, include, depth)
            except ToolError as error:
                if f"@{include}" in rows or posixpath.splitext(include)[1]:  # no mention of a name
                    why = error.text
                    notes.append(f"{file.name}: @{escape_name(include)} is not included: {why}")
        is_known = not file.text or file.text in self._texts
        if not is_known and (rows != {f"@{include}" for include in file.includes} or notes):
            self._texts.add(file.text)
            yield file._replace(notes=tuple(notes))
        yield from included

    def _include(self, includer: str, include: str, depth: int) -> list[_File]:
        """Return a file that another includes, and those that it includes; none if it is read already.

        Raises:
            ToolError: why it is not included.
        """
        name = self._find(includer, include)
        if name in self._names:
            return []
        real = os.path.relpath(self._root.resolve(name), self._root.path)
        if pattern := secret_pattern(name) or secret_pattern(real):
            raise ToolError(f"it may hold secrets ({pattern}).")
        if depth > MAX_DEPTH:
            raise ToolError(f"it is more than {MAX_DEPTH} files away.")
        if self._included == MAX_INCLUDED:
            raise ToolError(f"{MAX_INCLUDED} files are included already.")
        self._included += 1
        return list(self._follow(self._read(name), depth + 1))

    def _find(self, includer: str, include: str) -> str:
        """Return the path of an included file below the repository, also if a sentence ends after it.

        Raises:
            ToolError: it is not in the repository.
        """
        for path in dict.fromkeys((include, include.rstrip(".,;:!?)"))):
            if not path.startswith(("/", "~")):
                path = posixpath.normpath(posixpath.join(posixpath.dirname(includer), path))
            name = self._root.match_spelling(path)
            if os.path.lexists(self._root.path / name):
                return name
        raise ToolError("there is no such file.")
