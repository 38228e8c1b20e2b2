"""A record's JSON says which field is wrong, and leaves out what is at its default."""

from __future__ import annotations

import pytest

from toolkeel._records.record_json import dump_record, load_record
from toolkeel._records.tickets import Decision


def test_what_is_at_its_default_is_left_out_and_comes_back() -> None:
    decision = Decision("t", "s", "deny")
    data = dump_record(decision)
    assert data == {"ticket": "t", "seal": "s", "verdict": "deny"}
    assert load_record(data, Decision) == decision


def test_a_wrong_word_is_told_with_its_field() -> None:
    with pytest.raises(ValueError, match="verdict: 'maybe' is none of approve"):
        load_record({"ticket": "t", "seal": "s", "verdict": "maybe"}, Decision)
