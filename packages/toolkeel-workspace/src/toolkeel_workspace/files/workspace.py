"""Tools for a folder to work in: read, write, edit, bash, job, grep, find and ls, safe by default.

::

    Agent("openai:gpt-5", tools=Workspace("project").tools)

Files are reached through an open handle of the folder, which nothing leaves. Commands run in a sandbox
that sees only this folder. Files whose change could give the agent more rights, such as ``.git/hooks``
or ``.env``, are written only with a person's approval, whatever the rules allow.
"""

from __future__ import annotations

import copy
import logging
import os
import sys
import threading
import warnings
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace as but
from pathlib import Path
from typing import Literal, TypeAlias

from toolkeel._common.checked_arguments import checked
from toolkeel._records.result_store import PREFIX, RESULTS
from toolkeel._records.taint_sources import OURS, UNREAD
from toolkeel.call.steps.taint import BUILDS
from toolkeel.call.truncate import KEEPER
from toolkeel.define.decorator import tool
from toolkeel.define.folder_tools import movable
from toolkeel.define.options import PREVIEW
from toolkeel.define.tool import AnyTool
from toolkeel.effects import Effects
from toolkeel.errors import ToolError
from toolkeel.messages import ToolOutput
from toolkeel_workspace.files.atomic_replace import replace_file
from toolkeel_workspace.files.changed_since_read import MAX_FILE_BYTES, FileSnapshots
from toolkeel_workspace.files.content_changes import (
    describe_replaced,
    describe_updated,
    make_edit,
    make_write,
)
from toolkeel_workspace.files.edit import Replacement, apply_changes, make_diff, parse_changes
from toolkeel_workspace.files.encodings import decode_text, replace_invalid
from toolkeel_workspace.files.file_tools import Files
from toolkeel_workspace.files.find import find_files
from toolkeel_workspace.files.line_window import (
    MAX_LINES,
    escape_name,
    format_size,
    pluralize,
)
from toolkeel_workspace.files.open_beneath import FileResource, Root
from toolkeel_workspace.files.preview import ContentChange, make_preview
from toolkeel_workspace.files.protected_writes import ProtectedFilePredicate
from toolkeel_workspace.sandbox.confine import Mode, Sandbox
from toolkeel_workspace.sandbox.mounts import find_import_folders
from toolkeel_workspace.sandbox.protected_files import find_build_pattern
from toolkeel_workspace.shell.bash_tool import CommandTools, Shell
from toolkeel_workspace.shell.lifetime import Lifetime

log = logging.getLogger("toolkeel")

_READ_EFFECTS = Effects(read_only=True, open_world=False, resources=("file:{path}",))
_WRITE_EFFECTS = Effects(open_world=False, idempotent=True, resources=("file:{path}",))
_EDIT_EFFECTS = Effects(open_world=False, resources=("file:{path}",))


Overwrite: TypeAlias = Literal["allow", "read-first"]
"""What happens when ``write`` would replace a file that has not been read."""


