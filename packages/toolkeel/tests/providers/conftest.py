"""The server of scripted turns that the provider tests share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import aimock
from toolkeel.providers.wire import retry

FLOWS = Path(__file__).with_name("flows.json")


@pytest.fixture(scope="session")
def flows() -> Iterator[aimock.Server]:
    """A server that plays the flows of ``flows.json``."""
    with aimock.serving(FLOWS) as server:
        yield server


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key for Bedrock's SDK, which sends nothing without one."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hardly a wait before a request is sent again."""
    monkeypatch.setattr(retry, "FIRST_BACKOFF", 0.001)
