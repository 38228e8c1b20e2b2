"""Pages of what an operator decides: calls that wait in sessions and in a shared queue, and durable runs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from toolkeel._records.tickets import Decision, Ticket
from toolkeel.errors import SetupError, ToolkeelError
from toolkeel.sessions.approval_queue import ApprovalQueue
from toolkeel_studio.durable.orders import STATUSES
from toolkeel_studio.inspector.runs import SESSION, VERDICT_OF, WHO, DurableAccess, Runs
from toolkeel_studio.inspector.site import TOO_LATE, UNTOUCHED, PageText, read_form, show_page
from toolkeel_studio.inspector.waiting_count import WaitingCount

if TYPE_CHECKING:
    from toolkeel_studio.durable.runs import DurableRun
    from toolkeel_studio.durable.runs import Runs as DurableRuns

SHOWN: Final = 200
"""Maximum number of durable runs that their page shows."""
_ACTS: Final[Mapping[str, Callable[[DurableRuns, str], object]]] = {
    "retry": lambda runs, id: runs.retry(id),
    "cancel": lambda runs, id: runs.cancel(id),
}


class DeskPages:
    """Handlers of the page of approvals.

    Args:
        runs: Runs of the inspector, whose sessions may wait.
        desk: Queue of other programs, such as a gateway, or None.

    Attributes:
        waiting: The number of calls and questions that wait.
    """

    def __init__(self, runs: Runs, desk: ApprovalQueue | None) -> None:
        self._runs = runs
        self._desk = desk
        self.waiting = WaitingCount(lambda: chain(runs.questions(), self._tickets()))

    async def show(self, request: Request) -> Response:
        """Show everything that waits for a person."""
        return await self._render(request)

    def _tickets(self) -> Iterator[tuple[str, Ticket]]:
        """Yield the calls that wait, as session name and ticket; those of other programs have no session."""
        for ticket in self._desk.waiting() if self._desk else ():
            yield "", ticket
        yield from self._runs.waiting()

    async def _render(
        self,
        request: Request,
        told: PageText = "",
        code: int = 200,
        typed: Mapping[str, str] = UNTOUCHED,
    ) -> Response:
        tickets = await asyncio.to_thread(lambda: list(self._tickets()))
        questions = self._runs.questions()
        fields = {"tickets": tickets, "questions": questions, "told": told, "typed": typed}
        return await show_page("approvals.html", request, code, **fields)

    async def decide(self, request: Request) -> Response:
        """Record a decision about a queued call; the second of two people sees the first decision."""
        typed, desk = await read_form(request), self._desk
        try:
            decision = _decision(typed)
            first = await asyncio.to_thread(desk.decide, decision, WHO) if desk else None
        except (ToolkeelError, ValueError, RecursionError) as error:
            return await self._render(request, str(error), 409, {**typed, "told": str(error)})
        if first is not None:
            notice = TOO_LATE, {"who": first.who, "verdict": first.decision.verdict}
            return await self._render(request, notice, 409)
        request.app.state.count_waiting.forget()
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


class DurablePages:
    """Handlers of the page of durable runs.

    Args:
        durable: The runs, or None where there is no such page.
    """

    def __init__(self, durable: DurableAccess | None) -> None:
        self._durable = durable

    async def show(self, request: Request) -> Response:
        """Show the latest runs, of one status if the query names one."""
        return await self._render(request)

    async def act(self, request: Request) -> Response:
        """Cancel a run, or retry a failed one."""
        if (durable := self._durable) is None:
            raise HTTPException(404)
        typed = await read_form(request)
        id = typed.get("id", "")
        if (act := _ACTS.get(typed.get("_do", ""))) is None:
            raise HTTPException(400)
        try:
            await durable.ask(lambda runs: act(runs, id), None)
        except SetupError as error:
            return await self._render(request, str(error), 409)
        request.app.state.count_waiting.forget()
        return RedirectResponse("/durable", 303)

    async def _render(self, request: Request, told: str = "", code: int = 200) -> Response:
        if (durable := self._durable) is None:
            raise HTTPException(404)
        status = request.query_params.get("status", "")
        wanted = status if status in STATUSES else None
        no_runs: tuple[DurableRun, ...] = ()
        found = await durable.ask(lambda runs: runs.list(status=wanted, limit=SHOWN + 1), no_runs)
        fields = {"found": found[:SHOWN], "has_more": len(found) > SHOWN, "told": told}
        fields |= {"statuses": STATUSES, "chosen": wanted}
        return await show_page("durable.html", request, code, **fields)
