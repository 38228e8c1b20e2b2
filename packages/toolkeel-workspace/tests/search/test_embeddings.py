"""Vectors from a server that speaks the embeddings API."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.builtin.webserver import Asked, WebServer, Write, always, response, serving
from toolkeel.errors import SetupError, ToolError
from toolkeel_workspace.search.embeddings import BATCH_SIZE, Embeddings

WORDS = ("cat", "dog", "car", "猫")


def vector(text: str) -> list[float]:
    """A meaning that a test can foresee: which of a few words a text has."""
    counts = [float(text.lower().count(word)) for word in WORDS]
    counts[0] += counts.pop()  # 猫 means cat
    return [*counts, 0.1]


async def embeds(asked: Asked, write: Write) -> None:
    """Answer as OpenAI's API does, out of order, as it may."""
    body = json.loads(asked.body)
    rows = [{"index": n, "embedding": vector(one)} for n, one in enumerate(body["input"])]
    await write(response(json.dumps({"data": rows[::-1]}), "application/json"))


def with_embeddings(use: Callable[[Embeddings, WebServer], Any], answer: Any = embeds) -> Any:
    """Use a model on a server in another thread, since its client waits."""

    async def go() -> Any:
        async with serving(answer) as server:
            model = Embeddings("tiny", f"{server.url}/v1", "key")
            return await asyncio.to_thread(use, model, server)

    return asyncio.run(go())


def test_texts_are_sent_in_batches_and_come_back_in_order_at_length_one() -> None:
    def use(model: Embeddings, server: WebServer) -> None:
        texts = ["a cat"] + ["dog"] * BATCH_SIZE + [" "]
        rows = model.embed(texts)
        assert rows.shape == (len(texts), 4)
        assert np.allclose(np.linalg.norm(rows, axis=1), 1)
        assert rows[0] @ rows[1] < 0.1 < rows[1] @ rows[2]
        sent = [json.loads(one.body) for one in server.asked]
        assert [len(one["input"]) for one in sent] == [BATCH_SIZE, 2]
        assert sent[0]["input"][0].strip()
        assert sent[1]["input"] == ["dog", "a cat"]
        assert (sent[0]["model"], server.asked[0].path) == ("tiny", "/v1/embeddings")
        assert server.asked[0].headers["authorization"] == "Bearer key"
        assert model.embed([]).shape == (0, 0)

    with_embeddings(use)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (always(response('{"error": "no such model"}', status="404 Not Found")), "answered 404"),
        (always(response("<html>")), "did not send JSON"),
        (always(response("[" * 5000)), "did not send JSON"),
        (always(response(b"x", Content_Encoding="br")), "not asked for"),
        (always(b"nonsense\r\n\r\n"), "cannot be asked"),
        (always(response('{"data": []}', "application/json")), "cannot read"),
        (always(response('{"data": [{"embedding": ["x"]}]}', "application/json")), "cannot read"),
        (always(response('{"data": [{}]}', "application/json")), "cannot read"),
    ],
)
def test_an_answer_without_vectors_is_told(answer: Any, told: str) -> None:
    def use(model: Embeddings, server: WebServer) -> None:
        with pytest.raises(ToolError, match=told):
            model.embed(["cat"])

    with_embeddings(use, answer)


def test_openais_server_needs_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(SetupError, match="set OPENAI_API_KEY"):
        Embeddings()
    monkeypatch.setenv("OPENAI_API_KEY", "sk")
    assert "sk" in str(Embeddings()._headers)
    assert Embeddings("x", "http://127.0.0.1:9/v1")._headers == {}
