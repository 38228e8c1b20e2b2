"""What is PostgreSQL's alone; see test_stores.py for what holds for every store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.search.engines import pgvector
from tests.search.test_vector_store import Lengths
from tests.sessions.postgres_server import Server, serving
from toolkeel.errors import SetupError, ToolError
from toolkeel_workspace.search.postgres_store import PostgresStore
from toolkeel_workspace.search.ranking import Ranking, search_store
from toolkeel_workspace.search.stores import Source


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with pgvector() as programs, serving(programs=programs) as made:
        yield made


def found(store: PostgresStore, query: str) -> list[str]:
    return [hit.filename for hit in search_store(store, [query], 9, Ranking())]


def test_a_store_answers_again_after_its_server_was_started_anew(server: Server) -> None:
    with PostgresStore(server.new_database(), "docs") as store:
        store.add(Source("a.md", "walrus"))
        server.stop()
        with pytest.raises(ToolError, match="database cannot be asked"):
            store.list_files()
        server.start()
        assert found(store, "walrus") == ["a.md"]


def test_stores_of_one_database_do_not_see_each_other(server: Server) -> None:
    address = server.new_database()
    with PostgresStore(address, "one") as one, PostgresStore(address, "two", Lengths()) as two:
        one.add(Source("a.md", "walrus"))
        two.add(Source("b.md", "walrus"))
        assert (found(one, "walrus"), found(two, "walrus")) == (["a.md"], ["b.md"])
        assert one.list_without_vectors() == {"a.md"}


def test_tables_of_others_with_the_same_names_are_left_alone(server: Server) -> None:
    address = server.new_database()
    import psycopg

    with psycopg.connect(address, autocommit=True) as db:
        db.execute("CREATE TABLE notes (format TEXT, model TEXT, passages BIGINT)")
        db.execute("INSERT INTO notes VALUES ('mine', 'mine', 7)")
        with PostgresStore(address, "docs") as store:
            store.add(Source("a.md", "walrus"))
            assert (len(store), store.get_model()) == (1, "")
        assert db.execute("SELECT * FROM public.notes").fetchall() == [("mine", "mine", 7)]


def test_a_database_without_pgvector_searches_by_words_and_says_what_vectors_need() -> None:
    with serving() as server:
        address = server.new_database()
        with PostgresStore(address, "docs") as store:
            store.add(Source("a.md", "walrus"))
            assert found(store, "walrus") == ["a.md"]
        with PostgresStore(address, "docs", Lengths()) as store:
            with pytest.raises(ToolError, match="vector"):
                store.add(Source("b.md", "seal"))
            assert [one.name for one in store.list_files()] == ["a.md"]


def test_of_many_files_those_that_pass_are_found_by_meaning(server: Server) -> None:
    with PostgresStore(server.new_database(), "docs", Lengths()) as store:
        store.add(*(Source(f"{n}.md", "short", "", {"n": n}) for n in range(300)))
        late = {"type": "gte", "key": "n", "value": 297}
        with store.view(late) as view:
            near = view.search_vectors(Lengths().embed(["short"])[0], 9, [])
            names = {one.name for _, one in view.read_passages(list(near))}
        assert names == {"297.md", "298.md", "299.md"}


def test_a_store_of_another_version_is_refused(server: Server, tmp_path: Path) -> None:
    address = server.new_database()
    with PostgresStore(address, "docs") as store, store._transaction() as db:
        db.execute("UPDATE notes SET format = '0'")
    with pytest.raises(SetupError, match="made by another version"):
        PostgresStore(address, "docs")
