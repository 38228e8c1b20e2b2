"""One authorization server for the tests of all logins."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mcp.authorizing import Authority, authorized


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[str, Authority]]:
    with authorized() as found:
        yield found


@pytest.fixture
def far(served: tuple[str, Authority], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """The address of an MCP server whose authority has given no login yet."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    served[1].__init__()  # type: ignore[misc]
    return served[0]


@pytest.fixture
def authority(served: tuple[str, Authority], far: str) -> Authority:
    return served[1]
