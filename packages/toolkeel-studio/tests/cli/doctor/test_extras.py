"""Extras are there, or it is said what brings them."""

from __future__ import annotations

import pytest

from tests.cli.bare import bare, sections  # noqa: F401
from tests.cli.conftest import Here
from toolkeel_studio.cli.doctor.extras import extras

pytestmark = pytest.mark.usefixtures("bare")


def test_every_extra_that_is_declared_is_looked_at(here: Here) -> None:
    found = sections(here)["Extras"]
    assert {"openai", "cli"} <= set(extras()) == set(found) - {""}
    assert found["cli"]["state"] == "ok"
    assert "typer" in found["cli"]["data"]["packages"]


def test_what_is_missing_from_an_extra_is_named(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs = ["pydantic", "typer>=1; extra == 'cli'", 'nosuchpackage>=1; extra == "cli"']
    monkeypatch.setattr("toolkeel_studio.cli.doctor.extras.requires", lambda _: needs)
    check = sections(here)["Extras"]["cli"]
    assert check["text"] == "without nosuchpackage"
    assert check["next"] == "pip install 'toolkeel[cli]'"