@checked
class Workspace:
    """Tools for one folder.

    Args:
        root: The folder. Nothing outside of it can be read or written by these tools.
        sandbox: What commands may do: a mode, a `Sandbox` of your own, or None for no ``bash``.
            With ``off``, every command needs approval. On Windows there is no ``bash``.
        results: ``"ours"`` if no stranger wrote any of its files; else, after one was read, calls that
            go outside need approval.
        overwrite: ``read-first`` refuses to write over a file that has not been read; ``allow``
            writes, and the result says what was replaced.
        shell: ``persistent`` lets cd, export and activated environments last from command to command;
            ``new`` starts each in a new shell.
        lifetime: How long background commands and a persistent shell last: to the end of the run, which
            is also when it waits for a person, or with the ``session``, in this program.

    Attributes:
        tools: read, write, edit, bash, job, grep, find, ls.
        needs_approval: The predicate that decides which writes need approval.

    Raises:
        SetupError: if the root is not a folder, or this machine has no sandbox.
    """

    def __init__(
        self,
        root: str | os.PathLike[str] = ".",
        sandbox: Sandbox | Mode | None = "workspace",
        *,
        results: Literal["ours"] | None = None,
        overwrite: Overwrite = "allow",
        shell: Shell = "new",
        lifetime: Lifetime = "run",
    ) -> None:
        self._shell_kind: Shell = shell
        self._lifetime: Lifetime = lifetime
        self.overwrite: Overwrite = overwrite
        self.files = Files(root)
        self.root: Root = self.files.root
        if sandbox is not None and sys.platform == "win32":
            log.warning("Commands cannot be run on Windows: this Workspace has no bash; use WSL")
            sandbox = None
        self.sandbox = Sandbox(sandbox, [root]) if isinstance(sandbox, str) else sandbox
        self._results: Literal["ours"] | None = results
        self._moved: dict[Path, Workspace] = {}
        _warn_about_imports(self.root.path)
        self._snapshots = FileSnapshots(self.root)
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._commands: CommandTools | None = None
        self.needs_approval = ProtectedFilePredicate(self.root)
        self.tools = self._make_tools()

    def in_folder(self, folder: str | os.PathLike[str]) -> Workspace:
        """Return the workspace with these options for another folder, one for each.

        Raises:
            SetupError: it is no folder, or one in which this machine cannot confine commands.
        """
        path = Path(folder).resolve()
        if path not in self._moved:
            self._moved[path] = Workspace(
                path,
                self.sandbox and self.sandbox.with_roots(path),
                results=self._results,
                overwrite=self.overwrite,
                shell=self._shell_kind,
                lifetime=self._lifetime,
            )
        return self._moved[path]

    def with_readable(self, *folders: Path) -> Workspace:
        """Return a workspace of the same folder whose commands can read more folders."""
        made = copy.copy(self)
        if self.sandbox is not None:
            made.sandbox, made._shell_kind = self.sandbox.with_readable(*folders), "new"
        made._moved = {}
        made.tools = made._make_tools()
        return made

    def _make_tools(self) -> tuple[AnyTool, ...]:
        writing = [
            self._make_writing_tool(self.write, make_write),
            self._make_writing_tool(self.edit, make_edit),
        ]
        bash = []
        if self.sandbox is not None:
            options = self._shell_kind, self._lifetime
            root = self.root.path
            self._commands = CommandTools(self.sandbox, root, self._snapshots, *options)
            bash = self._commands.make_tools()
        made = (
            self._with_file_resource(self.read),
            *writing,
            *bash,
            *map(self._with_file_resource, self._list_search_tools()),
        )
        return tuple(self._make_movable(one) for one in made)

    def _make_movable(self, made: AnyTool) -> AnyTool:
        """Return a tool of this workspace that can be moved, with what is known of its results."""

        def make(folder: Path) -> AnyTool:
            return next(one for one in self.in_folder(folder).tools if one.name == made.name)

        if self._results == "ours":
            made = but(made, metadata={**made.metadata, OURS: True})
        return movable(made, make)

    async def close(self) -> None:
        """Stop all background commands."""
        if self._commands is not None:
            await self._commands.jobs.close()

    def _make_writing_tool(
        self, made: AnyTool, make_change: Callable[..., ContentChange]
    ) -> AnyTool:
        metadata = {**made.metadata, **self.make_change_metadata(make_change)}
        return but(self._with_file_resource(made), approval=self.needs_approval, metadata=metadata)

    def make_change_metadata(self, make_change: Callable[..., ContentChange]) -> dict[str, object]:
        """Return the metadata of a tool that changes files.

        Args:
            make_change: Returns, for its arguments, how a call changes the content of its file.
        """
        return {
            BUILDS: self.find_build_pattern,
            PREVIEW: make_preview(self.root, self._snapshots, make_change),
        }

    def find_build_pattern(self, key: str) -> str:
        """Return the pattern by which the next build runs a file of this root; empty if none does."""
        return find_build_pattern(os.path.relpath(key.removeprefix("file:"), self.root.path))

    def _list_search_tools(self) -> tuple[AnyTool, ...]:
        return (self.grep, self.find, self.ls)

    def _with_file_resource(self, made: AnyTool) -> AnyTool:
        """Return the tool with its files as resources below this root."""
        place = FileResource(self.root, "path")
        return but(made, effects=but(made.effects, resources=(place,)))

    # — reading —

    @tool(effects=_READ_EFFECTS, max_output=None, metadata={KEEPER: RESULTS.save})
    def read(
        self, path: str, offset: int = 1, limit: int = MAX_LINES, column: int = 1
    ) -> ToolOutput:
        """Read a text file, or look at a picture. Also tells how many lines the file has.

        Args:
            path: Path of the file, relative to the root, such as "README.md"; or "output:...".
            offset: First line to show, counted from 1.
            limit: Most lines to show.
            column: First character of that line to show, for lines too long to be shown at once.
        """
        if path.startswith(PREFIX):
            return self.files.read(path, offset, limit, column)
        name = self.root.match_spelling(path)
        with self._locks[
            name
        ]:  # otherwise a concurrent edit of ours would count as a change by others
            state = self._snapshots.snapshot(
                name
            )  # before showing it: a change in between is detected, too
            output = self.files.read(name, offset, limit, column)
            self._snapshots.record(name, state)
        return output

    @tool(effects=_READ_EFFECTS, max_output=None)
    def ls(self, path: str = ".", limit: int = 500) -> ToolOutput:
        """List the files in a folder; names of folders end with a slash, of links with "@".

        Args:
            path: Folder to list, relative to the root.
            limit: Most names to show.
        """
        return self.files.ls(path, limit)

    @tool(effects=_READ_EFFECTS, max_output=None)
    def find(self, pattern: str, path: str = ".", limit: int = 1000) -> ToolOutput:
        """Find files by name.

        Args:
            pattern: Pattern of names or paths, such as "*.py", "src/**/*.{ts,tsx}".
            path: Folder to look in, relative to the root.
            limit: Most files to show.
        """
        return find_files(self.root, pattern, self.root.match_spelling(path), limit)

    grep = Files.grep

    # — writing —

    @tool(effects=_WRITE_EFFECTS, approval=ProtectedFilePredicate())
    def write(self, path: str, content: str) -> ToolOutput:
        """Write a file: make it, with the folders above it, or replace all of it.

        Args:
            path: Path of the file, relative to the root.
            content: Its whole content.
        """
        name = self.root.match_spelling(path)
        return self.change_file(name, make_write(path, content), replaces=True)

    def check_unchanged(self, name: str) -> None:
        """Check that a file is as it was when the model read it, if it did.

        Raises:
            ToolError: it was changed since.
        """
        with self._locks[name]:
            self._snapshots.read_unchanged(name)

    def change_file(
        self, name: str, make_change: ContentChange, *, replaces: bool = False
    ) -> ToolOutput:
        """Change a file's content under its lock.

        Args:
            name: Its path, cleaned.
            make_change: Returns the new content for the old one, or for None if the file is missing.
            replaces: Nothing of the old content is left: `overwrite` decides about a file that has
                not been read, and the result says what was replaced.

        Raises:
            ToolError: saying why not; it is untouched then.
        """
        with self._locks[name]:
            before, was = self._snapshots.read_unchanged(name)
            was_read = self._snapshots.is_known(name)
            if replaces and before and self.overwrite == "read-first":
                self._snapshots.require_read(name)
            data = make_change(before)
            made = replace_file(self.root, name, data, was)
            self._snapshots.record_write(name, data)
        old, new = (replace_invalid(decode_text(part or b"").text) for part in (before, data))
        details: dict[str, object] = {
            "path": escape_name(name),
            "bytes": len(data),
            "created": made,
            "diff": make_diff(old, new, escape_name(name)),
        }
        if replaces:  # of the old content the model is told the size and the encoding
            remarks, details[UNREAD] = describe_replaced(before, data, was_read), True
        else:
            remarks = describe_updated(before, data)
        return ToolOutput(
            f"File written: {escape_name(name)} ({format_size(len(data))}{remarks})",
            details=details,
        )

    @tool(effects=_EDIT_EFFECTS, approval=ProtectedFilePredicate())
    def edit(
        self,
        path: str,
        old_text: str | None = None,
        new_text: str | None = None,
        edits: list[Replacement] | None = None,
        replace_all: bool = False,
    ) -> ToolOutput:
        """Replace text in a file. Give old_text and new_text, or several such pairs as edits.

        Args:
            path: Path of the file, relative to the root.
            old_text: Exact text to replace; it must stand in the file exactly once.
            new_text: What to put in its place.
            edits: Several replacements, all looked for in the file as it is now.
            replace_all: Replace old_text wherever it stands; it need not be unique.
        """
        changes = parse_changes(old_text, new_text, edits, replace_all)
        name = self.root.match_spelling(path)
        with self._locks[name]:
            before, was = self._snapshots.read_unchanged(name)
            if before is None or was is None:
                os.close(self.root.open_file(name))  # says what is wrong with the path
                raise ToolError(
                    f"{path!r} is larger than {format_size(MAX_FILE_BYTES)}, too large to edit."
                )
            edited = apply_changes(before, changes, escape_name(name))
            replace_file(self.root, name, edited.data, was)
            self._snapshots.record_write(name, edited.data)
        details = {
            "path": escape_name(name),
            "edits": edited.replaced_count,
            "diff": edited.diff,
            "first_changed_line": edited.first_line,
            "found_leniently": edited.lenient_count,
        }
        done = pluralize(edited.replaced_count, "replacement") + edited.remarks
        return ToolOutput(f"File edited: {escape_name(name)} ({done})", details=details)


def _warn_about_imports(root: Path) -> None:
    """Warn that this program could import code that a model writes below the root."""
    if folders := find_import_folders(root):
        warnings.warn(
            f"this program imports its code from {', '.join(folders)}, which this workspace lets a "
            "model write: a module it writes there runs in this program, outside of any sandbox, "
            "at its next import. Start the program from another folder, with python -P, or give "
            "the workspace a folder that is not on sys.path",
            stacklevel=4,  # the caller of Workspace
        )


def tools(
    root: str | os.PathLike[str] = ".",
    sandbox: Mode = "workspace",
    overwrite: Overwrite = "allow",
    shell: Shell = "new",
) -> tuple[AnyTool, ...]:
    """Return the tools for a folder."""
    return Workspace(root, sandbox, overwrite=overwrite, shell=shell).tools
