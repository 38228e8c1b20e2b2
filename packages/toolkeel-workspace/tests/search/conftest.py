"""The same tests with every engine's stores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.search.engines import ENGINES, Make, makers


@pytest.fixture(scope="module", params=ENGINES)
def new(request: pytest.FixtureRequest) -> Iterator[Callable[[Path], Make]]:
    with makers(request.param) as made:
        yield made


@pytest.fixture
def make(new: Callable[[Path], Make], tmp_path: Path) -> Make:
    return new(tmp_path)
