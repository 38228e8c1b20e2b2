"""What ``run`` and ``resume`` share: from the command line's options to the end of a run."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from enum import StrEnum
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer

from toolkeel._records.record import record
from toolkeel._records.tickets import Approver, Decision, Ticket
from toolkeel.agent.agent import MAX_TURNS, Agent
from toolkeel.agent.prompt import Prompt
from toolkeel.agent.result import RunResult
from toolkeel.agent.run import Run
from toolkeel.agent.run_state import RunState
from toolkeel.builtin.tools_by_place import ALL_TARGET, DEMO_TARGET, load_object, load_targets
from toolkeel.call.steps.rules import Rules
from toolkeel.call.toolset import Toolset
from toolkeel.context import CancelToken
from toolkeel.errors import SetupError
from toolkeel.events import Event, Replied, ToolFinished
from toolkeel.messages import AssistantMessage
from toolkeel.model_interface import Model
from toolkeel.observe.wording import count, duration
from toolkeel.providers.model_by_name import AUTO, choose_auto, connect
from toolkeel.testing.cassette import Cassette, CassetteMismatch
from toolkeel.testing.taped import TapedModel, TapedTools
from toolkeel_studio.cli.exit_codes import FAILED, SUSPENDED
from toolkeel_studio.cli.history_option import read_history
from toolkeel_studio.cli.local.running_server import resolve_local_model
from toolkeel_studio.cli.suspended_run import deciding, save, show_tickets
from toolkeel_studio.cli.terminal.approve import TerminalApprover, argument_check, can_ask
from toolkeel_studio.cli.terminal.interrupt import exit_code, run_interruptible
from toolkeel_studio.cli.terminal.progress import JsonView, Pausable, view
from toolkeel_studio.cli.terminal.reply import ReplyView
from toolkeel_studio.cli.terminal.streams import (
    DIM,
    YELLOW,
    echo,
    note,
    stdout_is_terminal,
    stdout_kept_clean,
)

MODEL_VARIABLE = "TOOLKEEL_MODEL"
OFFLINE = "offline"
REFUSED = "this run refuses whatever needs approval"

_MADE_UP = {
    ALL_TARGET: DEMO_TARGET,
    f"{ALL_TARGET}:weather": f"{DEMO_TARGET}:weather",
    "weather": f"{DEMO_TARGET}:weather",
}
"""Targets that ask the weather service, and those that ask the server on this machine."""


class Approve(StrEnum):
    """What happens to calls that ask for approval."""

    ASK = "ask"
    DENY = "deny"


def resolve_model_name(context: typer.Context, name: str) -> str:
    """Resolve ``auto``, and the default (``toolkeel local`` if it runs), to a model's name."""
    if name == AUTO:
        return choose_auto()
    source = context.get_parameter_source("model")
    is_default = name == OFFLINE and source is not None and source.name == "DEFAULT"
    return resolve_local_model(name, is_default=is_default)


# — options, declared once —

Targets = Annotated[
    list[str] | None,
    typer.Option("--tools", "-t", metavar="TARGET", help="Tools; may be repeated."),
]
ModelName = Annotated[
    str,
    typer.Option(
        "--model",
        "-m",
        metavar="MODEL",
        help="vendor:model, auto, offline, or file.py:name of a model of your own.",
        envvar=MODEL_VARIABLE,
        callback=resolve_model_name,
    ),
]
Instructions = Annotated[
    str, typer.Option(metavar="TEXT", help="System instructions for the model.")
]
MaxTurns = Annotated[
    int, typer.Option(metavar="N", min=1, help="How often the model may be asked.")
]
Timeout = Annotated[
    float | None, typer.Option(metavar="SECONDS", min=0, help="Stop the run after this long.")
]
Policy = Annotated[
    Approve,
    typer.Option(
        "--approve",
        help="Calls that need approval: ask (on the terminal; elsewhere the run is saved and ends "
        "with exit code 75), or deny them all.",
    ),
]
RulesFile = Annotated[
    Path | None,
    typer.Option(
        "--rules", metavar="FILE.toml", help="Which calls are denied, asked about and allowed."
    ),
]
YesTo = Annotated[
    list[str] | None,
    typer.Option(
        metavar="RULE", help="Let calls through unasked: TOOL, 'read_*', 'write(path=/tmp/*)'."
    ),
]
AnswerWithin = Annotated[
    float | None,
    typer.Option(metavar="SECONDS", min=1, help="Refuse a call if nobody answers for this long."),
]
StateFile = Annotated[
    Path | None,
    typer.Option("--state", metavar="FILE", help="Where a run that waits for approval is saved."),
]
SessionName = Annotated[
    str,
    typer.Option(
        "--session", "-s", metavar="NAME", help="Go on with this conversation, and write to it."
    ),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print the run's events instead, one JSON a line.")
]


