"""Pages of tools: the definition each provider receives, a form, and the result of a call."""

from __future__ import annotations

import asyncio
import json
import shlex
from dataclasses import dataclass
from typing import Any, get_args

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from toolkeel._records.tickets import Ticket
from toolkeel.context import RunContext
from toolkeel.define.dialect.definition import Form, definition
from toolkeel.define.names import POLICIES, wire_names
from toolkeel.define.tool import AnyTool
from toolkeel.errors import FieldError
from toolkeel.events import Coerced, Event, Progress, ToolFinished, event_dict
from toolkeel.messages import ToolCall, ToolMessage
from toolkeel.observe.wording import compact
from toolkeel_studio.inspector.forms import (
    ABSENT,
    apply_button,
    build_form,
    expresses,
    fields_for_value,
    pointer_of,
    submitted_value,
)
from toolkeel_studio.inspector.runs import Runs
from toolkeel_studio.inspector.site import read_body, read_form, show_page

FORMS: tuple[Form, ...] = get_args(Form)
VIEWS = ("form", "json")
RECENT = 3
"""Number of sessions that the first page names."""


@dataclass
class TrialCall:
    """A trial call: its result, progress messages, and ticket if it needs approval."""

    result: ToolMessage
    told: list[str]
    ticket: Ticket | None
    whole: dict[str, Any]


class ToolPages:
    """Handlers of the tool pages.

    Args:
        runs: Runs of the inspector, with the agent's tools and the store of all sessions.
        target: The tools as named on the command line, for the command to copy.
        origin: Scheme and host of the inspector.
    """

    def __init__(self, runs: Runs, target: str, origin: str) -> None:
        self._runs = runs
        self._tools = runs.agent.tools
        self._target = target
        self._origin = origin

    async def list(self, request: Request) -> Response:
        """Show all tools, and what to do next: the first page."""
        wanted = request.query_params.get("q", "").lower()
        found = [t for t in self._tools if wanted in f"{t.name} {t.description}".lower()]
        shown: dict[str, Any] = {
            "tools": found,
            "q": wanted,
            "tool": None,
            "model": self._runs.agent.model.name,
        }
        sessions = await asyncio.to_thread(self._runs.sessions.list, scope="")
        shown["recent"] = sessions[:RECENT]
        return await show_page("tools.html", request, **shown)

    async def show(self, request: Request) -> Response:
        """Show one tool with its form."""
        tool = self._find(request)
        return await self._page(request, tool, {}, None)

    async def call(self, request: Request) -> Response:
        """Call a tool with a form, or with JSON, which returns JSON."""
        tool = self._find(request)
        if request.headers.get("content-type", "").startswith("application/json"):
            tried = await self._call_tool(tool, await read_body(request), "")
            return JSONResponse(tried.whole, 200 if tried.result.status == "success" else 422)
        typed = await read_form(request)
        if typed.get("_do", "").startswith(("add:", "remove:")):
            return await self._page(request, tool, apply_button(typed, typed["_do"]), None)
        arguments = _arguments(tool, typed)
        view = typed.get("_view", "form")
        if typed.get("_do") in VIEWS and typed["_do"] != view:
            return await self._page(request, tool, _switch_view(tool, typed, arguments), None)
        tried = await self._call_tool(tool, arguments, typed.get("_seal", ""))
        return await self._page(request, tool, typed, tried)

    def _find(self, request: Request) -> AnyTool:
        name = request.path_params["name"]
        if name not in self._tools:
            raise HTTPException(404)
        return self._tools[name]

    async def _call_tool(self, tool: AnyTool, arguments: str, seal: str) -> TrialCall:
        """Call a tool like a model would; a call that needs approval runs only unchanged from what was shown.

        Args:
            tool: The tool.
            arguments: The arguments as JSON.
            seal: Digest of the displayed and approved call; empty for none.
        """
        asked: list[Ticket] = []
        reports: list[str] = []
        finished: dict[str, Any] = {}

        def approve(ticket: Ticket) -> bool:
            asked.append(ticket)
            return bool(seal) and ticket.digest == seal

        def listen(event: Event) -> None:
            if isinstance(event, Progress):
                reports.append(event.message)
            elif isinstance(event, Coerced):
                reports.extend(event.changes)
            elif isinstance(event, ToolFinished):
                finished.update(event_dict(event))

        run: RunContext[None] = RunContext(listeners=(listen,), approver=approve)
        [result] = await self._tools.run([ToolCall("call_1", tool.name, arguments)], run)
        waits = asked[-1] if asked and result.kind == "denied" else None
        return TrialCall(result, reports[-50:], waits, finished["message"])

    async def _page(
        self, request: Request, tool: AnyTool, typed: dict[str, str], tried: TrialCall | None
    ) -> Response:
        view, fields = typed.get("_view", "form"), build_form(tool.parameters, typed)
        arguments = _arguments(tool, typed)
        errors = _errors(tried.result) if tried is not None else {}
        line = shlex.join(["toolkeel", "call", self._target, tool.name, arguments])
        shown: dict[str, Any] = {
            "tools": list(self._tools),
            "q": "",
            "tool": tool,
            "providers": _providers(tool),
        }
        shown |= {"fields": fields, "typed": typed, "errors": errors, "tried": tried, "view": view}
        shown |= {"arguments": arguments, "line": line, "curl": self._curl(request, arguments)}
        return await show_page("tools.html", request, **shown)

    def _curl(self, request: Request, arguments: str) -> str:
        there = ["curl", f"{self._origin}{request.url.path}"]
        quoted = shlex.join([*there, "-H", "Content-Type: application/json", "-d", arguments])
        return f'{quoted} -H "Authorization: Bearer $TOOLKEEL_TOKEN"'


def _arguments(tool: AnyTool, typed: dict[str, str]) -> str:
    """Return the submitted arguments as JSON."""
    if typed.get("_view") == "json":
        return typed.get("_json", "")
    value = submitted_value(build_form(tool.parameters, typed), typed)
    return compact({} if value is ABSENT else value)


def _switch_view(tool: AnyTool, typed: dict[str, str], arguments: str) -> dict[str, str]:
    """Return the same value as JSON, or as a form if the form can express it."""
    if typed["_do"] == "json":
        pretty = json.dumps(json.loads(arguments), ensure_ascii=False, indent=2)
        return {"_view": "json", "_json": pretty}
    try:
        value = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return {**typed, "_note": "this is not valid JSON"}
    found = fields_for_value(tool.parameters, value)
    if not expresses(submitted_value(build_form(tool.parameters, found), found), value):
        return {**typed, "_note": "the form cannot express this value"}
    return {**found, "_view": "form"}


def _errors(result: ToolMessage) -> dict[str, str]:
    """Return the errors by the pointer to their value."""
    errors = result.details.get("errors", ())
    listed = errors if isinstance(errors, tuple | list) else ()
    return {pointer_of(e.path): str(e) for e in listed if isinstance(e, FieldError)}


def _providers(tool: AnyTool) -> list[tuple[str, str, Any, list[str]]]:
    """List for each provider its name, the tool's name there, the definition, and its losses."""
    found: list[tuple[str, str, Any, list[str]]] = []
    for target in FORMS:
        alias = wire_names([tool.name], POLICIES[target])[tool.name]
        made = definition(
            alias, tool.description, tool.parameters, target, provider_options=tool.provider_options
        )
        found.append((target, alias, made.body, [str(loss) for loss in made.losses]))
    return found
