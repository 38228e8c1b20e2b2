"""What goes on to a server, and what comes back, as JSON."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from toolkeel import Rules
from toolkeel.mcp.client.mend_responses import NOT_SENT, Unreachable, transport_error
from toolkeel.mcp.content import STRUCTURE
from toolkeel.mcp.pins import Pins
from toolkeel_studio.gateway.calls import (
    PolicyEnforcer,
    send_asking_client,
    with_envelope,
)
from toolkeel_studio.gateway.client_call import Call
from toolkeel_studio.gateway.ledger import ClientLedger
from toolkeel_studio.gateway.policy import Policy
from toolkeel_studio.gateway.routes import Route

TOOL = types.Tool(name="act", input_schema={"type": "object"})


def test_a_result_has_the_form_of_its_clients_revision() -> None:
    result = {
        "content": [], "structuredContent": [1], "resultType": "complete",
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "x"}, "a": 1},
    }  # fmt: skip
    old: Any = SimpleNamespace(protocol_version="2025-11-25")
    new: Any = SimpleNamespace(protocol_version="2026-07-28")
    assert with_envelope(dict(result), old, {}) == {
        "content": [], "structuredContent": {"result": [1]}, "_meta": {"a": 1},
    }  # fmt: skip
    kept = {"content": [], "_meta": {STRUCTURE: [1], "a": 1}}  # of a server of the older revision
    assert with_envelope(dict(kept), old, {}) == with_envelope(dict(result), old, {})
    assert with_envelope(dict(kept), new, {})["structuredContent"] == [1]
    told = with_envelope({"content": []}, new, {"name": "gateway"})
    assert told["resultType"] == "complete"
    assert told["_meta"] == {"io.modelcontextprotocol/serverInfo": {"name": "gateway"}}


def test_a_server_that_asks_without_end_is_given_up() -> None:
    class Asking:
        name = "asking"

        async def send(self, method: str, params: Any, progressed: Any = None) -> Any:
            return {"resultType": "input_required", "inputRequests": {}, "requestState": "s"}

        def name_resources(self, question: Any) -> None:
            """There are none."""

    server: Any = Asking()
    exchange: Any = None
    with pytest.raises(MCPError, match="again and again"):
        asyncio.run(send_asking_client(server, "tools/call", {}, exchange, None))


@pytest.mark.parametrize(
    "error", [Unreachable("gone"), MCPError.from_error_data(transport_error(NOT_SENT, "gone"))]
)
def test_what_is_not_sent_of_a_later_round_stays_done_before_it(error: Exception) -> None:
    class Gone:
        name = "gone"
        config = SimpleNamespace(identity="gone")
        questions = 0

        async def send(self, method: str, params: Any, progressed: Any = None) -> Any:
            raise error

    def told(**params: object) -> str:
        server: Any = Gone()
        route = Route(server, "act", TOOL)
        keeper = PolicyEnforcer(Policy(), Pins(), None, ClientLedger())
        result = asyncio.run(keeper.send(Call("", "act", route, params), None))
        return str(result["content"][0]["text"])

    assert "The call was not sent." in told(arguments={})
    for later in ({"requestState": "s"}, {"inputResponses": {}}):
        assert "not sent" not in told(arguments={}, **later)


@pytest.mark.parametrize("given", [[["path", "/etc/passwd"]], "path=/etc/passwd", 5])
def test_arguments_that_no_rule_could_be_about_are_refused(given: Any) -> None:
    route = Route(cast("Any", None), "act", TOOL)
    keeper = PolicyEnforcer(Policy(Rules(deny=["act(path=/etc/*)"])), Pins(), None, ClientLedger())
    with pytest.raises(MCPError, match="one JSON object"):
        asyncio.run(
            keeper.find_refusal(Call("", "act", route, {"name": "act", "arguments": given}))
        )


def test_what_a_client_reads_counts_from_the_moment_the_call_is_sent() -> None:
    ledger, seen = ClientLedger(), []

    class Telling:
        name, questions, apart = "web", 0, False

        async def send(self, method: str, params: Any, progressed: Any = None) -> Any:
            seen.append(await ledger.labels("ada"))  # it tells its progress, in a stranger's words
            return {"content": []}

    server: Any = Telling()
    route = Route(server, "act", TOOL)
    keeper = PolicyEnforcer(Policy(taint={"stranger": ["web__*"]}), Pins(), None, ledger)
    asyncio.run(keeper.send(Call("ada", "web__act", route, {}), None))
    assert seen == [{"stranger": "web__act"}]
