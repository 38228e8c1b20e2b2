"""Where sessions of the tests are kept: a file, and a database of PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sessions.dict_store import DictStore
from tests.sessions.postgres_server import Server, serving
from tests.sessions.slow_store import delayed, locked_often
from toolkeel.sessions import Sessions
from toolkeel.sessions.stores.postgres import is_postgres


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """One server for all tests of a process."""
    with serving() as server:
        yield server


STORES = ["sqlite", pytest.param("postgres", marks=pytest.mark.slow)]


@pytest.fixture(params=STORES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A new place for sessions, in each of the stores that other processes can open: one contract."""
    return _new_place(request, tmp_path)


@pytest.fixture(params=[*STORES, "dict"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str | DictStore:
    """A new place for sessions, in each of the stores, also in one of our own: one contract."""
    return DictStore() if request.param == "dict" else _new_place(request, tmp_path)


def _new_place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "talk.db")
    server: Server = request.getfixturevalue("postgres")
    return server.new_database()


@pytest.fixture
def slow_place(place: str) -> Iterator[str]:
    """The same, where a commit takes more than a quarter of a second."""
    slow = delayed(place) if is_postgres(place) else locked_often(place)
    Sessions(place)
    with slow as address:
        yield address or place
