"""Requests as JSON beside a session: each answered once, by whatever may come back."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import Any

import mcp_types as types
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.client.session import LoggingFnT
from mcp.shared.exceptions import MCPError

from tests.waiting import run, until
from toolkeel.mcp.client import raw_requests
from toolkeel.mcp.client.frames import FrameReader
from toolkeel.mcp.client.mend_responses import LOST, ResponseRepair
from toolkeel.mcp.client.raw_requests import FIRST_ID, MAX_CALLBACKS, RawRequests

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


class Pipe:
    """What a process would be written."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []

    def write(self, line: bytes) -> None:
        self.lines.append(json.loads(line))

    async def drain(self) -> None:
        pass


async def nobody(_: types.LoggingMessageNotificationParams) -> None:
    """Nobody wants to know."""


def started(log: LoggingFnT = nobody) -> tuple[RawRequests, Pipe, FrameReader]:
    raw, pipe = RawRequests("s", ResponseRepair(lambda: "2025-11-25"), log), Pipe()
    raw.open(pipe)  # type: ignore[arg-type]
    return raw, pipe, FrameReader("s", take=raw.handle_line)


def answer(**said: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **said}).encode() + b"\n"


def test_answers_in_any_order_reach_who_asked_and_no_model_is_made() -> None:
    async def use() -> list[Any]:
        raw, pipe, frames = started()
        asked = [asyncio.ensure_future(raw.send("tools/call", {"n": n}, 60)) for n in range(3)]
        await until(lambda: len(pipe.lines) == 3)
        assert [line["id"] for line in pipe.lines] == [FIRST_ID, FIRST_ID + 1, FIRST_ID + 2]
        for line in reversed(pipe.lines):
            said = answer(id=str(line["id"]), result={"n": line["params"]["n"], "content": []})
            assert list(frames.feed(said)) == []
        assert list(frames.feed(answer(id=7, result={})))  # the session's own
        return await asyncio.gather(*asked)

    assert run(use) == [{"n": n, "content": []} for n in range(3)]


@pytest.mark.parametrize("half", [rb"A\ud83d", b"A\xff", b"A\xed\xa0\xbd"])
def test_half_an_emoji_and_what_is_no_text_costs_that_character_alone(half: bytes) -> None:
    told: list[str | None] = []

    async def progressed(done: float, total: float | None, message: str | None) -> None:
        told.append(message)

    async def use() -> Any:
        raw, pipe, frames = started()
        asked = asyncio.ensure_future(raw.send("tools/call", {}, 60, progressed))
        await until(lambda: pipe.lines)
        id = pipe.lines[0]["id"]
        assert list(frames.feed(answer(id="9" * 5000, result={}))), "a text that is nobody's id"
        params = {"progressToken": id, "progress": 1, "message": "HALF"}
        for line in (
            answer(method="notifications/progress", params=params),
            answer(id=id, result={"text": "HALF"}),
        ):
            assert not list(frames.feed(line.replace(b"HALF", half)))
        return (await asked)["text"]

    text = run(use, 10)
    assert text.rstrip("\ufffd") == "A" != text and told == [text]


def test_what_is_logged_before_an_answer_is_passed_on_before_it_but_not_for_ever() -> None:
    seen: list[object] = []
    stuck = asyncio.Event()

    async def slowly(params: types.LoggingMessageNotificationParams) -> None:
        await (stuck.wait() if params.data == "stuck" else asyncio.sleep(0.05))
        seen.append(params.data)

    async def use() -> list[dict[str, Any]]:
        raw, pipe, frames = started(slowly)
        found = []
        for data in ("first", "stuck"):
            asked = asyncio.ensure_future(raw.send("tools/call", {}, 60))
            await until(lambda: pipe.lines)
            odd = answer(method="notifications/message", params={"level": "loud"})
            assert list(frames.feed(odd))  # the session says what is wrong with it
            said = {"level": "info", "data": data}
            list(frames.feed(answer(method="notifications/message", params=said)))
            list(
                frames.feed(
                    answer(id=pipe.lines.pop()["id"], result={"content": [], "after": data})
                )
            )
            found.append(await asked)
            assert seen == ["first"]
        stuck.set()
        await until(lambda: len(seen) == 2)
        return found

    assert [each["after"] for each in run(use)] == ["first", "stuck"]


def test_progress_is_told_in_order_and_only_to_who_wants_it() -> None:
    seen: list[tuple[float, float | None, str | None]] = []

    async def progressed(*told: Any) -> None:
        seen.append(told)

    async def use() -> None:
        raw, pipe, frames = started()
        asked = asyncio.ensure_future(raw.send("tools/call", {}, 60, progressed))
        await until(lambda: pipe.lines)
        token = pipe.lines[0]["params"]["_meta"]["progressToken"]
        for done in (1, True, 2):
            params = {"progressToken": token, "progress": done, "total": "x", "message": "m"}
            line = answer(method="notifications/progress", params=params)
            assert list(frames.feed(line)) == []
        other = {"progressToken": 3, "progress": 1}
        assert list(frames.feed(answer(method="notifications/progress", params=other)))
        list(frames.feed(answer(id=token, result={})))
        await asked

    run(use)
    assert seen == [(1, None, "m"), (2, None, "m")]


