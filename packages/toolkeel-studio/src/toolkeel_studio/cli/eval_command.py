"""``toolkeel eval``: does a model call these tools right?"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, cast

import typer

from toolkeel.builtin.tools_by_place import load_targets
from toolkeel.context import CancelToken
from toolkeel.errors import SetupError
from toolkeel.model_interface import Model
from toolkeel.observe.wording import count, visible_line
from toolkeel.testing.cassette import Cassette, find_api_keys
from toolkeel.testing.taped import TapedModel
from toolkeel_studio.cli.commands.launch import (
    MODEL_VARIABLE,
    OFFLINE,
    Instructions,
    Targets,
    load_model,
    resolve_model_name,
)
from toolkeel_studio.cli.eval_tables import comparison_lines, report_lines
from toolkeel_studio.cli.exit_codes import FAILED, UsageProblem
from toolkeel_studio.cli.terminal.interrupt import exit_code, run_interruptible
from toolkeel_studio.cli.terminal.streams import DIM, YELLOW, echo, layout, note, stdout_kept_clean
from toolkeel_studio.evals.case_file import read_cases
from toolkeel_studio.evals.cases import Case, resolve_cases
from toolkeel_studio.evals.comparison import compare_reports
from toolkeel_studio.evals.report import (
    VERSION,
    Report,
    describe_cases,
    describe_tools,
    is_report,
    read_report,
    reports_folder,
    to_junit,
)
from toolkeel_studio.evals.trials import Conditions, Subject, Trial, run_trials


def _resolve_names(context: typer.Context, names: list[str] | None) -> list[str]:
    return [resolve_model_name(context, name) for name in names or [OFFLINE]]


Cases = Annotated[
    str,
    typer.Argument(
        metavar="CASES", help="A file of cases (YAML, JSON, Python), or a saved report."
    ),
]
Models = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        "-m",
        metavar="MODEL",
        help="As for run; may be repeated.",
        envvar=MODEL_VARIABLE,
        callback=_resolve_names,
    ),
]
Ways = Annotated[
    list[str] | None,
    typer.Option("--calls", metavar="WAY", help="native, text, grammar or auto; may be repeated."),
]
Times = Annotated[int, typer.Option("-n", metavar="N", min=1, help="Ask each question N times.")]
RunTools = Annotated[bool, typer.Option("--run", help="Run the tools, until the model answers.")]
Parallel = Annotated[int, typer.Option(metavar="N", min=1, help="Ask N questions at once.")]
Seconds = Annotated[
    float | None, typer.Option(metavar="SECONDS", min=0, help="Stop a question after this.")
]
Tape = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Play this recording; record the model if there is none."),
]
Earlier = Annotated[
    Path | None, typer.Option(metavar="REPORT", help="Compare with an earlier report.")
]
FailUnder = Annotated[
    float,
    typer.Option(metavar="PERCENT", min=0, max=100, help="Exit with 1 below this share right."),
]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where the report goes.")
]
JUnit = Annotated[Path | None, typer.Option(metavar="FILE", help="Write JUnit's XML, too.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the report instead of tables.")]


def command(
    cases: Cases,
    *,
    targets: Targets = None,
    model: Models = None,
    calls: Ways = None,
    times: Times = 1,
    run: RunTools = False,
    instructions: Instructions = "",
    parallel: Parallel = 1,
    timeout: Seconds = None,
    cassette: Tape = None,
    against: Earlier = None,
    fail_under: FailUnder = 0,
    output: Output = None,
    junit: JUnit = None,
    as_json: AsJson = False,
) -> None:
    """Say how well models call tools, over a file of cases.

    No tool runs unless --run is given. A saved report in place of CASES is shown, and no model asked.
    """
    earlier = read_report(against) if against else None
    if junit and not junit.parent.is_dir():
        raise UsageProblem(f"--junit: there is no folder {junit.parent}")
    token = CancelToken()
    if is_report(cases):
        report = read_report(cases)
    else:
        with stdout_kept_clean():
            tools = load_targets(targets or ())
            known = resolve_cases(read_cases(cases), tools, cases)
            subjects = _subjects(model or [OFFLINE], calls or [], cassette)
            conditions = Conditions(tools, instructions, times, run, timeout=timeout)
            report, token = _evaluate(Path(cases), known, subjects, conditions, parallel)
        _save(report, output)
    if junit:
        junit.write_text(to_junit(report), "utf-8", "backslashreplace")
    _print(report, earlier, as_json)
    if token.cancelled:
        raise typer.Exit(exit_code(token))
    _exit_if_failed(report, fail_under)


def _print(report: Report, earlier: Report | None, as_json: bool) -> None:
    if as_json:
        echo(report.to_json())
        return
    layout(report_lines(report))
    if earlier is not None:
        layout(["", *comparison_lines(compare_reports(earlier, report))])


def _subjects(models: Sequence[str], ways: Sequence[str], cassette: Path | None) -> list[Subject]:
    if cassette is not None:
        if len(models) > 1 or len(ways) > 1:
            raise UsageProblem("--cassette records one model with one way of calling; name one")
        way = ways[0] if ways else ""
        tape = Cassette(cassette, "once", secrets=find_api_keys(os.environ))
        options = {"calls": way} if way else {}
        taped = TapedModel(tape, load_model(models[0], **options) if tape.records else "")
        return [Subject(cast("Model", taped), taped.name, way)]
    if not ways:
        return [Subject(load_model(name), name) for name in models]
    return [Subject(load_model(name, calls=way), name, way) for name in models for way in ways]


def _evaluate(
    file: Path,
    cases: list[Case],
    subjects: list[Subject],
    conditions: Conditions,
    parallel: int,
) -> tuple[Report, CancelToken]:
    total = len(cases) * len(subjects) * conditions.times
    started = datetime.now(UTC).isoformat(timespec="seconds")
    tokens: list[CancelToken] = []
    numbers = iter(range(1, total + 1))

    def show(trial: Trial) -> None:
        outcome = trial.error or trial.why or "right"
        who = f"{trial.model} {trial.calls}".strip()
        text = visible_line(f"{next(numbers)}/{total} {who}: {trial.case}: {outcome}")
        note(text, YELLOW if trial.error else DIM)

    async def run(token: CancelToken) -> list[Trial]:
        tokens.append(token)
        return await run_trials(
            cases, subjects, conditions, parallel=parallel, cancel=token, finished=show
        )

    trials = run_interruptible(run, returns_on_term=True)
    report = Report(
        VERSION,
        file.name,
        started,
        conditions.executes,
        conditions.times,
        conditions.instructions,
        describe_tools(conditions.tools),
        describe_cases(cases),
        tuple(trials),
        len(trials) == total,
    )
    return report, tokens[0]


def _save(report: Report, output: Path | None) -> None:
    """Write the report, by default into the user's data folder."""
    if output is None:
        stamp = report.started[:19].replace(":", "").replace("T", "-")
        folder = reports_folder()
        name = Path(report.name).stem
        output = folder / f"{name}-{stamp}.json"
        numbers = iter(range(2, 10_000))
        while output.exists():
            output = folder / f"{name}-{stamp}-{next(numbers)}.json"
        folder.mkdir(parents=True, exist_ok=True)
    try:
        output.write_text(report.to_json() + "\n", "utf-8", "backslashreplace")
    except OSError as error:
        raise SetupError(f"the report cannot be written to {output}: {error.strerror}") from None
    note(f"report: {output}", DIM)


def _exit_if_failed(report: Report, fail_under: float) -> None:
    """Exit with 1 if a model failed, or if a model has too few right answers."""
    failed = [row for row in report.rows if row.errors]
    for row in failed:
        note(f"{row.label} failed for {count(row.errors, 'question')}", YELLOW)
    low = [row for row in report.rows if 100 * row.right_arguments < fail_under * row.trials]
    for row in low:
        share = row.right_arguments / row.trials
        note(f"{row.label}: {share:.0%} right, below --fail-under {fail_under:g}", YELLOW)
    if failed or low:
        raise typer.Exit(FAILED)
