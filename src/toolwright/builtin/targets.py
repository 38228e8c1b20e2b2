"""Where tools come from, said in one word: a file, a folder, a module, or the name of a builtin.

::

    tools.py                 all public tools of a file; if it has none, its own public,
                             documented functions
    tools.py:search          one of them, a toolset, an object with tools, a list or a dict
    my_tools/                the tools of every public file in a folder
    package.module           the same for modules that Python finds; the current folder is
    package.module:name      looked in first
    calculator               a builtin
    files:root=docs          a builtin with an option
    builtin                  all builtins
    demo                     the same, with weather made up by a server on this machine
"""

from __future__ import annotations

import atexit
import dataclasses
import difflib
import inspect
import re
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast

from toolwright.builtin.catalog import BUILTINS, load
from toolwright.builtin.loading import files_of, load_file, load_module, shown
from toolwright.builtin.weather_fixture import WeatherFixture
from toolwright.call.toolset import Toolset
from toolwright.define.base import BaseTool
from toolwright.define.tool import AnyTool, Tool, tool
from toolwright.errors import DuplicateToolError, SetupError

ALL = "builtin"
"""The target that stands for all builtins."""
DEMO = "demo"
"""The target that stands for all builtins with the fixture's weather, for machines offline."""
_CLEAR = 0.15
"""A name that is this much less alike than the nearest one is not meant."""
LISTED = 12
"""Most names listed where no near one is found."""

_OPTION = re.compile(r"[A-Za-z_]\w*=")
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
    base, name = _split(text)
    if not base.strip():
        raise SetupError("a target is a file, a folder, a module or a builtin; this one is empty")
    if base in (ALL, DEMO) or base in BUILTINS:
        return Toolset(_builtin(base, name))
    if Path(base).expanduser().is_dir():
        return Toolset(_from_folder(Path(base).expanduser(), name))
    return Toolset(_from_module(_module(base), name, base))


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


def load_targets(texts: Iterable[str]) -> Toolset:
    """The tools of several targets together.

    Raises:
        DuplicateToolError: if two of them bring different tools of one name.
        SetupError: as `load_target` does.
    """
    owners: dict[str, str] = {}
    found: list[AnyTool] = []
    for text in dict.fromkeys(texts):
        for item in load_target(text):
            if any(item is known for known in found):
                continue
            if item.name in owners:
                raise DuplicateToolError(
                    f"both {owners[item.name]} and {text} have a tool called {item.name!r}; "
                    f"name the ones you want, such as {text}:NAME"
                )
            owners[item.name] = text
            found.append(item)
    return Toolset(found)


def _split(text: str) -> tuple[str, str]:
    """What to load, and the name in it; a drive's colon is no separator."""
    base, colon, name = text.rpartition(":")
    if not colon or Path(text).exists() or not base or name[:1] in ("/", "\\"):
        return text, ""
    for builtin in BUILTINS:  # an option's value may hold a colon, as an address does
        if text.startswith(f"{builtin}:"):
            return builtin, text.removeprefix(f"{builtin}:")
    return base, name


# — builtins —


def _builtin(base: str, name: str) -> Iterator[Any]:
    if base in (ALL, DEMO):
        names = [name] if name else list(BUILTINS)
        for each in names:
            made_up = base == DEMO and each == "weather"
            yield from load(each, **({"base_url": _fixture_url()} if made_up else {}))
        return
    options = dict(part.split("=", 1) for part in name.split(",") if _OPTION.match(part))
    if name and not options:
        yield _pick(Toolset(cast("Any", load(base))), name, base)
        return
    try:
        yield from load(base, **options)
    except TypeError as error:
        if "unexpected keyword argument" not in str(error):
            raise
        raise SetupError(f"the builtin {base} has no such option: {', '.join(options)}") from None


@cache
def _fixture_url() -> str:
    """The address of a fixture that runs until the program ends."""
    fixture = WeatherFixture()
    atexit.register(fixture.__exit__, None, None, None)
    return fixture.__enter__()


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
        siblings = [shown(other) for other in files_of(path.parent)] if path.parent.is_dir() else []
        raise SetupError(f"there is no file {base!r}; {did_you_mean(shown(path), siblings)}")
    module = load_module(base) if _MODULE.fullmatch(base) else None
    if module is None:
        raise SetupError(_nothing(base))
    return module


def _from_folder(folder: Path, name: str) -> list[AnyTool]:
    files = files_of(folder)
    if not files:
        raise SetupError(f"the folder {shown(folder)} holds no public Python file")
    is_package = (folder / "__init__.py").is_file()
    found: list[AnyTool] = []
    for file in files:
        module = _in_package(folder, file) if is_package else load_file(file)
        found += _own(module, _tools_in(module))
    if not found:
        raise SetupError(
            f"no file in {shown(folder)} defines a tool: decorate functions with @tool"
        )
    return [_pick(Toolset(found), name, shown(folder))] if name else found


def _in_package(folder: Path, file: Path) -> types.ModuleType:
    module = load_module(f"{folder.resolve().name}.{file.stem}", folder.resolve().parent)
    if module is None or module.__file__ is None or not file.samefile(module.__file__):
        raise SetupError(
            f"{shown(file)} cannot be imported as {folder.resolve().name}.{file.stem}: another "
            "package has that name"
        )
    return module