@pytest.mark.parametrize("way", ["late", "gone", "unreadable", "large", "cancelled"])
def test_a_request_without_a_readable_answer_ends_and_says_why(way: str) -> None:
    async def use() -> tuple[Any, Pipe]:
        raw, pipe, frames = started()
        if way == "large":
            frames = FrameReader("s", limit=100, take=raw.handle_line)
        timeout = 0.0 if way == "late" else 60
        asked = asyncio.ensure_future(raw.send("tools/call", {}, timeout))
        if way != "late":
            await until(lambda: pipe.lines)
        if way == "gone":
            raw.close()
        elif way == "cancelled":
            asked.cancel()
        elif way == "unreadable":
            broken = f'{{"jsonrpc": "2.0", "id": {FIRST_ID}, "result": {{"a"}}\n'
            [message] = frames.feed(broken.encode())
            assert raw.end_by_error(message)
        elif way == "large":
            [message] = frames.feed(answer(id=FIRST_ID, result={"text": "x" * 200}))
            assert raw.end_by_error(message)
        await asyncio.wait([asked])
        return (None if asked.cancelled() else asked.exception()), pipe

    error, pipe = run(use)
    code = {"late": types.REQUEST_TIMEOUT, "gone": types.CONNECTION_CLOSED}.get(way, LOST)
    assert way == "cancelled" or (isinstance(error, MCPError) and error.code == code)
    told = [line["params"]["requestId"] for line in pipe.lines if "id" not in line]
    assert told == ([FIRST_ID] if way in ("late", "cancelled") else [])


@given(JSON, st.sampled_from(["result", "error", "both", "none"]))
def test_whatever_an_answer_holds_its_request_ends_or_waits_on(value: Any, key: str) -> None:
    async def use() -> None:
        raw, pipe, frames = started()
        asked = asyncio.ensure_future(raw.send("tools/call", {}, 60))
        await until(lambda: pipe.lines)
        keys = ["result", "error"] if key == "both" else [] if key == "none" else [key]
        line = answer(id=FIRST_ID, **dict.fromkeys(keys, value))
        for message in frames.feed(line):
            raw.end_by_error(message)
        list(frames.feed(answer(id=FIRST_ID, result={"last": 1})))
        with suppress(MCPError):
            assert isinstance(await asked, dict)

    run(use)


def test_who_takes_no_progress_makes_nobody_else_wait_and_is_told_nothing_after_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gone: list[str] = []

    async def stuck(*_: object) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            gone.append("cancelled")
            raise

    async def use() -> None:
        raw, pipe, frames = started()
        calls = [asyncio.ensure_future(raw.send("tools/call", {}, 60, stuck)) for _ in range(2)]
        await until(lambda: len(pipe.lines) == 2)
        [first, second] = (line["id"] for line in pipe.lines)
        said = {"progressToken": first, "progress": 1}
        list(frames.feed(answer(method="notifications/progress", params=said) * 2 * MAX_CALLBACKS))
        monkeypatch.setattr(raw_requests, "CALLBACK_SECONDS", 600)
        list(frames.feed(answer(id=second, result={})))
        await calls[1]
        monkeypatch.setattr(raw_requests, "CALLBACK_SECONDS", 0.01)
        list(frames.feed(answer(id=first, result={})))
        await calls[0]
        await until(lambda: len(gone) == MAX_CALLBACKS)

    run(use)


def test_nothing_is_sent_once_the_process_has_ended() -> None:
    raw, pipe, _ = started()
    raw.close()
    assert not raw.is_open
    with pytest.raises(MCPError, match="closed"):
        asyncio.run(raw.send("tools/call", {}, 60))
    assert pipe.lines == []


def test_what_nobody_takes_is_not_kept_without_end() -> None:
    async def use() -> int:
        gate = asyncio.Event()

        async def stuck(_: types.LoggingMessageNotificationParams) -> None:
            await gate.wait()

        raw, pipe, frames = started(stuck)
        asked = asyncio.ensure_future(raw.send("tools/call", {}, 60))
        await until(lambda: len(pipe.lines) == 1)
        line = answer(method="notifications/message", params={"level": "info", "data": "x"})
        assert list(frames.feed(line * 2500)) == []
        kept = len(raw._logging)
        gate.set()
        asked.cancel()
        await asyncio.wait([asked])
        return kept

    assert run(use) == MAX_CALLBACKS
