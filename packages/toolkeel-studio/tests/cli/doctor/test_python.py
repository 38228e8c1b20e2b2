"""Which Python this is."""

from __future__ import annotations

import platform

import pytest

from tests.cli.bare import bare, sections  # noqa: F401
from tests.cli.conftest import Here

pytestmark = pytest.mark.usefixtures("bare")


def test_the_interpreter_is_named(here: Here) -> None:
    found = sections(here)["Python"]
    assert found["python"]["data"]["version"] == platform.python_version()
    assert found["toolkeel"]["state"] == "ok"
