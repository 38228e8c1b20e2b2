"""The tools of a target: a file, a folder, a module, a builtin, or an MCP server.

::

    tools.py                 the public toolsets of a file; without any, its public tools; without
                             any, its own public functions that have docstrings
    tools.py:search          one name in it: a tool, a toolset, a function, a provider, a list or
                             dict of them, or an object whose methods are tools
    my_tools/                the same for every public file in a folder
    package.module           the same for a module; the current folder is searched first
    package.module:name
    calculator               a builtin
    files:root=docs          a builtin with an option
    workspace:root=.         a folder to work in: files and commands, in a sandbox
    builtin                  all builtins but workspace
    demo                     the same, with made-up weather from a local server
    mcp.json                 all MCP servers of a file; mcp.json:files one of them
    https://host/mcp         an MCP server on the network
"""

from __future__ import annotations

import re
import types
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from toolkeel._common.data_folder import expand_home
from toolkeel._common.installed import installed
from toolkeel.builtin.catalog import (
    EXPLICIT_ONLY,
    builtin_names,
    load_builtin,
    load_remote,
)
from toolkeel.builtin.loading import list_python_files, load_file, load_module, shorten_path
from toolkeel.builtin.tools_in_module import (
    Part,
    collect_tools,
    find_tools,
    flatten,
    is_defined_in,
    list_functions,
    list_public,
    merge_parts,
    suggest_or_list,
)
from toolkeel.call.toolset import Toolset
from toolkeel.define.tool import AnyTool, Tool
from toolkeel.errors import DuplicateToolError, SetupError

ALL_TARGET = "builtin"
"""The target for all builtins."""
DEMO_TARGET = "demo"
"""The target for all builtins with made-up weather, for use offline."""

_OPTION = re.compile(r"[A-Za-z_]\w*=")
_MCP = re.compile(r"https?://.*|.*\.json(:[^:]*)?", re.DOTALL)
_MODULE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


def load_target(text: str) -> Toolset:
    """Load the tools of a target, which is imported or connected to.

    Args:
        text: A file, a folder, a module, a builtin or an MCP server, and ``:NAME`` for one tool of it.

    Raises:
        SetupError: if the target does not exist, cannot be imported, or contains no tools.

    >>> load_target("calculator").names
    ('calculator',)
    """
    if is_mcp_target(text):
        tools: Toolset = load_remote("mcp", text)
        return tools
    base, name = _split_target(text)
    if not base.strip():
        raise SetupError("a target is a file, a folder, a module or a builtin; this one is empty")
    if base in (ALL_TARGET, DEMO_TARGET) or base in builtin_names():
        return merge_parts(_load_builtins(base, name))
    if expand_home(base).is_dir():
        return merge_parts(_load_folder(expand_home(base), name))
    return merge_parts(_load_from_module(_import_module(base), name, base))


def is_mcp_target(text: str) -> bool:
    """Return True if a target has the form of a file of MCP servers, one of them, or the address of one."""
    return _MCP.fullmatch(text) is not None


def load_targets(texts: Iterable[str]) -> Toolset:
    """Load the tools of several targets as one toolset.

    Raises:
        DuplicateToolError: if two targets have different tools of one name.
        SetupError: as `load_target` does.
    """
    sets = {text: load_target(text) for text in dict.fromkeys(texts)}
    if len(sets) == 1:
        return next(iter(sets.values()))
    owners: dict[str, str] = {}
    found: dict[int, AnyTool] = {}
    for text, tools in sets.items():
        for item in flatten(tools):
            if id(item) in found:
                continue
            if item.name in owners:
                raise DuplicateToolError(
                    f"both {owners[item.name]} and {text} have a tool called {item.name!r}; "
                    f"name the ones you want, such as {text}:NAME"
                )
            owners[item.name] = text
            found[id(item)] = item
    return Toolset(found.values())