@record
class Launch:
    """The options of a run: tools, model, rules, limits, and where it is saved.

    Args:
        targets: Where its tools are.
        model: Name of its model.
        instructions: Instructions for the model.
        max_turns: Maximum number of requests.
        timeout: Seconds for the complete run.
        as_json: Print events as JSON.
        approve: What happens to calls that need approval.
        rules: File of rules.
        yes_to: Rules that approve calls.
        answer_within: Seconds for an answer at the terminal.
        state: Where the run is saved if it waits.
        session: Name of its session; empty for none.
        tape: The recording that it is written to or replayed from.
        live: Run the tools during a replay.
        history: A policy, as typed.
    """

    targets: tuple[str, ...]
    model: str
    instructions: str = ""
    max_turns: int = MAX_TURNS
    timeout: float | None = None
    as_json: bool = False
    approve: Approve = Approve.ASK
    rules: Path | None = None
    yes_to: tuple[str, ...] = ()
    answer_within: float | None = None
    state: Path | None = None
    session: str = ""
    tape: Cassette | None = None
    live: bool = False
    history: str = ""

    def agent(self) -> Agent:
        """Build the agent.

        Raises:
            SetupError: the model, a target, the rules or the history cannot be used.
        """
        tape = self.tape
        model = "" if tape and not tape.records else load_model(self.model)
        return Agent(
            TapedModel(tape, model) if tape else model,
            _tools(self.targets, self.model),
            steps=[TapedTools(tape)] if tape and not self.live else [],
            instructions=self.instructions,
            max_turns=self.max_turns,
            rules=self._rules(),
            history=read_history(self.history),
        )

    def _rules(self) -> Rules | None:
        rules = Rules.from_toml(self.rules) if self.rules else None
        if not self.yes_to:
            return rules
        return (rules or Rules()) | Rules(allow=self.yes_to)

    def resume_command(self, path: Path) -> list[str]:
        """Return the command that resumes a saved run with the same options."""
        return ["toolkeel", "resume", str(path), *self.words()]

    def session_command(self) -> list[str]:
        """Return the command that continues its session with the same options."""
        return ["toolkeel", "run", "--session", self.session, *self.words()]

    def words(self) -> list[str]:
        """Return the command-line options that repeat this run."""
        words = [word for target in self.targets for word in ("-t", target)]
        words += ["-m", self.model]
        words += ["--rules", str(self.rules)] if self.rules else []
        words += [word for rule in self.yes_to for word in ("--yes-to", rule)]
        words += ["--max-turns", str(self.max_turns)] if self.max_turns != MAX_TURNS else []
        words += ["--history", self.history] if self.history else []
        return words


def _tools(targets: Sequence[str], model: str) -> Toolset:
    if not targets:
        note("no tools; give some with -t, such as -t builtin", YELLOW)
    if model == OFFLINE and any(target in _MADE_UP for target in targets):
        targets = [_MADE_UP.get(target, target) for target in targets]
        note(
            "weather: made up by a server on this machine, because the offline model promises no "
            "network; -m another model asks the real service",
            DIM,
        )
    return load_targets(targets)


def load_model(name: str, **options: str) -> Model:
    """Load the model called `name` with options of its class, or the user's own object."""
    if ".py:" not in name:
        return connect(name, **options)
    if options:
        raise SetupError(f"{name} is made already and takes no {', '.join(options)}; leave it out")
    found: Any = load_object(name)
    named = isinstance(getattr(found, "name", None), str)
    if not named or not callable(getattr(found, "stream", None)):
        raise SetupError(f"{name} is no model: it needs a name and a method stream(request)")
    model: Model = found
    return model


def run_to_end(
    launch: Launch, agent: Agent, prompt: Prompt, decisions: Sequence[Decision] = ()
) -> None:
    """Run, show what happens, print the answer.

    Args:
        launch: How.
        agent: Of `launch`.
        prompt: What is asked, or the state to go on from.
        decisions: For the tickets of that state.

    Raises:
        typer.Exit: with the code for a run that has no answer.
    """
    began, counts = perf_counter(), Counter[type[Event]]()
    try:
        with stdout_kept_clean():
            result, token, written = _run(launch, agent, prompt, decisions, counts)
    except BaseException as error:
        run = None if isinstance(error, CassetteMismatch) else getattr(error, "run", None)
        if isinstance(run, Run):
            _save_run(run.state, run.context.id, launch)
        raise
    if not launch.as_json:
        note(_summary(counts, result, perf_counter() - began), DIM)
        if result.has_output and result.output and written != result.output:
            echo(result.output)
    _end(result, token, launch)


