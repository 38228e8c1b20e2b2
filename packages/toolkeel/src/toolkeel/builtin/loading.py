"""Import a user's file, folder or module, and report failures in the user's terms.

A file is imported under a unique name, with its folder on ``sys.path`` as if it were run, and without
writing compiled code next to it. Only the import itself runs.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import sys
import sysconfig
import traceback
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

from toolkeel.errors import SetupError

_MODULE_NAME = "toolkeel_target_{stem}_{digest}"


class _NoBytecodeLoader(SourceFileLoader):
    """A loader that reads compiled code if there is some, and writes none."""

    def set_data(self, path: str, data: object, *, _mode: int = 0o666) -> None:
        """Write nothing."""


def load_file(path: Path) -> ModuleType:
    """Import a Python file, once per process, and put its folder first on ``sys.path``.

    Args:
        path: An existing file.

    Raises:
        SetupError: if it cannot be imported, with the failing line.
    """
    path = path.resolve()
    digest = hashlib.sha256(os.fsencode(path)).hexdigest()[:8]
    name = _MODULE_NAME.format(stem=path.stem, digest=digest)
    if name in sys.modules:
        return sys.modules[name]
    loader = _NoBytecodeLoader(name, str(path))
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    if spec is None:
        raise SetupError(f"{path} cannot be imported: it is not a Python file")
    _prepend_to_path(path.parent)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise SetupError(_describe_failure(shorten_path(path), error, path)) from error
    except BaseException:
        del sys.modules[name]
        raise
    return module


def load_module(name: str, folder: Path | None = None) -> ModuleType | None:
    """Import a module by its dotted name. Return None if there is none.

    Puts the folder on ``sys.path``, where it stays.

    Args:
        name: Dotted.
        folder: Searched first; the current folder by default, as with ``python -m``.

    Raises:
        SetupError: if the module exists and its import fails.
    """
    _prepend_to_path(folder or Path.cwd())
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            return None
        raise SetupError(_describe_failure(name, error)) from error
    except (Exception, SystemExit) as error:
        raise SetupError(_describe_failure(name, error)) from error


def list_python_files(folder: Path) -> list[Path]:
    """List the Python files directly in a folder, by name, without those that begin with ``_`` or a dot."""
    return sorted(path for path in folder.glob("*.py") if path.name[0] not in "_.")


def shorten_path(path: Path) -> str:
    """Return a path relative to the current folder if it is below it, else unchanged."""
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def _prepend_to_path(folder: Path) -> None:
    """Put a folder first on ``sys.path``, unless it is there already."""
    text = str(folder.resolve())
    if text not in sys.path:
        sys.path.insert(0, text)


def _describe_failure(name: str, error: BaseException, path: Path | None = None) -> str:
    """Describe what failed, why, and where: in the file at `path`, or without one in any file of the user's."""
    if isinstance(error, SyntaxError):
        return _describe_syntax_error(error)
    why = f"{type(error).__name__}: {error}".rstrip(": ")
    if isinstance(error, SystemExit):
        why = "it ends the program (SystemExit) while it is imported"
    place = _locate_in_user_code(error, path)
    return f"{name} cannot be imported{place}\n  {why}"


def _locate_in_user_code(error: BaseException, path: Path | None) -> str:
    """Return where in the user's file an error arose, as ``: line 3`` and its code; empty if nowhere in it.

    Without `path`, in any file that is neither Python's nor an installed package's, with its name.
    """
    frames = traceback.extract_tb(error.__traceback__)
    own = [
        f
        for f in frames
        if (is_users_file(f.filename) if path is None else Path(f.filename) == path)
    ]
    if path is None:
        own = own or frames[-1:]  # of a package that is installed itself
    if not own:
        return ""
    frame = own[-1]
    code = f"\n    {frame.line.strip()}" if frame.line else ""
    file = "" if path else f"{shorten_path(Path(frame.filename))}, "
    return f": {file}line {frame.lineno}{code}"


_INSTALLED = (
    str(Path(__file__).parents[1]),
    *(sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib", "purelib", "platlib")),
)
"""Folders of code that is not the user's."""


def is_users_file(filename: str) -> bool:
    """Return True if a file is neither part of Python or toolkeel nor of an installed package."""
    is_below = (filename.startswith(f"{folder}{os.sep}") for folder in _INSTALLED)
    return not filename.startswith("<frozen") and not any(is_below)


def _describe_syntax_error(error: SyntaxError) -> str:
    """Return the place, message and line of a syntax error, with a caret below it."""
    place = (
        f"{shorten_path(Path(error.filename))}, line {error.lineno}"
        if error.filename
        else "the code"
    )
    lines = [f"{place} is not valid Python: {error.msg}"]
    if error.text:
        code = error.text.rstrip("\n")
        indent = len(code) - len(code.lstrip())
        lines.append(f"    {code.strip()}")
        if error.offset:
            lines.append("    " + " " * max(error.offset - 1 - indent, 0) + "^")
    return "\n".join(lines)
