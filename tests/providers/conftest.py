"""The server of scripted turns that the provider tests share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import aimock

FLOWS = Path(__file__).with_name("flows.json")


@pytest.fixture(scope="session")
def flows() -> Iterator[aimock.Server]:
    """A server that plays the flows of ``flows.json``."""
    with aimock.serving(FLOWS) as server:
        yield server
