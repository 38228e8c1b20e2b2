"""``toolkeel doctor`` says what is here, and what to do next."""

from __future__ import annotations

import pytest

from tests.cli.bare import bare, sections  # noqa: F401
from tests.cli.conftest import Here

pytestmark = pytest.mark.usefixtures("bare")


def test_a_bare_machine_is_told_what_to_do_next(here: Here) -> None:
    ended = here("doctor")
    assert ended.code == 0
    assert ended.out.startswith("Python\n  ✓ python    3.")
    assert "· anthropic   no ANTHROPIC_API_KEY" in ended.out
    assert "✓ -m auto    offline (no model server" in ended.out
    assert ended.out.endswith("  or go on with rules alone: toolkeel demo\n")


def test_the_choice_of_auto_is_told_and_kept(here: Here) -> None:
    ended = here("run", "17 * 3", "-t", "calculator", "-m", "auto")
    assert ended.code == 0
    assert ended.err.startswith("auto: offline (")
    assert "51" in ended.out
