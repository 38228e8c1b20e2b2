"""``toolkeel run``: a prompt, tools, a model, an answer."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from toolkeel.agent.agent import MAX_TURNS
from toolkeel.sessions import Sessions
from toolkeel_studio.cli.commands.launch import (
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
    SessionName,
    StateFile,
    Targets,
    Timeout,
    YesTo,
    run_to_end,
)
from toolkeel_studio.cli.exit_codes import UsageProblem, too_many_words
from toolkeel_studio.cli.history_option import HistoryOption
from toolkeel_studio.cli.suspended_run import check_writable
from toolkeel_studio.cli.terminal.streams import stdout_kept_clean

Continue = Annotated[bool, typer.Option("--continue", "-c", help="Go on with the latest session.")]


def command(
    context: typer.Context,
    prompt: Annotated[
        str,
        typer.Argument(
            metavar="PROMPT",
            help="What to ask; - for stdin. A session goes on without one if something waits in it.",
        ),
    ] = "",
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
    session: SessionName = "",
    history: HistoryOption = "",
    continue_: Continue = False,
    as_json: AsJson = False,
) -> None:
    """Ask a model that may call tools, and print its answer.

    The answer goes to stdout; what happens meanwhile goes to stderr. The first Ctrl-C stops the
    calls that are running, the second ends the program.
    """
    text = _prompt_text(prompt, context.args)
    session = session or (_latest() if continue_ else "")
    if not text.strip() and not session:
        raise UsageProblem("the prompt is empty")
    launch = Launch(
        *(tuple(targets or ()), model, instructions),
        max_turns,
        timeout,
        as_json,
        approve,
        rules,
        tuple(yes_to or ()),
        answer_within,
        check_writable(state) if state else None,
        session,
        history=history,
    )
    with stdout_kept_clean():
        agent = launch.agent()
    run_to_end(launch, agent, text if text.strip() else None)


def _prompt_text(prompt: str, more: list[str]) -> str:
    """Return the prompt; ``-`` reads it from stdin.

    Raises:
        UsageProblem: there are further words.
    """
    if more:
        raise too_many_words("run", [prompt, *more])
    return sys.stdin.read() if prompt == "-" else prompt


def _latest() -> str:
    """Return the session that was written last.

    Raises:
        UsageProblem: there is none.
    """
    found = Sessions().list(scope="")
    if not found:
        raise UsageProblem("there is no session to go on with; begin one with --session NAME")
    return found[0].name
