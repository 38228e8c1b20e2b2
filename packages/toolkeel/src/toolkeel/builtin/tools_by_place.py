"""Where tools come from, said in one word: a file, a folder, a module, or the name of a builtin.

::

    tools.py                 the public toolsets of a file; if it has none, its public tools; if
                             it has none, its own public functions that have docstrings
    tools.py:search          one name in it: a tool, a toolset, a function, a provider, a list or
                             dict of them, or an object whose methods are tools
    my_tools/                the same of every public file in a folder
    package.module           the same of a module; the current folder is looked in first
    package.module:name
    calculator               a builtin
    files:root=docs          a builtin with an option
    workspace:root=.         a folder to work in: files and commands, in a sandbox
    builtin                  all builtins but workspace
    demo                     the same, with weather made up by a server on this machine
    mcp.json                 all MCP servers of a file; mcp.json:files one of them
    https://host/mcp         an MCP server on the network
"""

from __future__ import annotations

import re
import types
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from toolkeel._common.installed import installed
from toolkeel.builtin.catalog import BY_NAME, builtin_names, load, load_from
from toolkeel.builtin.loading import files_of, load_file, load_module, short_path
from toolkeel.builtin.tools_in_module import (
    Part,
    collect,
    did_you_mean,
    flat,
    functions_of,
    is_own,
    merge,
    public_of,
    tools_in,
)
from toolkeel.call.toolset import Toolset
from toolkeel.define.tool import AnyTool, Tool
from toolkeel.errors import DuplicateToolError, SetupError

ALL = "builtin"
"""The target that stands for all builtins."""
DEMO = "demo"
"""The target that stands for all builtins with the fixture's weather, for machines offline."""

_OPTION = re.compile(r"[A-Za-z_]\w*=")
_MCP = re.compile(r"https?://.*|.*\.json(:[^:]*)?", re.DOTALL)
_MODULE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


def load_target(text: str) -> Toolset:
    """The tools that a target stands for.

    Args:
        text: As the module's docstring lists them.

    Raises:
        SetupError: if it names nothing, if what it names cannot be imported, or holds no tools.

    >>> load_target("calculator").names
    ('calculator',)
    """
    if _MCP.fullmatch(text):
        tools: Toolset = load_from("mcp", text)
        return tools
    base, name = _split(text)
    if not base.strip():
        raise SetupError("a target is a file, a folder, a module or a builtin; this one is empty")
    if base in (ALL, DEMO) or base in builtin_names():
        return merge(_builtin(base, name))
    if Path(base).expanduser().is_dir():
        return merge(_from_folder(Path(base).expanduser(), name))
    return merge(_from_module(_module(base), name, base))


def load_targets(texts: Iterable[str]) -> Toolset:
    """The tools of several targets together.

    Raises:
        DuplicateToolError: if two of them bring different tools of one name.
        SetupError: as `load_target` does.
    """
    sets = {text: load_target(text) for text in dict.fromkeys(texts)}
    if len(sets) == 1:
        return next(iter(sets.values()))
    owners: dict[str, str] = {}
    found: dict[int, AnyTool] = {}
    for text, tools in sets.items():
        for item in flat(tools):
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
    """Any object in a file or module, such as a model of one's own.

    Args:
        text: ``file.py:name`` or ``package.module:name``.

    Raises:
        SetupError: if there is none.
    """
    base, name = _split(text)
    if not name:
        raise SetupError(f"{text!r} names no object; say {text}:NAME")
    module = _module(base)
    return _attribute(module, name, base)


def module_of(text: str) -> tuple[types.ModuleType | None, object]:
    """The file or module a target names, and the object in it; None for what it does not name.

    Args:
        text: A target; a folder and a builtin are no module.

    Raises:
        SetupError: as `load_target` does.
    """
    base, name = _split(text)
    if base in (ALL, DEMO) or base in builtin_names() or Path(base).expanduser().is_dir():
        return None, None
    module = _module(base)
    return module, _attribute(module, name, base) if name else None


def _split(text: str) -> tuple[str, str]:
    """What to load, and the name in it; a drive's colon is no separator."""
    base, colon, name = text.rpartition(":")
    if not colon or Path(text).exists() or not base or name[:1] in ("/", "\\"):
        return text, ""
    for builtin in builtin_names():  # an option's value may hold a colon, as an address does
        if text.startswith(f"{builtin}:"):
            return builtin, text.removeprefix(f"{builtin}:")
    return base, name


# — builtins —


