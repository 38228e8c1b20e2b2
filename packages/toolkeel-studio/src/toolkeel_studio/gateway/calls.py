"""One call of a client through the gateway: judged on the JSON it came as, sent, written down.

Nothing on the way of a call that needs no person is made a model of. What must ask somebody, or may
be asked something by its server in mid-call, takes the slower way of `toolkeel.mcp.server.multi_round_calls`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, cast

import mcp_types as types
from mcp.server import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import SERVER_INFO_META_KEY
from pydantic import BaseModel, TypeAdapter

from toolkeel._records.tickets import Approver
from toolkeel.errors import SetupError
from toolkeel.mcp.client.elicitation import limit_concurrency
from toolkeel.mcp.client.mend_responses import Unreachable, is_transport_error
from toolkeel.mcp.client.outcome import failure_of
from toolkeel.mcp.client.raw_requests import MAX_CALLBACKS, Progressed
from toolkeel.mcp.content import STRUCTURE
from toolkeel.mcp.pins import Pins, definition_diff
from toolkeel.mcp.server.multi_round_calls import Exchange, Request, is_modern
from toolkeel.mcp.server.prometheus_metrics import CallMetrics
from toolkeel_studio.gateway.approve import (
    make_answered_result,
    make_ticket,
    request_approval,
)
from toolkeel_studio.gateway.audit import AuditLog, digest_arguments
from toolkeel_studio.gateway.cache import ResultCache, cache_key
from toolkeel_studio.gateway.client_call import Call, end_to_end_meta, with_translation
from toolkeel_studio.gateway.ledger import ClientLedger
from toolkeel_studio.gateway.policy import Policy
from toolkeel_studio.gateway.routes import Route
from toolkeel_studio.gateway.status import Activity
from toolkeel_studio.gateway.upstream import Upstream, as_client_error, is_first_round

UPSTREAM_STATE = "upstream "
"""Before the state of a round that is the server's own, and not that of a call waiting here."""


class RawRequest(ServerRequestContext[Any, Any]):
    """A request that came as a line of JSON, past the SDK's session."""


_ASKED: TypeAdapter[Any] = TypeAdapter(types.InputRequest)
_INPUT_RESPONSES: Mapping[str, type[BaseModel]] = {
    "elicitation/create": types.ElicitResult,
    "sampling/createMessage": types.CreateMessageResult,
    "roots/list": types.ListRootsResult,
}
_READ = {"private": "private data", "stranger": "text of strangers"}


