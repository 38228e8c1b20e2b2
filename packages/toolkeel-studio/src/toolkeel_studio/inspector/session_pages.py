"""Pages of sessions: talk, watch a run live, decide what waits, fork, and compare."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from time import monotonic
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from toolkeel._records.entries import ModelAsked, PersonSaid, RunBegan
from toolkeel.errors import InvalidArguments, SetupError, ToolkeelError
from toolkeel.sessions.session import Session
from toolkeel.sessions.stores.store import SessionInfo
from toolkeel_studio.inspector.compare import compare
from toolkeel_studio.inspector.forms import (
    apply_button,
    build_form,
    fields_for_value,
    number_of,
    pointer_of,
)
from toolkeel_studio.inspector.list_figures import SentTools, SessionFigures, SessionReader
from toolkeel_studio.inspector.run_summary import summarize_run
from toolkeel_studio.inspector.runs import WHO, Live, Runs
from toolkeel_studio.inspector.session_view import Story, fold_story
from toolkeel_studio.inspector.site import (
    TOO_LATE,
    UNTOUCHED,
    PageText,
    quote_segment,
    read_form,
    render_page,
    show_page,
)
from toolkeel_studio.inspector.timeline import build_timeline
from toolkeel_studio.serve.errors import InvalidDecision

LISTED = 200
"""Number of sessions on the list."""
READ_SECONDS = 1.0
"""Seconds that a view of the list takes to read sessions that it has not read before."""
WINDOW = 600
"""Number of journal entries on one page."""
STEP = 50
"""Number of entries read at once to find the start of a request."""
BEGINS = (RunBegan, PersonSaid, ModelAsked)
"""Entries before which a journal may be split into pages."""
PARTS = 60
"""Number of bars in the overview of a long session."""


class SessionPages:
    """Handlers of the session pages.

    Args:
        runs: Runs of the inspector, with the store of all sessions.
    """

    def __init__(self, runs: Runs) -> None:
        self._runs = runs
        self._sessions = runs.sessions
        self._figures = SessionReader(runs.sessions, SessionFigures)
        self._sent = SessionReader(runs.sessions, SentTools)

    # — lists —

    async def list(self, request: Request) -> Response:
        """Show all sessions, newest first, or those that contain a text."""
        return await self._show_list(request, UNTOUCHED, "")

    async def _show_list(
        self, request: Request, typed: Mapping[str, str], told: str, status: int = 200
    ) -> HTMLResponse:
        page = await asyncio.to_thread(self._render_list, request, typed, told)
        return HTMLResponse(page, status)

    def _render_list(self, request: Request, typed: Mapping[str, str], told: str) -> str:
        wanted = request.query_params.get("q", "")
        found = self._sessions.list(scope="")
        if wanted:
            low = wanted.lower()
            found = tuple(i for i in found if low in f"{i.name} {i.first} {i.last}".lower())
        running = {info.name for info in found if not info.ended} & set(self._runs.live)
        rows = list(self._rows(found[:LISTED]))
        fields = {"rows": rows, "count": len(found), "q": wanted, "running": running}
        return self._page("sessions.html", request, typed=typed, told=told, **fields)

    def _rows(
        self, found: Sequence[SessionInfo]
    ) -> Iterator[tuple[SessionInfo, SessionFigures | None]]:
        """Yield sessions with their figures; None for those that a later view of the list reads."""
        end = monotonic() + READ_SECONDS
        for info in found:
            is_quick = self._figures.is_read(info) or monotonic() < end
            yield info, self._figures.read(info) if is_quick else None

    async def begin(self, request: Request) -> Response:
        """Start a session with a message."""
        typed = await read_form(request)
        text = typed.get("text", "").strip()
        if not text:
            return RedirectResponse("/sessions", 303)
        name = typed.get("name", "").strip() or await self._new_name(text)
        try:
            await self._runs.say(name, text)
        except ToolkeelError as error:  # such as an invalid name: the typed text stays
            return await self._show_list(request, typed, str(error), 409)
        return await self._to(name)

    async def _new_name(self, text: str) -> str:
        """Make an unused name from a message."""
        words = "-".join(part for part in "".join(c if c.isalnum() else " " for c in text).split())
        base = words[:32].rstrip("-") or "talk"
        infos = await asyncio.to_thread(self._sessions.list, scope="")
        known = {info.name for info in infos}
        return next(
            n for n in chain([base], (f"{base}-{i}" for i in range(2, 9999))) if n not in known
        )

    def _page(self, name: str, request: Request, **values: Any) -> str:
        return render_page(name, request, model=self._runs.agent.model.name, **values)

    # — one session —

    def _find(self, request: Request) -> Session:
        session = self._sessions[request.path_params["name"]]
        if not session.exists:
            raise HTTPException(404)
        return session

    async def show(self, request: Request) -> Response:
        """Show one session: messages, calls, the waterfall, and what waits."""
        return await self._show(request, self._find(request), "")

    async def _show(
        self,
        request: Request,
        session: Session,
        told: PageText,
        typed: Mapping[str, str] = UNTOUCHED,
        status: int = 200,
        errors: Mapping[str, str] = UNTOUCHED,
    ) -> HTMLResponse:
        """Respond with the page of a session; a run on this loop does not wait for it."""
        page = await asyncio.to_thread(self._render, request, session, told, typed, errors)
        return HTMLResponse(page, status)

    def _render(
        self,
        request: Request,
        session: Session,
        told: PageText,
        typed: Mapping[str, str] = UNTOUCHED,
        errors: Mapping[str, str] = UNTOUCHED,
    ) -> str:
        info = session.info  # once: later entries arrive as updates
        head = info.head
        wanted = request.query_params.get("before", "")
        upto = _end(session, min((number_of(wanted) or head + 1) - 1, head), head)
        after = _begin(session, upto - WINDOW)
        story = fold_story(session.entries(after, upto))
        name = session.name
        live, running = self._runs.live.get(name), self._runs.is_running(name)
        latest = upto == head
        interrupted = bool(info.requests) and not (running or info.ended) and latest
        if interrupted:
            story.interrupt()
        if latest and story.reason == "waiting":
            story.add_decisions(session.decisions.values())
        fields = {"session": info, "story": story, "live": live, "latest": latest}
        waits = self._runs.open_tickets(session) if story.reason == "waiting" else {}
        fields["open"] = {id: typed if typed.get("ticket") == id else UNTOUCHED for id in waits}
        fields["decided"] = latest and not (waits or running) and story.reason == "waiting"
        fields |= {"typed": typed, "run": summarize_run(story)}
        fields["turns_before"] = info.turns - len(story.turns) if latest else None
        fields["question"] = _question_form(live, typed, errors)
        fields |= {
            "timeline": build_timeline(_last_run(story), story.latest if interrupted else None),
            "interrupted": interrupted,
            "earlier": after + 1 if after else 0,
        }
        fields["activity"] = _activity_bars(session) if head > WINDOW else ()
        fields["unread"] = session.unread if latest else ()
        fields["definitions"] = lambda tool, seq: self._sent.read(info).definition(tool, seq)
        fields |= {"told": told, "problem": told or self._runs.problem(name)}
        fields["running"] = running
        still = typed or fields["question"] or "still" in request.query_params
        fields["renews"] = running and latest and not still  # a refresh would lose typed text
        return self._page("session.html", request, **fields)

    async def act(self, request: Request) -> Response:
        """Handle a message, stop, fork, resume or decision."""
        session = self._find(request)
        typed = await read_form(request)
        do, name = typed.get("_do", ""), session.name
        try:
            if do == "say" and typed.get("text", "").strip():
                await self._runs.say(name, typed["text"].strip())
            elif do == "stop":
                await self._runs.stop(name)
            elif do == "go on":
                await self._runs.go_on(name)
            elif do == "rewrite":
                return await self._rewrite(session, typed)
            elif do == "fork":
                return await self._fork(session, typed)
            elif do == "decide":
                return await self._decide(request, session, typed)
            elif do == "question" or do.startswith(("add:", "remove:")):
                return await self._answer(request, session, typed)
        except (ToolkeelError, ValueError) as error:
            return await self._show(request, session, str(error), typed, 409)
        return await self._to(name)

    async def _to(self, name: str) -> Response:
        """Redirect to a session once its journal exists."""
        for _ in range(50):
            if self._sessions[name].exists or name not in self._runs.live:
                break
            await asyncio.sleep(0.02)
        return RedirectResponse(_session_url(name), 303)

    async def _rewrite(self, session: Session, typed: dict[str, str]) -> Response:
        """Fork before a turn and run from there with an edited message."""
        text = typed.get("text", "").strip()
        if not text:
            raise SetupError("the message is empty; write a message to run again")
        turn = number_of(typed.get("turn", "")) or 0
        name = await self._new_name(session.name)
        made = await asyncio.to_thread(self._sessions.edit, session.name, turn, name)
        await self._runs.say(made.name, text)
        return RedirectResponse(_session_url(made.name), 303)

    async def _fork(self, session: Session, typed: dict[str, str]) -> Response:
        turn = typed.get("turn", "")
        name = typed.get("to", "").strip() or await self._new_name(session.name)
        made = await asyncio.to_thread(
            self._sessions.fork, session.name, name, turn=number_of(turn)
        )
        if typed.get("text", "").strip():
            await self._runs.say(made.name, typed["text"].strip())
        return RedirectResponse(_session_url(made.name), 303)

    async def _decide(self, request: Request, session: Session, typed: dict[str, str]) -> Response:
        ticket, seal = typed.get("ticket", ""), typed.get("seal", "")
        try:
            first = await self._runs.decide(session.name, ticket, seal, typed)
        except InvalidDecision as error:
            fields = {**typed, "told": str(error)}
            return await self._show(request, session, str(error), fields, 422)
        request.app.state.count_waiting.forget()
        if first is not None:
            by = first.who or "another person"
            return await self._too_late(request, session, by, first.decision.verdict)
        back = "/approvals" if typed.get("back") == "approvals" else _session_url(session.name)
        return RedirectResponse(back, 303)

    async def _too_late(
        self, request: Request, session: Session, who: str, verdict: str
    ) -> Response:
        """Show the first decision to the second decider."""
        notice = TOO_LATE, {"who": who, "verdict": verdict}
        return await self._show(request, session, notice, UNTOUCHED, 409)

    async def _answer(self, request: Request, session: Session, typed: dict[str, str]) -> Response:
        """Answer a server's question, or add or remove an item of its form."""
        if typed["_do"] != "question":
            typed = apply_button(typed, typed["_do"])
            return await self._show(request, session, "", typed)
        try:
            first = await self._runs.answer(session.name, typed.get("ticket", ""), typed)
        except InvalidArguments as error:
            wrong = {pointer_of(each.path): str(each) for each in error.errors}
            return await self._show(request, session, str(error), typed, 422, wrong)
        request.app.state.count_waiting.forget()
        if first:
            return await self._too_late(request, session, WHO, first)
        return RedirectResponse(_session_url(session.name), 303)

    # — live —

    async def events(self, request: Request) -> Response:
        """Return the last entry of a session and the reply so far, for a page that polls.

        A poll, not a stream: a browser opens six connections to a host, so the seventh page with an open
        stream would load nothing, and an open stream would delay the end of the server.
        """
        session = self._find(request)
        name = session.name
        head, running = await asyncio.to_thread(
            lambda: (session.info.head, self._runs.is_running(name))
        )
        live = self._runs.live.get(name)
        questions = list(live.questions) if live is not None else []
        state = {"head": head, "running": running, "questions": questions}
        if live is not None and live.version != number_of(request.query_params.get("version", "")):
            state |= {"version": live.version, "tail": _live_tail(live)}
        return JSONResponse(state)

    async def export(self, request: Request) -> Response:
        """Return a session as JSON lines, as ``toolkeel sessions export`` writes it."""
        name = self._find(request).name
        text = await asyncio.to_thread(lambda: "".join(self._sessions.export(name)))
        headers = {
            "Content-Disposition": f"attachment; filename*=UTF-8''{quote_segment(name)}.jsonl"
        }
        return Response(text, media_type="application/jsonl", headers=headers)

    # — two sessions —

    async def compare(self, request: Request) -> Response:
        """Show two sessions side by side."""
        known = await asyncio.to_thread(self._sessions.list, scope="")
        names = [info.name for info in known]
        a, b = (request.query_params.get(side, "") for side in ("a", "b"))
        found = None
        if a in names and b in names:
            found = await asyncio.to_thread(compare, self._sessions[a], self._sessions[b])
        return await show_page("compare.html", request, names=names, a=a, b=b, found=found)


