"""Changes of a run's state are found however they were made, and undone if they cannot be saved."""

from __future__ import annotations

from typing import Any

import pytest

from toolkeel._records.state_changes import StateChanges


def test_a_value_that_changes_its_type_alone_has_changed() -> None:
    changes = StateChanges({"pair": [1, 2]})
    assert list(changes.collect({"pair": [1, 2]})) == []
    data = {"$toolkeel": "tuple", "value": [1, 2]}
    assert list(changes.collect({"pair": (1, 2)})) == [("pair", data, False)]


def test_what_cannot_be_saved_becomes_again_what_it_was() -> None:
    changes = StateChanges({"list": [1, (2,)]})
    state: dict[str, Any] = {"list": [1, (2,), object()], "new": memoryview(b"a"), "fine": {3}}
    with pytest.raises(TypeError, match=r"state\['list'\]"):
        changes.revert_unsavable(state)
    assert state == {"list": [1, (2,)], "fine": {3}}
    changes.revert_unsavable(state)


def test_what_a_run_starts_with_is_left_out_and_stays() -> None:
    changes, given = StateChanges({}), object()
    state = {"given": given}
    changes.exclude_unsavable(state)
    changes.revert_unsavable(state)
    assert list(changes.collect(state)) == [] and state == {"given": given}
