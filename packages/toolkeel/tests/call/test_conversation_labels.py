"""What one call of a conversation has read counts for the next, and for no other conversation (T33, T40)."""

from __future__ import annotations

import gc

from toolkeel import RunContext
from toolkeel._records.taint_sources import Source
from toolkeel.call import conversation_labels
from toolkeel.call.conversation_labels import ConversationLabels

PAGE = Source("stranger", "page")


class Conversation:
    """What lives as long as a conversation."""


def test_runs_of_one_conversation_share_labels_and_see_those_so_far() -> None:
    labels, here, there = ConversationLabels(), Conversation(), Conversation()
    first, second, other, none = (RunContext[None]() for _ in range(4))
    labels.join(first, here)
    assert first.taint is not None and first.loop_state.visible_taint == 0
    first.taint.add(PAGE)
    labels.join(second, here)
    labels.join(other, there)
    labels.join(none, None)
    assert second.taint is first.taint and second.loop_state.visible_taint == 1
    assert other.taint is not None and not other.taint.sources
    assert none.taint is None


def test_a_run_with_labels_of_its_own_keeps_them() -> None:
    run = RunContext[None]()
    own = run.get_taint()
    own.add(PAGE)
    ConversationLabels().join(run, Conversation())
    assert run.taint is own and run.loop_state.visible_taint == 1


def test_labels_go_with_their_conversation_and_named_ones_are_bounded() -> None:
    labels, gone = ConversationLabels(), Conversation()
    labels.join(RunContext[None](), gone)
    del gone
    gc.collect()
    assert not labels._by_object
    for number in range(conversation_labels.MOST_NAMED + 5):
        labels.join(RunContext[None](), f"thread {number}")
    assert len(labels._by_text) == conversation_labels.MOST_NAMED