def _begin(session: Session, seq: int) -> int:
    """Choose the first entry to show, without splitting a request from its calls unless it is huge."""
    for upto in range(seq + 1, max(0, seq - 10 * WINDOW), -STEP):
        for each in reversed(session.entries(max(0, upto - STEP), upto)):
            if isinstance(each.entry, BEGINS):
                return each.seq - 1
    return max(0, seq)


def _end(session: Session, seq: int, head: int) -> int:
    """Return the last entry to show, extended to the end of a request."""
    rest = session.entries(seq, seq + 2 * WINDOW) if seq < head else []
    ends = (each.seq - 1 for each in rest if isinstance(each.entry, BEGINS))
    return next(ends, min(seq + len(rest), head))


def _question_form(
    live: Live | None, typed: Mapping[str, str], errors: Mapping[str, str]
) -> dict[str, Any] | None:
    """Return the first pending question of a server, with its form as filled in so far."""
    asked = list(live.questions.values()) if live is not None else []
    if not asked:
        return None
    ticket = asked[0].ticket
    if typed.get("ticket") != ticket.id:
        fields = {key: value for key, value in ticket.arguments.items() if value is not None}
        typed, errors = fields_for_value(ticket.form, fields), {}
    fields = {"ticket": ticket, "typed": typed, "errors": errors, "more": len(asked) - 1}
    return {**fields, "fields": build_form(ticket.form, typed)}


def _activity_bars(session: Session) -> list[tuple[int, float, int, int]]:
    """Measure activity over a session's time: place, height (of 24), entries and last entry of each part."""
    found = session.activity(PARTS)
    most = max((count for _, count, _ in found), default=1)
    return [(place, max(2.0, 24 * count / most), count, last) for place, count, last in found]


def _session_url(name: str) -> str:
    return f"/sessions/{quote_segment(name)}#end"


def _live_tail(live: Live) -> dict[str, object]:
    return {
        "text": live.text,
        "calls": [live.calls[place] for place in sorted(live.calls)],
        "progress": live.progress,
    }


def _last_run(story: Story) -> Story:
    """Return the last turn alone."""
    if not story.turns:
        return story
    last = Story()
    last.reason = story.reason
    last.items = [item for item in story.items if item.seq >= story.turns[-1]]
    return last
