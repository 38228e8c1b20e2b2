"""The tables of ``toolkeel eval``: a report, and the comparison of two."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from toolkeel.observe.wording import count, duration, visible_line
from toolkeel_studio.cli.terminal.text import table
from toolkeel_studio.evals.comparison import CaseChange, Comparison, RowChange
from toolkeel_studio.evals.report import Report, Row

HEAD = (
    "model", "calls", "valid", "right tool", "right arguments", "corrected", "tokens in/out",
    "time", "errors",
)  # fmt: skip
MAX_CASES = 20
"""Wrong answers that are listed."""


def report_lines(report: Report) -> list[str]:
    """Return the figures of each model, then its wrong answers."""
    rows = report.rows
    if not rows:
        return ["no question was answered"]
    lines = table(HEAD, [_figures(row) for row in rows])
    wrong = [trial for trial in report.trials if trial.error or trial.why]
    lines += [""] if wrong else []
    for trial in wrong[:MAX_CASES]:
        who = f"{trial.model} {trial.calls}".strip() if len(rows) > 1 else ""
        parts = [who, trial.case, trial.error or trial.why]
        lines.append(visible_line(": ".join(filter(None, parts))))
    if len(wrong) > MAX_CASES:
        lines.append(f"... and {len(wrong) - MAX_CASES} more; the report has all")
    if not report.complete:
        lines.append("stopped before all questions were asked")
    return lines


def comparison_lines(comparison: Comparison) -> list[str]:
    """Return what differs from an earlier report."""
    lines = [f"tool changed: {visible_line(text)}" for text in comparison.tools]
    lines += [f"case not compared: {visible_line(text)}" for text in comparison.cases]
    lines += [f"only in one report: {visible_line(text)}" for text in comparison.unmatched]
    for change in comparison.rows:
        lines += _row_lines(change)
    return lines


def share(part: int, total: int) -> str:
    """Write a share with both numbers.

    >>> share(3, 4), share(0, 0)
    ('3/4 75%', '-')
    """
    return f"{part}/{total} {part / total:.0%}" if total else "-"


def _figures(row: Row) -> Sequence[str]:
    tokens = (row.input_tokens, row.output_tokens)
    return [
        visible_line(row.model),
        visible_line(row.calls) or "-",
        share(row.valid, row.made),
        share(row.right_tool, row.trials),
        share(row.right_arguments, row.trials),
        share(row.corrected, row.invalid),
        "/".join(f"{number:,.0f}" for number in tokens) if any(tokens) else "-",
        duration(row.seconds),
        str(row.errors) if row.errors else "-",
    ]


def _row_lines(change: RowChange) -> Iterable[str]:
    old, new = change.before, change.after
    yield (
        f"{visible_line(new.label)}: right {share(old.right_arguments, old.trials)} -> "
        f"{share(new.right_arguments, new.trials)}"
    )
    changed = len(change.better) + len(change.worse)
    if not changed:
        yield f"  the same in {count(change.compared, 'case')}"
        return
    yield (
        f"  better in {len(change.better)}, worse in {len(change.worse)} of "
        f"{count(change.compared, 'case')}; by chance alone with a probability of "
        f"{change.chance:.0%}"
    )
    yield from (_case_line("better", each) for each in change.better)
    yield from (_case_line("worse", each) for each in change.worse)


def _case_line(word: str, change: CaseChange) -> str:
    why = f": {change.why}" if change.why else ""
    text = f"{word}: {change.case} {change.before:.0%} -> {change.after:.0%}{why}"
    return f"  {visible_line(text)}"
