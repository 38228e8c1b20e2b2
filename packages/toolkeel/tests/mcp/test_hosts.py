"""Files as each host writes them, read to what would run there; what is not followed is named."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel import SetupError
from toolkeel.mcp.config import ServerConfig, find_server, read_config, read_servers
from toolkeel.mcp.hosts import host_of, read_file, without_comments, write_server
from toolkeel.mcp.launch_facts import launch_facts, shown_lines


def shown(config: ServerConfig) -> str:
    return "\n".join(shown_lines(launch_facts(config)))


def written(folder: Path, place: str, text: str) -> Path:
    file = folder / place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())
    return file


def one(folder: Path, place: str, text: str) -> ServerConfig:
    [config] = read_config(written(folder, place, text)).values()
    return config


CASES: list[tuple[str, str, str, dict[str, Any]]] = [
    ("Claude Desktop", "claude_desktop_config.json",
     '\ufeff{"mcpServers": {"a": {"command": "x", "args": ["${KEY}"]}}}', {"command": ("x", "${KEY}")}),
    ("Claude Code", ".claude.json",
     '{"mcpServers": {"a": {"type": "http", "url": "https://h/${NONE:-d}", "timeout": 5000}}}',
     {"url": "https://h/d", "kind": "http", "timeout": 5.0}),
    ("Cursor", ".cursor/mcp.json",
     '{"mcpServers": {"a": {"command": "x", "args": ["${env:KEY}", "${KEY}", "${workspaceFolderBasename}"]}}}',
     {"command": ("x", "k", "${KEY}", "work")}),
    ("VS Code", ".vscode/mcp.json",
     '{"inputs": [], // first\n "servers": {"a": {"type": "stdio", "command": "x", /* b */\n'
     '"args": ["${input:the-key}", "${userHome}"], "dev": {}, "env": {"N": 5, "B": true, "Z": null},},}}',
     {"env": {"N": "5", "B": "true"}}),
    ("Windsurf", "windsurf/mcp_config.json",
     '{"mcpServers": {"a": {"serverUrl": "https://h/mcp", "disabledTools": ["rm"]}}}',
     {"url": "https://h/mcp", "exclude_tools": ("rm",)}),
    ("Zed", "zed/settings.json",
     '{"theme": "x", // mine\n "context_servers": {"a": {"source": "custom", "command":'
     ' {"path": "x", "args": ["y"], "env": {"A": "b"}}, "timeout": 5}}}',
     {"command": ("x", "y"), "env": {"A": "b"}, "timeout": 5.0}),
    ("Codex", ".codex/config.toml",
     'model = "m"\n[mcp_servers.a]\nurl = "https://h"\nbearer_token_env_var = "KEY"\n'
     'env_http_headers = {"X-K" = "KEY"}\nenabled_tools = ["r"]\ndefault_tools_approval_mode = "approve"',
     {"headers": {"Authorization": "Bearer k", "X-K": "k"}, "include_tools": ("r",)}),
    ("Codex", "config.toml",
     '[mcp_servers.a]\ncommand = "x"\nenv_vars = ["KEY"]\nstartup_timeout_sec = 5\ntool_timeout_sec = 9.5',
     {"command": ("x",), "env": {"KEY": "k"}, "connect_timeout": 5.0, "timeout": 9.5}),
    ("Codex", "config.toml", '[mcp_servers.a]\nurl = "https://h"\nscopes = ["r", "w"]\noauth = {client_id = "me"}',
     {"oauth": {"client_id": "me", "scope": "r w"}}),
    ("Cursor", ".cursor/mcp.json",
     '{"mcpServers": {"a": {"url": "https://h", "auth": {"CLIENT_ID": "${env:KEY}", "CLIENT_SECRET": "s", "scopes": ["r"]}}}}',
     {"oauth": {"client_id": "k", "client_secret": "s", "scope": "r"}}),
    ("Gemini", ".gemini/settings.json",
     '{"mcpServers": {"a": {"httpUrl": "https://h/$KEY", "trust": true, "excludeTools": ["w"]}}}',
     {"url": "https://h/k", "kind": "http", "exclude_tools": ("w",)}),
    ("Copilot CLI", "mcp-config.json",
     '{"mcpServers": {"a": {"type": "local", "command": "x", "tools": ["*"]}}}', {"kind": "stdio"}),
    ("Copilot CLI", ".github/mcp.json",
     '{"mcpServers": {"a": {"command": "x", "tools": ["read", "look"], "args": ["${workspaceFolderBasename}"]}}}',
     {"include_tools": ("read", "look"), "command": ("x", "work")}),
    ("VS Code", "Code/User/mcp.json",
     '{"servers": {"a": {"command": "~/x", "args": ["~/y", "a~"]}}}',
     {"command": (f"{Path.home()}/x", f"{Path.home()}/y", "a~"), "cwd": str(Path.home())}),
    ("Codex", ".codex/config.toml",
     '[mcp_servers.a]\ncommand = "x"\nargs = ["${KEY}", "$KEY"]\nenabled_tools = []',
     {"command": ("x", "${KEY}", "$KEY"), "include_tools": ("",)}),
    ("Codex", ".codex/config.toml",
     '[mcp_servers.a]\ncommand = "${env:KEY}"\nargs = ["${workspaceFolder}"]\nenv_vars = ["KEY"]',
     {"command": ("${env:KEY}", "${workspaceFolder}"), "env": {"KEY": "k"}}),
    ("VS Code", ".vscode/mcp.json",
     '{"inputs": [5, {"id": "a", "default": "d"}], "servers": {"a": {"command": "x", "args": ["${input:a}"]}}}',
     {"command": ("x", "d")}),
    ("Zed", ".zed/settings.json", '{"context_servers": {"a": {"command": "x", "args": ["${KEY}"]}}}',
     {"command": ("x", "${KEY}")}),
    ("Gemini", ".gemini/settings.json",
     '{"mcp": {"excluded": ["b"], "allowed": ["a", "b"]}, "mcpServers":'
     ' {"a": {"command": "x"}, "b": {"command": "y"}, "c": {"command": "z"}}}', {"name": "a"}),
    ("Junie", ".junie/mcp/mcp.json", '{"mcpServers": {"a": {"command": "x"}}}', {"command": ("x",)}),
    ("mcp.json", "mcp.json", '{"mcpServers": {"a": {"command": ["x", "y"]}}}', {"command": ("x", "y")}),
]  # fmt: skip


@pytest.mark.parametrize(("host", "place", "text", "fields"), CASES, ids=[c[0] for c in CASES])
def test_each_hosts_file_is_read_as_that_host_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str, place: str, text: str, fields: Any
) -> None:
    monkeypatch.setenv("KEY", "k")
    monkeypatch.setenv("INPUT_THE_KEY", "i")
    config = one(tmp_path / "work", place, text)
    assert host_of(Path(config.origin)).name == host
    assert {name: getattr(config, name) for name in fields} == fields


@pytest.mark.parametrize("case", CASES, ids=[f"{c[0]} {c[1]}" for c in CASES])
def test_a_server_of_a_workspace_runs_in_its_folder_and_not_in_the_hosts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: tuple[str, str, str, Any]
) -> None:
    for name in ("KEY", "INPUT_THE_KEY"):
        monkeypatch.setenv(name, "k")
    _, place, text, _ = case
    config = one(tmp_path / "work", place, text)
    own = place in ("mcp.json",) or (place.startswith(".") and "/" in place)
    assert config.url or config.cwd == str(tmp_path / "work" if own else Path.home())


def test_a_file_of_windsurf_puts_the_text_of_files_in(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("k\n")
    text = json.dumps({"mcpServers": {
        "a": {"command": "x", "args": ["${file:%s}" % (tmp_path / "key"), "Bearer ${file:key}"]},
        "none": {"command": "x", "args": ["${file:gone}"]},
        "folder": {"command": "x", "args": ["${file:.}"]},
    }})  # fmt: skip
    found, problems = read_servers(written(tmp_path, "mcp_config.json", text))
    assert "${file:key}" in found["a"].command[2]  # which no other host puts in
    (tmp_path / "windsurf").mkdir()
    (tmp_path / "windsurf/key").write_text("own")
    found, problems = read_servers(written(tmp_path, "windsurf/mcp_config.json", text))
    assert found["a"].command == ("x", "k", "Bearer own")
    assert problems.keys() == {"none", "folder"}
    assert "${file:key}" in shown(found["a"]) and "own" not in shown(found["a"])


def test_servers_of_the_project_at_hand_are_read_from_a_persons_file_of_claude_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "work"
    (work / "deep").mkdir(parents=True)
    own = {"a": {"command": "local"}, "b": {"command": "y"}, "odd": 5}
    projects = {str(work): {"mcpServers": own}, "/elsewhere": {"mcpServers": {"c": {}}}}
    data = {"mcpServers": {"a": {"command": "user"}, "u": {"command": "u"}}, "projects": projects}
    file = written(tmp_path, ".claude.json", json.dumps(data))
    monkeypatch.chdir(work / "deep")
    found, problems = read_servers(file)
    assert {name: each.command[0] for name, each in found.items()} == {
        "a": "local", "u": "u", "b": "y",
    }  # fmt: skip
    assert found["b"].cwd == str(work) and problems.keys() == {"odd"}
    monkeypatch.chdir(tmp_path)
    assert read_config(file)["a"].command == ("user",)
    wrong: list[object] = [5, [], {str(tmp_path): 5}, {str(tmp_path): {"mcpServers": []}}]
    for odd in wrong:
        again = written(tmp_path, ".claude.json", json.dumps({**data, "projects": odd}))
        assert read_config(again)["a"].command == ("user",)


def test_a_path_of_vs_code_is_put_behind_that_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/bin")
    text = '{"%s": {"a": {"command": "x", "env": {"PATH": "/mine"}}}}'
    assert one(tmp_path, ".vscode/mcp.json", text % "servers").env == {
        "PATH": os.pathsep.join(["/bin", "/mine"])
    }
    assert one(tmp_path, ".cursor/mcp.json", text % "mcpServers").env == {"PATH": "/mine"}


@pytest.mark.parametrize("said", ["${command:pick.one}", "${config:a.b}", "${workspaceFolder:x}"])
def test_what_only_an_editor_knows_costs_its_server(tmp_path: Path, said: str) -> None:
    servers = {"a": {"command": "x", "args": [said]}, "b": {"command": "x"}}
    text = json.dumps({"servers": servers})
    found, problems = read_servers(written(tmp_path, ".vscode/mcp.json", text))
    assert list(found) == ["b"] and f"{said}, which only VS Code knows" in str(problems["a"])


def test_a_persons_own_file_has_no_workspace(tmp_path: Path) -> None:
    text = '{"servers": {"a": {"command": "x", "args": ["${workspaceFolder}"]}}}'
    _, problems = read_servers(written(tmp_path, "Code/User/mcp.json", text))
    assert "workspaceFolder" in str(problems["a"])


WRONG: list[Any] = [None, True, 0, 1.5, "x", "", [], [1], [["a"]], {}, {"a": 1}, {"a": {}}, "a\0b",
                    "\ud800", "${", "x" * 5000]  # fmt: skip
KEYS = ("command", "args", "env", "cwd", "url", "headers", "type", "tls", "enabled", "disabled",
        "envFile", "disabledTools", "includeTools", "httpUrl", "environment", "http_headers",
        "env_http_headers", "env_vars", "bearer_token_env_var", "trust", "tools", "oauth", "auth", "scopes",
        "timeout", "tool_timeout_sec", "startup_timeout_sec")  # fmt: skip


@pytest.mark.parametrize("key", KEYS)
def test_a_value_of_the_wrong_kind_costs_its_own_server_at_most(tmp_path: Path, key: str) -> None:
    bases: list[dict[str, Any]] = [
        {"command": "x"},
        {"command": ["x", "y"], "env_vars": ["HOME"]},
        {"url": "https://h/", "bearer_token_env_var": "HOME"},
    ]
    for base in bases:
        for value in WRONG:
            servers = {"bad": {**base, key: value}, "good": {"command": "x"}}
            text = json.dumps({"mcpServers": servers})
            found, problems = read_servers(written(tmp_path, "mcp.json", text))
            assert "good" in found and all(problems.values())
            for config in found.values():
                assert shown(config) and config.identity


@pytest.mark.parametrize("said", [{"allowed": "a"}, {"excluded": 5}, {"excluded": {"a": True}}])
def test_servers_that_gemini_switches_off_by_no_list_are_never_let_through(
    tmp_path: Path, said: dict[str, Any]
) -> None:
    text = json.dumps({"mcp": said, "mcpServers": {"a": {"command": "x"}}})
    with pytest.raises(SetupError, match="lists of names"):
        read_servers(written(tmp_path, ".gemini/settings.json", text))


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
def test_a_file_is_read_in_any_encoding_of_unicode(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "mcp.json"
    file.write_bytes('{"mcpServers": {"北京": {"command": "x"}}}'.encode(encoding))
    assert list(read_config(file)) == ["北京"]


@pytest.mark.timeout(20)
@pytest.mark.parametrize("row", ["/**/", "/* ", "//\n", '/*"*/', ", ", " \t", '\\"', ",/*"])
def test_a_file_made_to_be_read_for_ever_is_not(row: str) -> None:
    for opening in ("", '"'):
        without_comments('{"a": 1,' + opening + row * 100_000 + '"b": 2}')


def test_only_servers_that_are_switched_on_are_there(tmp_path: Path) -> None:
    file = written(tmp_path, "mcp.json", json.dumps({"mcpServers": {
        "a": {"command": "x", "disabled": True}, "b": {"command": "x", "enabled": False},
        "c": {"command": "x", "enabled": True},
    }}))  # fmt: skip
    assert list(read_config(file)) == ["c"]


def test_a_variable_that_is_not_set_costs_its_own_server(tmp_path: Path) -> None:
    file = written(tmp_path, "mcp.json", json.dumps({"mcpServers": {
        "a": {"command": "x", "args": ["${SURELY_NOT_SET}"]}, "b": {"command": "y"},
    }}))  # fmt: skip
    found, problems = read_servers(file)
    assert list(found) == ["b"] and "SURELY_NOT_SET" in str(problems["a"])
    with pytest.raises(SetupError, match="SURELY_NOT_SET"):
        find_server(f"{file}:a")
    assert find_server(f"{file}:b").command == ("y",)


def test_a_value_that_must_be_asked_for_names_where_to_put_it(tmp_path: Path) -> None:
    text = (
        '{"inputs": [{"id": "surely-none", "description": "Your key"}],'
        ' "servers": {"a": {"command": "x", "args": ["${input:surely-none}"]}}}'
    )
    _, problems = read_servers(written(tmp_path, ".vscode/mcp.json", text))
    assert "'surely-none' (Your key): set INPUT_SURELY_NONE" in str(problems["a"])


def test_a_variable_in_another_hosts_spelling_stays_and_is_named(
    tmp_path: Path, caplog: Any
) -> None:
    text = '{"servers": {"a": {"command": "x", "args": ["${HOME}"]}}}'
    assert one(tmp_path, ".vscode/mcp.json", text).command == ("x", "${HOME}")
    assert "${env:HOME}" in caplog.text


def test_a_key_written_twice_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="'a' is written twice"):
        read_file(written(tmp_path, "mcp.json", '{"mcpServers": {"a": {}, "a": {}}}'))


def test_a_file_with_comments_is_never_written_over(tmp_path: Path) -> None:
    file = written(tmp_path, "mcp.json", '{"mcpServers": {} // mine\n}')
    with pytest.raises(SetupError, match="by hand"):
        write_server(file, "a", {"command": "x"})
    assert "// mine" in file.read_text()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(JSON, st.sampled_from(["", "// x, } ]\n", '/* , ] " */']))
def test_comments_are_taken_out_and_texts_stay_whatever_they_hold(value: Any, comment: str) -> None:
    text = f"{comment}{json.dumps(value, indent=1)}{comment}"
    assert json.loads(without_comments(text)) == value


def test_what_is_put_in_is_not_said_to_stay(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / ".cursor" / "mcp.json"
    file.parent.mkdir()
    words = ["${workspaceFolder}", "${userHome}", "${OTHER}"]
    file.write_text(json.dumps({"mcpServers": {"a": {"command": "x", "args": words}}}))
    assert read_config(file)["a"].command[1] == str(tmp_path)
    assert [each.getMessage().count("stays as it is") for each in caplog.records] == [1]
    assert "${env:OTHER}" in caplog.text
