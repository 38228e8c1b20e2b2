"""A folder to work in: read, write, edit, bash, grep, find and ls, safe by default.

::

    Agent("openai:gpt-5", tools=Workspace("project").tools)

Files are reached through an open handle of the folder, which nothing leaves. Commands run in a
sandbox that sees this folder alone. Files whose change would widen what the agent may do, such as
``.git/hooks`` or ``.env``, are written only when a person agrees, whatever the rules allow.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace as but
from pathlib import Path
from typing import Annotated, Any, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from toolkeel._common.checked_arguments import checked
from toolkeel._records.result_store import PREFIX, RESULTS
from toolkeel.call.steps.approve import PREVIEW
from toolkeel.call.steps.taint import BUILDS
from toolkeel.call.truncate import KEEPER
from toolkeel.context import ToolContext
from toolkeel.define.decorator import tool
from toolkeel.define.tool import AnyTool
from toolkeel.effects import Effects
from toolkeel.errors import Cancelled, SetupError, ToolError
from toolkeel.messages import ToolOutput
from toolkeel_workspace.files.atomic_replace import replace
from toolkeel_workspace.files.changed_since_read import MAX_FILE, Seen
from toolkeel_workspace.files.edit import Change, apply, diff
from toolkeel_workspace.files.file_tools import Files
from toolkeel_workspace.files.find import find_files
from toolkeel_workspace.files.line_window import MAX_LINES, count, human
from toolkeel_workspace.files.open_beneath import FileResource, Root, clean
from toolkeel_workspace.files.preview import Make, previewed
from toolkeel_workspace.sandbox.confine import Mode, Sandbox
from toolkeel_workspace.sandbox.mounts import imported_from
from toolkeel_workspace.sandbox.protected_files import (
    build_part,
    protected_part,
    protected_state,
    set_aside,
)
from toolkeel_workspace.shell.command import (
    MAX_TIMEOUT,
    TIMEOUT,
    command_effects,
    described,
    run_command,
    telling_words,
)
from toolkeel_workspace.shell.output_tail import Tail

_WHY = "{!r} is protected: a change there may widen what the agent may do, or run code later"
_READS = Effects(read_only=True, open_world=False, resources=("file:{path}",))
_WRITES = Effects(open_world=False, idempotent=True, resources=("file:{path}",))
_EDITS = Effects(open_world=False, resources=("file:{path}",))


class Replacement(TypedDict):
    """One passage to replace."""

    old_text: Annotated[str, Field(description="Exact text to replace; it must be unique.")]
    new_text: Annotated[str, Field(description="What to put in its place.")]
    replace_all: NotRequired[
        Annotated[bool, Field(description="Replace it wherever it stands; it need not be unique.")]
    ]


class AsksIfProtected:
    """The predicate that asks before a protected file is written, whatever rules allow.

    Args:
        root: The folder, to see where links lead; without it paths are taken as they are.
    """

    def __init__(self, root: Root | None = None) -> None:
        self.root = root.path if root else None
        self.clean = root.clean if root else clean

    def __call__(self, arguments: Mapping[str, object]) -> str:
        """Why a person must be asked about a call with these arguments; empty if not."""
        try:
            path = self.clean(str(arguments.get("path", "")))
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


@checked
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
        _warn_of_imports(self.root.path)
        self._seen = Seen(self.root)
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self.asks = AsksIfProtected(self.root)
        self.tools = self._make_tools()

    def _make_tools(self) -> tuple[AnyTool, ...]:
        writing = [self._writing(self.write, _written), self._writing(self.edit, _edited)]
        bash = []
        if self.sandbox is not None:
            made = but(self.bash, effects=command_effects(self.sandbox))
            said = f"{made.description}\n\n{described(self.sandbox)}"
            bash = [but(made, description=said, approval=self.sandbox.backend == "none")]
        return (self._on_files(self.read), *writing, *bash, *map(self._on_files, self._lookers()))

    def _writing(self, made: AnyTool, making: Callable[..., Make]) -> AnyTool:
        metadata = {**made.metadata, **self.changing(making)}
        return but(self._on_files(made), approval=self.asks, metadata=metadata)

    def changing(self, making: Callable[..., Make]) -> dict[str, object]:
        """The metadata of a tool that changes files.

        Args:
            making: Given its arguments, how a call changes the content of its file.
        """
        return {BUILDS: self.build_part, PREVIEW: previewed(self.root, self._seen, making)}

    def build_part(self, key: str) -> str:
        """By which pattern the next build runs a file of this root."""
        return build_part(os.path.relpath(key.removeprefix("file:"), self.root.path))

    def _lookers(self) -> tuple[AnyTool, ...]:
        return (self.grep, self.find, self.ls)

    def _on_files(self, made: AnyTool) -> AnyTool:
        """The tool, with what it touches as places below this root."""
        place = FileResource(self.root, "path")
        return but(made, effects=but(made.effects, resources=(place,)))

    # — reading —

    @tool(effects=_READS, max_output=None, metadata={KEEPER: RESULTS.save})
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
        name = self.root.spelt(path)
        with self._locks[name]:  # else an edit meanwhile would look like somebody else's
            state = self._seen.take(name)  # before it is shown: a change in between is noticed, too
            output = self.files.read(name, offset, limit, column)
            self._seen.note(name, state)
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
        return find_files(self.root, pattern, self.root.clean(path), limit)

    grep = Files.grep

    # — writing —

    @tool(effects=_WRITES, approval=AsksIfProtected())
    def write(self, path: str, content: str) -> ToolOutput:
        """Write a file: make it, with the folders above it, or replace all of it.

        Args:
            path: Path of the file, relative to the root.
            content: Its whole content.
        """
        return self.change(self.root.clean(path), _written(path, content))

    def change(self, name: str, apply_edits: Make) -> ToolOutput:
        """Give a file new content, alone with it.

        Args:
            name: Its path, cleaned.
            apply_edits: Given its content, or None if it is not there, returns the new one.

        Raises:
            ToolError: saying why not; it is untouched then.
        """
        with self._locks[name]:
            before, was = self._seen.content(name)
            data = apply_edits(before)
            made = replace(self.root, name, data, was)
            self._seen.wrote(name, data)
        old, new = ((part or b"").decode("utf-8", "replace") for part in (before, data))
        details = {"path": name, "bytes": len(data), "created": made, "diff": diff(old, new, name)}
        return ToolOutput(f"File written: {name} ({human(len(data))})", details=details)

    @tool(effects=_EDITS, approval=AsksIfProtected())
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
        changes = _changes(old_text, new_text, edits, replace_all)
        name = self.root.clean(path)
        with self._locks[name]:
            before, was = self._seen.content(name)
            if before is None or was is None:
                os.close(self.root.open_file(name))  # says what is wrong with the path
                raise ToolError(f"{path!r} is larger than {human(MAX_FILE)}, too large to edit.")
            edited = apply(before, changes, name)
            replace(self.root, name, edited.data, was)
            self._seen.wrote(name, edited.data)
        details = {
            "path": name,
            "edits": edited.made,
            "diff": edited.diff,
            "first_changed_line": edited.first_line,
            "found_leniently": edited.lenient,
        }
        done = count(edited.made, "replacement") + edited.oddities
        return ToolOutput(f"File edited: {name} ({done})", details=details)

    # — commands —

    @tool(
        effects=Effects(),
        timeout=MAX_TIMEOUT + 60,
        max_output=None,
        approval=True,
        metadata={"shell": "command"},
    )
    async def bash(
        self, command: str, timeout: float = TIMEOUT, *, context: ToolContext
    ) -> ToolOutput:
        """Run a shell command in the root folder; tells its output and whether it failed.

        Nothing keeps running when it has ended. There is no terminal and no input.

        Args:
            command: The command, as typed into bash.
            timeout: Seconds it may take, 600 at most.
        """
        if self.sandbox is None:
            raise SetupError("this workspace was made without a sandbox, so it runs no commands")
        tail = Tail(context.progress)
        words = telling_words(self.sandbox, command)
        before, seen = protected_state(self.root.path), self._seen.unchanged()
        try:
            output = await run_command(
                self.sandbox, words, timeout=timeout, tail=tail, context=context
            )
        except (ToolError, Cancelled) as error:
            raise type(error)(error.text + self._notices(before, seen), error.details) from None
        return but(output, content=f"{output.content}{self._notices(before, seen)}")

    def _notices(self, before: Mapping[str, int], seen: list[str]) -> str:
        """Files that were read and have changed while a command ran, and protected ones, as notices."""
        changed = ", ".join(sorted(self._seen.catch_up(seen)))
        said = (
            f"\n\n[Changed while it ran, of the files you have read: {changed}]" if changed else ""
        )
        return said + self._protected(before)

    def _protected(self, before: Mapping[str, int]) -> str:
        """Protected files that have been made or changed while a command ran, as a notice."""
        now, said = protected_state(self.root.path), ""
        made = [path for path in now if path not in before]
        changed = [path for path, state in before.items() if now.get(path) != state]
        set_aside(made)
        for what, paths in (("made", made), ("changed", changed)):
            names = ", ".join(sorted(os.path.relpath(path, self.root.path) for path in paths))
            if names:
                said += f"\n\n[It {what} protected files, for a person to look at: {names}]"
        return said


def _warn_of_imports(root: Path) -> None:
    """Say loudly that what a model writes below the root may run in this very program."""
    if folders := imported_from(root):
        warnings.warn(
            f"this program imports its code from {', '.join(folders)}, which this workspace lets a "
            "model write: a module it writes there runs in this program, outside of any sandbox, "
            "at its next import. Start the program from another folder, with python -P, or give "
            "the workspace a folder that is not on sys.path",
            stacklevel=4,  # of who makes the workspace
        )


def tools(root: str | os.PathLike[str] = ".", sandbox: Mode = "workspace") -> tuple[AnyTool, ...]:
    """The tools for a folder."""
    return Workspace(root, sandbox).tools


def _changes(
    old_text: str | None = None,
    new_text: str | None = None,
    edits: list[Replacement] | None = None,
    replace_all: bool = False,
) -> list[Change]:
    changes = [
        Change(each["old_text"], each["new_text"], each.get("replace_all", False))
        for each in edits or ()
    ]
    if old_text is not None and new_text is not None:
        changes.insert(0, Change(old_text, new_text, replace_all))
    elif not changes or old_text is not None or new_text is not None:
        raise ToolError("Give old_text and new_text together, or a list of edits.")
    return changes


def _edited(path: str, **texts: Any) -> Make:
    def apply_edits(before: bytes | None) -> bytes:
        if before is None:
            raise ToolError(f"{path!r} does not exist.")
        return apply(before, _changes(**texts), path).data

    return apply_edits


def _written(path: str, content: str) -> Make:
    data = _encoded(content)
    return lambda before: data


def _encoded(content: str) -> bytes:
    try:
        data = content.encode()
    except UnicodeEncodeError:
        raise ToolError("content holds half of a surrogate pair, which is no text.") from None
    if len(data) > MAX_FILE:
        raise ToolError(f"content has {human(len(data))}; at most {human(MAX_FILE)} is written.")
    return data