def _from_module(module: types.ModuleType, name: str, base: str) -> list[AnyTool]:
    if name:
        return _collect(_attribute(module, name, base), f"{base}:{name}")
    found = _tools_in(module)
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
    for item in _tools_in(module):
        if item.name == part:  # the tool's name is not the variable's
            variable = next(k for k, v in vars(module).items() if v is item)
            return f"{base} keeps the tool {part!r} as {variable!r}; say {base}:{variable}"
    return f"{base} has no {part!r}; {did_you_mean(part, _public(module))}"


def _tools_in(module: types.ModuleType) -> list[AnyTool]:
    """All public tools of a module; if there are none, its own public, documented functions."""
    found: dict[int, AnyTool] = {}
    for value in _public(module).values():
        for item in _whole(value):
            found.setdefault(id(item), item)
    return list(found.values()) or [tool(each) for each in _functions(module) if each.__doc__]


def _whole(value: object) -> list[AnyTool]:
    """The tools that a public variable stands for by itself."""
    match value:
        case Tool():
            return [] if value.unbound else [value]
        case BaseTool():
            return [value.tool]
        case Toolset():
            return list(value)
        case _:
            return []


def _public(module: types.ModuleType) -> Mapping[str, object]:
    """What a module offers: ``__all__`` if it has one, else all without a leading underscore."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return {name: getattr(module, name) for name in listed if hasattr(module, name)}
    return {name: value for name, value in vars(module).items() if not name.startswith("_")}


def _functions(module: types.ModuleType) -> list[types.FunctionType]:
    return [
        value
        for value in _public(module).values()
        if inspect.isfunction(value) and value.__module__ == module.__name__
    ]


def _own(module: types.ModuleType, items: Iterable[AnyTool]) -> list[AnyTool]:
    """Without the tools that were imported from a neighbour, who brings them already."""
    home = module.__name__
    return [item for item in items if getattr(item.function, "__module__", home) == home]


def _no_tools(module: types.ModuleType, base: str) -> str:
    bare = [function.__name__ for function in _functions(module)]
    if bare:
        listed = ", ".join(bare[:5]) + (" ..." if len(bare) > 5 else "")
        return (
            f"{base} has no tools: its functions ({listed}) have no docstrings. Write one for "
            f"each that shall be a tool, or decorate it with @tool, or name it: {base}:{bare[0]}"
        )
    return f"{base} has no tools: decorate functions with @tool, or give them docstrings"


# — values —


def _collect(value: object, where: str) -> list[AnyTool]:
    """The tools that a named value stands for."""
    if whole := _whole(value):
        return whole
    match value:
        case types.ModuleType():
            return _from_module(value, "", where)
        case Mapping():
            return [_renamed(item, key, where) for key, item in value.items()]
        case list() | tuple() | set() | frozenset():
            return [item for each in value for item in _collect(each, where)]
    if isinstance(value, Tool | type):
        what = "a method" if isinstance(value, Tool) else "a class"
        raise SetupError(f"{where} is {what}; name an object of the class instead")
    if bound := _bound(value):
        return bound
    if callable(value):
        return [tool(value)]
    raise SetupError(f"{where} is {type(value).__name__!r}, which is no tool and holds none")


def _renamed(value: object, name: object, where: str) -> AnyTool:
    found = _collect(value, where)
    if len(found) != 1:
        raise SetupError(f"{where}[{name!r}] holds {len(found)} tools; give one for each name")
    return found[0] if found[0].name == name else dataclasses.replace(found[0], name=str(name))


def _bound(value: object) -> list[AnyTool]:
    """The tools that an object's class defines as methods, bound to it."""
    names = [name for name in dir(type(value)) if not name.startswith("_")]
    methods = [name for name in names if isinstance(getattr(type(value), name, None), Tool)]
    return [getattr(value, name) for name in methods]


# — did you mean —


def _nothing(base: str) -> str:
    names = [ALL, DEMO, *BUILTINS, *(shown(path) for path in files_of(Path()))]
    return f"{base!r} is no file, no folder, no module and no builtin; {did_you_mean(base, names)}"


def did_you_mean(wrong: str, names: Iterable[str]) -> str:
    """A hint at what could have been meant, or else at what there is.

    >>> did_you_mean("serch", ["search", "read"]), did_you_mean("x", ["search", "read"])
    ("did you mean 'search'?", 'there is search, read')
    """
    known: Sequence[str] = [name for name in names if not name.startswith("__")]
    near = difflib.get_close_matches(wrong, known, 3)
    if near:
        likeness = [difflib.SequenceMatcher(None, wrong, name).ratio() for name in near]
        near = [n for n, ratio in zip(near, likeness, strict=True) if ratio > likeness[0] - _CLEAR]
        return f"did you mean {' or '.join(map(repr, near))}?"
    more = " ..." if len(known) > LISTED else ""
    return f"there is {', '.join(known[:LISTED])}{more}" if known else "there is none"
