"""A page that leaves ends what it has started only if told to, and errors are masked."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from starlette.requests import Request

from tests.serve.serving import serve
from tests.serve.talking import Talk, talking, text
from toolkeel_studio.serve.app import app
from toolkeel_studio.serve.errors import ChannelError
from toolkeel_studio.serve.service import Service, mask_error


@pytest.mark.parametrize(
    ("how", "readers", "ended"),
    [("cancel", 1, "cancelled"), ("cancel", 2, "answered"), ("continue", 1, "answered")],
)
def test_a_page_that_leaves_ends_its_run_only_if_told_to_and_if_nobody_else_reads_it(
    how: str, readers: int, ended: str, tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolkeel_studio.serve.service.GRACE_SECONDS", 0.05)

    @talking
    async def use(talk: Talk) -> None:
        gate = asyncio.Event()
        agent = talk.channels([[*text("One, ")[:-1], gate, *text("two.")]]).agent
        made = app(agent, sessions=talk.sessions, deciders="user", on_disconnect=how)  # type: ignore[arg-type]
        talk.close_later(made.state.channels)
        body = {
            "id": "t",
            "trigger": "submit-message",
            "messages": [{"id": "u1", "role": "user", "parts": [{"type": "text", "text": "Hi"}]}],
        }
        async with serve(made) as client:
            reading = [client.get("/api/chat/t/stream") for _ in range(readers - 1)]
            async with client.stream("POST", "/api/chat", json=body) as response:
                async for line in response.aiter_lines():
                    if "One" in line:
                        others = [asyncio.create_task(each) for each in reading]
                        while talk.readers < readers:  # noqa: ASYNC110  # a reader sends no event
                            await asyncio.sleep(0.01)
                        break
            while talk.readers >= readers:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            if ended == "cancelled":
                await talk.idle()
            await asyncio.sleep(0.1)  # longer than a run without readers has
            gate.set()
            for other in others:
                assert "two." in (await other).text
            await talk.idle()
        assert talk.sessions["t"].info.ended == ended

    use(tmp_path)  # type: ignore[arg-type]


def test_a_masked_error_names_the_line_of_the_log_that_has_its_text(
    caplog: pytest.LogCaptureFixture,
) -> None:
    shown = mask_error("key sk-123")
    assert "sk-123" not in shown
    id = shown.split()[-1].rstrip(".")
    assert id in caplog.text and "sk-123" in caplog.text


@pytest.mark.parametrize(
    ("body", "is_read"),
    [
        (b'{"text": "' + b'{,[\\"' * 400 + b'"}', True),
        (b'{"list": [' + b"0," * 990 + b"0]}", True),
        (b'{"list": [' + b"{}," * 1_000 + b"{}]}", False),
        (b'{"list": [' + b'"",' * 1_000 + b'""]}', False),
        (b'"' + b'\\"' * 1_000, False),
    ],
    ids=["text", "numbers", "objects", "texts", "no end"],
)
def test_a_body_has_as_many_values_as_are_parsed_at_once(
    body: bytes, is_read: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolkeel_studio.serve.service.MAX_TOKENS", 1_000)

    async def receive() -> Any:
        return {"type": "http.request", "body": body, "more_body": False}

    request = Request({"type": "http", "method": "POST", "headers": []}, receive)
    reading = Service(None, None, None).read_json(request)  # type: ignore[arg-type]
    if is_read:
        assert len(asyncio.run(reading)) == 1
    else:
        with pytest.raises(ChannelError, match=r"too many values|no JSON"):
            asyncio.run(reading)