class PolicyEnforcer:
    """Checks calls against the policy, sends them, and logs the outcome.

    Args:
        policy: Who may call what.
        pins: Definitions as they were approved.
        audit: Where calls are written down; None: nowhere.
        ledger: What is known of clients from call to call.
        approver: Asked beside the client's person.
    """

    def __init__(
        self,
        policy: Policy,
        pins: Pins,
        audit: AuditLog | None,
        ledger: ClientLedger,
        approver: Approver | None = None,
    ) -> None:
        self.policy = policy
        self._pins = pins
        self._audit = audit
        self._ledger = ledger
        self._approver = approver
        self._cache = ResultCache(ledger.shared)
        self.metrics, self.activity = CallMetrics(), Activity()

    async def find_refusal(self, call: Call) -> str:
        """Count a call, and return why it is refused; empty if it is allowed."""
        if why := self._find_denial(call):
            return why
        limits = self.policy.limits(call.tool)
        return await self._ledger.count_call(call.client, limits) if limits else ""

    def _find_denial(self, call: Call) -> str:
        """Return the rule, definition change or fault that denies a call, or empty if none does."""
        rule = self.policy.find_rule(call.client, call.tool, call.judged_arguments)
        if rule is None or rule.action != "deny":
            return self._definition_change(call) or call.argument_error
        return f"The gateway does not allow this call (rule: {rule}). It was not sent."

    async def approval_reason(self, call: Call) -> str:
        """Return why a person must approve the call, or an empty string if not required."""
        rule = self.policy.find_rule(call.client, call.tool, call.judged_arguments)
        if rule is not None and rule.action == "ask":
            return f"rule: {rule}"
        if not self.policy.is_outward(call.tool):
            return ""
        read = await self._ledger.labels(call.client)
        sources = ", ".join(f"{_READ[label]} ({tool})" for label, tool in read.items())
        return f"it acts outward, and this client has read {sources}" if read else ""

    def _definition_change(self, call: Call) -> str:
        """Return how the definition differs from the approved one, or empty if it does not."""
        route, pin = call.route, call.route.pin
        identity = route.server.config.identity
        known = self._pins.get(identity, route.name)
        if pin is None or known is None:
            if pin is not None:  # who agreed to the server agreed to what it first brought
                self._pins.set(identity, route.name, pin)
            return ""
        if known.digest == pin.digest:
            return ""
        return (
            f"The server {route.server.name} has changed this tool since it was approved, so the "
            f"call was not sent. A person can look at it and approve it: toolkeel mcp pin "
            f"{route.server.name}\n{definition_diff(known.definition, pin.definition)[:2000]}"
        )

    async def approve(self, call: Call, why: str, exchange: Exchange) -> Call | dict[str, Any]:
        """Ask a person. Return the approved call, or its result if it is not sent."""
        self.activity.count_approval(why)
        ticket = make_ticket(call.tool, call.arguments, why, call.route.definition)
        decision = await request_approval(ticket, exchange, self._approver)
        if decision.seal != ticket.seal:
            decision = ticket.deny("it was decided about another call")
        if self._audit is not None:
            self._audit.write({"event": decision.verdict, **_audit_fields(call, self._audit)})
        if decision.verdict == "answer":
            try:
                return make_answered_result(call.route.definition, decision.value)
            except ValueError as error:
                text = f"A person answered instead of {call.tool!r}, but the answer does not fit"
                return self.refuse(call, f"{text} the result that the tool declares: {error}")
        if decision.verdict == "deny":
            why = decision.reason and f"The call was not approved: {decision.reason}"
            why = why or "The person did not approve the call"
            return self.refuse(call, f"{why}. It was not sent and did not run.")
        if decision.verdict == "edit":
            params = {**call.params, "arguments": dict(decision.arguments)}
            call = Call(call.client, call.tool, call.route, params)
        return self.refuse(call, why) if (why := self._find_denial(call)) else call

    async def send(self, call: Call, progressed: Progressed | None) -> dict[str, Any]:
        """Send a call and return its result as JSON; a failed call gets an error result.

        Raises:
            MCPError: the server answered with an error of the protocol.
        """
        key, server, state = self._cache_key(call), call.route.server, 0
        if key:
            if (found := await self._cache.get(server.cache_scope, key)) is not None:
                return await self._serve_cached(call, found)
            state = await self._cache.server_version(server.cache_scope)
        questions = server.questions
        began = time.monotonic()
        kind = "cancelled"
        await self._record_labels(call)  # its server can tell the client something before it ends
        await self._log_start(call)
        try:
            result = await self._forward(call, progressed)
            if key and questions == server.questions:
                seconds = self.policy.cache_seconds(call.tool)
                await self._cache.put(server.cache_scope, key, result, seconds, state)
            needs_input = result.get("resultType") == "input_required"
            kind = "tool_error" if result.get("isError") else "asks" if needs_input else "success"
            return result
        except MCPError as error:
            if not is_transport_error(error):
                kind = "protocol_error"
                raise as_client_error(error) from error
            first = is_first_round(call.params)
            message = failure_of(error, call.tool, call.route.server.name, first).message
            kind = str(message.kind)
            return error_result(message.text)
        except (Unreachable, SetupError) as error:
            kind, sent = "not_sent", "The call was not sent."
            if not is_first_round(call.params):
                kind, sent = "unknown_outcome", "What it did before it asked stays done."
            return error_result(f"{error}. {sent}")
        finally:
            self._log_end(call, kind, time.monotonic() - began)
            if not _is_read_only(call.route):
                await self.invalidate(server)

    async def invalidate(self, server: Upstream) -> None:
        """Invalidate the cached results of a server."""
        if self.policy.has_cache:
            await self._cache.invalidate(server.cache_scope)

    def _cache_key(self, call: Call) -> str:
        """Return the cache key of a call, or an empty string if it is not cached."""
        route = call.route
        if not (
            self.policy.cache_seconds(call.tool)
            and _is_read_only(route)
            and is_first_round(call.params)
        ):
            return ""
        own = route.server.has_own_connections or "private" in self.policy.labels(call.tool)
        if own and not call.client:
            return ""
        digest = route.pin.digest if route.pin is not None else ""
        return cache_key(call.client if own else "", digest, call.sent_params)

    async def _record_labels(self, call: Call) -> None:
        if labels := self.policy.labels(call.tool):
            await self._ledger.add_labels(call.client, labels, call.tool)

    async def label_contents(self, client: str, tools: Iterable[str]) -> None:
        """Record that a client reads a resource or prompt: it has the labels of its server's tools.

        Args:
            client: The client.
            tools: Public names of these tools.
        """
        found = {label: tool for tool in tools for label in self.policy.labels(tool)}
        for label, tool in found.items():
            await self._ledger.add_labels(client, [label], tool)

    async def _serve_cached(self, call: Call, result: dict[str, Any]) -> dict[str, Any]:
        await self._record_labels(call)
        self.metrics.record("success", 0.0, call.tool)
        if self._audit is not None:
            self._audit.write({"event": "cached", **_audit_fields(call, self._audit)})
        return result

    async def _forward(self, call: Call, progressed: Progressed | None) -> dict[str, Any]:
        result = await call.route.server.send("tools/call", call.sent_params, progressed)
        return with_translation(call, result) if result.get("isError") else result

    async def _log_start(self, call: Call) -> None:
        if self._audit is None:
            return
        self._audit.write({"event": "call", **_audit_fields(call, self._audit)})
        await self._audit.sync()

    def _log_end(self, call: Call, kind: str, seconds: float) -> None:
        self.metrics.record(kind, seconds, call.tool)
        if self._audit is not None:
            ended = {"event": "end", "outcome": kind, "seconds": round(seconds, 4)}
            self._audit.write({**ended, **_audit_fields(call, self._audit)})

    def refuse(self, call: Call, why: str) -> dict[str, Any]:
        """Log a refused call and return its error result."""
        self.metrics.record("refused", 0.0)
        self.activity.count_refusal(why)
        if self._audit is not None:
            event = {"event": "refused", "why": why.split("\n", 1)[0]}
            self._audit.write({**event, **_audit_fields(call, self._audit)})
        return error_result(why)


