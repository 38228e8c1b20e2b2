"""The server of tests/aimock.py starts, answers by its fixtures, and ends with its block."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.aimock import Server, serving

FIXTURES = {
    "fixtures": [{"match": {"userMessage": "你好"}, "response": {"content": "你好,世界"}}],
}


@pytest.fixture
def fixtures(tmp_path: Path) -> Path:
    path = tmp_path / "fixtures.json"
    path.write_text(json.dumps(FIXTURES), "utf-8")
    return path


def _ask(server: Server, text: str) -> dict[str, Any]:
    body = {"model": "gpt-5", "messages": [{"role": "user", "content": text}]}
    request = urllib.request.Request(
        f"{server.url}/v1/chat/completions",
        data=json.dumps(body, ensure_ascii=False).encode(),
        headers={"content-type": "application/json", "authorization": "Bearer none"},
    )
    with urllib.request.urlopen(request, timeout=10) as reply:
        answer: dict[str, Any] = json.load(reply)
    return answer


def test_the_server_answers_by_its_fixtures_and_keeps_a_journal(fixtures: Path) -> None:
    with serving(fixtures) as server:
        answer = _ask(server, "你好")
        journal = server.journal()
    assert answer["choices"][0]["message"]["content"] == "你好,世界"
    assert journal[0]["body"]["messages"][0]["content"] == "你好"


def test_the_server_is_gone_when_its_block_ends(fixtures: Path) -> None:
    with serving(fixtures) as server:
        assert server.journal() == []
    with pytest.raises(urllib.error.URLError):
        server.journal()


def test_a_prompt_without_a_fixture_is_refused_as_the_strict_mode_says(fixtures: Path) -> None:
    with serving(fixtures) as server, pytest.raises(urllib.error.HTTPError) as refused:
        _ask(server, "something else")
    refused.value.close()
