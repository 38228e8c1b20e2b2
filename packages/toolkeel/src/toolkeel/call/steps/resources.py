"""Resources of a call: what its tool declares, with the arguments filled in, as places in trees.

A resource is a path, ``file:src/main.py``: the part before the colon is the tree, each slash goes one
level down. A call on ``file:src`` conflicts with one on ``file:src/main.py``, and one on ``file``
with every file.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TypeAlias

from toolkeel._common.path_patterns import secret_pattern
from toolkeel.call.arguments.canonical_arguments import ArgumentsView
from toolkeel.call.steps.command_patterns import loose_words
from toolkeel.define.subschemas import properties_of
from toolkeel.define.tool import AnyTool, Prepared
from toolkeel.effects import Resource, Shared
from toolkeel.errors import DefinitionError

_NAME = re.compile(r"\{(\w+)\}")
_PATHS = re.compile(r"path|file|uri|source", re.IGNORECASE)
"""Names of parameters that hold paths, in tools that declare no files."""
_MOST_WORDS = 200
Branch: TypeAlias = tuple[str, ...]
"""A resource as the steps that lead to it from the root of everything."""


def check_resources(tool: AnyTool) -> None:
    """Raise unless the names in the tool's resources are parameters. Nothing is checked if it takes further keys.

    Raises:
        DefinitionError: a name is no parameter; the message names it.
    """
    known = {*properties_of(tool.parameters), *tool.arguments.aliases}
    known.update(parameter.name for parameter in tool.injected)
    closed = tool.parameters.get("additionalProperties") is False
    for resource in tool.effects.resources:
        for name in [] if isinstance(resource, Resource) else _NAME.findall(resource):
            if closed and name not in known:
                raise DefinitionError(
                    f"{tool.name}: its resource {resource!r} names {name!r}, which is no "
                    f"parameter; it has {', '.join(sorted(known)) or 'none'}"
                )


def resource_keys(prepared: Prepared) -> tuple[str, ...]:
    """Return the tool's resources with the call's arguments filled in, sorted.

    What the model left out counts with its advertised default. An argument without a value leaves
    its name in braces, one key for all such calls.
    """
    tool = prepared.tool
    values = ArgumentsView(prepared)
    return tuple(sorted({_fill(resource, values) for resource in tool.effects.resources}))


def resolve_argument(tool: AnyTool, name: str, path: str) -> tuple[str, ...]:
    """Return the file that a path in an argument leads to, in each form that a rule may have.

    Returns:
        The absolute path without links, and the same relative to the folder of the tool's paths; empty
        if the tool declares no files by that argument, or the path cannot be resolved.
    """
    for resource in tool.effects.resources:
        if isinstance(resource, Resource):
            if found := resource.resolve(name, path):
                return found
        elif resource == f"file:{{{name}}}":
            with suppress(OSError, ValueError):
                place, here = os.path.realpath(path), os.path.realpath(".")
                below = place == here or place.startswith(f"{here.rstrip(os.sep)}{os.sep}")
                return (place, os.path.relpath(place, here)) if below else (place,)
    return ()


def is_write(prepared: Prepared) -> bool:
    """Return True if the call may write and not all of its tool's resources are `Shared`."""
    effects = prepared.tool.effects
    return effects.writes and not all(isinstance(one, Shared) for one in effects.resources)


def _fill(resource: str, values: Mapping[str, object]) -> str:
    """Return a resource's key, with argument names in braces replaced by their values."""
    if isinstance(resource, Resource):
        return resource.key(values)
    # Plain names only: format strings could reach into an argument's attributes.
    return _NAME.sub(lambda found: _text(values.get(found[1]), found[0]), resource)


def _text(value: object, absent: str) -> str:
    """Return an argument as text for a resource key, as JSON unless it is text.

    None gives `absent`; 2.0 gives the same text as 2.
    """
    if value is None:
        return absent
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # however it was written
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def secrets_read(prepared: Prepared) -> list[str]:
    """Return the files with secrets that a call reads, by its resources or its arguments."""
    plain = (path.removeprefix("file://").removeprefix("file:") for path in _paths_read(prepared))
    return [path for path in plain if "://" not in path and secret_pattern(path)]


def mentioned_files(prepared: Prepared) -> dict[str, tuple[int, int]]:
    """Return the existing files that a call mentions, each with its inode and modification time.

    The numbers differ once a file was changed.
    """
    declared = [key[5:] for key in resource_keys(prepared) if key.startswith("file:")]
    line = prepared.tool.metadata.get("shell")
    if isinstance(line, str):
        ways = loose_words(str(ArgumentsView(prepared).get(line, "")))
        words = dict.fromkeys(word for words in ways for word in words[:_MOST_WORDS])
        declared = [os.path.join(folder, word) for folder in declared for word in words]
    found = {}
    for path in dict.fromkeys(declared):
        with suppress(OSError, ValueError):
            status = os.stat(path)
            if stat.S_ISREG(status.st_mode):
                found[path] = (status.st_ino, status.st_mtime_ns)
    return found


def _paths_read(prepared: Prepared) -> list[str]:
    """Return the files a call reads: its ``file:`` keys, else arguments whose names suggest paths.

    A tool that declares ``file:`` keys and can write gives none.
    """
    if keys := [key for key in resource_keys(prepared) if key.startswith("file:")]:
        return keys if prepared.tool.effects.read_only else []
    shown = ArgumentsView(prepared)
    values = [shown[name] for name in shown if _PATHS.search(name)]
    lists = (value if isinstance(value, list | tuple) else [value] for value in values)
    return [text for texts in lists for text in texts if isinstance(text, str)]


def branch_of(key: str) -> Branch:
    """Return the place of a resource in its tree, independent of how its path is written.

    >>> branch_of("file:./src//main.py"), branch_of("file:"), branch_of("db")
    (('file', 'src', 'main.py'), ('file',), ('db',))
    >>> branch_of("file:a:b")
    ('file', 'a:b')
    """
    steps: list[str] = []
    for step in key.replace(":", "/", 1).split("/"):
        if step == ".." and len(steps) > 1:
            steps.pop()
        elif step not in ("", ".", ".."):
            steps.append(step)
    return tuple(steps)


def branches_of(keys: Iterable[str]) -> tuple[Branch, ...]:
    """Return the places of several resources, sorted, without those below another."""
    places: list[Branch] = []
    for place in sorted(set(map(branch_of, keys))):
        if not (places and is_within(place, places[-1])):
            places.append(place)
    return tuple(places)


def is_within(place: Branch, other: Branch) -> bool:
    """Return True if a place is another one or lies below it."""
    return place[: len(other)] == other


def overlaps(place: Branch, other: Branch) -> bool:
    """Return True if one of two places is the other or lies below it.

    >>> overlaps(branch_of("file:a"), branch_of("file:a/b"))
    True
    >>> overlaps(branch_of("file:a"), branch_of("file:ab"))
    False
    """
    return is_within(place, other) or is_within(other, place)