def needs_rounds(call: Call, request: Request) -> bool:
    """Return True if a question during the call needs another round of the client."""
    revision = call.route.server.link.revision
    return is_modern(request) and (revision is None or revision < request.protocol_version)


def _is_read_only(route: Route) -> bool:
    hints = route.definition.annotations
    return hints is not None and hints.read_only_hint is True


def _audit_fields(call: Call, audit: AuditLog) -> dict[str, object]:
    return {
        "client": call.client,
        "server": call.route.server.name,
        "tool": call.route.name,
        "arguments": digest_arguments(call.arguments, audit.key),
    }


def error_result(text: str) -> dict[str, Any]:
    """Return an error result with a text."""
    return {"content": [{"type": "text", "text": text}], "isError": True}


def with_envelope(result: dict[str, Any], request: Request, server: object) -> dict[str, Any]:
    """Return a result in the form of the client's revision.

    Args:
        result: As the server gave it.
        request: The client's.
        server: What the gateway says of itself.
    """
    meta = result.get("_meta")
    meta = meta if isinstance(meta, dict) else {}
    if STRUCTURE in meta:  # as a server of an older revision must not say it
        rest = {key: value for key, value in meta.items() if key != STRUCTURE}
        result, meta = {**result, "structuredContent": meta[STRUCTURE]}, rest
    if is_modern(request):
        end_to_end = {**meta, SERVER_INFO_META_KEY: server}
        return {**result, "resultType": result.get("resultType", "complete"), "_meta": end_to_end}
    legacy = {key: value for key, value in result.items() if key not in ("resultType", "_meta")}
    if end_to_end := end_to_end_meta(meta):
        legacy["_meta"] = end_to_end
    structure = legacy.get("structuredContent")
    if structure is not None and not isinstance(structure, dict):
        legacy["structuredContent"] = {"result": structure}  # what this revision can say
    return legacy


def progress_sender(request: Request) -> Progressed | None:
    """Return a function that sends progress to the client, or None if the client wants none."""
    if isinstance(request, RawRequest) and "progressToken" not in (request.meta or ()):
        return None

    async def tell(progress: float, total: float | None, message: str | None) -> None:
        with suppress(MCPError):
            await request.session.report_progress(progress, total, message)

    bounded: Progressed = limit_concurrency(tell, MAX_CALLBACKS, None)
    return bounded


async def send_asking_client(
    server: Upstream, method: str, params: Mapping[str, Any], exchange: Exchange, progressed: Any
) -> dict[str, Any]:
    """Send a request, and ask the client whenever the server requires input.

    Raises:
        MCPError: as the server answered, or it asks again and again.
    """
    sent = dict(params)
    for _ in range(10):
        result = await server.send(method, sent, progressed)
        if result.get("resultType") != "input_required":
            return result
        server.name_resources(result)
        responses = {}
        for key, asked in (result.get("inputRequests") or {}).items():
            question = _ASKED.validate_python(asked)
            answer = await exchange.ask(key, question, _INPUT_RESPONSES[question.method])
            responses[key] = answer.model_dump(mode="json", by_alias=True, exclude_none=True)
        sent = {**params, "inputResponses": responses}
        if result.get("requestState") is not None:
            sent["requestState"] = result["requestState"]
    raise MCPError(types.INTERNAL_ERROR, f"{server.name} asks again and again; it was sent up")


def as_model(result: dict[str, Any]) -> BaseModel:
    """Cast a raw result to the model type that rounds expect."""
    return cast("BaseModel", result)
