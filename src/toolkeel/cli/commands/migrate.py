"""``toolkeel migrate``: a program written for another library, with its imports changed."""

from __future__ import annotations

import difflib
import tokenize
from io import BytesIO
from pathlib import Path
from typing import Annotated

import typer

from toolkeel.cli import exit_codes
from toolkeel.cli.terminal.streams import YELLOW, note, print_result
from toolkeel.compat.migrate import migrate, migrate_notebook
from toolkeel.errors import SetupError


def command(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Programs in Python, and notebooks.")
    ],
    write: Annotated[
        bool, typer.Option("--write", "-w", help="Change the files instead of showing a diff.")
    ] = False,
) -> None:
    """Change the imports of programs for other libraries to ours.

    Knows LangChain, LangGraph and the OpenAI Agents SDK. Shows the change as a diff on stdout, and on stderr, line by line, what has no counterpart and
    what to write instead. Ends with 1 if there was anything of that kind.
    """
    left = sum(_one(file, write) for file in files)
    if left:
        note(f"{left} lines need a person; see above", YELLOW)
        raise typer.Exit(exit_codes.FAILED)


def _one(file: Path, write: bool) -> int:
    """Migrate one file; how many notes there are on it."""
    try:
        raw = file.read_bytes()
        encoding, _ = tokenize.detect_encoding(BytesIO(raw).readline)
        source = raw.decode(encoding)
        made = (migrate_notebook if file.suffix == ".ipynb" else migrate)(source)
    except (OSError, UnicodeDecodeError) as error:
        raise SetupError(f"{file} cannot be read: {error}") from None
    except (SyntaxError, ValueError, LookupError, TypeError) as error:
        raise SetupError(f"{file} is no Python this interpreter reads: {error}") from None
    for each in made.notes:
        note(f"{file}:{each.line}: {each.text}")
    if made.source != source:
        if write:
            file.write_bytes(made.source.encode(encoding))
            note(f"{file}: imports changed")
        else:
            lines = (source.splitlines(), made.source.splitlines())
            print_result("\n".join(difflib.unified_diff(*lines, str(file), str(file), lineterm="")))
    return len(made.notes)
