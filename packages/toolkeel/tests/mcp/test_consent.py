"""Nothing that a file names is started before somebody agreed to exactly that."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from toolkeel import SetupError
from toolkeel.mcp.client.mcp_server import MCPServer, servers
from toolkeel.mcp.config import find_server, parse_source
from toolkeel.mcp.consent import (
    MAX_STATES,
    ConsentRequest,
    ConsentStore,
    check_consent,
    check_unchanged,
    set_prompter,
)
from toolkeel.mcp.state_files import mcp_state_folder


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
    asked: list[ConsentRequest] = []

    def agree(request: ConsentRequest) -> bool:
        asked.append(request)
        return True

    check_consent(find_server(marked), agree)
    check_consent(find_server(marked))
    assert len(asked) == 1
    marked.write_text(marked.read_text("utf-8").replace("'w'", "'a'"), "utf-8")
    with pytest.raises(SetupError):
        check_consent(find_server(marked))


def test_the_same_server_in_another_place_is_asked_about_anew(marked: Path) -> None:
    ConsentStore().grant(find_server(marked))
    clone = marked.parent / "clone"
    clone.mkdir()
    (clone / "mcp.json").write_text(marked.read_text("utf-8"), "utf-8")
    with pytest.raises(SetupError):
        check_consent(find_server(clone / "mcp.json"))


def test_whoever_was_lent_is_asked_and_anything_but_yes_means_no(marked: Path) -> None:
    try:
        for answer in (False, None, "yes"):
            set_prompter(lambda request, answer=answer: answer)  # type: ignore[misc]
            with pytest.raises(SetupError):
                check_consent(find_server(marked))
        set_prompter(lambda request: True)
        check_consent(find_server(marked))
    finally:
        from toolkeel.mcp import consent

        consent._prompter.clear()


def test_what_the_program_itself_names_needs_no_consent() -> None:
    check_consent(parse_source("npx something"))


# — what consent is bound to —


class Project:
    """A project with a file of servers, and a person who agrees and remembers what was asked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "project"
        self.file = self.folder / ".vscode" / "mcp.json"
        self.requests: list[ConsentRequest] = []

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        return path

    def entry(self, entry: dict[str, object], **more: object) -> None:
        self.write(".vscode/mcp.json", json.dumps({"servers": {"s": entry}, **more}))

    def agree(self) -> ConsentRequest:
        """Ask the person, who agrees."""

        def prompt(request: ConsentRequest) -> bool:
            self.requests.append(request)
            return True

        before = len(self.requests)
        check_consent(find_server(self.file), prompt)
        assert len(self.requests) == before + 1, "the person was not asked"
        check_consent(find_server(self.file))  # and is not asked twice
        return self.requests[-1]

    def changes(self) -> str:
        """What the person is asked anew."""
        with pytest.raises(SetupError, match="has changed since a person agreed"):
            check_consent(find_server(self.file))
        return "\n".join(self.agree().changes)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return Project(tmp_path)


def test_the_default_of_an_input_is_shown_and_a_change_of_it_asks_again(project: Project) -> None:
    entry = {"command": sys.executable, "args": ["-c", "${input:x}"]}
    project.entry(entry, inputs=[{"id": "x", "default": "import this"}])
    assert any("import this" in line for line in project.agree().lines)
    project.entry(entry, inputs=[{"id": "x", "default": "import evil"}])
    assert (
        "was: " in (said := project.changes()) and "import this" in said and "import evil" in said
    )


