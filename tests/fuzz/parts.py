"""What is fuzzed beside arguments: wires, frames, paths, lines of shell, patches, transcripts, journals."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from contextlib import suppress

from mcp.shared.message import SessionMessage

from toolkeel._common.path_patterns import secret_pattern
from toolkeel._records.entries_json import dump_entry, load_entry
from toolkeel.agent.transcript import repair
from toolkeel.call.steps.command_patterns import MAX_LENGTH, covers, may_mention, plain_words
from toolkeel.errors import ModelError, ToolError
from toolkeel.mcp.client.frames import FrameReader
from toolkeel.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from toolkeel.providers import anthropic, bedrock, gemini, openai_chat, openai_responses
from toolkeel.providers.wire.sse import SSEParser
from toolkeel_workspace.files.apply_patch import parse_hunks as parse_patch
from toolkeel_workspace.files.apply_patch import patch_text
from toolkeel_workspace.files.relative_path import clean_path
from toolkeel_workspace.sandbox.protected_files import find_protected_pattern
from toolkeel_workspace.web.client import parse_url

WIRES = (openai_chat, openai_responses, anthropic, gemini, bedrock)
GOOD = b'{"jsonrpc": "2.0", "id": 1, "result": {}}\n'


def wires(text: str) -> None:
    """Any JSON is a reply on every wire, whole and as events, or an error of the model's."""
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        return
    for wire in WIRES:
        with suppress(ModelError):
            assert isinstance(wire.decode(given), AssistantMessage)
        with suppress(ModelError):
            list(wire.decode_stream(given if isinstance(given, list) else [given]))


def events(text: str) -> None:
    """Server-sent events are the same however the bytes are cut."""
    data = text.encode("utf-8", "surrogatepass")
    whole, cut = SSEParser(), SSEParser()
    once = [*whole.feed(data), *whole.close()]
    parts = [event for at in range(0, len(data), 3) for event in cut.feed(data[at : at + 3])]
    assert [*parts, *cut.close()] == once


def frames(text: str) -> None:
    """Lines of a peer are the same messages however they are cut, and the next one is read."""
    data = text.encode("utf-8", "surrogatepass") + b"\n" + GOOD
    whole, cut = FrameReader("s", 200), FrameReader("s", 200)
    once = list(whole.feed(data))
    parts = [one for at in range(0, len(data), 5) for one in cut.feed(data[at : at + 5])]
    assert [one.message for one in parts] == [one.message for one in once]
    assert isinstance(once[-1], SessionMessage) and getattr(once[-1].message, "id", None) == 1


def paths(text: str) -> None:
    """A path is clean and stays so, or refused; what it is called decides whether it is protected."""
    find_protected_pattern(text)
    try:
        found = clean_path(text)
    except ToolError:
        return
    assert clean_path(found) == found
    assert "\0" not in found and not found.startswith("/")
    assert not {"..", ""} & set(found.split("/"))
    assert find_protected_pattern(f"a/{found}") == find_protected_pattern(found)
    assert secret_pattern(f"a/{found}/") == secret_pattern(found)


def addresses(text: str) -> None:
    """An address is one that may be asked for, without who asks, or refused."""
    try:
        url = parse_url(text)
    except ToolError:
        return
    assert url.scheme in ("http", "https") and url.host and not url.userinfo


def shell(text: str) -> None:
    """A line is the words that a shell would run, or covered by no rule that allows."""
    words = plain_words(text)
    may_mention("git *", text)
    may_mention("rm -rf *", text)
    if words is None:
        assert not covers("*", text) and not covers("git *", text)
        return
    bare = re.sub("'[^']*'|\"[^\"$`]*\"", "", text)  # in quotes nothing else means anything to it
    assert len(text.strip(" ")) <= MAX_LENGTH and not set(bare) & set("\0\n;&|<>$`")
    assert shlex.split(text) == words


def patch(text: str) -> None:
    """A patch changes what it says, and brings nothing of its own."""
    file, _, diff = text.partition("\f")
    try:
        made = patch_text(file, diff)
    except ToolError:
        return
    new = {row[1:] for hunk in parse_patch(diff) for row in hunk.rows if row[0] != "-"}
    ending = "\r\n" if "\r\n" in file else "\n"
    assert set(made.split(ending)) <= set(file.split(ending)) | new | {""}


def transcript(text: str) -> None:
    """A transcript that was mended is whole, and mending it again changes nothing."""
    mended = repair(map(_message, text))
    assert repair(mended) == mended
    for at, message in enumerate(mended):
        if isinstance(message, AssistantMessage) and message.tool_calls:
            behind = mended[at + 1 : at + 1 + len(message.tool_calls)]
            answered = [one.tool_call_id for one in behind if isinstance(one, ToolMessage)]
            ids = [call.id for call in message.tool_calls]
            is_last = all(isinstance(one, ToolMessage) for one in mended[at + 1 :])
            assert answered == ids or is_last


def _message(char: str) -> Message:
    kind, id = ord(char) % 6, str(ord(char) // 6 % 4)
    if kind in (0, 1):
        ids = [id, str((int(id) + kind) % 4)][: kind + 1]
        return AssistantMessage("", tuple(ToolCall(one, "add") for one in ids))
    if kind in (2, 3):
        return ToolMessage("3", id if kind == 2 else "", "add")
    return UserMessage("go") if kind == 4 else SystemMessage("be")


def journal(text: str) -> None:
    """A line of a journal is an entry that is the same when it is read again, or refused."""
    try:
        given = json.loads(text)
        entry = load_entry(given)
    except (ValueError, RecursionError):
        return
    assert load_entry(json.loads(json.dumps(dump_entry(entry)))) == entry


PARTS: dict[str, Callable[[str], None]] = {
    "wires": wires,
    "events": events,
    "frames": frames,
    "paths": paths,
    "addresses": addresses,
    "shell": shell,
    "patch": patch,
    "transcript": transcript,
    "journal": journal,
}
