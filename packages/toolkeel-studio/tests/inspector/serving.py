"""An inspector that serves, with a user's tools and a model that plays its part."""

from __future__ import annotations

import asyncio
import functools
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import httpx2
from pydantic import BaseModel, Field

from toolkeel import Agent, Effects, tool
from toolkeel.sessions import ApprovalQueue, Sessions
from toolkeel.testing import Scripted, call
from toolkeel_studio.inspector.app import Inspector


class Circle(BaseModel):
    kind: Literal["circle"]
    radius: float


class Point(BaseModel):
    x: int
    y: int = 0


class Outline(BaseModel):
    kind: Literal["path"]
    points: list[Point]


@tool(effects=Effects(read_only=True, open_world=False))
def search(
    query: str,
    limit: Annotated[int, Field(ge=1, le=10)] = 3,
    kind: Literal["news", "web"] = "web",
    tags: list[str] = [],  # noqa: B006
) -> list[str]:
    """Search the documents.

    Args:
        query: What to look for.
        limit: How many at most.
    """
    return [f"{query} {n}" for n in range(1, limit + 1)]


@tool
def draw(shape: Circle | Outline, title: str | None = None) -> str:
    """Draw a shape."""
    return f"{shape} {title!r}"


GATE = threading.Event()
"""Lets `hold` end."""
HELD = threading.Event()
"""Says that it has begun."""


@tool
async def hold(name: str = "") -> str:
    """Wait until the test lets it go."""
    HELD.set()
    await asyncio.to_thread(GATE.wait)
    return f"held {name}"


REMOVED: list[str] = []


@tool(approval=True)
def remove(path: str) -> str:
    """Remove a file."""
    REMOVED.append(path)
    return f"removed {path}"


HOSTILE = (
    "<script>window.ran=1</script><img src=x onerror='window.ran=2'>"
    "<svg onload='window.ran=3'><a href='javascript:window.ran=4'>x</a>"
    "<div hx-get='/x' hx-trigger='load'>\x1b]0;title\x07 [x](javascript:alert) ![y](http://h.test/p.png)"
)


@tool
def hostile() -> str:
    """Try to rule the page."""
    return HOSTILE


TOOLS = [search, draw, hold, remove, hostile]


@dataclass
class Served:
    """An inspector at work.

    Args:
        inspector: It.
        sessions: Where its runs are kept.
        origin: Its address.
        place: The path before its pages.
        client: Knows the token.
    """

    inspector: Inspector
    sessions: Sessions
    origin: str
    place: str
    client: httpx2.Client

    @property
    def base(self) -> str:
        """Before the path of a page."""
        return self.origin + self.place

    def post(self, path: str, **fields: str) -> httpx2.Response:
        """Send a form, as a page of the server would."""
        return self.client.post(path, data=fields, headers={"Origin": self.origin})

    def until(self, path: str, pattern: str) -> str:
        """The page, once it shows something."""
        for _ in range(3000):
            text = self.client.get(path).text
            if re.search(pattern, text):
                return text
        raise AssertionError(f"{path} never showed {pattern}: {text}")


@contextmanager
def served(
    folder: Path,
    lines: Sequence[Any] = ("Hello.",),
    tools: Sequence[Any] = (),
    desk: ApprovalQueue | None = None,
    audit: Path | None = None,
    port: int = 0,
    token: str = "",
    find_durable: Any = None,
    **options: Any,
) -> Iterator[Served]:
    """An inspector of the tools above and of others, until the block ends."""
    GATE.clear()
    HELD.clear()
    REMOVED.clear()
    agent = Agent(Scripted(lines, name="play"), [*TOOLS, *tools], **options)
    sessions = Sessions(folder / "talk.db")
    inspector = Inspector(
        agent,
        sessions,
        target="tools.py",
        desk=desk,
        find_durable=find_durable,
        audit=audit,
        port=port,
        token=token,
    )
    ready = threading.Event()
    thread = threading.Thread(target=lambda: asyncio.run(inspector.serve(ready.set)))
    thread.start()
    try:
        assert ready.wait(60)
        origin = inspector.url.partition("/login")[0]
        with httpx2.Client(timeout=60) as client:
            place = client.get(inspector.url).headers["location"].rstrip("/")
            client.base_url = httpx2.URL(origin + place)
            yield Served(inspector, sessions, origin, place, client)
    finally:
        GATE.set()
        inspector.stop()
        thread.join(60)
        sessions.close()


def in_loop(test: Callable[..., Any]) -> Callable[..., None]:
    """A test that is a coroutine, run to its end."""

    @functools.wraps(test)
    def run(*values: Any, **named: Any) -> None:
        asyncio.run(test(*values, **named))

    return run


def busy() -> list[Any]:
    """A run with parallel calls, a wrong one, a hostile one, an approval and an answer."""
    return [
        [
            call("hold", {"name": "first"}),
            call("hold", {"name": "猫"}),
            call("search", {"query": "keel", "limit": 99}),
        ],
        [call("search", {"query": "keel", "limit": 2}), call("hostile", {})],
        [call("remove", {"path": "猫.txt"})],
        "**Done.** " + HOSTILE,
    ]