def test_an_input_of_the_environment_is_bound_and_not_shown(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INPUT_X", "s3cret")
    project.entry({"command": "run", "args": ["${input:x}"]})
    assert "s3cret" not in str(project.agree().lines)
    monkeypatch.setenv("INPUT_X", "0ther")
    assert "changed: run" in project.changes()


@pytest.mark.parametrize("where", ["args", "env", "url", "headers"])
def test_a_variable_of_the_environment_is_bound_by_its_value_and_not_shown_or_stored(
    project: Project, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    entry: dict[str, object] = {
        "args": {"command": "run", "args": ["--key", "${env:TOKEN}"]},
        "env": {"command": "run", "env": {"KEY": "${env:TOKEN}"}},
        "url": {"url": "https://h/${env:TOKEN}"},
        "headers": {"url": "https://h/", "headers": {"Authorization": "Bearer ${env:TOKEN}"}},
    }[where]  # type: ignore[assignment]
    project.entry(entry)
    monkeypatch.setenv("TOKEN", "s3cret")
    assert "s3cret" not in str(project.agree().lines)
    monkeypatch.setenv("TOKEN", "0ther")
    assert "${TOKEN}" in (said := project.changes()) and "0ther" not in said
    stored = (mcp_state_folder() / "consents.json").read_text("utf-8")
    assert "s3cret" not in stored and "0ther" not in stored


def test_the_default_of_a_variable_is_shown_as_long_as_it_counts(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PLACE", raising=False)
    project.entry({"command": "run", "args": ["${env:PLACE:-safe.example}"]})
    assert "run safe.example" in project.agree().lines
    project.entry({"command": "run", "args": ["${env:PLACE:-evil.example}"]})
    assert "now: run evil.example" in project.changes()
    monkeypatch.setenv("PLACE", "third.example")
    assert "now: run '${PLACE}'" in project.changes()


def test_the_content_of_an_env_file_is_bound_and_only_what_changes_code_is_shown(
    project: Project,
) -> None:
    project.write("x.env", "KEY=s3cret\nNODE_OPTIONS=--no-warnings")
    project.entry({"command": "run", "envFile": "${workspaceFolder}/x.env"})
    lines = project.agree().lines
    assert "with KEY=•••" in lines and "with NODE_OPTIONS=--no-warnings" in lines
    project.write("x.env", "KEY=0ther\nNODE_OPTIONS=--no-warnings")
    assert "changed: with KEY=•••" in project.changes()
    project.write("x.env", "KEY=0ther\nNODE_OPTIONS=--require ./evil.js")
    assert "now: with NODE_OPTIONS=--require ./evil.js" in project.changes()
    project.write("x.env", "KEY=0ther\nLD_PRELOAD=./evil.so")
    said = project.changes()
    assert "new: with LD_PRELOAD=./evil.so" in said and "no more: with NODE_OPTIONS" in said


def test_the_working_folder_is_bound_where_a_link_leads(project: Project, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / "elsewhere" / name).mkdir(parents=True)
    project.write("x", "")
    link = project.folder / "work"
    link.symlink_to(tmp_path / "elsewhere" / "one")
    project.entry({"command": "run", "cwd": "work"})
    assert f"in {tmp_path / 'elsewhere' / 'one'}" in project.agree().lines
    link.unlink()
    link.symlink_to(tmp_path / "elsewhere" / "two")
    assert f"now: in {tmp_path / 'elsewhere' / 'two'}" in project.changes()


def _program(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    path.chmod(0o755)
    return path


def test_the_program_is_bound_as_it_resolves(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (_program(tmp_path / name / "serve") for name in ("one", "two"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'zero'}{os.pathsep}{first.parent}")
    project.entry({"command": "serve"})
    assert f"by the program {first}" in project.agree().lines
    _program(tmp_path / "zero" / "serve")
    assert f"now: by the program {tmp_path / 'zero' / 'serve'}" in project.changes()
    monkeypatch.setenv("PATH", str(second.parent))
    assert f"now: by the program {second}" in project.changes()


def test_a_program_of_a_relative_path_is_found_in_the_servers_folder_and_bound_by_content(
    project: Project,
) -> None:
    script = _program(project.folder / "bin" / "serve")
    project.entry({"command": "serve", "env": {"PATH": "bin"}})
    assert f"by the program {script}" in project.agree().lines
    _program(script, "#!/bin/sh\nevil\n")
    assert "changed: with the file bin/serve as it is now" in project.changes()


def test_headers_login_tls_and_choices_of_tools_are_bound(project: Project) -> None:
    entry: dict[str, object] = {"url": "https://h/"}
    project.entry(entry)
    project.agree()
    project.write(".vscode/ca.pem", "one")
    for more, said in (
        ({"headers": {"X-Team": "a"}}, "new: with X-Team=a"),
        ({"oauth": {"client_id": "a", "client_secret": "s3cret"}}, "client_secret=•••"),
        (
            {"oauth": {"client_id": "a", "client_secret": "0ther"}},
            "changed: with the login's client",
        ),
        ({"tls": {"ca": "ca.pem"}}, "new: with the TLS ca"),
        ({"includeTools": ["read"]}, "new: with these tools only: read"),
        ({"includeTools": ["read", "write"]}, "now: with these tools only: read, write"),
        ({"excludeTools": ["write"]}, "new: without these tools: write"),
        ({"type": "sse"}, "changed: server"),
    ):
        entry |= more
        project.entry(entry)
        assert said in project.changes()
    project.write(".vscode/ca.pem", "two")
    assert "ca.pem as it is now" in project.changes()
    assert "s3cret" not in (mcp_state_folder() / "consents.json").read_text("utf-8")


def test_what_a_program_adds_itself_is_its_own(project: Project) -> None:
    project.entry({"command": "run", "env": {"A": "1"}})
    asked: list[ConsentRequest] = []

    def agree(request: ConsentRequest) -> bool:
        asked.append(request)
        return True

    for token in ("one", "two"):
        MCPServer(project.file, env={"TOKEN": token}, consent=agree)
    assert len(asked) == 1 and "TOKEN" not in str(asked[0].lines)


def test_a_server_agreed_to_is_not_started_again_after_a_change(project: Project) -> None:
    mark = project.folder / "started"
    project.write("serve.py", "import sys; sys.exit()")
    project.entry({"command": sys.executable, "args": ["serve.py"]})
    server = MCPServer(project.file, consent=lambda request: True, connect_timeout=5)
    project.write("serve.py", f"open({str(mark)!r}, 'w')")
    with pytest.raises(SetupError, match=r"changed: with the file serve\.py"):
        server.tools()
    assert not mark.exists()


def test_what_changes_while_a_person_reads_was_not_agreed_to(project: Project) -> None:
    project.write("serve.py", "pass")
    project.entry({"command": sys.executable, "args": ["serve.py"]})

    def slow(request: ConsentRequest) -> bool:
        project.write("serve.py", "evil")
        return True

    bound = check_consent(find_server(project.file), slow)
    with pytest.raises(SetupError, match=r"serve\.py"):
        check_unchanged(bound)


def test_consents_of_the_older_form_count_no_more_and_go(project: Project) -> None:
    project.entry({"command": "run"})
    path = mcp_state_folder() / "consents.json"
    path.parent.mkdir(parents=True)
    old = {"file": str(project.file), "server": "s", "shown": "run"}
    key = f"{project.file}:s"
    for stored in ({"a" * 64: old}, {key: old}, {key: {"agreed": [{"salt": 1, "facts": {}}]}}):
        path.write_text(json.dumps(stored), "utf-8")
        with pytest.raises(SetupError, match="nobody has agreed"):
            check_consent(find_server(project.file))
    path.write_text(json.dumps({"a" * 64: old}), "utf-8")
    project.agree()
    assert list(json.loads(path.read_text("utf-8"))) == [key]


def test_a_person_may_go_back_to_what_they_agreed_to_and_not_without_end(project: Project) -> None:
    for number in range(MAX_STATES + 1):
        project.entry({"command": "run", "args": [str(number)]})
        project.agree()
    project.entry({"command": "run", "args": ["1"]})
    check_consent(find_server(project.file))
    project.entry({"command": "run", "args": ["0"]})
    with pytest.raises(SetupError):
        check_consent(find_server(project.file))
