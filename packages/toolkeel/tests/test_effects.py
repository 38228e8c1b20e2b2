"""What an author declares about a tool's effects, and what follows from saying nothing."""

from __future__ import annotations

from itertools import product

import pytest

from toolkeel.effects import UNKNOWN, Effects


def test_saying_nothing_means_the_worst_as_in_the_protocol() -> None:
    assert Effects() == UNKNOWN
    assert (UNKNOWN.read_only, UNKNOWN.idempotent) == (False, False)
    assert (UNKNOWN.destructive, UNKNOWN.open_world) == (True, True)
    assert UNKNOWN.writes and not UNKNOWN.repeatable


@pytest.mark.parametrize(("read_only", "idempotent"), list(product([True, False], repeat=2)))
def test_only_what_reads_or_is_idempotent_may_be_repeated(
    read_only: bool, idempotent: bool
) -> None:
    effects = Effects(read_only=read_only, idempotent=idempotent)
    assert effects.repeatable == (read_only or idempotent)
    assert effects.writes == (not read_only)
