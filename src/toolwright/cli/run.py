"""``toolwright run``: a prompt, tools, a model, an answer."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from toolwright.agent.agent import MAX_TURNS
from toolwright.cli.exits import UsageProblem
from toolwright.cli.launch import (
    OFFLINE,
    AnswerWithin,
    Approve,
    AsJson,
    Instructions,
    Launch,
    MaxTurns,
    ModelName,
    Policy,
    RulesFile,
    StateFile,
    Targets,
    Timeout,
    YesTo,
    run_to_end,
)
from toolwright.cli.state import free
from toolwright.cli.terminal import stdout_kept_clean


def command(
    prompt: Annotated[str, typer.Argument(metavar="PROMPT", help="What to ask; - for stdin.")],
    *,
    targets: Targets = None,
    model: ModelName = OFFLINE,
    instructions: Instructions = "",
    max_turns: MaxTurns = MAX_TURNS,
    timeout: Timeout = None,
    approve: Policy = Approve.ASK,
    rules: RulesFile = None,
    yes_to: YesTo = None,
    answer_within: AnswerWithin = None,
    state: StateFile = None,
    as_json: AsJson = False,
) -> None:
    """Ask a model that may call tools, and print its answer.

    The answer goes to stdout; what happens meanwhile goes to stderr. The first Ctrl-C stops the
    calls that are running, the second ends the program.
    """
    text = sys.stdin.read() if prompt == "-" else prompt
    if not text.strip():
        raise UsageProblem("the prompt is empty")
    launch = Launch(
        tuple(targets or ()),
        model,
        instructions,
        max_turns,
        timeout,
        as_json,
        approve,
        rules,
        tuple(yes_to or ()),
        answer_within,
        free(state) if state else None,
    )
    with stdout_kept_clean():
        agent = launch.agent()
    run_to_end(launch, agent, text)
