"""Taking secrets out of what is told: events, results of failures, logs."""

from __future__ import annotations

import dataclasses
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import logging

MASK = "***"
"""Stands where a secret was."""

SHORTEST = 4
"""Characters a value must have to be looked for in texts; a shorter one would be everywhere."""

KEPT = 1000
"""Secrets whose traces are kept out of logs, the latest of a process."""


class Redactor:
    """Replaces the secrets it has been told of, wherever their exact text occurs.

    >>> known = Redactor(["hunter2"])
    >>> known.text("login with hunter2 failed")
    'login with *** failed'
    >>> known.deep({"tried": ["hunter2", 5]})
    {'tried': ['***', 5]}
    """

    __slots__ = ("_forms", "_limit", "_lock")

    def __init__(self, secrets: Iterable[str] = (), limit: int = 0) -> None:
        self._forms: OrderedDict[str, tuple[str, ...]] = OrderedDict()
        self._limit = limit
        self._lock = threading.Lock()
        self.add(secrets)

    def __bool__(self) -> bool:
        return bool(self._forms)

    def add(self, secrets: Iterable[str]) -> None:
        """Learn more secrets; those that are too short to be looked for are passed over."""
        with self._lock:
            for secret in secrets:
                if len(secret) >= SHORTEST:
                    self._forms[secret] = _forms(secret)
                    self._forms.move_to_end(secret)
            while self._limit and len(self._forms) > self._limit:
                self._forms.popitem(last=False)

    def text(self, text: str) -> str:
        """`text` without them."""
        with self._lock:
            forms = {form for each in self._forms.values() for form in each if form in text}
        for form in sorted(forms, key=len, reverse=True):
            text = text.replace(form, MASK)
        return text

    def deep(self, value: Any) -> Any:
        """`value` without them: texts, and whatever of lists, mappings and records holds texts.

        What holds none is given back as it is.
        """
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return self._same(value, {self.deep(k): self.deep(v) for k, v in value.items()})
        if isinstance(value, list):
            return self._same(value, [self.deep(item) for item in value])
        if type(value) is tuple:
            return self._same(value, tuple([self.deep(item) for item in value]))
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return self._record(value)
        return value

    def _same(self, before: Any, after: Any) -> Any:
        items = before.items() if isinstance(before, Mapping) else enumerate(before)
        changed = len(before) != len(after) or any(
            not _has(after, key, item) for key, item in items
        )
        return after if changed else before

    def _record(self, value: Any) -> Any:
        fields = [f for f in dataclasses.fields(value) if f.init]
        changed = {}
        for field in fields:
            before = getattr(value, field.name)
            after = self.deep(before)
            if after is not before and not (isinstance(before, str) and after == before):
                changed[field.name] = after
        if not changed:
            return value
        try:
            return dataclasses.replace(value, **changed)
        except Exception:  # a record of somebody else's, which cannot be made anew like this
            return MASK


def _has(container: Any, key: Any, item: object) -> bool:
    try:
        found = container[key]
    except (KeyError, IndexError):
        return False
    return found is item or (isinstance(item, str) and found == item)


def _forms(secret: str) -> tuple[str, ...]:
    """How a text can be written: as it is, as JSON with and without escapes, as Python writes it."""
    import json  # late, as below: to define a tool neither is needed

    written = (
        secret,
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        repr(secret)[1:-1],
    )
    return tuple(dict.fromkeys(written))


# — logs —


class _Filter:
    """Redacts what is logged, traces of exceptions included."""

    def filter(self, record: logging.LogRecord) -> bool:
        import logging

        record.msg, record.args = _recent.text(record.getMessage()), ()
        if record.exc_info:
            trace = logging.Formatter().formatException(record.exc_info)
            record.exc_text, record.exc_info = _recent.text(trace), None
        return True


_recent = Redactor(limit=KEPT)
_filter = _Filter()


def keep_out_of_logs(secrets: Iterable[str], log: logging.Logger) -> None:
    """Redact these from now on, in what `log` is told.

    Args:
        secrets: Exact texts.
        log: A logger; what its children log themselves is not looked at.
    """
    _recent.add(secrets)
    if _filter not in log.filters:
        log.addFilter(_filter)
