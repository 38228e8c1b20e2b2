"""Small behaviors work on this interpreter; on another, `python -m tests.behaviors` tries them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.behaviors.__main__ import BEHAVIORS


@pytest.mark.parametrize("behavior", BEHAVIORS, ids=lambda each: each.__name__)
def test_a_small_behavior_works_on_this_interpreter(
    behavior: Callable[[], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    behavior()


def test_there_are_at_least_sixty_two_behaviors() -> None:
    assert len(BEHAVIORS) == len({each.__name__ for each in BEHAVIORS}) >= 62
