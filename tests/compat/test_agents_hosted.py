"""What stands around hosted tools; those that are not there yet are refused."""

from __future__ import annotations

import pytest

from toolwright.compat.agents_hosted import (
    Computer,
)


def test_a_computer_must_say_how_it_does_everything() -> None:
    class Half(Computer):
        def screenshot(self) -> bytes:
            return b""

    with pytest.raises(TypeError, match="abstract"):
        Half()  # type: ignore[abstract]
