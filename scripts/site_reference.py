"""The reference as its reader needs it: records with the types of their fields, examples as code.

A `record` is a dataclass, which the reader of sources cannot know; and to Markdown a line that begins
with ``>>>`` is a quotation of a quotation.
"""

from __future__ import annotations

import re
from typing import Any

from griffe import Class, ExprName, Extension

RECORD = "toolkeel._records.record.record"
EXAMPLE = re.compile(r"(?m)^( *)>>> (?:.+\n?)+")


class _Dataclass(ExprName):
    canonical_path = "dataclasses.dataclass"


class Reference(Extension):
    """Runs when a package has been read, before the fields of its dataclasses are looked for."""

    def on_package(self, *, pkg: Any, **_: Any) -> None:
        self._mend(pkg, set())

    def _mend(self, item: Any, seen: set[str]) -> None:
        seen.add(item.path)
        if item.docstring:
            item.docstring.value = EXAMPLE.sub(_fenced, item.docstring.value)
        if isinstance(item, Class):
            for decorator in item.decorators:
                if getattr(decorator.value, "canonical_path", "") == RECORD:
                    decorator.value = _Dataclass("dataclass")
        for member in getattr(item, "members", {}).values():
            if not member.is_alias and member.path not in seen:
                self._mend(member, seen)


def _fenced(example: re.Match[str]) -> str:
    return f"{example[1]}```python\n{example[0].rstrip()}\n{example[1]}```\n"
