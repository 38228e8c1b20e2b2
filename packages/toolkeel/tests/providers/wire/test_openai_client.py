"""Clients of OpenAI's SDK."""

from __future__ import annotations

import asyncio

import openai
import pytest

from toolkeel.errors import SetupError
from toolkeel.providers.openai_chat.model import OpenAIChat
from toolkeel.providers.wire.openai_client import (
    client_options,
    new_client,
    open_clients,
)


def test_a_server_elsewhere_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert client_options("http://127.0.0.1:1/v1", None, None)["api_key"] == "none"
    assert client_options(None, None, 5.0)["api_key"] is None
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:2/v1")
    assert client_options(None, None, 5.0)["base_url"] == "http://127.0.0.1:2/v1"
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    assert client_options(None, None, 5.0)["api_key"] is None


def test_the_class_that_misses_a_key_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_ADMIN_KEY", raising=False)
    with pytest.raises(SetupError, match=r"Mine\('gpt-5'\): no API key; set OPENAI_API_KEY"):
        new_client("Mine", "gpt-5", {"api_key": None})


def test_a_client_of_the_programs_own_stays_as_it_is() -> None:
    client = openai.AsyncOpenAI(api_key="x")
    clients = open_clients(OpenAIChat, "gpt-5", client, (None, None, None))

    async def close() -> None:
        assert clients.get().sdk is client
        assert clients.get().http is None
        await clients.close()
        await clients.get().close()
        assert not client.is_closed()
        await client.close()

    asyncio.run(close())
