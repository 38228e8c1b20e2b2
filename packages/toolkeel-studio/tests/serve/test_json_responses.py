"""Whatever a model, a tool or a person writes reaches every client as JSON that it can read."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.serve.serving import serve
from tests.serve.talking import Slow, Talk, calls, talking, text
from toolkeel import Agent, tool
from toolkeel_studio.serve.app import app
from toolkeel_studio.serve.json_responses import to_json

TEXT = st.text(st.characters() | st.sampled_from("\ud83d\ude00"), max_size=8)
DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


def refuse(constant: str) -> object:
    raise AssertionError(constant)


@given(DATA)
def test_all_data_is_json_in_utf8_and_every_text_comes_back(data: Any) -> None:
    made = to_json(data)
    read = json.loads(made.encode().decode(), parse_constant=refuse)
    assert to_json(read) == made
    if isinstance(data, str):  # two halves that meet are one character, as in JavaScript
        whole = data.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
        assert read == whole
    assert to_json("界\U0001f600\u2028") == '"界\U0001f600\u2028"'


@tool
def share() -> dict[str, float]:
    """Return a share of nothing."""
    return {"share": float("nan")}


@talking
async def test_half_a_character_and_no_number_are_read_on_every_wire(talk: Talk) -> None:
    lines = [calls(("c1", "share", "{}")), text("ab\ud83d", "\ude00c")] * 4
    model = Slow(lines)
    made = app(
        Agent(model, [share]),
        protocols=["vercel", "agui", "openai"],
        sessions=talk.sessions,
        deciders="user",
    )
    talk.close_later(made.state.channels)
    said = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "half \ud83d"}]}
    bodies: dict[str, dict[str, Any]] = {
        "/api/chat": {"id": "v", "messages": [said]},
        "/agui": {
            "threadId": "a",
            "runId": "r",
            "messages": [{"id": "u1", "role": "user", "content": "half \ud83d"}],
        },
        "/v1/responses": {"input": "half \ud83d", "stream": True},
        "/v1/chat/completions": {
            "messages": [{"role": "user", "content": "half \ud83d"}],
            "stream": True,
        },
    }
    async with serve(made) as client:
        client.headers["content-type"] = "application/json"
        for path, body in bodies.items():
            answered = await client.post(path, content=json.dumps(body))
            lines = [line[6:] for line in answered.text.split("\n") if line.startswith("data: {")]
            for line in lines:
                json.loads(line, parse_constant=refuse)
            assert answered.status_code == 200 and "ab\\ud83d" in answered.text, path
        for path in ("/api/chat/v", "/threads/a/messages"):
            loaded = await client.get(path)
            assert loaded.status_code == 200 and "ab\U0001f600c" in loaded.text
            json.loads(loaded.text, parse_constant=refuse)
