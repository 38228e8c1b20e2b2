"""Open the store of a name, a path or an address."""

from __future__ import annotations

import os
import re
from os import PathLike
from pathlib import Path

from toolkeel._common.data_folder import xdg_folder
from toolkeel._common.needs_extra import needs_extra
from toolkeel.errors import SetupError
from toolkeel_workspace.search.stores import Embedder, Store
from toolkeel_workspace.search.vector_store import VectorStore

_ID = re.compile(r"[\w.-]+")
_ADDRESS = re.compile(r"(postgres|postgresql|qdrant\+https?)://.")
_PASSWORD = re.compile(r"(password=)[^&#]*")


def get_stores_folder() -> Path:
    """Return the folder of stores known by name alone, by the XDG rule."""
    return xdg_folder("XDG_DATA_HOME", "share") / "stores"


def resolve_store_path(id: str | PathLike[str]) -> Path:
    """Return the file of a store: ``docs`` is in `get_stores_folder`, ``./docs.sqlite`` a path.

    >>> resolve_store_path("./docs.sqlite").name, resolve_store_path("docs").name
    ('docs.sqlite', 'docs.sqlite')
    """
    if isinstance(id, str) and _ID.fullmatch(id) and not id.endswith(".sqlite"):
        return get_stores_folder() / f"{id}.sqlite"
    return Path(id)


def is_store_address(id: str | PathLike[str]) -> bool:
    """Return true if a store is on a server.

    >>> is_store_address("postgresql://keel@/docs#handbook"), is_store_address("handbook")
    (True, False)
    """
    return isinstance(id, str) and _ADDRESS.match(id) is not None


def hide_passwords(id: str) -> str:
    """Return a store's name for people: an address without passwords.

    >>> hide_passwords("postgresql://keel:secret@host/docs?password=x#handbook")
    'postgresql://keel@host/docs?password=...#handbook'
    """
    if not is_store_address(id):
        return id
    return _PASSWORD.sub(r"\1...", re.sub(r"(//[^/#:]*):.*@", r"\1@", id))


def open_store(
    id: str | PathLike[str], embedder: Embedder | None = None, *, create: bool = False
) -> Store:
    """Open a store.

    Args:
        id: A name, a path, ``postgresql://user@host/database#store``, or
            ``qdrant+https://host:6333/store``, whose key is in ``QDRANT_API_KEY``.
        embedder: Makes vectors of added texts and of queries.
        create: Create it if it is missing.

    Raises:
        SetupError: if it cannot be opened.
    """
    if not is_store_address(id):
        made = VectorStore(resolve_store_path(id), embedder, create=create)
        made.name = str(id)
        return made
    if str(id).startswith("postgres"):
        from toolkeel_workspace.search.postgres_store import PostgresStore

        address, _, name = str(id).partition("#")
        if not name:
            raise SetupError(f"{hide_passwords(address)!r} names no store: add #store")
        return PostgresStore(address, name, embedder, create=create)
    from toolkeel_workspace.search.qdrant_store import QdrantStore

    with needs_extra("file search in Qdrant", "qdrant"):
        from qdrant_client import QdrantClient
    address, _, name = str(id).removeprefix("qdrant+").rpartition("/")
    if not name or address.endswith("/"):
        raise SetupError(f"{hide_passwords(str(id))!r} names no store: add /store")
    key = os.environ.get("QDRANT_API_KEY")
    client = QdrantClient(address, api_key=key, check_compatibility=False)  # it only warns
    return QdrantStore(client, name, embedder, create=create)
