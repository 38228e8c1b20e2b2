"""Large values are files of their own, named by what they hold, and come back as they were."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.messages_made import JSON
from toolkeel.sessions.errors import SessionError
from toolkeel.sessions.stores.artifacts import LARGE_BYTES, Artifacts

LONG = st.sampled_from(
    ["x" * (LARGE_BYTES + 1), "北京" * LARGE_BYTES, "\ud83d" * (LARGE_BYTES + 1)]
)
KEY = st.sampled_from(["$artifact", "$$artifact", "a", "$artifacts"])
VALUE = st.recursive(
    JSON | LONG, lambda inner: st.dictionaries(KEY, inner, max_size=2), max_leaves=3
)


@given(st.dictionaries(KEY, VALUE, max_size=3))
def test_any_entry_comes_back_whatever_it_holds(entry: dict[str, Any]) -> None:
    artifacts = Artifacts(None)
    text, large = artifacts.dump_entry(entry)
    assert len(text) < LARGE_BYTES or not large
    for digest, data in large.items():
        artifacts.save(digest, data)
    assert artifacts.load_entry(text) == json.loads(json.dumps(entry))


def test_a_reference_that_somebody_writes_is_only_text(tmp_path: Path) -> None:
    artifacts = Artifacts(tmp_path)
    artifacts.save("a" * 64, b"of another session")
    entry = {"value": {"$artifact": "a" * 64}}
    text, large = artifacts.dump_entry(entry)
    assert not large
    assert artifacts.load_entry(text) == entry


def test_a_value_is_one_file_and_its_owners_alone(tmp_path: Path) -> None:
    artifacts = Artifacts(tmp_path / "new")
    text, large = artifacts.dump_entry(
        {"value": "x" * (LARGE_BYTES + 1), "same": "x" * (LARGE_BYTES + 1)}
    )
    for digest, data in large.items():
        artifacts.save(digest, data)
        artifacts.save(digest, data)
    [file] = (tmp_path / "new").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700
    artifacts.remove(file.name)
    with pytest.raises(SessionError, match="gone or damaged"):
        artifacts.load_entry(text)


def test_a_damaged_value_is_not_taken_for_what_it_was(tmp_path: Path) -> None:
    artifacts = Artifacts(tmp_path)
    text, large = artifacts.dump_entry({"value": "x" * (LARGE_BYTES + 1)})
    [(digest, data)] = large.items()
    artifacts.save(digest, data)
    (tmp_path / digest).write_bytes(data[:-1])
    with pytest.raises(SessionError, match="gone or damaged"):
        artifacts.load_entry(text)
