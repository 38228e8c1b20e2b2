"""Stored logins: in the system's keyring if there is a real one, else in a private file.

Refresh tokens are good for one use, and using one twice ends the login: so whoever renews a login is
alone, among all connections and programs of its owner.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from mcp.shared.auth import OAuthClientInformationFull, OAuthMetadata, OAuthToken

from toolkeel.errors import SetupError
from toolkeel.mcp.state_files import load_object, save_object

if TYPE_CHECKING:
    from pydantic import BaseModel

SAFE = frozenset(("SecretService", "libsecret", "kwallet", "macOS", "Windows"))
"""Modules of ``keyring.backends`` that keep secrets where only their owner's session reads them."""
SERVICE = "toolkeel mcp"
LOCK_SECONDS = 30.0
"""Seconds for a keyring: one that is locked asks its owner first."""
_EARLY_SECONDS = 30.0
_KEPT = {"kept": "in the system's keyring"}

T = TypeVar("T")


class Keyring(Protocol):
    """Protocol of a ``keyring.backend.KeyringBackend``, as far as it is used here."""

    def get_password(self, service: str, username: str) -> str | None:
        """Return a secret, or None."""

    def set_password(self, service: str, username: str, password: str) -> None:
        """Store a secret."""

    def delete_password(self, service: str, username: str) -> None:
        """Delete a secret."""


def system_keyring() -> Keyring | None:
    """Return the system's keyring if it is one of `SAFE`; else, or without the package ``keyring``, None."""
    try:
        import keyring  # slow, and needed at a login alone
    except ImportError:
        return None
    chosen: Any = keyring.get_keyring()
    for each in getattr(chosen, "backends", (chosen,)):  # a chain of several has them there
        package, _, module = type(each).__module__.rpartition(".")
        if package == "keyring.backends" and module in SAFE:
            found: Keyring = each
            return found
    return None


class Tokens:
    """Stored login: tokens, the client they are for, and where they are refreshed.

    Args:
        path: A file that is its owner's alone; of a login in a keyring it says only that.
        registered: A client registered beforehand, which is never replaced.
        keyring: Returns the system's keyring; None to store the login in the file.
    """

    def __init__(
        self,
        path: Path,
        registered: OAuthClientInformationFull | None,
        keyring: Callable[[], Keyring | None] | None = None,
    ) -> None:
        self._path = path
        self._registered = registered
        self._keyring = keyring or (lambda: None)

    async def get_tokens(self) -> OAuthToken | None:
        """Return the stored tokens, or None.

        Raises:
            SetupError: a keyring does not return what was stored.
        """
        found = (await self._load()).get("tokens")
        return None if found is None else OAuthToken.model_validate(found)

    async def expires(self) -> float | None:
        """Return the time to refresh the access token, in seconds since 1970; None if unknown.

        Raises:
            SetupError: a keyring does not return what was stored.
        """
        found = (await self._load()).get("expires")
        return found - _EARLY_SECONDS if isinstance(found, int | float) else None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Store the tokens and the time when they expire."""
        expires = None if tokens.expires_in is None else time.time() + tokens.expires_in
        await self._save({"tokens": _as_json(tokens), "expires": expires})

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return the registered client, or None if a client must be registered.

        Raises:
            SetupError: a keyring does not return what was stored.
        """
        if self._registered is not None:
            return self._registered
        found = (await self._load()).get("client")
        return None if found is None else OAuthClientInformationFull.model_validate(found)

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Store the client that the server has registered."""
        await self._save({"client": _as_json(client_info)})

    async def delete_client(self) -> bool:
        """Delete a stored client that the server no longer knows, and its tokens.

        Return True if a new client may register: not if one was registered beforehand.
        """
        await self._save({"client": None, "tokens": None})
        return self._registered is None

    async def metadata(self) -> OAuthMetadata | None:
        """Return the stored metadata of the authorization server, or None.

        Raises:
            SetupError: a keyring does not return what was stored.
        """
        found = (await self._load()).get("server")
        return None if found is None else OAuthMetadata.model_validate(found)

    async def set_metadata(self, metadata: OAuthMetadata | None) -> None:
        """Store the authorization server's metadata, so that tokens are sent nowhere else.

        None changes nothing: stored metadata stays.
        """
        if metadata is not None:
            await self._save({"server": _as_json(metadata)})

    @asynccontextmanager
    async def exclusive(self) -> AsyncIterator[None]:
        """Lock a login for the length of a block, by a file beside it; wait while another process has it."""
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(self._path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            mine = _try_lock(lock)
            while not mine:  # another has it, perhaps for as long as a person needs
                await asyncio.sleep(0.05)
                mine = _try_lock(lock)
            yield
        finally:
            os.close(lock)

    async def delete(self) -> None:
        """Delete the stored login, ignoring a keyring's errors, or raise `SetupError` if its file is damaged."""
        ring = self._keyring() if load_object(self._path) == _KEPT else None
        if ring is not None:
            with suppress(Exception):  # it may be gone already; each keyring says so otherwise
                await _run_in_daemon(lambda: ring.delete_password(SERVICE, self._path.stem))
        self._path.unlink(missing_ok=True)

    async def _load(self) -> dict[str, Any]:
        """Return the stored data.

        Raises:
            SetupError: the data is in a keyring that does not return it.
        """
        found = load_object(self._path)
        if found != _KEPT:
            return found
        ring, name = self._keyring(), self._path.stem
        why = "there is none"
        if ring is not None:
            try:
                text = await _run_in_daemon(lambda: ring.get_password(SERVICE, name))
                return json.loads(text) if text else {}
            except Exception as error:  # each keyring fails in its own way
                why = f"{type(error).__name__}: {error}"
        raise SetupError(
            f"the login {name} is in the system's keyring, which does not give it ({why}): "
            f"unlock it, or delete {self._path} and log in again"
        )

    async def _save(self, more: dict[str, object]) -> None:
        """Merge data into the stored login, in the keyring, or in the file if that fails. Raises as `_load`."""
        data = {**await self._load(), **more}
        ring = self._keyring()
        if ring is not None:
            text = json.dumps({key: value for key, value in data.items() if value is not None})
            with suppress(Exception):  # it is locked, or full: then a file it is
                await _run_in_daemon(lambda: ring.set_password(SERVICE, self._path.stem, text))
                data = dict(_KEPT)
        save_object(self._path, data)


def _as_json(model: BaseModel) -> Any:
    """Return a model as JSON data, without None."""
    return json.loads(model.model_dump_json(exclude_none=True))


async def _run_in_daemon(work: Callable[[], T]) -> T:
    """Run blocking work in a daemon thread and return its result; raise TimeoutError after `LOCK_SECONDS`."""
    done: Future[T] = Future()
    done.set_running_or_notify_cancel()  # so that nobody who stops waiting takes it away

    def run() -> None:
        """Run the work, and set the future's result or exception."""
        try:
            done.set_result(work())
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=run, name="keyring", daemon=True).start()
    return await asyncio.wait_for(asyncio.wrap_future(done), LOCK_SECONDS)


if sys.platform != "win32":
    import fcntl

    def _try_lock(file: int) -> bool:
        """Try to lock an open file. Return False if another process has it."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

else:  # pragma: no cover
    import msvcrt

    def _try_lock(file: int) -> bool:
        """Try to lock a file; return False if another process has locked it."""
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
