"""Files of a project that decide what a command starts: a change of each is another digest."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel import SetupError
from toolkeel.mcp.config import ServerConfig
from toolkeel.mcp.launch_files import MAX_LOOKUPS, project_files, resolve_program


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    return folder


def config(project: Path, *command: str, cwd: str = "", **env: str) -> ServerConfig:
    folder = str((project / cwd).resolve())
    return ServerConfig("s", command, env=env, cwd=folder, origin=str(project / "mcp.json"))


def files(server: ServerConfig) -> dict[str, str]:
    return project_files(server, resolve_program(server))


def put(project: Path, name: str, text: str = "x") -> None:
    (project / name).parent.mkdir(parents=True, exist_ok=True)
    (project / name).write_text(text, "utf-8")


@pytest.mark.parametrize(
    ("file", "command"),
    [
        ("run.py", ["python", "run.py"]),
        ("run.py", ["python", "./run.py"]),
        ("run.py", ["python", ".//run.py"]),
        ("run.py", ["python", "-m", "run"]),
        ("app/__main__.py", ["python", "-m", "app"]),
        ("app/inner.py", ["python", "-m", "app.inner"]),
        ("app/inner.py", ["uvicorn", "app.inner:make"]),
        ("app/inner.py", ["uvx", "--from", "fastmcp", "fastmcp", "run", "app/inner.py:make"]),
        ("json.py", ["python", "-c", "import json; json.loads('')"]),
        ("server.js", ["node", "server"]),
        ("server.js", ["npm", "start"]),
        ("dist/index.js", ["node", "dist"]),
        ("dist/index.js", ["node", "."]),
        ("hook.js", ["node", "--require=./hook.js", "/opt/x.js"]),
        ("hook.js", ["node", "-r./hook.js", "/opt/x.js"]),
        ("hook.mjs", ["node", "--import", "file:./hook.mjs", "/opt/x.js"]),
        ("run.sh", ["sh", "-c", "./run.sh --now"]),
        ("run.sh", ["sh", "-c", "exec $PWD/run.sh"]),
        ("run.sh", ["sh", "-c", 'exec "${PWD}/run.sh"; true']),
        ("run.sh", ["sh", "-c", "cat<run.sh|sh"]),
        ("scripts/run.sh", ["sh", "-c", "cd scripts && ./run.sh"]),
        ("server/main.py", ["uv", "run", "--directory", "server", "main.py"]),
        ("args.txt", ["java", "@args.txt"]),
        ("lib/a.jar", ["java", "-cp", "/opt/x.jar:lib/a.jar", "Main"]),
        ("package.json", ["npm", "run", "serve"]),
        (".npmrc", ["npx", "-y", "@scope/server"]),
        ("node_modules/@scope/server/package.json", ["npx", "-y", "@scope/server@1.2"]),
        ("node_modules/.bin/server", ["npx", "server"]),
        ("uv.toml", ["uvx", "server"]),
        ("pyproject.toml", ["uv", "run", "server"]),
        ("Makefile", ["make", "serve"]),
        ("Makefile", ["bash", "-lc", "make serve"]),
        ("compose.yaml", ["docker", "compose", "up"]),
        ("Dockerfile", ["/usr/bin/docker", "build", "."]),
        ("deno.json", ["deno", "task", "serve"]),
        ("src/main.rs", ["cargo", "run"]),
        ("mise.toml", ["mise", "exec", "--", "server"]),
        ("uv.toml", ["python3.13", "-m", "uv", "run", "x"]),
    ],
)
def test_a_file_that_a_command_runs_is_found_however_it_is_named(
    project: Path, file: str, command: list[str]
) -> None:
    if file == "dist/index.js" and command[-1] == ".":
        put(project, "package.json", json.dumps({"main": "dist/index.js"}))
    before = files(config(project, *command))
    put(project, file)
    new = files(config(project, *command))
    assert new.get(file) and not before.get(file)
    put(project, file, "y")
    assert files(config(project, *command))[file] != new[file]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NODE_OPTIONS", "--require ./hook.js"),
        ("LD_PRELOAD", "/lib/x.so:hook.js"),
        ("BASH_ENV", "hook.js"),
        ("PYTHONSTARTUP", "./hook.js"),
    ],
)
def test_a_file_that_a_variable_names_is_found(project: Path, name: str, value: str) -> None:
    put(project, "hook.js")
    assert "hook.js" in files(config(project, "/bin/true", **{name: value}))


def test_files_above_the_servers_folder_and_of_the_same_repository_count(project: Path) -> None:
    put(project, "tools/a/x.py")
    put(project, ".npmrc")
    put(project, "shared/run.py")
    server = config(project, "npx", "a", "../../shared/run.py", cwd="tools/a")
    assert {".npmrc", "shared/run.py"} <= files(server).keys()


def test_a_link_is_bound_by_what_it_leads_to_in_both_directions(
    project: Path, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        (tmp_path / name).write_text(name)
    (project / "run.py").symlink_to(tmp_path / "one")
    server = config(project, "python", "run.py")
    before = files(server)["run.py"]
    (project / "run.py").unlink()
    (project / "run.py").symlink_to(tmp_path / "two")
    assert files(server)["run.py"] != before
    put(project, "inner.py")
    (tmp_path / "outer.py").symlink_to(project / "inner.py")
    assert os.path.join("..", "outer.py") in files(
        config(project, "python", str(tmp_path / "outer.py"))
    )


def test_the_program_itself_is_bound_where_the_project_has_it(project: Path) -> None:
    put(project, "bin/serve")
    (project / "bin/serve").chmod(0o755)
    assert files(config(project, "bin/serve")).keys() == {"bin/serve"}
    assert files(config(project, "serve", PATH="bin")).keys() == {"bin/serve"}


def test_a_manifests_script_is_followed_to_its_file(project: Path) -> None:
    put(project, "package.json", json.dumps({"scripts": {"serve": "node lib/serve.js"}}))
    put(project, "lib/serve.js")
    assert "lib/serve.js" in files(config(project, "npm", "run", "serve"))


def test_a_dependency_or_a_version_in_a_manifest_asks_nothing(project: Path) -> None:
    server = config(project, "npx", "-y", "somebodys-server")
    put(project, "package.json", json.dumps({"version": "1", "scripts": {"a": "b"}}))
    before = files(server)
    put(
        project,
        "package.json",
        json.dumps({"version": "2", "dependencies": {"x": "1"}, "scripts": {"a": "b"}}),
    )
    assert files(server) == before
    put(project, "package.json", json.dumps({"version": "2", "scripts": {"a": "c"}}))
    assert files(server) != before


def test_files_outside_of_the_project_are_the_persons_own(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own.py").write_text("x")
    assert files(config(project, "python", str(tmp_path / "own.py"))) == {}
    monkeypatch.setenv("HOME", str(project))  # a file at home is no project
    put(project, "run.py")
    assert files(config(project, "python", "run.py")) == {}


def test_a_command_that_names_too_many_files_is_refused(project: Path) -> None:
    words = " ".join(f"f{number}" for number in range(MAX_LOOKUPS))
    with pytest.raises(SetupError, match="names too many files"):
        files(config(project, "sh", "-c", words))


@given(st.lists(st.text(), max_size=3))
def test_no_words_break_the_search(words: list[str]) -> None:
    files(ServerConfig("s", ("x", *words), cwd="/usr", origin="/usr/mcp.json"))


def test_a_large_file_is_bound_by_its_ends(project: Path) -> None:
    path = project / "big.py"
    with path.open("wb") as file:
        file.truncate(70_000_000)
    server = config(project, "python", "big.py")
    before = files(server)["big.py"]
    with path.open("r+b") as file:
        file.write(b"evil")
    assert files(server)["big.py"] != before


def test_a_program_is_the_one_that_the_process_will_be(project: Path) -> None:
    put(project, "sub/serve")
    (project / "sub/serve").chmod(0o755)
    found = str(project / "sub/serve")
    assert resolve_program(config(project, "./serve", cwd="sub")) == found
    assert resolve_program(config(project, "serve", cwd="sub", PATH=".")) == found
    assert resolve_program(config(project, sys.executable)) == sys.executable
    assert resolve_program(config(project, "no-such-program")) is None
