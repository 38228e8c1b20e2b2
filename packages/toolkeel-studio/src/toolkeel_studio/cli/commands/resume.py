"""``toolkeel resume``: resume a run that waits for a person."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from toolkeel._records.tickets import Decision, Ticket
from toolkeel._records.used_tickets import check_decision
from toolkeel.agent.agent import MAX_TURNS, Agent
from toolkeel.agent.resume import check_pending_calls
from toolkeel.errors import CallError
from toolkeel.observe.wording import visible_line
from toolkeel_studio.cli.commands.launch import (
    OFFLINE,
    AnswerWithin,
    AsJson,
    Launch,
    MaxTurns,
    ModelName,
    RulesFile,
    StateFile,
    Targets,
    Timeout,
    YesTo,
    run_to_end,
    wait,
)
from toolkeel_studio.cli.decision_options import (
    Answered,
    Approved,
    Denied,
    Reason,
    read_decisions,
)
from toolkeel_studio.cli.exit_codes import UsageProblem
from toolkeel_studio.cli.history_option import HistoryOption
from toolkeel_studio.cli.suspended_run import Saved, check_writable, claim, keep, load
from toolkeel_studio.cli.terminal.approve import Arguments, argument_check, can_ask
from toolkeel_studio.cli.terminal.streams import DIM, note, stdout_kept_clean

StatePath = Annotated[Path, typer.Argument(metavar="STATE", help="The saved run.")]
Edited = Annotated[
    list[str] | None,
    typer.Option(
        "--edit", metavar="ID=JSON", help="Let this call run with these arguments instead."
    ),
]
DecideOnly = Annotated[
    bool, typer.Option("--decide-only", help="Write the decisions into STATE; run nothing.")
]

Yes = Annotated[
    bool, typer.Option("--yes", help="Load what STATE says that it ran with, without asking.")
]


def command(
    state: StatePath,
    *,
    approve: Approved = None,
    deny: Denied = None,
    reason: Reason = "",
    edit: Edited = None,
    answer: Answered = None,
    decide_only: DecideOnly = False,
    targets: Targets = None,
    model: ModelName = OFFLINE,
    max_turns: MaxTurns = MAX_TURNS,
    timeout: Timeout = None,
    rules: RulesFile = None,
    yes_to: YesTo = None,
    answer_within: AnswerWithin = None,
    next_state: StateFile = None,
    yes: Yes = False,
    history: HistoryOption = "",
    as_json: AsJson = False,
) -> None:
    """Go on with a run that waits for approval, once.

    What is decided neither here nor in STATE is asked about on the terminal. An ID is that of
    `toolkeel approvals STATE`, or its beginning. Without --tools, those it had are loaded if you
    agree. STATE is renamed to STATE.used before anything runs: no approval serves twice.
    """
    saved = load(state)
    made = read_decisions(saved.state.pending, approve, deny, reason, answer)
    saved = _merge_decisions(saved, [*made, *_edits(saved, edit or ())])
    if decide_only:
        keep(state, saved)
        done, left = len(saved.decisions), len(saved.undecided)
        note(f"{done} decided, {left} to decide; nothing has run", DIM)
        return
    launch = Launch(
        tuple(targets or ()),
        model,
        max_turns=max_turns,
        timeout=timeout,
        as_json=as_json,
        rules=rules,
        yes_to=tuple(yes_to or ()),
        answer_within=answer_within,
        state=check_writable(next_state) if next_state else None,
        history=history,
    )
    _go_on(state, saved, _with_saved_options(launch, saved, yes))


def _with_saved_options(launch: Launch, saved: Saved, yes: bool) -> Launch:
    """Use the options that the run was saved with, if none are set and a person agrees.

    Raises:
        UsageProblem: no person allowed loading what it names.
    """
    if launch.targets or not saved.terms:
        return launch
    begun = _on(launch, saved.terms)
    words = visible_line(shlex.join(begun.words()))
    if not (yes or can_ask()):
        raise UsageProblem(
            f"this saved run would load: {words}. Give --yes, or what you want by -t"
        )
    if not (yes or typer.confirm(f"this saved run wants to load: {words}. Do so?", err=True)):
        raise UsageProblem("nothing was loaded, and nothing used up")
    return begun


def _on(launch: Launch, said: Sequence[str]) -> Launch:
    terms: dict[str, list[str]] = {}
    for option, value in zip(said[::2], said[1::2], strict=False):
        terms.setdefault(option, []).append(value)
    turns = terms.get("--max-turns", [str(MAX_TURNS)])[-1]
    if not turns.isdecimal() or int(turns) < 1:
        raise UsageProblem(f"this saved run names --max-turns {turns!r}: give --max-turns N")
    return replace(
        launch,
        targets=tuple(terms.get("-t", ())),
        model=terms.get("-m", [OFFLINE])[-1] if launch.model == OFFLINE else launch.model,
        rules=launch.rules or next(map(Path, terms.get("--rules", ())), None),
        yes_to=launch.yes_to or tuple(terms.get("--yes-to", ())),
        max_turns=int(turns) if launch.max_turns == MAX_TURNS else launch.max_turns,
        history=launch.history or terms.get("--history", [""])[-1],
    )


def _go_on(path: Path, saved: Saved, launch: Launch) -> None:
    """Run from where it was saved; everything that can be refused is, before the file is used."""
    with stdout_kept_clean():
        agent = launch.agent()
    _check(saved, agent)
    if saved.undecided and not saved.decisions and not can_ask():
        wait(saved.undecided, launch, path)
    claim(path, saved)
    run_to_end(launch, agent, saved.state, list(saved.decisions.values()))


def _edits(saved: Saved, words: Sequence[str]) -> Iterator[Decision]:
    for word in words:
        id, equals, text = word.partition("=")
        try:
            arguments = json.loads(text) if equals else None
        except ValueError as error:
            raise UsageProblem(f"--edit {id}: this is no JSON: {error}") from None
        if not isinstance(arguments, dict):
            raise UsageProblem('--edit takes ID=JSON, all arguments as one object: ID={"a": 1}')
        yield saved.ticket(id).edit(arguments)


def _merge_decisions(saved: Saved, made: Iterable[Decision]) -> Saved:
    """Merge new decisions into saved ones. The last decision about a call counts."""
    now: dict[str, Decision] = {}
    for decision in made:
        if decision.ticket in now:
            raise UsageProblem(f"ticket {decision.ticket[:8]} is decided twice")
        now[decision.ticket] = decision
    for ticket in saved.state.pending:
        if ticket.id in now:
            check_decision(ticket, now[ticket.id])
    return Saved(saved.state, {**saved.decisions, **now}, saved.terms)


def _check(saved: Saved, agent: Agent) -> None:
    """Refuse now what would be refused later, while the saved run is still usable.

    Raises:
        UsageProblem: edited arguments do not fit the tool.
        SetupError: a decision is too late, or its tool is missing or has changed.
    """
    for ticket in saved.state.pending:
        decision = saved.decisions.get(ticket.id)
        if decision is None:
            continue
        check_decision(ticket, decision)
        if decision.verdict == "edit":
            _fits(ticket, decision.arguments, agent)
    if not agent.has_tool_sources:
        check_pending_calls(saved.state, saved.decisions, (agent.tools, {}))


def _fits(ticket: Ticket, arguments: Arguments, agent: Agent) -> None:
    try:
        argument_check(agent.tools)(ticket, arguments)
    except CallError as error:
        raise UsageProblem(f"--edit {ticket.id[:8]}: {error}") from None
