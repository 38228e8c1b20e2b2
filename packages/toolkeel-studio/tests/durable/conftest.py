"""Durable agents for the tests of this folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.durable.working import durable_of
from toolkeel_studio.durable import Durable


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Durable]]:
    """Make durable agents in one folder, closed with the test."""
    made: list[Durable] = []

    def new(**words: object) -> Durable:
        made.append(durable_of(tmp_path, str(tmp_path / "talk.db"), **words))  # type: ignore[arg-type]
        return made[-1]

    yield new
    for each in made:
        each.close()
        each.sessions.close()