def load_object(text: str) -> object:
    """Load any object of a file or module, such as a model.

    Args:
        text: ``file.py:name`` or ``package.module:name``.

    Raises:
        SetupError: if there is none.
    """
    base, name = _split_target(text)
    if not name:
        raise SetupError(f"{text!r} names no object; say {text}:NAME")
    module = _import_module(base)
    return _resolve_attribute(module, name, base)


def resolve_module(text: str) -> tuple[types.ModuleType | None, object]:
    """Return a target's module and the object it names in it; None for what it does not name.

    Args:
        text: A target; folders and builtins are no modules.

    Raises:
        SetupError: as `load_target` does.
    """
    base, name = _split_target(text)
    if base in (ALL_TARGET, DEMO_TARGET) or base in builtin_names() or expand_home(base).is_dir():
        return None, None
    module = _import_module(base)
    return module, _resolve_attribute(module, name, base) if name else None


def _split_target(text: str) -> tuple[str, str]:
    """Split a target into what to load and the name in it; a drive's colon is no separator."""
    base, colon, name = text.rpartition(":")
    if not colon or Path(text).exists() or not base or name[:1] in ("/", "\\"):
        return text, ""
    for builtin in builtin_names():  # an option's value may hold a colon, as an address does
        if text.startswith(f"{builtin}:"):
            return builtin, text.removeprefix(f"{builtin}:")
    return base, name


# — builtins —


def _load_builtins(base: str, name: str) -> Iterator[AnyTool]:
    """Yield the tools of a builtin; of all or of the demo, those of the builtin `name`, or of each.

    Args:
        base: A builtin, or the target of all or of the demo.
        name: For a builtin: name of its one tool, or its options; empty for all its tools.

    Raises:
        SetupError: the builtin has no such option or tool, or does not exist.
    """
    if base in (ALL_TARGET, DEMO_TARGET):
        names = [name] if name else [one for one in builtin_names() if one not in EXPLICIT_ONLY]
        for each in names:
            yield from load_builtin(
                each, **(_demo_options().get(each, {}) if base == DEMO_TARGET else {})
            )
        return
    options = _parse_options(name)
    if name and not options:
        yield _pick_tool(Toolset(load_builtin(base)), name, base)
        return
    try:
        yield from load_builtin(base, **options)
    except TypeError as error:
        if "unexpected keyword argument" not in str(error):
            raise
        unknown = str(error).rpartition("argument ")[2]
        raise SetupError(f"the builtin {base} has no option {unknown}") from None


def _parse_options(text: str) -> dict[str, str]:
    """Parse the options in ``key=value,key=value``; a value may contain commas.

    Text before the first option is ignored.
    """
    options: dict[str, str] = {}
    for part in text.split(","):
        if _OPTION.match(part):
            key, _, value = part.partition("=")
            options[key] = value
        elif options:
            options[next(reversed(options))] += f",{part}"
    return options


@cache
def _demo_options() -> Mapping[str, Mapping[str, object]]:
    """Return, by builtin, the options that keep it on this machine, read once from the distributions."""
    point = installed("toolkeel.hooks").get("demo_options")
    options: Mapping[str, Mapping[str, object]] = point.load()() if point else {}
    return options


def _pick_tool(tools: Toolset, name: str, base: str) -> AnyTool:
    """Return a tool by name.

    Args:
        tools: The tools to choose from.
        name: The tool's name.
        base: Where they come from, for the error.

    Raises:
        SetupError: there is none; with the nearest name.
    """
    if name in tools:
        return tools[name]
    raise SetupError(f"{base} has no tool {name!r}; {suggest_or_list(name, tools.names)}")


# — files and modules —


def _import_module(base: str) -> types.ModuleType:
    """Import the file or module that `base` names, or raise `SetupError` if there is none."""
    if base.endswith(".py") or "/" in base or "\\" in base:
        path = expand_home(base)
        if path.is_file():
            return load_file(path)
        siblings = (
            [shorten_path(other) for other in list_python_files(path.parent)]
            if path.parent.is_dir()
            else []
        )
        raise SetupError(
            f"there is no file {base!r}; {suggest_or_list(shorten_path(path), siblings)}"
        )
    module = load_module(base) if _MODULE.fullmatch(base) else None
    if module is None:
        raise SetupError(_describe_unknown_target(base))
    return module


