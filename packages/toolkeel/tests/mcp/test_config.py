"""Servers said in one word, and read from the files that hosts share."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from toolkeel import SetupError
from toolkeel.mcp.config import (
    ServerConfig,
    find_server,
    parse_source,
    read_config,
    read_servers,
    with_overrides,
)
from toolkeel.mcp.consent import check_consent
from toolkeel.mcp.hosts import write_server
from toolkeel.mcp.launch_facts import launch_facts, shown_lines


def shown(config: ServerConfig) -> str:
    return "\n".join(shown_lines(launch_facts(config)))


def written(tmp_path: Path, servers: object, key: str = "mcpServers") -> Path:
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({key: servers}), "utf-8")
    return path


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("npx -y @modelcontextprotocol/server-filesystem docs", "server_filesystem"),
        ("uvx mcp-server-git@1.2", "mcp_server_git"),
        ("python servers/weather.py", "weather"),
        ("python3 -c 'import weather'", "python3"),
        ("/opt/bin/files --root .", "files"),
        ("https://user:pw@mcp.example.com:8080/mcp?key=1", "mcp_example_com"),
    ],
)
def test_a_server_gets_a_name_from_what_it_is(source: str, name: str) -> None:
    assert parse_source(source).name == name


@pytest.mark.parametrize("source", ["", "  ", [], "npx 'unfinished"])
def test_what_is_no_server_is_refused(source: str | list[str]) -> None:
    with pytest.raises(SetupError):
        parse_source(source)


def test_a_file_gives_its_servers_with_variables_put_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "s3cret")
    monkeypatch.delenv("NOT_SET", raising=False)
    path = written(
        tmp_path,
        {
            "files": {"command": "npx", "args": ["${NOT_SET:-docs}"], "env": {"KEY": "${TOKEN}"}},
            "web": {"url": "https://x/mcp", "headers": {"Authorization": "Bearer ${env:TOKEN}"}},
            "old": {"url": "https://x/sse", "type": "sse"},
            "off": {"command": "rm", "disabled": True},
        },
    )
    servers = read_config(path)
    assert list(servers) == ["files", "web", "old"]
    assert servers["files"].command == ("npx", "docs")
    assert servers["files"].env == {"KEY": "s3cret"}
    assert servers["files"].cwd == str(tmp_path)
    assert servers["web"].headers == {"Authorization": "Bearer s3cret"}
    assert servers["old"].kind == "sse"


def test_no_secret_is_in_what_is_shown_or_in_the_identity(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "s3cret")
    entry = {"command": "run", "args": ["--key", "${TOKEN}"], "env": {"KEY": "${TOKEN}"}}
    [server] = read_config(written(tmp_path, {"s": entry})).values()
    assert "s3cret" not in server.identity + shown(server) + repr(server)
    assert "KEY=${TOKEN}" in shown(server) and "--key '${TOKEN}'" in shown(server)


def test_no_secret_of_an_address_or_an_env_file_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "s3cret")
    (tmp_path / "x.env").write_text("KEY=s3cret")
    servers = {
        "web": {"url": "https://u:${TOKEN}@h/${TOKEN}/mcp?k=${TOKEN}"},
        "zed": {"command": {"path": "x", "args": ["${TOKEN}"]}, "envFile": "x.env"},
        "bare": {"url": "${TOKEN}"},
    }
    found, problems = read_servers(written(tmp_path, servers))
    for config in found.values():
        assert "s3cret" not in config.identity + shown(config) + repr(config)
    assert found["web"].identity == "https://h/${TOKEN}/mcp"
    assert "KEY=•••" in shown(found["zed"]) and found["zed"].identity.startswith("x '${TOKEN}'")
    assert "s3cret" not in str(problems["bare"])
    with pytest.raises(SetupError, match="nobody has agreed") as told:
        check_consent(found["web"])
    assert "s3cret" not in str(told.value)


def test_a_server_of_a_file_of_codex_is_named_like_one_of_any_other(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('[mcp_servers.a]\ncommand = "x"\n[mcp_servers.b]\ncommand = "y"\n')
    assert find_server(f"{file}:b").command == ("y",)
    with pytest.raises(SetupError, match="has a, b; say"):
        find_server(str(file))


def test_a_file_may_name_the_revision_that_a_server_is_spoken_to_in(tmp_path: Path) -> None:
    versions = {"a": "2025-11-25", "b": "2026-07-28", "c": "newest"}
    entries = {name: {"command": "x", "protocolVersion": said} for name, said in versions.items()}
    found, problems = read_servers(written(tmp_path, entries))
    assert found["a"].is_legacy and not found["b"].is_legacy and "2025-11-25" in str(problems["c"])


def test_a_new_file_of_a_host_has_that_hosts_form(tmp_path: Path) -> None:
    file = tmp_path / ".vscode" / "mcp.json"
    file.parent.mkdir()
    write_server(file, "one", {"command": "a"})
    assert list(json.loads(file.read_text("utf-8"))) == ["servers"]


def test_the_servers_of_vs_code_are_read(tmp_path: Path) -> None:
    path = written(tmp_path, {"a": {"type": "stdio", "command": "a"}}, "servers")
    assert read_config(path)["a"].command == ("a",)


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        ({}, "either a command or a url"),
        ({"command": "a", "url": "https://x"}, "either a command or a url"),
        ({"command": "a", "args": "b"}, "'args' must be a list of texts"),
        ({"command": "a", "env": {"K": []}}, r"env\['K'\] must be a text"),
        ({"command": 5}, "'command' must be a text"),
        ({"url": "ftp://x"}, "no http address"),
        ({"url": "https://x", "type": "carrier-pigeon"}, "no type 'carrier-pigeon'"),
        ({"command": "a", "type": "http"}, "no type 'http'"),
        ({"command": "${NOBODY_SETS_THIS}"}, "variable NOBODY_SETS_THIS; set it"),
        ("a", "must be an object"),
    ],
)
def test_a_wrong_server_is_named_with_the_fault(
    tmp_path: Path, entry: object, complaint: str
) -> None:
    with pytest.raises(SetupError, match=complaint) as told:
        read_config(written(tmp_path, {"wrong": entry}))
    assert "wrong" in str(told.value)


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"mcpServers": []}', "[" * 100_000])
def test_a_file_without_servers_is_told(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(text)
    with pytest.raises(SetupError, match=r"mcp\.json"):
        read_config(path)


def test_a_file_keeps_everything_else_when_a_server_comes_or_goes(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    write_server(path, "one", {"command": "a"})
    data = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({**data, "inputs": ["猫"]}), "utf-8")
    write_server(path, "two", {"url": "https://x"})
    write_server(path, "one", None)
    kept = json.loads(path.read_text("utf-8"))
    assert kept == {"mcpServers": {"two": {"url": "https://x"}}, "inputs": ["猫"]}
    with pytest.raises(SetupError, match="no server 'three'; there is two"):
        write_server(path, "three", None)


def test_a_source_names_a_server_of_a_file(tmp_path: Path) -> None:
    path = written(tmp_path, {"a": {"command": "a"}, "b": {"command": "b"}})
    assert find_server(f"{path}:b").command == ("b",)
    with pytest.raises(SetupError, match="has a, b; say"):
        find_server(path)
    with pytest.raises(SetupError, match="has a, b; say"):
        find_server(f"{path}:c")


def test_what_a_program_adds_must_fit_the_kind_of_server() -> None:
    command, url = parse_source("run"), parse_source("https://x")
    assert with_overrides(command, None, {"A": "1"}, "/tmp").env == {"A": "1"}
    assert with_overrides(url, {"X": "1"}, None, None).headers == {"X": "1"}
    for config, wrong in ((command, ({"X": "1"}, None, None)), (url, (None, {"A": "1"}, None))):
        with pytest.raises(SetupError, match=r"(is|are) for"):
            with_overrides(config, *wrong)


@pytest.mark.parametrize("name", ["a\x1b]0;x\x07", "a\nb", "a\u202eb", "a\0"])
def test_a_server_whose_name_a_terminal_would_obey_is_left_out(name: str, tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {name: {"command": "x"}, "北京": {"command": "x"}}}))
    found, problems = read_servers(file)
    assert list(found) == ["北京"] and "cannot be seen" in str(problems[name])
