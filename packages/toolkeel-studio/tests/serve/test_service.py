"""A page that leaves ends what it has started only if told to, and errors are masked."""

from __future__ import annotations

import asyncio

import pytest

from tests.serve.serving import serve
from tests.serve.talking import Talk, talking, text
from toolkeel_studio.serve.app import app
from toolkeel_studio.serve.service import mask_error


@pytest.mark.parametrize(("how", "ended"), [("cancel", "cancelled"), ("continue", "answered")])
def test_a_page_that_leaves_ends_its_run_only_if_told_to(
    how: str, ended: str, tmp_path: object
) -> None:
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
            async with client.stream("POST", "/api/chat", json=body) as response:
                async for line in response.aiter_lines():
                    if "One" in line:
                        break
            if how == "cancel":
                await talk.idle()
            gate.set()
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
