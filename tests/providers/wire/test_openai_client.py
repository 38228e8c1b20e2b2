"""OpenAI's SDK as both wires use it."""

from __future__ import annotations

import json

import httpx2
import openai
import pytest

from toolkeel.errors import ModelError, SetupError
from toolkeel.providers.wire.openai_client import (
    checked_client,
    client_options,
    model_errors,
    new_client,
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


def test_only_the_asynchronous_client_will_do() -> None:
    client = openai.AsyncOpenAI(api_key="x")
    assert checked_client("Mine", client) is client
    assert checked_client("Mine", None) is None
    with pytest.raises(SetupError, match=r"Mine\(client=\.\.\.\): expected openai\.AsyncOpenAI"):
        checked_client("Mine", openai.OpenAI(api_key="x"))


@pytest.mark.parametrize(
    ("code", "status"), [("503", 503), ("server_error", 500), ("odd", None), (None, None)]
)
def test_an_error_inside_a_stream_has_its_code_as_status(code: str, status: int | None) -> None:
    request = httpx2.Request("POST", "http://127.0.0.1/v1")
    error = openai.APIError("oops", request, body={"code": code})
    with pytest.raises(ModelError, match="gpt-5: oops") as raised, model_errors("gpt-5"):
        raise error
    assert raised.value.status == status


def test_what_is_not_json_is_named() -> None:
    said = "gpt-5: the server sent something that is not JSON"
    with pytest.raises(ModelError, match=said), model_errors("gpt-5"):
        json.loads("{broken")
