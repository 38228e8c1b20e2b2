"""One call of a client through the gateway: judged on the JSON it came as, sent, written down.

Nothing on the way of a call that needs no person is made a model of. What must ask somebody, or may
be asked something by its server in mid-call, takes the slower way of `toolkeel.mcp.server.rounds`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, cast

import mcp_types as types
from mcp.server import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import SERVER_INFO_META_KEY
from pydantic import BaseModel, TypeAdapter

from toolkeel._records.record import record
from toolkeel.errors import CallError, SetupError
from toolkeel.mcp.client.connection import Unreachable
from toolkeel.mcp.client.outcome import failed
from toolkeel.mcp.client.raw_requests import Progressed
from toolkeel.mcp.client.salvage import FORGOTTEN, LOST, NOT_SENT, REFUSED, FromPeer
from toolkeel.mcp.gateway.audit import Audit, digest_of_arguments
from toolkeel.mcp.gateway.policy import Policy
from toolkeel.mcp.gateway.table import Route
from toolkeel.mcp.gateway.upstream import Upstream, as_it_came, is_first
from toolkeel.mcp.pins import Pins, difference
from toolkeel.mcp.server.asking import CannotAsk, Client
from toolkeel.mcp.server.figures import Figures
from toolkeel.mcp.server.rounds import Exchange, Request, is_modern

CLIENT = "toolkeel.client"
"""Where a request over HTTP says whose token it came with."""
PASSED = "upstream "
"""Before the state of a round that is the server's own, and not that of a call waiting here."""


class RawRequest(ServerRequestContext[Any, Any]):
    """A request that came as a line of JSON, past the SDK's session."""


_OWN_META = ("progressToken",)
_PROTOCOL = "io.modelcontextprotocol/"
_ASKED: TypeAdapter[Any] = TypeAdapter(types.InputRequest)
_ANSWERS: Mapping[str, type[BaseModel]] = {
    "elicitation/create": types.ElicitResult,
    "sampling/createMessage": types.CreateMessageResult,
    "roots/list": types.ListRootsResult,
}
_APPROVAL: Mapping[str, object] = {
    "type": "object",
    "properties": {"approve": {"type": "boolean", "title": "Let this call run", "default": False}},
    "required": ["approve"],
}


@record
class Call:
    """One call.

    Args:
        client: Who calls.
        tool: The public name.
        route: Where it leads.
        params: As they came.
    """

    client: str
    tool: str
    route: Route
    params: Mapping[str, Any]

    @property
    def arguments(self) -> Mapping[str, Any]:
        """What is given to the tool."""
        given = self.params.get("arguments")
        return given if isinstance(given, Mapping) else {}


class Gatekeeper:
    """Judges calls, sends them, and writes down what became of them.

    Args:
        policy: Who may call what.
        pins: Definitions as they were approved.
        audit: Where calls are written down; None: nowhere.
        trusted: Names of servers whose word is taken that a tool only reads.
    """

    def __init__(
        self, policy: Policy, pins: Pins, audit: Audit | None, trusted: frozenset[str] = frozenset()
    ) -> None:
        self.policy = policy
        self._pins = pins
        self._audit = audit
        self._trusted = trusted
        self.figures = Figures()

    def refusal(self, call: Call) -> str:
        """Why a call may not be made, whoever is asked; empty if it may."""
        rule = self.policy.rule(call.client, call.tool, call.arguments)
        if rule is not None and rule.action == "deny":
            return f"The gateway does not allow this call (rule: {rule}). It was not sent."
        return self._changed(call) or self.policy.over_limit(call.client, call.tool)

    def question(self, call: Call) -> str:
        """What a person must be asked before the call is sent; empty if nothing."""
        rule = self.policy.rule(call.client, call.tool, call.arguments)
        if rule is None or rule.action != "ask":
            return ""
        shown = json.dumps(call.arguments, ensure_ascii=False, indent=2)
        return f"May {call.tool} run with these arguments?\n\n{shown}\n\n(rule: {rule})"

    def _changed(self, call: Call) -> str:
        """Whether the definition is another than the one that was approved."""
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
            f"{route.server.name}\n{difference(known.definition, pin.definition)[:2000]}"
        )

    async def approve(self, question: str, exchange: Exchange) -> str:
        """Ask the client's person; why the call may not be made, or nothing."""
        try:
            found = await Client(exchange).elicit(question, _APPROVAL, key="approve")
        except CannotAsk:
            return (
                "This call needs a person's approval, and this host cannot ask one. A person can "
                "allow it in the gateway's file of rules: allow = [...]. It was not sent."
            )
        except CallError as error:
            return error.text
        if found.content is not None and found.content.get("approve") is True:
            return ""
        return "The person did not approve the call. It was not sent."

    async def send(self, call: Call, progressed: Progressed | None) -> dict[str, Any]:
        """Send a call, and give its result as JSON; a call without one has an error as its result.

        Raises:
            MCPError: the server answered with an error of the protocol.
        """
        began = time.monotonic()
        kind = "cancelled"
        await self._before(call)
        try:
            result = await self._sent(call, progressed)
            kind = "tool_error" if result.get("isError") else _ended(result)
            return result
        except MCPError as error:
            if isinstance(error.data, FromPeer) or not _is_ours(error):
                kind = "protocol_error"
                raise as_it_came(error) from error
            first = is_first(call.params)
            message = failed(error, call.tool, call.route.server.name, first).message
            kind = str(message.kind)
            return error_result(message.text)
        except (Unreachable, SetupError) as error:
            kind, sent = "not_sent", "The call was not sent."
            if not is_first(call.params):
                kind, sent = "unknown_outcome", "What it did before it asked stays done."
            return error_result(f"{error}. {sent}")
        finally:
            self._after(call, kind, time.monotonic() - began)

    async def _sent(self, call: Call, progressed: Progressed | None) -> dict[str, Any]:
        params = {**call.params, "name": call.route.name}
        params = forwarded(params)
        return await call.route.server.send("tools/call", params, progressed)

    async def _before(self, call: Call) -> None:
        if self._audit is None:
            return
        self._audit.write({"event": "call", **_said(call, self._audit)})
        if not self._only_reads(call.route):
            await self._audit.synced()

    def _after(self, call: Call, kind: str, seconds: float) -> None:
        self.figures.ended(kind, seconds)
        if self._audit is not None:
            ended = {"event": "end", "outcome": kind, "seconds": round(seconds, 4)}
            self._audit.write({**ended, **_said(call, self._audit)})

    def refused(self, call: Call, why: str) -> dict[str, Any]:
        """The result of a call that is not sent."""
        self.figures.ended("refused", 0.0)
        if self._audit is not None:
            said = {"event": "refused", "why": why.split("\n", 1)[0]}
            self._audit.write({**said, **_said(call, self._audit)})
        return error_result(why)

    def _only_reads(self, route: Route) -> bool:
        hints = route.definition.annotations
        said = hints is not None and hints.read_only_hint is True
        return said and route.server.name in self._trusted


