"""``toolkeel skills``: list the Agent Skills below folders, and check them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from toolkeel.observe.wording import pretty, visible_line
from toolkeel_studio.cli.exit_codes import EPILOG, FAILED, OPTIONS
from toolkeel_studio.cli.terminal.streams import echo
from toolkeel_workspace.skills.folder import read_skills

app = typer.Typer(help="List and check Agent Skills.", **OPTIONS)
Folders = Annotated[
    list[Path], typer.Argument(metavar="FOLDER...", help="Skills, or folders that contain them.")
]


@app.command("list", epilog=EPILOG)
def list_skills(
    folders: Folders,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the skills that a model is offered."""
    skills, _ = read_skills(folders)
    if as_json:
        rows = [
            {"name": name, "description": skill.text.description, "folder": str(skill.folder)}
            for name, skill in skills.items()
        ]
        echo(pretty(rows))
        return
    for name, skill in skills.items():
        echo(visible_line(f"{name}: {skill.text.description}"))


@app.command(epilog=EPILOG)
def check(folders: Folders) -> None:
    """Say what is wrong with skills. Exit code 1 if one cannot be used."""
    skills, notes = read_skills(folders)
    for note in notes:
        echo(visible_line(str(note)))
    echo(f"{len(skills)} can be used, {sum(not note.is_usable for note in notes)} cannot")
    if not all(note.is_usable for note in notes):
        raise typer.Exit(FAILED)
