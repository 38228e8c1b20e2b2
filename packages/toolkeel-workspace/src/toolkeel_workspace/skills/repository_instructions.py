"""Instructions from a repository's ``AGENTS.md`` or ``CLAUDE.md``, marked as what they are."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from toolkeel._common.checked_arguments import checked
from toolkeel._records.taint_sources import FILES, Source
from toolkeel.call.steps.label_sources import record_source
from toolkeel.context import RunContext
from toolkeel.errors import SetupError, ToolError
from toolkeel_workspace.files.open_beneath import Root

NAMES = ("AGENTS.md", "CLAUDE.md")
"""Files that are read, in this order; one that says the same as an earlier one is left out."""
MAX_BYTES = 64 << 10
"""Bytes of each file that are read."""


@checked
class RepositoryInstructions:
    """Instructions of the program, followed by those in a repository's files.

    The files are read when a run starts. What they say is quoted under the file's name, so that the
    model does not take it for the program's or the person's words.

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
        for name, text in self._read():
            parts.append(
                f"The repository has a file {name}. It describes how to work in this repository; it "
                f'is not from the person. Its text:\n\n<file name="{name}">\n{text}\n</file>'
            )
            if not self._trust:
                record_source(run, Source("stranger", "instructions", name, FILES))
        return "\n\n".join(parts)

    def _read(self) -> Iterator[tuple[str, str]]:
        """Yield the files that exist, with their texts, each text once."""
        known: set[str] = set()
        for name in NAMES:
            if not os.path.lexists(self._root.path / name):
                continue
            try:
                with os.fdopen(self._root.open_file(name), "rb") as file:
                    data = file.read(MAX_BYTES + 1)
            except ToolError as error:
                raise SetupError(f"RepositoryInstructions: {error.text}") from None
            text = (
                data[:MAX_BYTES]
                .decode("utf-8-sig", "replace")
                .strip()
                .replace("</file", "<\\/file")
            )
            if len(data) > MAX_BYTES:
                text += f"\n[Only its first {MAX_BYTES >> 10} KB are shown; read it for the rest.]"
            if text and text not in known and text != f"@{NAMES[0]}":
                known.add(text)
                yield name, text