def _said(call: Call, audit: Audit) -> dict[str, object]:
    return {
        "client": call.client,
        "server": call.route.server.name,
        "tool": call.route.name,
        "arguments": digest_of_arguments(call.arguments, audit.key),
    }


def _ended(result: Mapping[str, Any]) -> str:
    return "asks" if result.get("resultType") == "input_required" else "success"


def _is_ours(error: MCPError) -> bool:
    ours = (LOST, NOT_SENT, REFUSED, FORGOTTEN)
    return error.code in (types.CONNECTION_CLOSED, types.REQUEST_TIMEOUT, *ours)


def forwarded(params: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as a server may see them: without what is between the client and the gateway.

    >>> forwarded({"name": "x", "_meta": {"progressToken": 1, "trace": "t"}})
    {'name': 'x', '_meta': {'trace': 't'}}
    """
    meta = params.get("_meta")
    if not isinstance(meta, Mapping):
        return dict(params)
    kept = _foreign(meta)
    rest = {key: value for key, value in params.items() if key != "_meta"}
    return {**rest, "_meta": kept} if kept else rest


def _foreign(meta: object) -> dict[str, Any]:
    """What of a ``_meta`` is not between two neighbours alone."""
    return {
        key: value
        for key, value in (meta.items() if isinstance(meta, Mapping) else ())
        if key not in _OWN_META and not key.startswith(_PROTOCOL)
    }


def error_result(text: str) -> dict[str, Any]:
    """A result that tells the model what went wrong."""
    return {"content": [{"type": "text", "text": text}], "isError": True}


def enveloped(result: dict[str, Any], request: Request, server: object) -> dict[str, Any]:
    """A result as the client's revision wants it.

    Args:
        result: As the server gave it.
        request: The client's.
        server: What the gateway says of itself.
    """
    if is_modern(request):
        meta = result.get("_meta")
        said = {**(meta if isinstance(meta, dict) else {}), SERVER_INFO_META_KEY: server}
        return {**result, "resultType": result.get("resultType", "complete"), "_meta": said}
    kept = {key: value for key, value in result.items() if key not in ("resultType", "_meta")}
    said = _foreign(result.get("_meta"))
    if said:
        kept["_meta"] = said
    structure = kept.get("structuredContent")
    if structure is not None and not isinstance(structure, dict):
        kept["structuredContent"] = {"result": structure}  # what this revision can say
    return kept


def progress_of(request: Request) -> Progressed | None:
    """Tells the client how far a call is; None if it is known not to want that."""
    if isinstance(request, RawRequest) and "progressToken" not in (request.meta or ()):
        return None

    async def tell(progress: float, total: float | None, message: str | None) -> None:
        with suppress(MCPError):
            await request.session.report_progress(progress, total, message)

    return tell


async def answered(
    server: Upstream, method: str, params: Mapping[str, Any], exchange: Exchange, progressed: Any
) -> dict[str, Any]:
    """A request whose server may ask for more (``input_required``): the client is asked for it.

    Raises:
        MCPError: as the server answered, or it asks again and again.
    """
    given = dict(params)
    for _ in range(10):
        result = await server.send(method, given, progressed)
        if result.get("resultType") != "input_required":
            return result
        answers = {}
        for key, asked in (result.get("inputRequests") or {}).items():
            question = _ASKED.validate_python(asked)
            said = await exchange.ask(key, question, _ANSWERS[question.method])
            answers[key] = said.model_dump(mode="json", by_alias=True, exclude_none=True)
        given = {**params, "inputResponses": answers}
        if result.get("requestState") is not None:
            given["requestState"] = result["requestState"]
    raise MCPError(types.INTERNAL_ERROR, f"{server.name} asks again and again; it was given up")


def as_model(result: dict[str, Any]) -> BaseModel:
    """A raw result where the rounds of a call want a model; it is sent as it is."""
    return cast("BaseModel", result)


def client_of(request: Request) -> str:
    """Whose request it is: the name that goes with its token; "" if nobody is told apart."""
    scope = getattr(request.request, "scope", None)
    name = scope.get(CLIENT, "") if isinstance(scope, dict) else ""
    return str(name)


async def told(work: Callable[[], Awaitable[Any]]) -> Any:
    """A request without results that are errors: what goes wrong is an error of the protocol."""
    try:
        return await work()
    except MCPError as error:
        raise as_it_came(error) from error
    except (Unreachable, SetupError) as error:
        raise MCPError(types.INTERNAL_ERROR, str(error)) from error
