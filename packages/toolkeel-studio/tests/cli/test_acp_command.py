"""``toolkeel acp``: what it prints for editors."""

from __future__ import annotations

import json

import pytest

from toolkeel_studio.cli.acp_command import editor_config
from toolkeel_studio.cli.exit_codes import UsageProblem


def test_the_settings_for_zed_start_this_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    servers = json.loads(editor_config("zed", "my agent.py"))["agent_servers"]
    args = servers["my agent"]["args"]
    assert args[-2] == "acp" and args[-1].endswith("/my agent.py")
    monkeypatch.setattr("shutil.which", lambda name: None)  # started in the editor's project, then:
    servers = json.loads(editor_config("zed", "my agent.py"))["agent_servers"]
    assert servers["my agent"]["args"][:3] == ["-P", "-m", "toolkeel"]
    with pytest.raises(UsageProblem, match="zed"):
        editor_config("notepad", "agent.py")
