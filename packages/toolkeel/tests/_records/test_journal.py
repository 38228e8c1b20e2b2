"""A journal is whatever takes entries: a recorder needs three methods."""

from __future__ import annotations

import asyncio

from toolkeel._records.entries import Entry, ModelAsked, RunBegan
from toolkeel._records.journal import Journal
from toolkeel._records.recorder import RunRecorder
from toolkeel.messages import Message, UserMessage
from toolkeel.model_interface import ModelRequest


class Kept:
    """A journal in a list, with the number of entries at each commit."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.commits: list[int] = []

    def append(self, entry: Entry) -> None:
        self.entries.append(entry)

    async def commit(self) -> None:
        self.commits.append(len(self.entries))

    def flush(self) -> None:
        pass


def test_a_recorder_commits_all_it_knows_before_a_request() -> None:
    kept = Kept()
    journal: Journal = kept
    recorder, messages = RunRecorder(journal, "r"), list[Message]([UserMessage("hi")])
    recorder.start(RunBegan("r"), messages, 0)
    asyncio.run(recorder.record_request(1, "m", ModelRequest(messages)))
    assert [entry.kind for entry in kept.entries] == ["run_began", "person_said", ModelAsked.kind]
    assert kept.commits == [3]
