"""The page of approvals: what waits for a person, in sessions and in a shared queue."""

from __future__ import annotations

import json
from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from toolkeel._records.tickets import Decision
from toolkeel.errors import ToolkeelError
from toolkeel.sessions.approval_queue import ApprovalQueue
from toolkeel_studio.inspector.runs import SESSION, VERDICT_OF, WHO, Runs
from toolkeel_studio.inspector.site import TOO_LATE, UNTOUCHED, PageText, read_form, render_page


class DeskPages:
    """Handlers of the page of approvals.

    Args:
        runs: Runs of the inspector, whose sessions may wait.
        desk: Queue of other programs, such as a gateway, or None.
    """

    def __init__(self, runs: Runs, desk: ApprovalQueue | None) -> None:
        self._runs = runs
        self._desk = desk

    async def show(self, request: Request) -> Response:
        """Show everything that waits for a person."""
        return self._render(request)

    def _render(
        self,
        request: Request,
        told: PageText = "",
        code: int = 200,
        typed: Mapping[str, str] = UNTOUCHED,
    ) -> Response:
        beside = [("", ticket) for ticket in self._desk.waiting()] if self._desk else []
        tickets = [*beside, *self._runs.waiting()]
        questions, model = self._runs.questions(), self._runs.agent.model.name
        fields = {"tickets": tickets, "questions": questions, "told": told, "model": model}
        return HTMLResponse(render_page("approvals.html", request, typed=typed, **fields), code)

    def count(self) -> int:
        """Return how many calls and questions wait for a person; 0 if their store cannot be read."""
        try:
            queued = len(self._desk.waiting()) if self._desk else 0
            return queued + len(self._runs.waiting()) + len(self._runs.questions())
        except (ToolkeelError, ValueError):
            return 0

    async def decide(self, request: Request) -> Response:
        """Record a decision about a queued call; the second of two people sees the first decision."""
        typed = await read_form(request)
        try:
            decision = _decision(typed)
            first = self._desk.decide(decision, WHO) if self._desk else None
        except (ToolkeelError, ValueError, RecursionError) as error:
            return self._render(request, str(error), 409, {**typed, "told": str(error)})
        if first is not None:
            notice = TOO_LATE, {"who": first.who, "verdict": first.decision.verdict}
            return self._render(request, notice, 409)
        return RedirectResponse("/approvals", 303)


def _decision(typed: Mapping[str, str]) -> Decision:
    """Read a decision from a form.

    Raises:
        ValueError: The edited arguments are not a JSON object.
    """
    verdict = VERDICT_OF.get(typed.get("verdict", ""), "deny")
    arguments = json.loads(typed.get("arguments", "")) if verdict == "edit" else {}
    if not isinstance(arguments, dict):
        raise ValueError("the arguments must be a JSON object")
    fields = {key: typed.get(key, "") for key in ("ticket", "seal", "reason", "value")}
    reach = "session" if typed.get("verdict") == SESSION else "call"
    return Decision.from_dict(
        {**fields, "verdict": verdict, "arguments": arguments, "reach": reach}
    )
