"""Where logins are kept: a file of their owner, or a keyring that is a real one."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from pathlib import Path

import keyring
import pytest
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyUrl

from toolkeel import SetupError
from toolkeel.mcp.client.oauth import token_storage as module
from toolkeel.mcp.client.oauth.token_storage import Tokens, system_keyring

REDIRECT = AnyUrl("http://127.0.0.1:1/callback")
TOKENS = OAuthToken(access_token="a", refresh_token="r", expires_in=3600, scope="read")
CLIENT = OAuthClientInformationFull(client_id="c", redirect_uris=[REDIRECT])


class Ring:
    """A keyring of this process.

    Attributes:
        kept: Secrets by service and name.
        locked: Whether it asks its owner, who is not there.
    """

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}
        self.locked = threading.Event()

    def get_password(self, service: str, username: str) -> str | None:
        self._wait()
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self._wait()
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.kept[service, username]

    def _wait(self) -> None:
        if self.locked.is_set():
            time.sleep(5)


async def keep(kept: Tokens) -> None:
    assert await kept.get_tokens() is None and await kept.get_client_info() is None
    await kept.set_tokens(TOKENS)
    await kept.set_client_info(CLIENT)


def test_a_login_is_kept_in_a_file_of_its_owner_and_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "login.json"
    asyncio.run(keep(Tokens(path, None)))
    assert path.stat().st_mode & 0o077 == 0
    again = Tokens(path, None)
    assert asyncio.run(again.get_tokens()) == TOKENS
    assert asyncio.run(again.get_client_info()) == CLIENT
    ends = asyncio.run(again.expires())
    assert ends is not None and 3000 < ends - time.time() < 3600


def test_a_login_in_a_keyring_leaves_nothing_in_the_file_but_that(tmp_path: Path) -> None:
    ring, path = Ring(), tmp_path / "login.json"
    kept = Tokens(path, None, lambda: ring)
    asyncio.run(keep(kept))
    assert json.loads(path.read_text()) == {"kept": "in the system's keyring"}
    assert asyncio.run(Tokens(path, None, lambda: ring).get_tokens()) == TOKENS
    assert asyncio.run(kept.get_client_info()) == CLIENT
    asyncio.run(kept.delete())
    assert ring.kept == {} and not path.exists()


def test_a_keyring_that_is_locked_is_not_waited_for_and_loses_no_login(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOCK_SECONDS", 0.05)
    ring, path = Ring(), tmp_path / "login.json"
    ring.locked.set()
    kept = Tokens(path, None, lambda: ring)
    asyncio.run(keep(kept))  # then a file it is
    assert asyncio.run(kept.get_tokens()) == TOKENS and "access_token" in path.read_text()
    ring.locked.clear()
    asyncio.run(kept.set_tokens(TOKENS))
    assert "access_token" not in path.read_text()
    ring.locked.set()
    with pytest.raises(SetupError, match="unlock it, or delete"):
        asyncio.run(kept.get_tokens())


def test_a_login_whose_keyring_is_gone_is_told(tmp_path: Path) -> None:
    path, ring = tmp_path / "login.json", Ring()
    asyncio.run(keep(Tokens(path, None, lambda: ring)))
    with pytest.raises(SetupError, match=r"does not give it \(there is none\).*log in again"):
        asyncio.run(Tokens(path, None, lambda: None).get_tokens())


@pytest.mark.parametrize(
    ("place", "taken"),
    [
        ("keyring.backends.SecretService", True),
        ("keyring.backends.macOS", True),
        ("keyring.backends.fail", False),
        ("keyring.backends.null", False),
        ("keyrings.alt.file", False),
        ("somebody.SecretService", False),
    ],
)
def test_only_keyrings_that_keep_secrets_secret_are_taken(
    monkeypatch: pytest.MonkeyPatch, place: str, taken: bool
) -> None:
    backend = type("Keyring", (Ring,), {"__module__": place})()
    chain = type("Chainer", (), {"backends": [object(), backend]})()
    for chosen in (backend, chain):
        monkeypatch.setattr(keyring, "get_keyring", lambda found=chosen: found)
        assert (system_keyring() is backend) == taken


def test_a_client_registered_beforehand_is_never_replaced(tmp_path: Path) -> None:
    mine = OAuthClientInformationFull(client_id="mine", redirect_uris=[REDIRECT])
    kept = Tokens(tmp_path / "login.json", mine)
    asyncio.run(kept.set_client_info(CLIENT))
    assert asyncio.run(kept.get_client_info()) == mine
    assert asyncio.run(kept.delete_client()) is False


def test_whoever_renews_a_login_is_alone(tmp_path: Path) -> None:
    inside: list[str] = []

    async def renew(name: str) -> None:
        async with Tokens(tmp_path / "login.json", None).exclusive():
            inside.append(f"{name} begins")
            await asyncio.sleep(0.02)
            inside.append(f"{name} ends")

    def program(name: str) -> None:
        asyncio.run(renew(name))

    threads = [threading.Thread(target=program, args=(str(n),)) for n in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(inside) == 6
    assert all(a.split()[0] == b.split()[0] for a, b in zip(inside[::2], inside[1::2], strict=True))