def _load_folder(folder: Path, name: str) -> list[Part]:
    """Return the tools of all public files in a folder, or the named one.

    Raises `SetupError` if there are none.
    """
    files = list_python_files(folder)
    if not files:
        raise SetupError(f"the folder {shorten_path(folder)} holds no public Python file")
    is_package = (folder / "__init__.py").is_file()
    found: list[Part] = []
    for file in files:
        module = _import_from_package(folder, file) if is_package else load_file(file)
        found += [part for part in find_tools(module) if is_defined_in(part, module)]
    if not found:
        raise SetupError(
            f"no file in {shorten_path(folder)} defines a tool: decorate functions with @tool"
        )
    return [_pick_tool(merge_parts(found), name, shorten_path(folder))] if name else found


def _import_from_package(folder: Path, file: Path) -> types.ModuleType:
    """Import a file as a module of its package.

    Raises:
        SetupError: if another package has the same name.
    """
    module = load_module(f"{folder.resolve().name}.{file.stem}", folder.resolve().parent)
    if module is None or module.__file__ is None or not file.samefile(module.__file__):
        raise SetupError(
            f"{shorten_path(file)} cannot be imported as {folder.resolve().name}.{file.stem}: another "
            "package has that name"
        )
    return module


def _load_from_module(module: types.ModuleType, name: str, base: str) -> list[Part]:
    """Return the tools of a module or its named object; raise `SetupError` if there are none."""
    if name:
        return collect_tools(_resolve_attribute(module, name, base), f"{base}:{name}")
    found = find_tools(module)
    if not found:
        raise SetupError(_describe_no_tools(module, base))
    return found


def _resolve_attribute(module: types.ModuleType, name: str, base: str) -> object:
    """Return an attribute by its dotted name.

    Raises:
        SetupError: if there is none, with the nearest name.
    """
    value: object = module
    for part in name.split("."):
        try:
            value = getattr(value, part)
        except AttributeError:
            raise SetupError(_describe_missing_attribute(module, value, part, base)) from None
    return value


def _describe_missing_attribute(
    module: types.ModuleType, value: object, part: str, base: str
) -> str:
    """Return the error text for an attribute that does not exist."""
    if value is not module:
        return (
            f"{type(value).__name__} in {base} has no {part!r}; {suggest_or_list(part, dir(value))}"
        )
    for variable, item in list_public(module).items():
        if isinstance(item, Tool) and item.name == part:  # the tool's name is not the variable's
            return f"{base} keeps the tool {part!r} as {variable!r}; say {base}:{variable}"
    return f"{base} has no {part!r}; {suggest_or_list(part, list_public(module))}"


def _describe_no_tools(module: types.ModuleType, base: str) -> str:
    """Return the error text for a module without tools, with the fix."""
    bare = [function.__name__ for function in list_functions(module)]
    if bare:
        listed = ", ".join(bare[:5]) + (" ..." if len(bare) > 5 else "")
        return (
            f"{base} has no tools: its functions ({listed}) have no docstrings. Write one for "
            f"each that shall be a tool, or decorate it with @tool, or name it: {base}:{bare[0]}"
        )
    for name, value in list_public(module).items():
        held = tuple(value.values()) if isinstance(value, dict) else value
        if isinstance(held, list | tuple) and any(isinstance(each, Tool) for each in held):
            return f"{base} has no tools of its own; for those in {name!r}, write {base}:{name}"
    return f"{base} has no tools: decorate functions with @tool, or give them docstrings"


def _describe_unknown_target(base: str) -> str:
    """Return the error text for a target that is nothing known, with the nearest."""
    names = [
        ALL_TARGET,
        DEMO_TARGET,
        *builtin_names(),
        *(shorten_path(path) for path in list_python_files(Path())),
    ]
    return (
        f"{base!r} is no file, no folder, no module and no builtin; {suggest_or_list(base, names)}"
    )
