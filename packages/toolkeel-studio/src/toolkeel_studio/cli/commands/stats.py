"""``toolkeel stats``: how well models call tools, over sessions (first-try validity, corrections)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from toolkeel._records.entries import Entry
from toolkeel.errors import SetupError
from toolkeel.observe.event_entries import read_event_file
from toolkeel.observe.stats import ModelStats, Stats, ToolStats, stats_of
from toolkeel.observe.wording import dollars, duration, pretty, visible_line
from toolkeel.sessions import Sessions
from toolkeel_studio.cli.commands.sessions import AsJson, File, open_existing
from toolkeel_studio.cli.exit_codes import UsageProblem
from toolkeel_studio.cli.terminal.streams import DIM, YELLOW, layout, note
from toolkeel_studio.cli.terminal.text import table

EventFiles = Annotated[
    list[Path] | None,
    typer.Option("--events", metavar="FILE", help="Stats of a file of JsonLines; may be repeated."),
]
TOOL_HEAD = (
    "tool",
    "calls",
    "first try",
    "corrected",
    "median",
    "95 %",
    "failures",
    "invalid fields",
)
MODEL_HEAD = ("model", "requests", "tokens in", "tokens out", "median", "95 %", "accepted", "cost")


def command(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SESSION]...", help="Which sessions; all by default."),
    ] = None,
    file: File = None,
    events: EventFiles = None,
    as_json: AsJson = False,
) -> None:
    """Say how well models call tools, over sessions or files of events.

    For each tool: calls, how often the first try was right, how often a wrong call was corrected, how
    long calls took, failures by kind, and the arguments that were invalid.
    """
    if events and names:
        raise UsageProblem("name sessions or give --events, not both")
    if events:
        place, found = ", ".join(map(str, events)), _event_entries(events)
    else:
        sessions = open_existing(file)
        place, found = sessions.path, _session_entries(sessions, names or ())
    stats = stats_of(found)
    if as_json:
        layout([pretty(_data(stats))])
        return
    if not stats.models:
        note(f"no run in {place}", YELLOW)
        return
    layout(table(TOOL_HEAD, [_tool(each) for each in stats.tools.values()]))
    note("", DIM)
    layout(table(MODEL_HEAD, [_model(each) for each in stats.models.values()]))


def _session_entries(sessions: Sessions, names: Sequence[str]) -> Iterator[tuple[float, Entry]]:
    """Yield the entries of the named sessions, or of all, those shared by forks once."""
    infos = [sessions[name].info for name in names] or sessions.list(scope="")
    for info in infos:
        for each in sessions[info.name].entries(0 if names else info.base):
            yield each.at, each.entry


def _event_entries(paths: Sequence[Path]) -> Iterator[tuple[float, Entry]]:
    """Yield the entries of files of events.

    Raises:
        SetupError: a file cannot be read.
    """
    for path in paths:
        try:
            yield from read_event_file(path)
        except OSError as error:
            raise SetupError(f"{path} cannot be read: {error.strerror}") from None
        except ValueError as error:
            raise SetupError(str(error)) from None


def _tool(stats: ToolStats) -> list[str]:
    return [
        visible_line(stats.name),
        f"{stats.calls:,}",
        _share(stats.first_try),
        _share(stats.correction),
        _time(stats.rank(0.5)),
        _time(stats.rank(0.95)),
        _counts(stats.kinds.most_common(3)),
        _counts(stats.fields.most_common(3)),
    ]


def _model(stats: ModelStats) -> list[str]:
    return [
        visible_line(stats.name),
        f"{stats.requests:,}",
        *(f"{n:,}" if n else "-" for n in (stats.usage.input_tokens, stats.usage.output_tokens)),
        _time(stats.rank(0.5)),
        _time(stats.rank(0.95)),
        _share(stats.validity),
        "-" if stats.cost is None else dollars(stats.cost),
    ]


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"


def _time(value: float | None) -> str:
    return "-" if value is None else duration(value)


def _counts(found: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{visible_line(name)} {number}" for name, number in found) or "-"


def _data(stats: Stats) -> dict[str, object]:
    tools = {
        each.name: {
            "calls": each.calls,
            "first_try": each.first_try,
            "refused": each.refused,
            "corrected": each.corrected,
            "turns_to_correct": each.turns,
            "failures": dict(each.kinds),
            "fields": dict(each.fields),
            "median": each.rank(0.5),
            "p95": each.rank(0.95),
        }
        for each in stats.tools.values()
    }
    models = {
        each.name: {
            "requests": each.requests,
            "failures": each.failures,
            "input_tokens": each.usage.input_tokens,
            "output_tokens": each.usage.output_tokens,
            "calls": each.calls,
            "accepted": each.validity,
            "cost": each.cost,
            "median": each.rank(0.5),
            "p95": each.rank(0.95),
        }
        for each in stats.models.values()
    }
    return {"tools": tools, "models": models}
