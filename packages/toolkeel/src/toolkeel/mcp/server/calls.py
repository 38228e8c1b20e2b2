"""One call of a client through the pipeline: its run, its progress and its approval."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import mcp_types as types
from mcp.shared.exceptions import MCPError

from toolkeel._records.tickets import Decision, Ticket
from toolkeel.call.toolset import Toolset
from toolkeel.context import RunContext
from toolkeel.errors import CallError, Suspend
from toolkeel.events import Event, Progress
from toolkeel.mcp.server.calling import (
    EXCHANGE_KEY,
    LOG_LEVEL_KEY,
    Client,
    MissingCapability,
    approval_question,
)
from toolkeel.mcp.server.multi_round_calls import Exchange, Request, is_modern
from toolkeel.messages import ToolCall, ToolMessage

NewRun: TypeAlias = Callable[[Request], RunContext[Any]]
LogLevelLookup: TypeAlias = Callable[[Request], str]

log = logging.getLogger("toolkeel")

_APPROVAL: Final[Mapping[str, object]] = {
    "type": "object",
    "properties": {
        "approve": {"type": "boolean", "title": "Let this call run", "default": False},
        "reason": {"type": "string", "title": "Reason, if not (the model is told)"},
    },
    "required": ["approve"],
}


async def run_client_call(
    exchange: Exchange, call: ToolCall, tools: Toolset, run: RunContext[Any], level: LogLevelLookup
) -> ToolMessage:
    """Run one call of a client through the pipeline, and return its result message.

    The run gets an approver that asks the client's person, unless it has one, and a listener that
    sends progress. An exception of the program is logged, and the call has its result.

    Args:
        exchange: The exchange with the client.
        call: The call.
        tools: The tools to look it up in.
        run: The context the tool receives.
        level: Returns the lowest log level the client wants.

    Raises:
        MCPError: The call needs a capability that the client did not declare, and the client's
            revision defines an error for that.
    """
    run.scope.step_state[EXCHANGE_KEY] = exchange
    run.scope.step_state[LOG_LEVEL_KEY] = level
    if run.approver is None:
        run.approver = _Approver(exchange)
    progress = None
    tool = tools.find(call.name).tool
    # Other bodies cannot report progress.
    if tool.injected or tool.steps or "generator" in tool.body:
        progress = _ProgressSender(exchange)
        run.listeners = (*run.listeners, progress)
    batch = tools.batch([call], run)
    try:
        await batch.run()
    except asyncio.CancelledError:
        run.cancel.cancel("the client cancelled the call")  # a body in a thread sees only this
        raise
    except Exception:  # a bug of the program, or a guard that ends the run; not the client's fault
        log.exception("a call of %r failed", call.name)
    finally:
        if progress is not None:
            await progress.flush()
    [message] = batch.results
    _raise_missing_capability(exchange.request, message)
    return message


def _raise_missing_capability(request: Request | None, message: ToolMessage) -> None:
    """Raise MCPError if a call failed for a missing capability, on revisions with an error for that (Basic, Errors).

    Without a request, raise nothing.
    """
    missing = message.details.get("missing_capability") if message.failed else None
    if missing and request is not None and is_modern(request):
        raise MCPError(
            types.MISSING_REQUIRED_CLIENT_CAPABILITY,
            message.text,
            {"requiredCapabilities": missing},
        )


class _ProgressSender:
    """Sends a call's progress to its client: rising, only the latest, none after the end."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._latest: Progress | None = None
        self._last_sent: float | None = None
        self._sender: asyncio.Task[None] | None = None

    def __call__(self, event: Event) -> None:
        if isinstance(event, Progress):
            self._latest = event
            if self._sender is None or self._sender.done():
                self._sender = asyncio.ensure_future(self._send())

    async def _send(self) -> None:
        """Send the latest progress until there is no newer one."""
        while self._latest is not None:
            event, self._latest = self._latest, None
            done = event.done if event.done is not None else (self._last_sent or 0.0) + 1.0
            request = self._exchange.request
            if request is None or (self._last_sent is not None and done <= self._last_sent):
                continue
            self._last_sent = done
            await request.session.report_progress(done, event.total, event.message or None)

    async def flush(self) -> None:
        """Wait until all reported progress is sent."""
        if self._sender is not None:
            await self._sender


class _Approver:
    """Approver that elicits the client's person, and denies where the client has none.

    A ticket with a form is shown as that form, and one with a URL as that URL.
    """

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    async def __call__(self, ticket: Ticket) -> Decision:
        client = Client(self._exchange)
        try:
            if ticket.form:
                return await _fill_form(client, ticket)
            found = await client.elicit(approval_question(ticket), _APPROVAL, key="approve")
        except MissingCapability:
            return ticket.deny("it needs a person's approval, and this client cannot ask a person")
        except CallError as error:
            return ticket.deny(error.text)
        if found.content is not None and found.content.get("approve") is True:
            return ticket.approve()
        answer = found.content or {}
        silent = "did not decide" if found.action == "cancel" else "said no"
        return ticket.deny(str(answer.get("reason") or f"the person {silent}"))


async def _fill_form(client: Client, ticket: Ticket) -> Decision:
    """Pass the question of another server, whose tool runs here, on to the client's person.

    Raises:
        MissingCapability: The client shows no forms, or opens no addresses.
        CallError: The answer does not fit the form.
        Suspend: The person cancelled.
    """
    action, content = "", None
    if set(ticket.arguments) == {"url"} and ticket.form == _url_form(ticket.arguments["url"]):
        action = (await client.elicit_url(ticket.reason, str(ticket.arguments["url"]))).action
    else:
        found = await client.elicit(ticket.reason, ticket.form, key="form")
        action, content = found.action, found.content
    if action == "cancel":
        raise Suspend(ticket)  # the other server is answered that nobody decided
    if action == "decline":
        return ticket.deny("the person declined")
    return ticket.approve() if content is None else ticket.edit(content)


def _url_form(url: object) -> Mapping[str, object]:
    """Return a schema whose only value is a URL."""
    return {"type": "object", "properties": {"url": {"const": url}}}