def _run(
    launch: Launch,
    agent: Agent,
    prompt: Prompt,
    decisions: Sequence[Decision],
    counts: Counter[type[Event]],
) -> tuple[RunResult, CancelToken, str]:
    """Run the prompt. Return the result, the cancel token, and the part of the answer already written."""
    tokens: list[CancelToken] = []
    spoken = ReplyView(view(agent.model.name), stdout_is_terminal())
    if not launch.as_json:
        note(_introduction(agent), DIM)
    shown = Pausable(JsonView() if launch.as_json else spoken)
    # A program that reads the events waits for none of them; only a screen waits.
    piped = launch.as_json and not stdout_is_terminal()
    pause: Callable[[], AbstractContextManager[None]] = nullcontext if piped else shown.paused

    async def run(token: CancelToken) -> RunResult:
        tokens.append(token)
        shown.stop = token.cancel
        options: dict[str, Any] = {"cancel": token, "decisions": decisions}
        options["listeners"] = [shown, lambda event: counts.update([type(event)])]
        if (approver := _approver(launch, agent, token, pause)) is not None:
            options["approver"] = approver
        if launch.session:
            options["session"] = launch.session
        return await agent.run(prompt, **options)

    try:
        return run_interruptible(run, launch.timeout, returns_on_term=True), tokens[0], spoken.text
    finally:
        shown.close()


def _approver(
    launch: Launch,
    agent: Agent,
    token: CancelToken,
    pause: Callable[[], AbstractContextManager[None]],
) -> Approver | None:
    """Choose who is asked for approval; None lets the run wait."""
    if launch.tape and not (launch.tape.records or launch.live):  # nothing runs
        return lambda ticket: ticket.approve()
    if launch.approve is Approve.DENY:
        return lambda ticket: ticket.deny(REFUSED)
    if not can_ask():
        return None
    check = argument_check(agent.tools)
    return TerminalApprover(token.cancel, pause, check, launch.answer_within)


def _introduction(agent: Agent) -> str:
    name = agent.model.name
    if name == OFFLINE and MODEL_VARIABLE not in os.environ:
        name += " (rules, no language model; choose one with -m)"
    return f"model: {name}"


def _summary(counts: Counter[type[Event]], result: RunResult, seconds: float) -> str:
    """Summarize this run; earlier turns of a session do not count."""
    parts = [count(counts[ToolFinished], "call"), count(counts[Replied], "turn"), duration(seconds)]
    if result.usage.total_tokens:
        parts.append(count(result.usage.total_tokens, "token"))
    return ", ".join(parts)


def _end(result: RunResult, token: CancelToken, launch: Launch) -> None:
    """Say why there is no answer, and exit with the code for it."""
    if result.reason == "cancelled":
        note(f"stopped: {token.reason}", YELLOW)
        _save_run(result.state, result.run_id, launch)
        raise typer.Exit(exit_code(token))
    if result.reason == "waiting" and launch.session:
        _report_waiting_session(result.pending, launch)
    if result.reason == "waiting":
        path = save(result.state, result.run_id, launch.state, launch.words())
        wait(result.pending, launch, path)
    if result.reason == "limit":
        turns = count(launch.max_turns, "turn")
        note(f"no answer after {turns}; --max-turns allows more", YELLOW)
        _save_run(result.state, result.run_id, launch)
        raise typer.Exit(FAILED)


def _save_run(state: RunState, run_id: str, launch: Launch) -> None:
    """Save a run that has no answer, unless it only started, and print the command that resumes it."""
    if not any(isinstance(message, AssistantMessage) for message in state.messages):
        return
    words = launch.session_command()
    if not launch.session:
        words = launch.resume_command(save(state, run_id, launch.state, launch.words()))
    note("go on from here:", DIM)
    note(f"  {shlex.join(words)}")


def wait(tickets: Sequence[Ticket], launch: Launch, path: Path) -> None:
    """Say what waits and how to go on, and exit.

    Raises:
        typer.Exit: always.
    """
    show_tickets(tickets)
    note("go on at a terminal, or with decisions:", DIM)
    words = launch.resume_command(path)
    note(f"  {shlex.join(words)}")
    note(f"  {shlex.join([*words, *deciding(tickets)])}")
    raise typer.Exit(SUSPENDED)


def _report_waiting_session(tickets: Sequence[Ticket], launch: Launch) -> None:
    """Print what waits in a session and the command that resumes it."""
    show_tickets(tickets)
    note("decide, then go on; or go on at a terminal, which asks:", DIM)
    words = shlex.join(["toolkeel", "sessions", "decide", launch.session, *deciding(tickets)])
    note(f"  {words}\n  {shlex.join(launch.session_command())}")
    raise typer.Exit(SUSPENDED)
