"""Decides if text starts like a call without a marker: bare JSON, a Python list, a code fence.

Each function returns None while more text is needed to decide.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolkeel.providers.text_calls.forms import FENCE_HEAD, FORMS

_MARKS = tuple(form.open for form in FORMS)
_LONGEST = max(map(len, _MARKS))


def begins_fence(text: str, names: Iterable[str], is_final: bool) -> bool | None:
    """Return True if `text` starts with a fence around a call, None while that is undecided.

    With `is_final`, no more text follows, and nothing is undecided.
    """
    head = FENCE_HEAD.match(text)
    body = text[head.end() :] if head else ""
    if head is None or not body:
        return False if is_final else None
    if head["language"] == "tool_code":
        body = f"[{body.removeprefix('[')}"
    marked = [True for mark in _MARKS if body.startswith(mark)]
    maybe = [None for mark in _MARKS if mark.startswith(body)] if not is_final else []
    if marked or maybe:
        return (marked or maybe)[0]
    listed = begins_list(body, names) if body[0] == "[" else False
    json = begins_json(body, names)
    return True if listed or json else None if not is_final and None in (listed, json) else False


def begins_list(text: str, names: Iterable[str]) -> bool | None:
    """Return True if `text` starts with ``[name(``, None while that is undecided."""
    rest = text[1:].lstrip()
    for name in names:
        behind = rest[len(name) :].lstrip() if rest.startswith(name) else None
        if behind and behind[0] == "(":
            return True
        if behind == "" or name.startswith(rest):
            return None if len(text) < 2 * _LONGEST + len(name) else False
    return False


def begins_json(text: str, names: Iterable[str]) -> bool | None:
    """Return True if `text` starts like the JSON of a call, None while that is undecided."""
    compact = "".join(text[: 4 * _LONGEST].split()).removeprefix("[")
    keys = ("name", "tool_name", "function", "tool")
    heads = [f'{{"{key}":"{name}"' for name in names for key in keys]
    heads += ['{"type":"function",', '{"function":{', '{"tool_calls":[{']
    heads += ['{"arguments":{', '{"parameters":{', '{"args":{']
    if any(compact.startswith(head) for head in heads):
        return True
    return None if any(head.startswith(compact) for head in heads) else False
