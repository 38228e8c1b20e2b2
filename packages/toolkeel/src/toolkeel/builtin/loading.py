"""Import a user's file, folder or module, and say in the user's own terms what went wrong.

A file is imported under a name of its own, with its folder on ``sys.path`` as if it were run, and
without leaving compiled code beside it. Nothing of it runs but what an import runs.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import sys
import traceback
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

from toolkeel.errors import SetupError

_MODULE_NAME = "toolkeel_target_{stem}_{digest}"


class _LeavesNothing(SourceFileLoader):
    """Reads compiled code if there is some, and writes none."""

    def set_data(self, path: str, data: object, *, _mode: int = 0o666) -> None:
        """Keep the file's folder as it is."""


def load_file(path: Path) -> ModuleType:
    """Import a Python file, once for each process.

    Args:
        path: An existing file.

    Raises:
        SetupError: if it cannot be imported, with the line of the file that failed.
    """
    path = path.resolve()
    digest = hashlib.sha256(os.fsencode(path)).hexdigest()[:8]
    name = _MODULE_NAME.format(stem=path.stem, digest=digest)
    if name in sys.modules:
        return sys.modules[name]
    loader = _LeavesNothing(name, str(path))
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    if spec is None:
        raise SetupError(f"{path} cannot be imported: it is not a Python file")
    _put_first(path.parent)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise SetupError(_story(short_path(path), error, path)) from error
    except BaseException:
        del sys.modules[name]
        raise
    return module


def load_module(name: str, folder: Path | None = None) -> ModuleType | None:
    """Import a module by its dotted name; None if there is none.

    Args:
        name: Dotted.
        folder: Where to look first; the current folder by default, as ``python -m`` does.

    Raises:
        SetupError: if the module is there and its import fails.
    """
    _put_first(folder or Path.cwd())
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            return None
        raise SetupError(_story(name, error)) from error
    except (Exception, SystemExit) as error:
        raise SetupError(_story(name, error)) from error


def files_of(folder: Path) -> list[Path]:
    """The public Python files directly in a folder, by name."""
    return sorted(path for path in folder.glob("*.py") if path.name[0] not in "_.")


def short_path(path: Path) -> str:
    """A path as short as it can be said: relative to the current folder if it is below it."""
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def _put_first(folder: Path) -> None:
    text = str(folder.resolve())
    if text not in sys.path:
        sys.path.insert(0, text)


def _story(name: str, error: BaseException, path: Path | None = None) -> str:
    """What failed, where in the user's own code, and why."""
    if isinstance(error, SyntaxError):
        return _syntax_story(error)
    why = f"{type(error).__name__}: {error}".rstrip(": ")
    if isinstance(error, SystemExit):
        why = "it ends the program (SystemExit) while it is imported"
    place = _own_place(error, path)
    return f"{name} cannot be imported{place}\n  {why}"


def _own_place(error: BaseException, path: Path | None) -> str:
    """The last line of the user's file, or else of anybody's, that led to the error."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not _is_machinery(f.filename)]
    own = [frame for frame in frames if path is None or Path(frame.filename) == path]
    if not own:
        return ""
    frame = own[-1]
    code = f"\n    {frame.line.strip()}" if frame.line else ""
    file = "" if path else f"{short_path(Path(frame.filename))}, "
    return f": {file}line {frame.lineno}{code}"


def _is_machinery(filename: str) -> bool:
    return filename.startswith("<frozen") or filename == __file__ or "importlib" in filename


def _syntax_story(error: SyntaxError) -> str:
    place = (
        f"{short_path(Path(error.filename))}, line {error.lineno}" if error.filename else "the code"
    )
    lines = [f"{place} is not valid Python: {error.msg}"]
    if error.text:
        code = error.text.rstrip("\n")
        indent = len(code) - len(code.lstrip())
        lines.append(f"    {code.strip()}")
        if error.offset:
            lines.append("    " + " " * max(error.offset - 1 - indent, 0) + "^")
    return "\n".join(lines)
