"""``toolkeel sandbox``: run a command as an agent's commands are run, or say what there is."""

from __future__ import annotations

import subprocess
import sys
from typing import Annotated

import typer

from toolkeel.observe.wording import pretty
from toolkeel_studio.cli.exit_codes import UsageProblem
from toolkeel_studio.cli.terminal.streams import echo
from toolkeel_workspace.sandbox.confine import Features, Mode, Sandbox, detect_features


def command(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="-- COMMAND ...", help="The command; without one, what there is."),
    ] = None,
    mode: Annotated[
        str, typer.Option("--mode", "-m", help="workspace, read-only or off.")
    ] = "workspace",
    root: Annotated[
        list[str] | None, typer.Option("--root", "-r", help="A folder to work in; repeatable.")
    ] = None,
    network: Annotated[
        bool, typer.Option("--network", help="Let it reach the public internet.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what there is as JSON.")] = False,
) -> None:
    """Run a command in the sandbox that agents' commands run in.

    It sees the system's programs and the roots (the current folder by default), and can change the
    roots alone. Its exit code is this one's; 125 means that it could not be confined and did not
    run. Without a command: what this machine has to confine commands with.
    """
    if not words:
        echo(_as_json(detect_features()) if as_json else "\n".join(rows(detect_features())))
        return
    modes: dict[str, Mode] = {"workspace": "workspace", "read-only": "read-only", "off": "off"}
    if mode not in modes:
        raise UsageProblem(f"there is no mode {mode!r}; there is workspace, read-only and off")
    sandbox = Sandbox(modes[mode], root or ["."], network=network)
    with sandbox.build_command(words, terminal=True) as confined:
        process = subprocess.Popen(confined.argv, env=confined.env, pass_fds=confined.pass_fds)
        confined.close_passed_fds()
        while True:
            try:
                code = process.wait()
                break
            except KeyboardInterrupt:  # it was for the command, which has received it, too
                continue
    sys.exit(code if code >= 0 else 128 - code)


def rows(found: Features) -> list[str]:
    """Describe what this machine offers, one line each, for people."""
    used = {"none": "none: commands are refused"}.get(found.backend, found.backend)
    lines = [f"sandbox     {used}", f"bubblewrap  {found.bubblewrap}"]
    lines.append(f"landlock    {found.landlock}")
    return lines + [f"note        {note}" for note in found.notes]


def _as_json(found: Features) -> str:
    return pretty(
        {
            "backend": found.backend,
            "bubblewrap": found.bubblewrap,
            "landlock": found.landlock,
            "notes": list(found.notes),
        }
    )
