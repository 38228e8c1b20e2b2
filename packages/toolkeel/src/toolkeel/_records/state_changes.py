"""Changes of a run's state since it was last recorded, however they were made.

Tools change the state by `update`, by assignment, or inside a value. The last way can be seen only by
comparing, so a fingerprint of each value is kept. It is also a copy of the value: where a change
cannot be saved, it is undone, and the call that made it fails.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import suppress

from toolkeel._common.cancel import get_logger
from toolkeel._records.typed_values import dump_state_value, fingerprint, load_value

OWN_KEYS = ("messages",)
"""Keys of a run's state that an agent uses itself, and that the journal has already."""


class StateChanges:
    """The changes of one run's state.

    Args:
        state: The state according to the journal.
    """

    def __init__(self, state: Mapping[str, object]) -> None:
        self._marks: dict[str, bytes] = {}
        self._saved: dict[str, object] = {}
        self._unsaved: dict[str, object] = {}
        for key, value in state.items():
            self.dump_value(key, value)

    def dump_value(self, key: str, value: object) -> tuple[object, bool]:
        """Record a value and return it as JSON, with True if it differs from the last record.

        Raises:
            TypeError: the value cannot be saved, so a resumed run would lose it.
        """
        mark = self._mark(key, value)
        if self._marks.get(key) == mark:
            return self._saved[key], False
        data = _dump(key, value)
        self._marks[key], self._saved[key] = mark, data
        return data, True

    def collect(self, state: Mapping[str, object]) -> Iterator[tuple[str, object, bool]]:
        """Record and yield each change since the last record: key, JSON value and a removal flag.

        Values that cannot be saved are skipped; `revert_unsavable` fails the call that wrote them.
        Threads may write meanwhile.
        """
        for key in [key for key in list(self._marks) if key not in state]:
            del self._marks[key], self._saved[key]
            yield key, None, True
        for key, value in self._items(state):
            with suppress(TypeError):
                data, is_new = self.dump_value(key, value)
                if is_new:
                    yield key, data, False

    def exclude_unsavable(self, state: Mapping[str, object]) -> None:
        """Exclude values that cannot be saved from the journal, with a warning for each in the log."""
        for key, _, error in self._unsavable(state):
            self._unsaved[key] = state[key]
            get_logger().warning("%s", error)

    def revert_unsavable(self, state: MutableMapping[str, object]) -> None:
        """Restore the last saved value of each key whose new value cannot be saved, or remove the key.

        Raises:
            TypeError: there was one; the message names it.
        """
        found: TypeError | None = None
        for key, is_known, error in self._unsavable(state):
            found = found or error
            state.pop(key, None)
            if is_known:
                state[key] = load_value(self._saved[key])
        if found is not None:
            raise found

    def _unsavable(self, state: Mapping[str, object]) -> Iterator[tuple[str, bool, TypeError]]:
        """Yield key, True if an older value is saved, and error, for each value that cannot be saved."""
        for key, value in self._items(state):
            try:
                if self._marks.get(key) != self._mark(key, value):
                    _dump(key, value)
            except TypeError as error:
                yield key, key in self._saved, error

    def _items(self, state: Mapping[str, object]) -> Iterator[tuple[str, object]]:
        """Yield the items that are recorded: without the runtime's own keys and excluded values."""
        for key, value in list(state.items()):
            if key not in OWN_KEYS and self._unsaved.get(key, self) is not value:
                yield key, value

    def _mark(self, key: str, value: object) -> bytes:
        """Return the fingerprint of a value.

        Raises:
            TypeError: the value cannot be saved; the message names its key.
        """
        try:
            return fingerprint(value)
        except TypeError:
            dump_state_value(key, value)  # which names the key
            raise


def _dump(key: str, value: object) -> object:
    """Return a value as JSON; repeat it if another thread changes the value meanwhile. Raises `TypeError`."""
    for _ in range(_TRIES):
        with suppress(RuntimeError):  # a dictionary or set changed its size
            return dump_state_value(key, value)
    return dump_state_value(key, value)


_TRIES = 100
