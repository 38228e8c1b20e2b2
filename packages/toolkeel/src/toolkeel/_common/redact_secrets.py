"""Secrets removed from events, results of failures and logs; and forged log lines."""

from __future__ import annotations

import dataclasses
import re
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import logging

MASK = "***"
"""Stands where a secret was."""

SHORTEST = 4
"""Characters a value must have to be looked for in texts; a shorter one would be everywhere."""

SHORTEST_IN_BASE64 = 8
"""Bytes a secret must have to be looked for in base64, too."""

KEPT = 1000
"""Secrets whose traces stay out of logs, the latest of a process."""


class Redactor:
    """A replacer of known secrets in texts, also where they are escaped, in URLs or in base64.

    Args:
        secrets: The first secrets, as for `add`.
        limit: Most secrets; of more, the oldest are forgotten. 0 for any number.
    >>> known = Redactor(["hunter2"])
    >>> known.redact_text("login with hunter2 failed")
    'login with *** failed'
    >>> known.redact({"tried": ["hunter2", 5]})
    {'tried': ['***', 5]}
    """

    __slots__ = ("_forms", "_limit", "_lock", "_quoted")

    def __init__(self, secrets: Iterable[str] = (), limit: int = 0) -> None:
        self._forms: OrderedDict[str, tuple[str, ...]] = OrderedDict()
        self._quoted: dict[str, re.Pattern[str]] = {}
        self._limit = limit
        self._lock = threading.Lock()
        self.add(secrets)

    def __bool__(self) -> bool:
        return bool(self._forms)

    def add(self, secrets: Iterable[str]) -> None:
        """Add or renew secrets. Those of less than `SHORTEST` characters are ignored.

        If there is a limit, the oldest secrets above it are forgotten.
        """
        with self._lock:
            for secret in secrets:
                if len(secret) < SHORTEST:
                    continue
                if secret not in self._forms:
                    self._forms[secret] = _forms(secret)
                    self._quoted[secret] = _percent_encoded(secret)
                self._forms.move_to_end(secret)
            while self._limit and len(self._forms) > self._limit:
                del self._quoted[self._forms.popitem(last=False)[0]]

    def redact_text(self, text: str, mask: str = MASK) -> str:
        """Return the text with `mask` in place of each secret, in any of its written forms."""
        with self._lock:
            forms = {form for each in self._forms.values() for form in each if form in text}
            quoted = list(self._quoted.values()) if "%" in text else ()
        for form in sorted(forms, key=len, reverse=True):
            text = text.replace(form, mask)
        for pattern in quoted:
            text = pattern.sub(lambda _: mask, text)
        return text

    def redact(self, value: Any) -> Any:
        """Return a value with secrets replaced in texts, also inside lists, mappings and records.

        A value without secrets is returned itself. A record that cannot be rebuilt becomes the mask.
        """
        if isinstance(value, str):
            return self.redact_text(value)
        if isinstance(value, Mapping):
            return self._same(value, {self.redact(k): self.redact(v) for k, v in value.items()})
        if isinstance(value, list):
            return self._same(value, [self.redact(item) for item in value])
        if type(value) is tuple:
            return self._same(value, tuple([self.redact(item) for item in value]))
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return self._record(value)
        return value

    def _same(self, before: Any, after: Any) -> Any:
        """Return `before` if nothing in it was changed, else `after`."""
        items = before.items() if isinstance(before, Mapping) else enumerate(before)
        changed = len(before) != len(after) or any(not _has(after, k, v) for k, v in items)
        return after if changed else before

    def _record(self, value: Any) -> Any:
        """Return a dataclass with secrets replaced in its fields; the same object if it has none.

        One that cannot be made with other fields becomes `MASK`.
        """
        fields = [f for f in dataclasses.fields(value) if f.init]
        changed = {}
        for field in fields:
            before = getattr(value, field.name)
            after = self.redact(before)
            if after is not before and not (isinstance(before, str) and after == before):
                changed[field.name] = after
        if not changed:
            return value
        try:
            return dataclasses.replace(value, **changed)
        except Exception:  # a record of somebody else's, which cannot be made anew like this
            return MASK


def _has(container: Any, key: Any, item: object) -> bool:
    """Return True if a container has an item, or an equal text, under a key."""
    try:
        found = container[key]
    except (KeyError, IndexError):
        return False
    return found is item or (isinstance(item, str) and found == item)