def _builtin(base: str, name: str) -> Iterator[AnyTool]:
    if base in (ALL, DEMO):
        names = [name] if name else [one for one in builtin_names() if one not in BY_NAME]
        for each in names:
            yield from load(each, **(_demo_options().get(each, {}) if base == DEMO else {}))
        return
    options = _options(name)
    if name and not options:
        yield _pick(Toolset(load(base)), name, base)
        return
    try:
        yield from load(base, **options)
    except TypeError as error:
        if "unexpected keyword argument" not in str(error):
            raise
        raise SetupError(f"the builtin {base} has no such option: {', '.join(options)}") from None


def _options(text: str) -> dict[str, str]:
    """The options in ``key=value,key=value``; a value may hold commas of its own."""
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
    """Ask the installed distributions which options keep each builtin on this machine."""
    point = installed("toolkeel.hooks").get("demo_options")
    options: Mapping[str, Mapping[str, object]] = point.load()() if point else {}
    return options


def _pick(tools: Toolset, name: str, base: str) -> AnyTool:
    if name in tools:
        return tools[name]
    raise SetupError(f"{base} has no tool {name!r}; {did_you_mean(name, tools.names)}")


# — files and modules —


def _module(base: str) -> types.ModuleType:
    """The file or module that `base` names, imported."""
    if base.endswith(".py") or "/" in base or "\\" in base:
        path = Path(base).expanduser()
        if path.is_file():
            return load_file(path)
        siblings = (
            [short_path(other) for other in files_of(path.parent)] if path.parent.is_dir() else []
        )
        raise SetupError(f"there is no file {base!r}; {did_you_mean(short_path(path), siblings)}")
    module = load_module(base) if _MODULE.fullmatch(base) else None
    if module is None:
        raise SetupError(_nothing(base))
    return module


def _from_folder(folder: Path, name: str) -> list[Part]:
    files = files_of(folder)
    if not files:
        raise SetupError(f"the folder {short_path(folder)} holds no public Python file")
    is_package = (folder / "__init__.py").is_file()
    found: list[Part] = []
    for file in files:
        module = _in_package(folder, file) if is_package else load_file(file)
        found += [part for part in tools_in(module) if is_own(part, module)]
    if not found:
        raise SetupError(
            f"no file in {short_path(folder)} defines a tool: decorate functions with @tool"
        )
    return [_pick(merge(found), name, short_path(folder))] if name else found


def _in_package(folder: Path, file: Path) -> types.ModuleType:
    module = load_module(f"{folder.resolve().name}.{file.stem}", folder.resolve().parent)
    if module is None or module.__file__ is None or not file.samefile(module.__file__):
        raise SetupError(
            f"{short_path(file)} cannot be imported as {folder.resolve().name}.{file.stem}: another "
            "package has that name"
        )
    return module


def _from_module(module: types.ModuleType, name: str, base: str) -> list[Part]:
    if name:
        return collect(_attribute(module, name, base), f"{base}:{name}")
    found = tools_in(module)
    if not found:
        raise SetupError(_no_tools(module, base))
    return found


def _attribute(module: types.ModuleType, name: str, base: str) -> object:
    value: object = module
    for part in name.split("."):
        try:
            value = getattr(value, part)
        except AttributeError:
            raise SetupError(_no_attribute(module, value, part, base)) from None
    return value


def _no_attribute(module: types.ModuleType, value: object, part: str, base: str) -> str:
    if value is not module:
        return f"{type(value).__name__} in {base} has no {part!r}; {did_you_mean(part, dir(value))}"
    for variable, item in public_of(module).items():
        if isinstance(item, Tool) and item.name == part:  # the tool's name is not the variable's
            return f"{base} keeps the tool {part!r} as {variable!r}; say {base}:{variable}"
    return f"{base} has no {part!r}; {did_you_mean(part, public_of(module))}"


def _no_tools(module: types.ModuleType, base: str) -> str:
    bare = [function.__name__ for function in functions_of(module)]
    if bare:
        listed = ", ".join(bare[:5]) + (" ..." if len(bare) > 5 else "")
        return (
            f"{base} has no tools: its functions ({listed}) have no docstrings. Write one for "
            f"each that shall be a tool, or decorate it with @tool, or name it: {base}:{bare[0]}"
        )
    return f"{base} has no tools: decorate functions with @tool, or give them docstrings"


def _nothing(base: str) -> str:
    names = [ALL, DEMO, *builtin_names(), *(short_path(path) for path in files_of(Path()))]
    return f"{base!r} is no file, no folder, no module and no builtin; {did_you_mean(base, names)}"
