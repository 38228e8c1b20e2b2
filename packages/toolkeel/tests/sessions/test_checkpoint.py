"""A checkpoint stands for all entries before it."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.sessions.test_journal_state import entries, folded
from toolkeel import ToolMessage
from toolkeel._records.entries import Compacted
from toolkeel._records.entries_json import dump_entry, load_entry
from toolkeel.messages import UserMessage
from toolkeel.sessions.checkpoint import make_checkpoint, restore_state, window_start
from toolkeel.sessions.journal_state import JournalState


def facts(fold: JournalState) -> dict[str, Any]:
    return {
        "messages": fold.view.messages,
        "places": fold.view.positions,
        "total": fold.view.total,
        "seqs": fold.entry_numbers,
        "checkpoint": make_checkpoint(fold).fold,
    }


@given(st.integers(1, 4), st.integers(0, 4), st.booleans())
def test_a_checkpoint_and_its_window_are_as_good_as_all_entries(
    turns: int, cut: int, summary: bool
) -> None:
    made = entries(turns)
    fold = folded(made)
    cut = min(cut, turns)
    if cut:
        messages = (UserMessage("before, they talked"),) if summary else ()
        made.append(Compacted("r", 0, cut * 5, messages, "test"))
        fold.apply(len(made), made[-1])
    checkpoint = load_entry(json.loads(json.dumps(dump_entry(make_checkpoint(fold)))))
    assert checkpoint.kind == "checkpoint"
    window = window_start(checkpoint)
    read = [(seq, e) for seq, e in enumerate(made, 1) if window and seq >= window]
    assert len(read) <= len(made) - cut * len(entries(1)) + 2
    again = restore_state(checkpoint, read)
    assert facts(again) == facts(fold)
    for seq, entry in enumerate(entries(2), len(made) + 2):
        fold.apply(seq, entry)
        again.apply(seq, entry)
    assert facts(again) == facts(fold)


def test_a_result_replaced_in_the_middle_stays_replaced_after_a_checkpoint() -> None:
    made = [*entries(3), Compacted("r", 7, 8, (ToolMessage("see elsewhere", "0"),), "test")]
    fold = folded(made)
    checkpoint = make_checkpoint(fold)
    again = restore_state(checkpoint, list(enumerate(made, 1)))
    assert [m.text for m in again.view.messages][6:9] == ["", "see elsewhere", "1"]
    assert facts(again) == facts(fold)
