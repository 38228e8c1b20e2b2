"""The README's promises: its first example against a real wire, and what the demo prints."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from tests.aimock import serving
from tests.gates.documents import blocks
from tests.shared import ROOT

README = (ROOT / "README.md").read_text("utf-8")
FIXTURES = {
    "fixtures": [
        {
            "match": {"userMessage": "weather in Paris", "hasToolResult": False},
            "response": {
                "toolCalls": [
                    {"id": "call_1", "name": "get_weather", "arguments": {"city": "Paris"}}
                ]
            },
        },
        {
            "match": {"userMessage": "weather in Paris", "hasToolResult": True},
            "response": {"content": "It is 22 degrees in Paris."},
        },
    ]
}


def _run(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_first_example_runs_with_the_official_client_against_a_real_wire(tmp_path):
    first = next(block for block in blocks(README) if "OpenAI()" in block.code)
    fixtures = tmp_path / "fixtures.json"
    fixtures.write_text(json.dumps(FIXTURES), "utf-8")
    with serving(fixtures) as server:
        said = _run(first.code, OPENAI_BASE_URL=f"{server.url}/v1", OPENAI_API_KEY="none")
        assert said == "It is 22 degrees in Paris.\n"
        sent = server.journal()[-1]["body"]["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "tool"]
    assert sent[-1]["tool_call_id"] == sent[1]["tool_calls"][0]["id"]
    assert sent[-1]["content"] == "Paris: 22° celsius"
