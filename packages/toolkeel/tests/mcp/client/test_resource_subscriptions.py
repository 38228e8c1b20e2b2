"""Who is told of a change; the subscriptions themselves are in test_resources_prompts."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from toolkeel.mcp.client.resource_subscriptions import ResourceSubscriptions


class Session:
    def __init__(self) -> None:
        self.sent: list[tuple[str, str]] = []

    async def send_request(self, request: Any, kind: Any) -> None:
        self.sent.append((request.method, request.params.uri))


def test_an_address_is_subscribed_once_and_given_up_with_the_last_watcher() -> None:
    session = Session()
    client: Any = SimpleNamespace(session=session)

    async def living(work: Any) -> None:
        await work(client)

    async def use() -> None:
        heard: list[str] = []
        other: list[str] = []
        watches = ResourceSubscriptions(living, lambda: True)
        await watches.add(["a", "b"], heard.append)
        await watches.add(["a"], other.append)
        watches.notify("a")
        watches.notify("c")
        assert (heard, other) == (["a"], ["a"])
        await watches.remove(["a"], heard.append)
        watches.notify("a")
        await watches.resubscribe(client)  # on a new connection all are subscribed and told again
        assert heard == ["a", "b"] and other == ["a", "a", "a"]
        await watches.remove(["a"], other.append)
        assert session.sent[-1] == ("resources/unsubscribe", "a")
        assert session.sent[:2] == [("resources/subscribe", "a"), ("resources/subscribe", "b")]

    asyncio.run(use())
