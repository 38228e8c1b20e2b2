"""A folder to work in: read, write, edit, bash, grep, find and ls, safe by default.

::

    Agent("openai:gpt-5", tools=Workspace("project").tools)

Files are reached through an open handle of the folder, which nothing leaves. Commands run in a
sandbox that sees this folder alone. Files whose change would widen what the agent may do, such as
``.git/hooks`` or ``.env``, are written only when a person agrees, whatever the rules allow.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import threading
import weakref
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace as but
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field
from typing_extensions import TypedDict

from toolwright.builtin.beneath import Root, clean
from toolwright.builtin.edit import Change, apply, diff
from toolwright.builtin.files import Files
from toolwright.builtin.find import find_files
from toolwright.builtin.grep import Query, Search
from toolwright.builtin.replace import CHANGED, replace
from toolwright.builtin.shell import (
    MAX_TIMEOUT,
    OUTPUT,
    TIMEOUT,
    Tail,
    run_command,
    shell_words,
)
from toolwright.builtin.window import MAX_LINES, count, human
from toolwright.context import CancelToken, ToolContext
from toolwright.define.decorator import tool
from toolwright.define.tool import AnyTool
from toolwright.effects import Effects
from toolwright.engines.protected import protected_part, protected_state
from toolwright.engines.sandbox import Mode, Sandbox
from toolwright.errors import SetupError, ToolError
from toolwright.messages import ToolOutput

MAX_FILE = 16 << 20
"""Largest file that is edited or written, in bytes."""
_WHY = "{!r} is protected: a change there may widen what the agent may do, or run code later"
_READS = Effects(read_only=True, open_world=False, resources=("file:{path}",))
_WRITES = Effects(open_world=False, idempotent=True, resources=("file:{path}",))
_EDITS = Effects(open_world=False, resources=("file:{path}",))


class Replacement(TypedDict):
    """One passage to replace."""

    old_text: Annotated[str, Field(description="Exact text to replace; it must be unique.")]
    new_text: Annotated[str, Field(description="What to put in its place.")]


class Asks:
    """The predicate that asks before a protected file is written, whatever rules allow.

    Args:
        root: The folder, to see where links lead; without it paths are taken as they are.
    """

    def __init__(self, root: Path | None = None) -> None:
        self.root = root

    def __call__(self, arguments: Mapping[str, object]) -> str:
        """Why a person must be asked about a call with these arguments; empty if not."""
        try:
            path = clean(str(arguments.get("path", "")))
        except ToolError:
            return ""  # the tool will refuse it
        if part := protected_part(path):
            return _WHY.format(part)
        if self.root is None:
            return ""
        real = os.path.realpath(self.root / path)
        part = protected_part(os.path.relpath(real, self.root))
        return _WHY.format(part) if part else ""

    def despite_rules(self, arguments: Mapping[str, object]) -> str:
        """Why to ask although a rule allows the call; empty if not."""
        return self(arguments)


class Workspace:
    """Tools for one folder.

    Args:
        root: The folder. Nothing outside of it can be read or written by these tools.
        sandbox: What commands may do: a mode, a `Sandbox` of your own, or None for no ``bash``.
            ``off`` makes ``bash`` ask before every command.

    Attributes:
        tools: read, write, edit, bash, grep, find, ls.
        asks: The predicate by which writing asks first.

    Raises:
        SetupError: if the root is no folder, or no sandbox can be had on this machine.
    """

    def __init__(
        self, root: str | os.PathLike[str] = ".", sandbox: Sandbox | Mode | None = "workspace"
    ) -> None:
        self.files = Files(root)
        self.root: Root = self.files.root
        self.sandbox = Sandbox(sandbox, [root]) if isinstance(sandbox, str) else sandbox
        self._seen: dict[str, str] = {}
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self.asks = Asks(self.root.path)
        self.tools = self._made()

    def _made(self) -> tuple[AnyTool, ...]:
        writing = [but(each, approval=self.asks) for each in (self.write, self.edit)]
        bash = []
        if self.sandbox is not None:
            bash = [but(self.bash, approval=self.sandbox.backend == "none")]
        return (self.read, *writing, *bash, self.grep, self.find, self.ls)

    @cached_property
    def _outputs(self) -> str:
        """Where long outputs are kept, for as long as this object is."""
        folder = tempfile.mkdtemp(prefix="toolwright-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        return folder

    @cached_property
    def _output_files(self) -> Files:
        return Files(self._outputs)

    # — reading —

    @tool(effects=_READS, max_output=None)
    def read(self, path: str, offset: int = 1, limit: int = MAX_LINES) -> ToolOutput:
        """Read a text file, or look at a picture. Also tells how many lines the file has.

        Args:
            path: Path of the file, relative to the root, such as "README.md".
            offset: First line to show, counted from 1.
            limit: Most lines to show.
        """
        if path.startswith(OUTPUT):
            return self._output_files.read(path.removeprefix(OUTPUT), offset, limit)
        name = self.root.spelt(path)
        with self._locks[name]:  # else an edit meanwhile would look like somebody else's
            digest = self._digest(name)  # before it is shown: a change in between is noticed, too
            output = self.files.read(name, offset, limit)
            self._seen[name] = digest
        return output

    @tool(effects=_READS, max_output=None)
    def ls(self, path: str = ".", limit: int = 500) -> ToolOutput:
        """List the files in a folder; names of folders end with a slash, of links with "@".

        Args:
            path: Folder to list, relative to the root.
            limit: Most names to show.
        """
        return self.files.ls(path, limit)

    @tool(effects=_READS, max_output=None)
    def find(self, pattern: str, path: str = ".", limit: int = 1000) -> ToolOutput:
        """Find files by name.

        Args:
            pattern: Pattern of names or paths, such as "*.py", "src/**/*.{ts,tsx}".
            path: Folder to look in, relative to the root.
            limit: Most files to show.
        """
        return find_files(self.root, pattern, clean(path), limit)

    @tool(effects=_READS, max_output=None)
    def grep(
        self,
        pattern: str,
        path: str = ".",
        *,
        glob: str = "",
        ignore_case: bool = False,
        literal: bool = False,
        context: int = 0,
        limit: int = 100,
        cancel: CancelToken,
    ) -> ToolOutput:
        """Search files for lines that match a pattern; tells file and line number of each.

        Args:
            pattern: Regular expression (without look-around and backreferences), or text.
            path: File or folder to search, relative to the root.
            glob: Only files whose name or path matches, such as "*.py".
            ignore_case: Whether letter case is ignored.
            literal: Whether the pattern is plain text.
            context: Lines to show before and after each match.
            limit: Most matches to show.
        """
        query = Query(pattern, glob, ignore_case, literal, context, limit)
        root, place = self.root, path
        if path.startswith(OUTPUT):
            root, place = self._output_files.root, path.removeprefix(OUTPUT)
        return Search(root, query, cancel).run(clean(place))

    # — writing —

    @tool(effects=_WRITES, approval=Asks())
    def write(self, path: str, content: str) -> ToolOutput:
        """Write a file: make it, with the folders above it, or replace all of it.

        Args:
            path: Path of the file, relative to the root.
            content: Its whole content.
        """
        data = _encoded(content)
        return self.change(clean(path), lambda before: data)

    def change(self, name: str, make: Callable[[bytes | None], bytes]) -> ToolOutput:
        """Give a file new content, alone with it.

        Args:
            name: Its path, cleaned.
            make: Given its content, or None if it is not there, returns the new one.

        Raises:
            ToolError: saying why not; it is untouched then.
        """
        with self._locks[name]:
            before, was = self._known(name)
            data = make(before)
            made = replace(self.root, name, data, was)
            self._seen[name] = _hash(data)
        old, new = ((part or b"").decode("utf-8", "replace") for part in (before, data))
        details = {"path": name, "bytes": len(data), "created": made, "diff": diff(old, new, name)}
        return ToolOutput(f"File written: {name} ({human(len(data))})", details=details)

    @tool(effects=_EDITS, approval=Asks())
    def edit(
        self,
        path: str,
        old_text: str | None = None,
        new_text: str | None = None,
        edits: list[Replacement] | None = None,
    ) -> ToolOutput:
        """Replace text in a file. Give old_text and new_text, or several such pairs as edits.

        Args:
            path: Path of the file, relative to the root.
            old_text: Exact text to replace; it must stand in the file exactly once.
            new_text: What to put in its place.
            edits: Several replacements, all looked for in the file as it is now.
        """
        changes = [Change(each["old_text"], each["new_text"]) for each in edits or ()]
        if old_text is not None and new_text is not None:
            changes.insert(0, Change(old_text, new_text))
        elif not changes or old_text is not None or new_text is not None:
            raise ToolError("Give old_text and new_text together, or a list of edits.")
        name = clean(path)
        with self._locks[name]:
            before, was = self._known(name)
            if before is None or was is None:
                os.close(self.root.open_file(name))  # says what is wrong with the path
                raise ToolError(f"{path!r} is larger than {human(MAX_FILE)}, too large to edit.")
            edited = apply(before, changes, name)
            replace(self.root, name, edited.data, was)
            self._seen[name] = _hash(edited.data)
        details = {
            "path": name,
            "edits": len(changes),
            "diff": edited.diff,
            "first_changed_line": edited.first_line,
            "found_leniently": edited.lenient,
        }
        done = count(len(changes), "replacement")
        return ToolOutput(f"File edited: {name} ({done})", details=details)

    def _known(self, name: str) -> tuple[bytes | None, os.stat_result | None]:
        """A file's content and state, if it is there and as it was when it was last read.

        Raises:
            ToolError: it was changed by somebody else since.
        """
        try:
            descriptor = self.root.open_file(name)
        except ToolError:
            return None, None
        with os.fdopen(descriptor, "rb") as file:
            was = os.fstat(file.fileno())
            data = file.read(MAX_FILE + 1)
        seen = self._seen.get(name)
        if len(data) > MAX_FILE:
            return None, None
        if seen is not None and seen != _hash(data):
            raise ToolError(CHANGED.format(name))
        return data, was

    def _digest(self, name: str) -> str:
        with os.fdopen(self.root.open_file(name), "rb") as file:
            return _hash(file.read(MAX_FILE + 1))

    # — commands —

    @tool(
        effects=Effects(),
        timeout=MAX_TIMEOUT + 60,
        max_output=None,
        approval=True,
        metadata={"shell": "command"},
    )
    async def bash(
        self, command: str, timeout: float = TIMEOUT, *, context: ToolContext[Any]
    ) -> ToolOutput:
        """Run a shell command in the root folder; tells its output and whether it failed.

        Nothing keeps running when it has ended. There is no terminal and no input.

        Args:
            command: The command, as typed into bash.
            timeout: Seconds it may take, 600 at most.
        """
        if self.sandbox is None:
            raise SetupError("this workspace was made without a sandbox, so it runs no commands")
        tail = Tail(context.progress, self._outputs)
        words = shell_words(command)
        before = protected_state(self.root.path)
        try:
            output = await run_command(self.sandbox, words, timeout=timeout, tail=tail)
        except ToolError as error:
            raise ToolError(error.text + self._told(before), error.details) from None
        return but(output, content=f"{output.content}{self._told(before)}")

    def _told(self, before: Mapping[str, int]) -> str:
        """Protected files that a command has made or changed, as a notice."""
        now, said = protected_state(self.root.path), ""
        made = [path for path in now if path not in before]
        changed = [path for path, state in before.items() if now.get(path) != state]
        for what, paths in (("made", made), ("changed", changed)):
            names = ", ".join(sorted(os.path.relpath(path, self.root.path) for path in paths))
            if names:
                said += f"\n\n[It {what} protected files, for a person to look at: {names}]"
        return said


def tools(root: str | os.PathLike[str] = ".", sandbox: Mode = "workspace") -> tuple[AnyTool, ...]:
    """The tools for a folder."""
    return Workspace(root, sandbox).tools


def _encoded(content: str) -> bytes:
    try:
        data = content.encode()
    except UnicodeEncodeError:
        raise ToolError("content holds half of a surrogate pair, which is no text.") from None
    if len(data) > MAX_FILE:
        raise ToolError(f"content has {human(len(data))}; at most {human(MAX_FILE)} is written.")
    return data


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
