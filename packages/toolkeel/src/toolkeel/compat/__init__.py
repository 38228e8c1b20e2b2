"""Other libraries' names, by their old path: each module below is that of `toolkeel_compat`.

``import toolkeel.compat.langchain`` gives the module `toolkeel_compat.langchain` itself, so that no
class exists twice. Programs and type checkers import from `toolkeel_compat`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module, util
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from toolkeel._common.installed import install_hint

_NEW = "toolkeel_compat"


class _SameModule(Loader):
    """Loads the module of another name, and leaves that module as it is."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Import the module of the new name, remember its spec and loader, and return it."""
        module = import_module(_NEW + spec.name.removeprefix(__name__))
        self._spec, self._loader = module.__spec__, module.__loader__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Restore the spec and loader that the import system has replaced; the module has run already."""
        module.__spec__, module.__loader__ = self._spec, self._loader


class _Finder(MetaPathFinder):
    """Finder of this package's submodules in the distribution that has them."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return a spec that loads the module of the new name; None if there is no such module."""
        new = _NEW + fullname.removeprefix(__name__)
        if not fullname.startswith(f"{__name__}.") or util.find_spec(new) is None:
            return None
        return ModuleSpec(fullname, _SameModule())


if util.find_spec(_NEW) is None:
    raise ImportError(install_hint(__name__), name=__name__)
sys.meta_path.append(_Finder())


def __getattr__(name: str) -> Any:
    return getattr(import_module(_NEW), name)
