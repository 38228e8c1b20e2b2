"""``toolwright run``: a prompt, tools, a model, an answer."""

from __future__ import annotations

import os
import sys
from time import perf_counter
from typing import Annotated, Any

import typer

from toolwright.agent.agent import MAX_TURNS, Agent, RunResult
from toolwright.builtin.targets import load_object, load_targets
from toolwright.call.toolset import Toolset
from toolwright.cli.exits import FAILED, INTERRUPTED, UsageProblem
from toolwright.cli.interrupt import BY_HAND, run_interruptible
from toolwright.cli.progress import Blind, View, view
from toolwright.cli.terminal import DIM, YELLOW, answer, note, stdout_kept_clean
from toolwright.cli.text import compact, count, duration
from toolwright.context import CancelToken, Listener
from toolwright.errors import SetupError
from toolwright.events import Event, event_dict
from toolwright.messages import AssistantMessage, ToolMessage
from toolwright.model import Model
from toolwright.providers.connect import connect

MODEL_VARIABLE = "TOOLWRIGHT_MODEL"
OFFLINE = "offline"


def command(
    prompt: Annotated[str, typer.Argument(metavar="PROMPT", help="What to ask; - for stdin.")],
    *,
    targets: Annotated[
        list[str] | None,
        typer.Option("--tools", "-t", metavar="TARGET", help="Tools; may be repeated."),
    ] = None,
    model: Annotated[
        str,
        typer.Option(
            "--model",
            "-m",
            metavar="MODEL",
            help="vendor:model, offline, or file.py:name of a model of your own.",
            envvar=MODEL_VARIABLE,
        ),
    ] = OFFLINE,
    instructions: Annotated[
        str, typer.Option(metavar="TEXT", help="What the model is told before anything else.")
    ] = "",
    max_turns: Annotated[
        int, typer.Option(metavar="N", min=1, help="How often the model may be asked.")
    ] = MAX_TURNS,
    timeout: Annotated[
        float | None, typer.Option(metavar="SECONDS", min=0, help="Stop the run after this long.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the run's events instead, one JSON a line.")
    ] = False,
) -> None:
    """Ask a model that may call tools, and print its answer.

    The answer goes to stdout; what happens meanwhile goes to stderr. The first Ctrl-C stops the
    calls that are running, the second ends the program.
    """
    text = sys.stdin.read() if prompt == "-" else prompt
    if not text.strip():
        raise UsageProblem("the prompt is empty")
    began = perf_counter()
    with stdout_kept_clean():
        agent = Agent(
            _model(model), _tools(targets or []), instructions=instructions, max_turns=max_turns
        )
        result, token = _run(agent, text, timeout, as_json)
    if not as_json:
        note(_summary(result, perf_counter() - began), DIM)
        if result.output:
            answer(result.output)
    _end(result, token, max_turns)


def _tools(targets: list[str]) -> Toolset:
    if not targets:
        note("no tools; give some with -t, such as -t builtin", YELLOW)
    return load_targets(targets)


def _model(name: str) -> Model:
    """The model called `name`, or the user's own object."""
    if ".py:" not in name:
        return connect(name)
    found: Any = load_object(name)
    if not callable(getattr(found, "stream", None)) or not isinstance(
        getattr(found, "name", None), str
    ):
        raise SetupError(f"{name} is no model: it needs a name and a method stream(request)")
    model: Model = found
    return model


def _run(
    agent: Agent, prompt: str, timeout: float | None, as_json: bool
) -> tuple[RunResult, CancelToken]:
    """The result, and the token that may have been cancelled."""
    tokens: list[CancelToken] = []
    watcher: View = Blind()
    listener: Listener = _write_json
    if not as_json:
        note(_introduction(agent), DIM)
        listener = watcher = view(agent.model.name)

    async def run(token: CancelToken) -> RunResult:
        tokens.append(token)
        return await agent.run(prompt, listeners=[listener], cancel=token)

    try:
        return run_interruptible(run, timeout), tokens[0]
    finally:
        watcher.close()


def _write_json(event: Event) -> None:
    answer(compact(event_dict(event)))


def _introduction(agent: Agent) -> str:
    name = agent.model.name
    if name == OFFLINE and MODEL_VARIABLE not in os.environ:
        name += " (rules, no language model; choose one with -m)"
    return f"model: {name}"


def _summary(result: RunResult, seconds: float) -> str:
    calls = sum(isinstance(message, ToolMessage) for message in result.messages)
    turns = sum(isinstance(message, AssistantMessage) for message in result.messages)
    parts = [count(calls, "call"), count(turns, "turn"), duration(seconds)]
    if result.usage.total_tokens:
        parts.append(count(result.usage.total_tokens, "token"))
    return ", ".join(parts)


def _end(result: RunResult, token: CancelToken, max_turns: int) -> None:
    """Say why there is no answer, and exit with the code for it."""
    if result.reason == "cancelled":
        note(f"stopped: {token.reason}", YELLOW)
        raise typer.Exit(INTERRUPTED if token.reason == BY_HAND else FAILED)
    if result.reason == "max_turns":
        note(f"no answer after {count(max_turns, 'turn')}; --max-turns allows more", YELLOW)
        raise typer.Exit(FAILED)
