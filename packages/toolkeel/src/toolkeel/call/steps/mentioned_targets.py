"""Deciding which targets of a call the user mentioned or a trusted result contains.

A mentioned target saves a question (`taint`). This is a heuristic for fewer questions: what is in
doubt was not mentioned. Names are compared in one case, one Unicode form and without percent signs;
an address must be mentioned completely, or in a shorter form for the same place.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import unquote, urlsplit

from toolkeel._records.taint_sources import Taint, load_sources
from toolkeel.call.arguments.validate import ArgumentsView
from toolkeel.content import Text
from toolkeel.context import RunContext
from toolkeel.define.secret import texts
from toolkeel.define.tool import AnyTool, Prepared
from toolkeel.effects import UNKNOWN
from toolkeel.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolMessage,
    UserMessage,
)

SHORTEST = 3
"""Characters of a target below which it never counts as named."""
MAX_TEXT = 2_000_000
"""Characters of a transcript that are looked through for what was named: the last ones."""
_ADDRESS = re.compile(
    r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+|[a-z][a-z0-9+.-]*://[^\s\"'<>]+|www\.[^\s\"'<>]+"
    r"|\b[a-z]{2}\d{2}[a-z0-9]{10,30}\b",
    re.IGNORECASE,
)
_WORDS = re.compile(r"\w+")
_NUMBER = re.compile(r"[\d\s.,+-]+")


def target_arguments(prepared: Prepared) -> Mapping[str, object]:
    """Return the arguments that say where or to whom; all, if none is declared."""
    shown, target = ArgumentsView(prepared), prepared.tool.effects.target
    return {name: shown[name] for name in target if name in shown} if target else shown


def unmentioned_targets(prepared: Prepared, values: Sequence[str], taint: Taint) -> list[str]:
    """Return the targets and addresses in the arguments that no trusted text mentions."""
    found = [one for text in texts(ArgumentsView(prepared)) for one in _ADDRESS.findall(text)]
    heard = list(trusted_texts(taint.root))
    return [value for value in dict.fromkeys((*values, *found)) if not is_named(value, heard)]


def trusted_texts(run: RunContext) -> Iterator[tuple[str, str]]:
    """Yield what user and operator wrote, and results that contain no other author's text.

    A result comes with what the model gave its call: what it only repeats was named by the model, and
    what is no longer than that may be the same in other letters.
    """
    left = MAX_TEXT
    tools = {tool.name: tool for tool in getattr(run.agent, "tools", ())}
    asked = {
        call.id: _fold(_given(call.arguments))
        for message in run.transcript
        for call in (message.tool_calls if isinstance(message, AssistantMessage) else ())
    }
    for message in reversed(run.transcript):
        if not _is_trusted(message, tools):
            continue
        repeated = asked.get(message.tool_call_id, "") if isinstance(message, ToolMessage) else ""
        text = _fold(_words_of(message))[-left:]
        yield text, repeated
        left -= len(text)
        if left <= 0:
            return


def _is_trusted(message: Message, tools: Mapping[str, AnyTool]) -> bool:
    if isinstance(message, ToolMessage):
        return _is_of_person(message, tools.get(message.name))
    if isinstance(message, UserMessage):
        return message.origin == "person"  # what the library writes repeats models and others
    return isinstance(message, SystemMessage)


def _given(arguments: object) -> str:
    """Return the values of a call's arguments as text, without parameter names."""
    try:
        values = json.loads(arguments) if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError):
        return str(arguments)
    if not isinstance(values, dict):
        return str(arguments)
    return json.dumps(list(values.values()), ensure_ascii=False)


def _words_of(message: Message) -> str:
    """Return the text of a message, without attachments and without untrusted parts."""
    content = message.content
    if isinstance(content, str) or isinstance(message, ToolMessage):
        return message.text
    own = (b for b in content if isinstance(b, Text) and b.extra.get("trusted", True))
    return "\n".join(block.text for block in own)


def _is_of_person(message: ToolMessage, tool: AnyTool | None) -> bool:
    """Return True if a result contains only the user's own data, such as an address book.

    Files of a workspace may be anybody's, what an act answers comes from outside, and an error may
    repeat what the model wanted.
    """
    if tool is None or message.failed or tool.effects == UNKNOWN or not tool.effects.read_only:
        return False
    files = any(str(key).startswith("file:") for key in tool.effects.resources)
    carried = any(source.label == "stranger" for source in load_sources(message.details))
    return not (tool.effects.stranger or files or carried)


def is_named(value: str, heard: Sequence[tuple[str, str]]) -> bool:
    """Return True if a target is mentioned completely and is long enough to count."""
    wanted = _fold(value).strip().rstrip(".")
    if len(wanted) < SHORTEST or _NUMBER.fullmatch(wanted):
        return False
    matches = _is_same_address if "://" in wanted or wanted.startswith("www.") else _contains
    people = [text for text, repeated in heard if not repeated]
    return any(
        matches(wanted, text) and not _may_be(wanted, repeated, people) for text, repeated in heard
    )


def _may_be(wanted: str, passed: str, people: Sequence[str]) -> bool:
    """Return True if a result may contain a name only because the model passed it in.

    A tool that decodes, translates or joins makes a name of what is as long, and holds no more of it
    than it was passed in. Words that people wrote do not count.
    """
    if wanted in passed:
        return True
    theirs = [w for w in _WORDS.findall(passed) if not any(w in text for text in people)]
    return len("".join(theirs).encode()) >= len("".join(_WORDS.findall(wanted)).encode())


def _contains(wanted: str, text: str) -> bool:
    """Return True if a text contains something that is not part of a longer word or address."""
    at = text.find(wanted)
    while at >= 0:
        after = text[at + len(wanted) : at + len(wanted) + 2]
        if not (
            _is_word_char(text[max(at - 1, 0) : at])
            or _is_word_char(after[:1])
            or (after[:1] == "." and _is_word_char(after[1:]))
        ):
            return True
        at = text.find(wanted, at + 1)
    return False


def _is_word_char(char: str) -> bool:
    """Return True if a character next to a word makes it another word (not in Chinese)."""
    return char in ("@", "_", "-") or (char.isascii() and char.isalnum())


def _is_same_address(address: str, text: str) -> bool:
    """Return True if a text mentions an address, or a shorter form of the same place."""
    return address.rstrip("/") in {found.rstrip(").,;!?/") for found in _ADDRESS.findall(text)}


def _fold(text: str) -> str:
    return unquote(unicodedata.normalize("NFC", text)).casefold()


def are_trusted_hosts(values: Sequence[str], trusted: object) -> bool:
    """Return True if all values are addresses of trusted hosts."""
    hosts = [host_of(value) for value in values]
    patterns = [str(p).casefold() for p in trusted] if isinstance(trusted, tuple | list) else []
    return bool(hosts and patterns) and all(
        any(_is_below(host, pattern) for pattern in patterns) for host in hosts
    )


def host_of(address: str) -> str:
    """Return the host of an address, normalized; empty if it has none."""
    try:
        return (urlsplit(address.strip()).hostname or "").rstrip(".")
    except ValueError:  # such as a bracket without its other half
        return ""


def _is_below(host: str, pattern: str) -> bool:
    if not pattern.startswith("*."):
        return bool(host) and host == pattern
    return host.endswith(pattern[1:]) and len(host) > len(pattern) - 1
