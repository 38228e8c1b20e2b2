"""Doors: public modules that re-export names by topic and load what is behind a name on first use."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any

NOWHERE: Mapping[str, str] = MappingProxyType({})
_PUBLIC = """
approvals content context effects errors events executors hosted mcp.client mcp.server messages models
observe runs schemas sessions steps streaming testing tools
"""
"""Public modules in which a name is searched that another lacks."""
Door = tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]


def door(module: str, places: Mapping[str, str], others: Mapping[str, str] = NOWHERE) -> Door:
    """Return a module's ``__getattr__``, ``__dir__`` and ``__all__``, which import names on first use and store them.

    Args:
        module: Dotted name of the public module.
        places: Names, separated by blanks, by the dotted name of the module that defines them.
        others: Names that people look for here, and what to write instead.

    For a name that the module lacks, ``__getattr__`` raises as `missing_name` says.

    >>> get, names, _ = door("toolkeel", {"toolkeel.call.steps.call_limits": "CallLimit RateLimit"})
    >>> {"CallLimit", "RateLimit"} <= {*names()}
    True
    >>> get("CallLimit").__module__
    'toolkeel.call.steps.call_limits'
    """
    place_of = {name: place for place, names in places.items() for name in names.split()}
    space = vars(sys.modules[module])

    def get(name: str) -> Any:
        """Import a name, store it in the module and return it.

        Raises:
            AttributeError: the module has no such name.
        """
        if name in others:
            raise missing_name(name, f"{module} has no {name!r}; write {others[name]}")
        if name not in place_of:
            from toolkeel._common.installed import INSTALL, install_hint, installed  # late: rare

            full = f"{module}.{name}"
            if name.startswith("_"):
                raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name)
            if full not in INSTALL:
                if place := _find_place(name, INSTALL):
                    raise missing_name(name, f"{module} has no {name!r}; it is in {place}")
                raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name)
            if full not in installed("toolkeel.names"):
                raise missing_name(name, install_hint(full))
            value = space[name] = installed("toolkeel.names")[full].load()
            return value
        value = space[name] = getattr(import_module(place_of[name]), name)
        return value

    return get, lambda: sorted({*space.get("__all__", ()), *place_of}), sorted(place_of)


def _find_place(name: str, elsewhere: Iterable[str]) -> str:
    """Import public modules until one has a name, or is to have it, and return that module's name; empty if none.

    Args:
        name: The name.
        elsewhere: Dotted names that other distributions add to public modules.
    """
    for module in (f"toolkeel.{place}" for place in _PUBLIC.split()):
        loaded = import_module(module)
        is_defined = getattr(vars(loaded).get(name), "__module__", "") == module
        if is_defined or name in getattr(loaded, "__all__", ()):
            return module
    return next((full.rpartition(".")[0] for full in elsewhere if full.endswith(f".{name}")), "")


class ReplacedName(AttributeError):
    """Raised for a name that a module lacks, with the name to write instead."""


def missing_name(name: str, message: str) -> ReplacedName | ImportError:
    """Build the error of a module's ``__getattr__`` for a name with a known replacement.

    It is an `AttributeError`, so that `hasattr` and `getattr` with a default work. Only for ``from
    module import name`` it is an `ImportError`: Python replaces an `AttributeError` there by an
    error of its own, and the message would be lost.
    """
    from inspect import currentframe  # late: for mistakes alone
    from opcode import opmap

    here = currentframe()
    asking = here and here.f_back and here.f_back.f_back  # past the module's `__getattr__`
    if asking and asking.f_code.co_code[asking.f_lasti] == opmap["IMPORT_FROM"]:
        return ImportError(message, name=name)
    return ReplacedName(message, name=name)
