"""A machine of which nothing is seen, for what the doctor says of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Here
from tests.providers.test_default_model import EVERY_KEY
from tests.providers.test_discover import AWAY
from toolkeel_studio.cli.doctor.keys import _other_vendors


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing of this machine's user is seen."""
    for name in (*EVERY_KEY, *(key for _, keys in _other_vendors() for key in keys)):
        monkeypatch.delenv(name, raising=False)
    for name in ("OLLAMA_MODELS", "HF_HOME", "HF_HUB_CACHE", "LLAMA_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in AWAY.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HOME", str(tmp_path))


def sections(here: Here) -> dict[str, dict[str, Any]]:
    found = json.loads(here("doctor", "--json").out)
    return {
        section["title"]: {**{one["name"]: one for one in section["checks"]}, "": section["next"]}
        for section in found
    }
