"""Two reports: which cases became better or worse, and how likely chance alone explains it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import comb
from typing import Any

from toolkeel._records.record import record
from toolkeel_studio.evals.report import Report, Row
from toolkeel_studio.evals.trials import Trial


@record
class CaseChange:
    """A case that is answered better or worse.

    Args:
        case: Its name.
        before: Share of right answers in the earlier report.
        after: Share in the later one.
        why: What is wrong in the later one, if something is.
    """

    case: str
    before: float
    after: float
    why: str = ""


@record
class RowChange:
    """How the answers of one model changed.

    Args:
        before: Figures of the earlier report.
        after: Figures of the later one.
        better: Cases that are answered better.
        worse: Cases that are answered worse.
        compared: Number of cases that both reports have.
    """

    before: Row
    after: Row
    better: tuple[CaseChange, ...]
    worse: tuple[CaseChange, ...]
    compared: int

    @property
    def chance(self) -> float:
        """Probability of a difference as large as this if nothing had changed (sign test, two-sided)."""
        n, k = len(self.better) + len(self.worse), min(len(self.better), len(self.worse))
        tail: float = sum(comb(n, i) for i in range(k + 1)) / 2**n
        return min(1.0, 2 * tail)


@record
class Comparison:
    """What differs between two reports.

    Args:
        rows: The models of both.
        tools: What changed in the tools, such as ``search: description``.
        cases: Cases that are new, gone or changed; the changed ones are not compared.
        unmatched: Models and ways of calling that only one of the reports has.
    """

    rows: tuple[RowChange, ...]
    tools: tuple[str, ...]
    cases: tuple[str, ...]
    unmatched: tuple[str, ...]


def compare_reports(before: Report, after: Report) -> Comparison:
    """Compare two reports. If each has one model, those are compared, whatever their names."""
    pairs, unmatched = _pair_rows(before.rows, after.rows)
    questions = _changes(before.cases, after.cases)
    skipped = {name for name, _ in questions}
    return Comparison(
        tuple(_compare_rows(old, new, before, after, skipped) for old, new in pairs),
        tuple(f"{name}: {what}" for name, what in _changes(before.tools, after.tools)),
        tuple(f"{name}: {what}" for name, what in questions),
        tuple(unmatched),
    )


def _pair_rows(before: list[Row], after: list[Row]) -> tuple[list[tuple[Row, Row]], list[str]]:
    """Return the rows of the same model and way of calling, and the labels of the others."""
    if len(before) == len(after) == 1:
        return [(before[0], after[0])], []
    earlier = {(row.model, row.calls): row for row in before}
    pairs = [(earlier.pop(key), row) for row in after if (key := (row.model, row.calls)) in earlier]
    matched = [new for _, new in pairs]
    left = [*earlier.values(), *(row for row in after if row not in matched)]
    return pairs, [row.label for row in left]


def _compare_rows(
    old: Row, new: Row, before: Report, after: Report, skipped: set[str]
) -> RowChange:
    earlier, later = _by_case(before.trials, old), _by_case(after.trials, new)
    changes = []
    both = [case for case in later if case in earlier and case not in skipped]
    for case in both:
        why = next((t.error or t.why for t in later[case] if not t.right_arguments), "")
        changes.append(CaseChange(case, _share(earlier[case]), _share(later[case]), why))
    better = tuple(change for change in changes if change.after > change.before)
    worse = tuple(change for change in changes if change.after < change.before)
    return RowChange(old, new, better, worse, len(both))


def _by_case(trials: Iterable[Trial], row: Row) -> dict[str, list[Trial]]:
    found: dict[str, list[Trial]] = {}
    for trial in trials:
        if (trial.model, trial.calls) == (row.model, row.calls):
            found.setdefault(trial.case, []).append(trial)
    return found


def _share(trials: list[Trial]) -> float:
    return sum(trial.right_arguments for trial in trials) / len(trials)


def _changes(
    before: Iterable[Mapping[str, Any]], after: Iterable[Mapping[str, Any]]
) -> list[tuple[str, str]]:
    """Return what is new, missing or changed, by name."""
    old, new = ({str(one["name"]): one for one in many} for many in (before, after))
    found = [(name, "new") for name in new if name not in old]
    found += [(name, "gone") for name in old if name not in new]
    for name in new:
        keys = [key for key in new[name] if name in old and new[name][key] != old[name].get(key)]
        if keys:
            found.append((name, ", ".join(keys)))
    return found
