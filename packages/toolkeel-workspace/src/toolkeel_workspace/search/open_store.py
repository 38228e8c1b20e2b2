"""The store that a name, a path or an address stands for."""

from __future__ import annotations

import os
import re
from os import PathLike
from pathlib import Path

from toolkeel._common.data_folder import by_xdg
from toolkeel._common.needs_extra import needs_extra
from toolkeel.errors import SetupError
from toolkeel_workspace.search.stores import Embedder, Store
from toolkeel_workspace.search.vector_store import VectorStore

_ID = re.compile(r"[\w.-]+")
_ADDRESS = re.compile(r"(postgres|postgresql|qdrant\+https?)://.")
_PASSWORD = re.compile(r"(password=)[^&#]*")


def stores_folder() -> Path:
    """Where stores are that are known by their name alone, by the XDG rule."""
    return by_xdg("XDG_DATA_HOME", "share") / "stores"


def store_path(id: str | PathLike[str]) -> Path:
    """The file of a store: ``docs`` is one of `stores_folder`, ``./docs.sqlite`` a path.

    >>> store_path("./docs.sqlite").name, store_path("docs").name
    ('docs.sqlite', 'docs.sqlite')
    """
    if isinstance(id, str) and _ID.fullmatch(id) and not id.endswith(".sqlite"):
        return stores_folder() / f"{id}.sqlite"
    return Path(id)


def is_address(id: str | PathLike[str]) -> bool:
    """Whether a store is a server's.

    >>> is_address("postgresql://keel@/docs#handbook"), is_address("handbook")
    (True, False)
    """
    return isinstance(id, str) and _ADDRESS.match(id) is not None


def display_name(id: str) -> str:
    """A store's name as people may see it: an address without passwords.

    >>> display_name("postgresql://keel:secret@host/docs?password=x#handbook")
    'postgresql://keel@host/docs?password=...#handbook'
    """
    if not is_address(id):
        return id
    return _PASSWORD.sub(r"\1...", re.sub(r"(//[^/#:]*):.*@", r"\1@", id))


def open_store(
    id: str | PathLike[str], embedder: Embedder | None = None, *, create: bool = False
) -> Store:
    """Open a store.

    Args:
        id: A name, a path, ``postgresql://user@host/database#store``, or
            ``qdrant+https://host:6333/store``, whose key is in ``QDRANT_API_KEY``.
        embedder: Makes vectors of what is put in and of what is asked.
        create: Whether to make it if it is missing.

    Raises:
        SetupError: if it cannot be opened.
    """
    if not is_address(id):
        made = VectorStore(store_path(id), embedder, create=create)
        made.name = str(id)
        return made
    if str(id).startswith("postgres"):
        from toolkeel_workspace.search.postgres_store import PostgresStore

        address, _, name = str(id).partition("#")
        if not name:
            raise SetupError(f"{display_name(address)!r} names no store: add #store")
        return PostgresStore(address, name, embedder, create=create)
    from toolkeel_workspace.search.qdrant_store import QdrantStore

    with needs_extra("file search in Qdrant", "qdrant"):
        from qdrant_client import QdrantClient
    address, _, name = str(id).removeprefix("qdrant+").rpartition("/")
    if not name or address.endswith("/"):
        raise SetupError(f"{display_name(str(id))!r} names no store: add /store")
    key = os.environ.get("QDRANT_API_KEY")
    client = QdrantClient(address, api_key=key, check_compatibility=False)  # it only warns
    return QdrantStore(client, name, embedder, create=create)
