"""Writes of protected files need approval, whatever rules allow (T6)."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolkeel import Agent
from toolkeel.mcp.consent import ConsentStore
from toolkeel.mcp.pins import Pin, Pins
from toolkeel.sessions import KeyValueStore, Sessions
from toolkeel.testing import Scripted
from toolkeel_workspace.files.open_beneath import Root
from toolkeel_workspace.files.protected_writes import ProtectedFilePredicate
from toolkeel_workspace.sandbox.protected_files import find_protected, take_snapshot


@pytest.mark.parametrize(
    ("path", "asks"),
    [(".git/hooks/pre-commit", True), ("./.env", True), ("src/main.py", False), ("../x", False)],
)
def test_a_path_is_asked_about_by_where_it_leads(tmp_path: Path, path: str, asks: bool) -> None:
    for predicate in (ProtectedFilePredicate(), ProtectedFilePredicate(Root(tmp_path))):
        assert bool(predicate({"path": path})) is asks
        assert predicate.despite_rules({"path": path}) == predicate({"path": path})


@pytest.mark.parametrize("path", ["lib/config", "lib/HEAD", "lib/hooks/post-update", "lib/refs/a"])
def test_a_bare_repository_is_one_under_any_name_also_while_it_is_made(
    tmp_path: Path, path: str
) -> None:
    asks = ProtectedFilePredicate(Root(tmp_path))
    (tmp_path / "lib" / "objects").mkdir(parents=True)
    (tmp_path / "lib" / "refs").mkdir()
    assert bool(asks({"path": path})) is (path == "lib/HEAD")  # which makes it one
    (tmp_path / "lib" / "HEAD").write_text("ref: refs/heads/main")
    assert asks({"path": path}).startswith("'a bare git repository' is protected")
    assert not asks({"path": "lib/readme.md"}) and not asks({"path": "other/config"})


def test_the_librarys_own_state_is_asked_about_wherever_a_folder_contains_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLKEEL_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    asks = ProtectedFilePredicate(Root(tmp_path))
    for path in ("data/decided/x", "data/sessions.db", "state/toolkeel/consents.json"):
        assert asks({"path": path}).startswith('"toolkeel\'s own state" is protected')
    assert not asks({"path": "database/x"})
    (tmp_path / "data").mkdir()
    assert tmp_path / "data" in find_protected(tmp_path)


def test_state_that_a_program_keeps_in_its_own_place_is_protected_there(tmp_path: Path) -> None:
    link = tmp_path / "link"
    (tmp_path / "state").mkdir()
    link.symlink_to("state")
    Pins(tmp_path / "my-pins.json").set("server", "tool", Pin("d", {}))
    ConsentStore(tmp_path / "agreed.json")
    Agent(Scripted([]), used_tickets=link / "used")
    store = KeyValueStore(tmp_path / "notes.db")
    Sessions(tmp_path / "talk.db")
    asks = ProtectedFilePredicate(Root(tmp_path))
    places = (
        "my-pins.json",
        "agreed.json",
        "state/used/x",
        "link/used/x",
        "notes.db",
        "talk.db-wal",
    )
    for path in places:
        assert asks({"path": path}).startswith('"toolkeel\'s own state" is protected'), path
    assert not asks({"path": "notes.db.txt"}) and not asks({"path": "state/x"})
    found = find_protected(tmp_path)
    assert {tmp_path / "my-pins.json", tmp_path / "notes.db"} <= set(found)
    before = take_snapshot(tmp_path)
    store.put(("a",), "k", {})  # this program itself, while a command runs
    store.close()
    assert take_snapshot(tmp_path).protected == before.protected


def test_a_link_is_asked_about_by_what_it_names(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "plain").symlink_to(tmp_path / ".git")
    assert ProtectedFilePredicate(Root(tmp_path))({"path": "plain/config"})


def test_a_link_is_asked_about_also_by_a_name_that_only_looks_the_same(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text("")
    (tmp_path / "it\u2019s").symlink_to(".git")
    root = Root(tmp_path)
    assert ProtectedFilePredicate(root)({"path": "it's/config"})
    assert root.resolve("it's/config") == str(tmp_path / ".git" / "config")
