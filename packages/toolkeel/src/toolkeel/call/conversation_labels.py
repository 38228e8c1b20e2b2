"""Taint labels of conversations whose calls have a run each, as a server's client or another library's run.

What one call of a conversation has read restricts its next calls. The prompts are not known here,
so no target counts as named by a person.
"""

from __future__ import annotations

import weakref
from typing import Any

from toolkeel._records.taint_sources import Taint
from toolkeel.context import RunContext
from toolkeel.messages import UserMessage

MOST_NAMED = 1000
"""Conversations known by a text whose labels are remembered: the latest ones."""


class ConversationLabels:
    """The taint labels of each conversation, by a weakly referenced object or by a text."""

    def __init__(self) -> None:
        self._by_object: dict[int, tuple[weakref.ref[object], Taint]] = {}
        self._by_text: dict[str, Taint] = {}

    def join(self, run: RunContext[Any], conversation: object) -> None:
        """Let a run share the labels of a conversation, all of which are visible to its calls.

        Args:
            run: The run of one call; a run that has labels already keeps them.
            conversation: An object that supports weak references, or a text; None for no conversation.
        """
        if run.taint is None and conversation is not None:
            run.taint = self._taint_of(conversation)
        if run.taint is not None:
            run.loop_state.visible_taint = len(run.taint.sources)

    def _taint_of(self, conversation: object) -> Taint:
        """Return the labels of a conversation, creating them if it is new.

        A conversation is identified by a text or an object. Of texts, the `MOST_NAMED` used last are stored;
        the labels of an object go when it is collected.
        """
        if isinstance(conversation, str):
            taint = self._by_text.pop(conversation, None) or _new_taint()
            self._by_text[conversation] = taint
            while len(self._by_text) > MOST_NAMED:
                del self._by_text[next(iter(self._by_text))]
            return taint
        key = id(conversation)
        if key not in self._by_object:
            reference = weakref.ref(conversation, lambda _: self._by_object.pop(key, None))
            self._by_object[key] = (reference, _new_taint())
        return self._by_object[key][1]


def _new_taint() -> Taint:
    """Return the labels of a new conversation, which holds one prompt and so private data."""
    root: RunContext[Any] = RunContext()
    root.loop_state.transcript.append(UserMessage(""))  # somebody's prompt, which is private
    return Taint(root)
