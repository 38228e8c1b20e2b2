"""Pages of the reports that ``toolkeel eval`` has saved: figures, cases, and two reports compared."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from toolkeel.errors import SetupError
from toolkeel.observe.wording import compact
from toolkeel_studio.evals.comparison import Comparison, compare_reports
from toolkeel_studio.evals.report import Report, Row, read_report
from toolkeel_studio.evals.trials import Trial
from toolkeel_studio.inspector.site import show_page

MAX_REPORTS = 50
"""Reports on the list, newest first."""


class EvalPages:
    """Handlers of the pages of reports.

    Args:
        folder: Returns the folder of the reports.
    """

    def __init__(self, folder: Callable[[], Path]) -> None:
        self._folder = folder

    async def show_all(self, request: Request) -> Response:
        """Show the saved reports, newest first."""
        found = await asyncio.to_thread(self._read_all)
        return await show_page("evals.html", request, found=found)

    async def show(self, request: Request) -> Response:
        """Show one report, and its difference to the one named by ``against``."""
        name, other = request.path_params["name"], request.query_params.get("against", "")
        names = await asyncio.to_thread(self._names)
        if name not in names or other not in ("", *names):
            raise HTTPException(404)
        report, comparison, told = await asyncio.to_thread(self._read, name, other)
        given: dict[str, Any] = {"title": name, "names": names, "against": other, "told": told}
        given |= {"report": report, "comparison": comparison}
        given["cases"] = _cases(report) if report else []
        return await show_page("eval.html", request, **given)

    def _names(self) -> list[str]:
        paths = self._folder().glob("*.json")
        return [path.name for path in sorted(paths, key=_changed_at, reverse=True)]

    def _read_all(self) -> list[tuple[str, Report | None]]:
        return [(name, self._read(name, "")[0]) for name in self._names()[:MAX_REPORTS]]

    def _read(self, name: str, other: str) -> tuple[Report | None, Comparison | None, str]:
        """Return a report, its comparison with another, and what cannot be read."""
        try:
            report = read_report(self._folder() / name)
            earlier = read_report(self._folder() / other) if other else None
        except SetupError as error:
            return None, None, str(error)
        return report, compare_reports(earlier, report) if earlier else None, ""


def _changed_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:  # deleted meanwhile
        return 0.0


def _cases(report: Report) -> list[tuple[dict[str, Any], str, list[tuple[Row, list[Trial]]]]]:
    """Return each case, what it expects, and its trials by model and way of calling."""
    found: dict[tuple[str, str, str], list[Trial]] = {}
    for trial in report.trials:
        found.setdefault((trial.case, trial.model, trial.calls), []).append(trial)
    rows = report.rows
    return [
        (
            case,
            case["calls"] if isinstance(case["calls"], str) else compact(case["calls"]),
            [(row, found.get((case["name"], row.model, row.calls), [])) for row in rows],
        )
        for case in report.cases
    ]
