"""Names, paths and addresses of stores."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.search.engines import postgres
from toolkeel.errors import SetupError
from toolkeel_workspace.search.file_search import FileSearchTool
from toolkeel_workspace.search.open_store import (
    get_stores_folder,
    hide_passwords,
    is_store_address,
    open_store,
    resolve_store_path,
)
from toolkeel_workspace.search.stores import Source


def test_a_name_is_a_store_of_the_user_and_a_path_is_a_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert get_stores_folder() == tmp_path / "toolkeel" / "stores"
    assert resolve_store_path("docs") == get_stores_folder() / "docs.sqlite"
    assert resolve_store_path("./docs") == Path("./docs")
    assert resolve_store_path("../../etc/x") == Path("../../etc/x")


def test_a_store_in_a_database_is_opened_by_its_address() -> None:
    with postgres() as new_database:
        address = f"{new_database()}#handbook"
        with open_store(address, create=True) as store:
            store.add(Source("a.md", "海象 walrus"))
            assert store.name == "handbook"
        assert FileSearchTool([address]).search("海象")[0].filename == "a.md"
        with pytest.raises(SetupError, match="there is no vector store 'other'"):
            open_store(address.replace("#handbook", "#other"))


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("postgresql://keel:secret@127.0.0.1:9/docs", "add #store"),
        ("qdrant+http://127.0.0.1:9/", "add /store"),
        ("qdrant+http://keel:secret@127.0.0.1", "add /store"),
        ("postgresql://keel:secret@127.0.0.1:9/docs#s", "cannot be asked"),
        ("postgresql://keel:secret%zz@127.0.0.1:9/docs#s", "cannot be read: write postgresql"),
        ("postgresql://keel:secret two@127.0.0.1:9/docs#s", "with %-escapes in a password"),
        ("qdrant+http://127.0.0.1:9/s", "Qdrant cannot be asked"),
        ("postgresql://keel:secret@127.0.0.1:9/docs#a;b", "is no short name"),
        ("postgresql://keel:secret@127.0.0.1:9/docs#" + "猫" * 22, "is no short name"),
    ],
)
def test_an_address_that_will_not_do_is_told_without_its_password(address: str, told: str) -> None:
    with pytest.raises(SetupError, match=told) as error:
        open_store(address)
    assert "secret" not in str(error.value)


WORDS = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=9)


@given(WORDS, st.sampled_from(["postgresql", "postgres", "qdrant+https"]), WORDS)
def test_no_address_is_shown_with_its_password(user: str, scheme: str, password: str) -> None:
    hard = f"{scheme}://{user}:/#@={password}!@host:1/db"  # as it must not be written, and is
    assert f"={password}!" not in hide_passwords(hard) and hide_passwords(hard).endswith(
        "@host:1/db"
    )
    password = f"={password}!"
    address = f"{scheme}://{user}:{password}@host:1/db?sslmode=require&password={password}#s"
    assert is_store_address(address)
    assert password not in hide_passwords(address)
    assert hide_passwords(address) == f"{scheme}://{user}@host:1/db?sslmode=require&password=...#s"
