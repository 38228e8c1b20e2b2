"""``toolkeel migrate``: a program written for another library, with its imports changed."""

from __future__ import annotations

import difflib
import re
import tokenize
from io import BytesIO
from pathlib import Path
from typing import Annotated

import typer

from toolkeel.errors import SetupError
from toolkeel_compat.migrate import LIBRARIES, migrate, migrate_notebook, split_lines
from toolkeel_studio.cli import exit_codes
from toolkeel_studio.cli.terminal.streams import YELLOW, echo, note


def command(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="Programs in Python, notebooks, and their folders."),
    ],
    write: Annotated[
        bool, typer.Option("--write", "-w", help="Change the files instead of showing a diff.")
    ] = False,
) -> None:
    """Change the imports of programs for other libraries to ours.

    Knows LangChain, LangGraph and the OpenAI Agents SDK. Shows the change as a diff on stdout, and on stderr, line by line, what has no counterpart and
    what to write instead. Ends with 1 if there was anything of that kind.
    """
    left, failed = 0, list[str]()
    for file in (file for given in files for file in _programs_in(given)):
        try:
            left += _migrate_file(file, write)
        except SetupError as error:  # the others are changed all the same
            failed.append(str(error))
    if left:
        note(f"{left} lines need a person; see above", YELLOW)
    if failed:
        raise SetupError("\n".join(failed))
    if left:
        raise typer.Exit(exit_codes.FAILED)


def _programs_in(given: Path) -> list[Path]:
    """List a file, or the programs and notebooks of a folder, without links, hidden and installed ones."""
    if not given.is_dir():
        return [given]
    named = [path for path in given.rglob("*") if path.suffix in (".py", ".ipynb")]
    found = [path for path in named if path.is_file() and not path.is_symlink()]
    return sorted(path for path in found if not _APART.search(f"/{path.relative_to(given)}"))


_APART = re.compile(r"/(\.|site-packages/|node_modules/)")


def _migrate_file(file: Path, write: bool) -> int:
    """Migrate one file; how many notes there are on it.

    Raises:
        SetupError: it cannot be read or written, or is no program.
    """
    source, encoding = _read(file)
    try:
        made = (
            migrate_notebook(source)
            if file.suffix == ".ipynb"
            else migrate(source, _shadowing_modules(file))
        )
    except (SyntaxError, ValueError, LookupError, TypeError, RecursionError) as error:
        raise SetupError(f"{file} is no Python this interpreter reads: {error}") from None
    for each in made.notes:
        note(f"{file}:{each.line}: {each.text}")
    if made.source != source and write:
        _write(file, made.source.encode(encoding))
    elif made.source != source:
        old, new = (
            [line.rstrip("\r\n") for line in split_lines(text)] for text in (source, made.source)
        )
        echo("\n".join(difflib.unified_diff(old, new, str(file), str(file), lineterm="")))
    return len(made.notes)


def _read(file: Path) -> tuple[str, str]:
    """Read a file's text and its encoding."""
    if file.exists() and not file.is_file():
        raise SetupError(f"{file} cannot be read: it is no regular file")
    try:
        raw = file.read_bytes()
        encoding, _ = tokenize.detect_encoding(BytesIO(raw).readline)
        return raw.decode(encoding), encoding
    except (OSError, UnicodeDecodeError, LookupError) as error:
        raise SetupError(f"{file} cannot be read: {error}") from None
    except SyntaxError as error:
        raise SetupError(f"{file} is no Python this interpreter reads: {error}") from None


def _write(file: Path, text: bytes) -> None:
    if file.is_symlink():  # a strange folder may have one that leads to a file elsewhere
        raise SetupError(f"{file} is a link and is not changed; name the file that it leads to")
    try:
        file.write_bytes(text)
    except OSError as error:
        raise SetupError(f"{file} cannot be written: {error}") from None
    note(f"{file}: imports changed")


def _shadowing_modules(file: Path) -> list[str]:
    """List modules beside a program, or in the current folder, that have another library's name."""
    places = {file.parent, Path()}
    return [
        name
        for name in LIBRARIES
        if any((place / name).is_dir() or (place / f"{name}.py").is_file() for place in places)
    ]
