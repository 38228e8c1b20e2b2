"""A folder with a user's files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.commandline import write_tools


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``tools.py`` and ``models.py``; tests do not change it."""
    made = tmp_path_factory.mktemp("user")
    write_tools(made)
    return made
