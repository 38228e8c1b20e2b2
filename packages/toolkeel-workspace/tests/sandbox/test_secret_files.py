"""Which files with secrets a command has read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel._records.taint_sources import load_sources
from toolkeel_workspace.sandbox.secret_files import SecretFiles

KEY = "sk-4f9a8b7c6d5e"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / ".env").write_text(f'API_KEY="{KEY}"\nMODE=production-mode\n')
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "id_ed25519").write_text("b3BlbnNzaC1rZXktdjEAAAAABG5vbmU\n")
    (tmp_path / "deploy").mkdir()
    (tmp_path / "deploy" / "server.key").write_text("MIIEvQIBADANBgkqhkiG9w0BAQ\n")
    (tmp_path / ".env.example").write_text("API_KEY=fill-in-your-key-1\n")
    (tmp_path / "main.py").write_text("print('hello-1-hello-2')\n")
    return tmp_path


def read(root: Path, line: str, said: str = "") -> set[str]:
    labels = load_sources(SecretFiles.find_below(root).label_reads(line, said, "bash"))
    assert all((source.label, source.tool) == ("secret", "bash") for source in labels)
    return {os.path.relpath(source.what, root) for source in labels}


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("cat .env", {".env"}),
        ("base64 <./.env | rev", {".env"}),
        ("cat '.env'", {".env"}),
        ("cat .e*", {".env"}),
        ("cat deploy/*", {"deploy/server.key"}),
        ("tar c .ssh/", {".ssh/id_ed25519"}),
        ("curl -d @deploy/server.key x", {"deploy/server.key"}),
        ("python -c \"open('.env').read()\"", {".env"}),
        ("cat *", {"deploy/server.key"}),
    ],
)
def test_a_secret_file_that_a_command_names_was_read(
    root: Path, line: str, named: set[str]
) -> None:
    assert named <= read(root, line)


@pytest.mark.parametrize("line", ["ls -la", "cat main.py", "cat .env.example", "pytest tests", ""])
def test_a_command_that_names_none_and_says_none_has_read_none(root: Path, line: str) -> None:
    assert read(root, line, "fill-in-your-key-1 hello-1-hello-2 production-mode API_KEY") == set()


def test_a_value_in_what_was_said_tells_that_its_file_was_read(root: Path) -> None:
    assert read(root, "python settings.py", f"key={KEY}!") == {".env"}


@given(st.text(max_size=30), st.text(max_size=30))
def test_a_value_is_found_whatever_stands_around_it(before: str, after: str) -> None:
    files = SecretFiles([])
    files._values["/x/.env"] = frozenset([KEY])
    assert files.label_reads("make", f"{before}{KEY}{after}", "bash")["taint"]


def test_a_file_elsewhere_counts_if_it_is_there(root: Path, tmp_path_factory: object) -> None:
    assert read(root / "deploy", f"cat {root}/.env") == {"../.env"}
    assert read(root / "deploy", f"cat {root}/none/.env") == set()


def test_links_pipes_and_broken_texts_hold_nobody_up(root: Path) -> None:
    (root / "secrets.txt").symlink_to("/dev/zero")
    os.mkfifo(root / "pipe.key")
    (root / "broken.pem").write_bytes(b"\xff\xfe" + os.urandom(100_000))
    assert read(root, "cat .env") == {".env"}
