"""Servers that are processes begin warm."""

import pytest


@pytest.fixture(autouse=True, scope="session")
def _servers_begin_warm(warm_python: None) -> None:
    """See ``tests.warm``."""
