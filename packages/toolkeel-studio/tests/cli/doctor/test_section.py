"""A section is a function in a list."""

from __future__ import annotations

import pytest

from tests.cli.bare import bare, sections  # noqa: F401
from tests.cli.conftest import Here
from toolkeel_studio.cli.commands import doctor
from toolkeel_studio.cli.doctor.section import Check, Section

pytestmark = pytest.mark.usefixtures("bare")


def test_a_section_of_somebody_elses_is_a_function_in_the_list(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look() -> Section:
        return Section(
            "Garden", (Check("猫", "problem", "asleep\nin the sun", "wake it"),), ("rest",)
        )

    monkeypatch.setattr(doctor, "SECTIONS", (look,))
    ended = here("doctor")
    assert (ended.code, ended.out) == (
        1,
        "Garden\n  ! 猫  asleep in the sun; wake it\n\nNext\n  wake it\n  rest\n",
    )
