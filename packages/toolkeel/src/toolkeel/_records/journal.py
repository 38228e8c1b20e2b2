"""Where a run writes its entries: the journal, as a recorder needs it."""

from __future__ import annotations

from typing import Protocol

from toolkeel._records.entries import Entry


class Journal(Protocol):
    """A destination for the entries of a run."""

    def append(self, entry: Entry) -> None:
        """Add an entry without waiting. It is durable after the next commit."""
        ...

    async def commit(self) -> None:
        """Wait until every appended entry is durable.

        Raises:
            SetupError: the entries cannot be written; nothing that relies on them may be done.
        """
        ...

    def flush(self) -> None:
        """Start to write the appended entries without waiting for them."""
        ...
