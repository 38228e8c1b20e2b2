"""Nothing that a file names is started before somebody agreed to exactly that."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from toolkeel import SetupError
from toolkeel.mcp.client.mcp_server import MCPServer, servers
from toolkeel.mcp.config import ServerConfig, find_server, parse_source
from toolkeel.mcp.consent import Consents, check_consent, lend_asker


@pytest.fixture
def marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file whose server leaves a mark when it is started."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    code = f"open({str(tmp_path / 'started')!r}, 'w')"
    path = tmp_path / "mcp.json"
    entry = {"command": sys.executable, "args": ["-c", code]}
    path.write_text(json.dumps({"mcpServers": {"evil": entry}}), "utf-8")
    return path


def test_a_server_of_a_file_is_not_started_unasked_and_its_command_is_told(marked: Path) -> None:
    with pytest.raises(SetupError, match="nobody has agreed") as told:
        MCPServer(marked)
    assert "started" in str(told.value) and sys.executable in str(told.value)
    with pytest.raises(SetupError, match="nobody has agreed"):
        servers(marked)
    assert not (marked.parent / "started").exists()


def test_an_agreement_is_remembered_until_the_server_changes(marked: Path) -> None:
    asked: list[ServerConfig] = []

    def agree(config: ServerConfig) -> bool:
        asked.append(config)
        return True

    check_consent(find_server(marked), agree)
    check_consent(find_server(marked))
    assert len(asked) == 1
    marked.write_text(marked.read_text("utf-8").replace("'w'", "'a'"), "utf-8")
    with pytest.raises(SetupError):
        check_consent(find_server(marked))


def test_the_same_server_in_another_place_is_asked_about_anew(marked: Path) -> None:
    Consents().give(find_server(marked))
    clone = marked.parent / "clone"
    clone.mkdir()
    (clone / "mcp.json").write_text(marked.read_text("utf-8"), "utf-8")
    with pytest.raises(SetupError):
        check_consent(find_server(clone / "mcp.json"))


def test_whoever_was_lent_is_asked_and_anything_but_yes_means_no(marked: Path) -> None:
    try:
        for answer in (False, None, "yes"):
            lend_asker(lambda config, answer=answer: answer)  # type: ignore[misc]
            with pytest.raises(SetupError):
                check_consent(find_server(marked))
        lend_asker(lambda config: True)
        check_consent(find_server(marked))
    finally:
        from toolkeel.mcp import consent

        consent._asker.clear()


def test_what_the_program_itself_names_needs_no_consent() -> None:
    check_consent(parse_source("npx something"))
