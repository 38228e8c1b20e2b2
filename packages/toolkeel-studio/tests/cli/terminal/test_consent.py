"""The question before a server is started: only the key y is a yes, and only at a terminal."""

from __future__ import annotations

import pytest

from toolkeel.mcp.config import ServerConfig
from toolkeel.mcp.consent import ConsentRequest
from toolkeel_studio.cli.terminal import consent

CONFIG = ServerConfig("files\x1b[2J", ("npx", "files"), origin="/tmp/mcp.json")
REQUEST = ConsentRequest(CONFIG, ("npx files",), ("was: npx \x1b[2Jother",))


def test_nobody_is_asked_where_nobody_sits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consent, "can_ask", lambda: False)
    assert consent.ask(REQUEST) is False


@pytest.mark.parametrize("pressed", [True, False])
def test_the_exact_command_is_shown_before_the_question(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], pressed: bool
) -> None:
    shown: list[str] = []

    def key(question: str) -> bool:
        shown.append(capsys.readouterr().err)
        return pressed

    monkeypatch.setattr(consent, "can_ask", lambda: True)
    monkeypatch.setattr(consent, "confirm", key)
    assert consent.ask(REQUEST) is pressed
    assert "npx files" in shown[0] and "/tmp/mcp.json" in shown[0]
    assert "was: npx" in shown[0] and "\x1b[2J" not in shown[0]
