"""Accounts of AWS for tests: none of this machine's own, and what boto3 would send with them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import botocore.session
import pytest
from botocore.awsrequest import AWSResponse
from botocore.credentials import CredentialProvider, RefreshableCredentials

VARIABLES = (
    *("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_SESSION_TOKEN", "AWS_CA_BUNDLE"),
    *("AWS_BEARER_TOKEN_BEDROCK", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME"),
    *("AWS_USE_FIPS_ENDPOINT", "AWS_USE_DUALSTACK_ENDPOINT", "REQUESTS_CA_BUNDLE"),
    *("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"),
)
KEYS = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "b"}


def account(patch: pytest.MonkeyPatch, folder: Path, config: str = "", **variables: str) -> None:
    """An environment of `variables` and a file `config`, and none of this machine's own."""
    for name in VARIABLES:
        patch.delenv(name, raising=False)
    file = folder / "config"
    file.write_text(config)
    patch.setenv("AWS_CONFIG_FILE", str(file))
    patch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(folder / "none"))
    patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name, value in variables.items():
        patch.setenv(name, value)


class _Whole:
    def stream(self, *_: object, **__: object) -> Any:
        return iter([b"{}"])


def by_boto3(
    model: str, body: bytes, *, operation: str = "converse", session: Any = None, **place: Any
) -> Callable[[], Any]:
    """Tells what boto3 would send now to say `body`: address, headers, signature."""
    session = session or botocore.session.Session()
    client = session.create_client("bedrock-runtime", **place)
    sent: list[Any] = []

    def fill(request: Any, **_: object) -> None:
        request.data = body

    def keep(request: Any, **_: object) -> AWSResponse:
        sent.append(request)
        return AWSResponse(request.url, 200, {}, _Whole())

    client.meta.events.register("before-sign.bedrock-runtime", fill)
    client.meta.events.register("before-send.bedrock-runtime", keep)

    def send() -> Any:
        getattr(client, operation)(modelId=model, messages=[])
        return sent.pop()

    return send


def text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


class Lent(CredentialProvider):
    """Gives credentials that must be fetched anew at each use, and notes by which threads."""

    METHOD = CANONICAL_NAME = "lent"

    def __init__(self, expires: str, fail: Exception | None = None) -> None:
        self._expires = expires
        self._fail = fail
        self.loads = 0
        self.fetches: list[threading.Thread] = []

    def load(self) -> Any:
        self.loads += 1
        return RefreshableCredentials.create_from_metadata(self._fetch(), self._fetch, "lent")

    def _fetch(self) -> dict[str, str]:
        self.fetches.append(threading.current_thread())
        if self._fail:
            raise self._fail
        number = len(self.fetches)
        keys = {"access_key": f"lent{number}", "secret_key": "s", "token": f"token{number}"}
        return {**keys, "expiry_time": self._expires}


def lending(provider: Lent) -> Any:
    """A session whose credentials are lent."""
    session = botocore.session.Session()
    session.get_component("credential_provider").insert_before("env", provider)
    return session
