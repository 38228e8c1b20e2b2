"""``toolkeel record`` and ``toolkeel replay``: record a run in a file and replay it as a test."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from toolkeel.messages import SystemMessage
from toolkeel.observe.wording import count
from toolkeel.testing.cassette import Cassette, CassetteMismatch, find_api_keys
from toolkeel_studio.cli.commands.launch import (
    OFFLINE,
    Instructions,
    Launch,
    ModelName,
    Targets,
    YesTo,
    run_to_end,
)
from toolkeel_studio.cli.exit_codes import FAILED, UsageProblem
from toolkeel_studio.cli.terminal.streams import DIM, GREEN, RED, note, stdout_kept_clean

Tape = Annotated[Path, typer.Argument(metavar="FILE", help="The cassette, JSON.")]


def record(
    file: Tape,
    prompt: Annotated[str, typer.Argument(metavar="PROMPT", help="What to ask; - for stdin.")],
    *,
    targets: Targets = None,
    model: ModelName = OFFLINE,
    instructions: Instructions = "",
    yes_to: YesTo = None,
) -> None:
    """Ask as run does, and keep the whole run in a file: a test.

    The file holds what the model was asked and what it replied. The values of variables such as
    *_API_KEY and *_TOKEN are left out. The line that plays it is printed at the end.
    """
    if file.exists():
        raise UsageProblem(f"{file} is there; record into another file, or delete it")
    tape = Cassette(file, "rewrite", secrets=find_api_keys(os.environ))
    launch = Launch(
        tuple(targets or ()), model, instructions, yes_to=tuple(yes_to or ()), tape=tape
    )
    with stdout_kept_clean():
        agent = launch.agent()
    run_to_end(launch, agent, sys.stdin.read() if prompt == "-" else prompt)
    words = ["toolkeel", "replay", str(file)]
    words += [word for target in launch.targets for word in ("-t", target)]
    note(f"{count(len(tape.played), 'request')} kept; play it:", DIM)
    note(f"  {shlex.join(words)}")


def replay(
    file: Tape,
    *,
    targets: Targets = None,
    instructions: Instructions = "",
    yes_to: YesTo = None,
    live: Annotated[
        bool, typer.Option("--live", help="Run the tools, and compare what they give.")
    ] = False,
) -> None:
    """Play a recorded run: no model is asked; changed requests fail.

    The tools of -t are compared as the model is told of them. Their recorded results are played and
    nothing runs, unless --live is given. Exit code 1, with the difference, if anything has changed.
    """
    tape = Cassette(file, secrets=find_api_keys(os.environ))
    first = tape.first
    if first and isinstance(first[0], SystemMessage):
        instructions = instructions or first[0].text
        first = first[1:]
    launch = Launch(
        tuple(targets or ()),
        tape.model_name,
        instructions,
        yes_to=tuple(yes_to or ()),
        tape=tape,
        live=live,
    )
    with stdout_kept_clean():
        agent = launch.agent()
    try:
        run_to_end(launch, agent, first)
        tape.check_all_played()
    except CassetteMismatch as changed:
        note(str(changed), RED)
        raise typer.Exit(FAILED) from None
    note(f"the same: {count(len(tape.played), 'request')}", GREEN)