def _forms(secret: str) -> tuple[str, ...]:
    """Return the written forms of a secret: as is, escaped once or twice, in URLs; from `SHORTEST_IN_BASE64` on in base64."""
    import json  # late, as below: to define a tool none of these is needed
    from urllib.parse import quote, quote_plus

    passed = secret.encode("utf-8", "surrogatepass")

    def escape(text: str) -> tuple[str, str, str]:
        """Return a text as within JSON's quotes, with and without ASCII escapes, and as Python shows it."""
        return json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1], repr(text)[1:-1]

    once = *escape(secret), repr(passed)[2:-1]
    written = (
        secret,
        *once,
        *(form for text in once for form in escape(text)),  # a body within an exception's repr
        quote(passed, safe=""),
        quote(passed),
        quote_plus(passed),
        *(_in_base64(passed) if len(passed) >= SHORTEST_IN_BASE64 else ()),
    )
    return tuple(dict.fromkeys(written))


def _percent_encoded(secret: str) -> re.Pattern[str]:
    """Return a pattern that finds a secret in URLs, whichever characters are percent-encoded."""
    parts = []
    for char in secret:
        escaped = "".join(f"%{byte:02x}" for byte in char.encode("utf-8", "surrogatepass"))
        raw = r"(?:\+| )" if char == " " else re.escape(char)
        parts.append(f"(?:{raw}|(?i:{escaped}))")
    return re.compile("".join(parts))


def _in_base64(secret: bytes) -> Iterator[str]:
    """Yield the base64 letters of a secret that do not depend on its neighbors, for three offsets."""
    from base64 import b64encode

    for before in range(3):
        text = b64encode(bytes(before) + secret).rstrip(b"=").decode()
        sure = text[(0, 2, 3)[before] : (before + len(secret)) * 8 // 6]
        yield sure
        yield sure.replace("+", "-").replace("/", "_")


# — lines that no one who is quoted can forge —

# C0, DEL and C1 (a terminal obeys them), what ends a line anywhere, what turns the direction of
# reading (CVE-2021-42574), and halves of surrogate pairs, which no file takes.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def escape_line(text: str) -> str:
    r"""Escape control characters, line ends and characters that reorder a line, as in JSON.

    >>> escape_line("failed\n2026 INFO paid\u2028猫")
    'failed\\n2026 INFO paid\\u2028猫'
    """
    return _UNSAFE.sub(_escaped, text)


def indent_lines(trace: str) -> str:
    r"""Escape each line of a text, and indent all but the first, so that none looks like a log record.

    >>> indent_lines("ValueError: no\n2026 INFO paid")
    'ValueError: no\n  2026 INFO paid'
    """
    return "\n  ".join(escape_line(line) for line in trace.split("\n"))


def _escaped(found: re.Match[str]) -> str:
    r"""Return the JSON escape of a matched character below U+10000: a short one such as ``\n``, else ``\uXXXX``."""
    code = ord(found[0])
    return _SHORT.get(code) or f"\\u{code:04x}"


_SHORT = {8: r"\b", 9: r"\t", 10: r"\n", 12: r"\f", 13: r"\r"}


# — logs —


class _Filter:
    """A logging filter that redacts secrets and escapes text that could forge a line."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Redact and escape a log record in place. Return True: no record is dropped."""
        import logging

        try:
            stated = record.getMessage()
        except Exception:  # a broken `__repr__`: whoever writes the record meets and reports it
            return True
        safe = escape_line(_recent.redact_text(stated))
        if safe != stated:  # else who groups by the template still can
            record.msg, record.args = safe, ()
        if record.exc_info:
            trace = logging.Formatter().formatException(record.exc_info)
            message = _recent.redact_text(trace)
            record.exc_text = indent_lines(message)
            if message != trace:  # who formats the exception anew would tell what was taken out
                record.exc_info = None
        return True


_recent = Redactor(limit=KEPT)
_filter = _Filter()


def redact_in_logs(secrets: Iterable[str]) -> None:
    """Redact these exact texts from now on in all loggers that `protect_logger` was called for."""
    _recent.add(secrets)


def protect_logger(log: logging.Logger) -> logging.Logger:
    """Make a logger redact secrets and escape forged lines, and return it.

    Args:
        log: A logger. Records of its child loggers are not changed.
    """
    log.addFilter(_filter)  # which logging adds once
    return log
