"""Files that a message names as ``@path``: what a workspace's ``read`` shows of them goes along.

A terminal pastes the path of a file that is copied or dropped on it: a pasted picture is named so, too.
"""

from __future__ import annotations

import fnmatch
import re
import shlex
from pathlib import Path
from urllib.parse import unquote, urlsplit

from toolkeel.call.steps.label_sources import TRUSTED
from toolkeel.call.steps.rules import ORDER, Action, Rules
from toolkeel.call.toolset import Toolset
from toolkeel.content import Block, Content, Text
from toolkeel.context import RunContext
from toolkeel.messages import ToolCall
from toolkeel_studio.cli.exit_codes import UsageProblem
from toolkeel_workspace.files.file_tools import Files

_NAMED = re.compile(r'(?:(?<=\s)|\A)@(?:"([^"\n]+)"|(\S*[^\s.,;:!?)\]，。；：！？）]))')
_PICTURES = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp"})
_PATH = re.compile(r"/|\w\.\w+\Z")
_LONGEST_PASTE = 10_000
"""Most characters of a pasted text that may be paths: the shell's words take time squared to read."""


def attached_paths(text: str) -> list[str]:
    """Return the files that a message names; a name that is no file is text.

    >>> attached_paths("ask @ada about it")
    []
    """
    return [path for path in _named_paths(text) if _is_file(path)]


def missing_paths(text: str) -> list[str]:
    """Return the names after ``@`` that look like paths of files, and are none.

    >>> missing_paths("ask @ada about @missing.txt")
    ['missing.txt']
    """
    return [path for path in _named_paths(text) if _PATH.search(path) and not _is_file(path)]


def _named_paths(text: str) -> list[str]:
    return list(dict.fromkeys(quoted or plain for quoted, plain in _NAMED.findall(text)))


def _is_file(path: str) -> bool:
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False


def name_pasted_pictures(text: str) -> str:
    """Return a pasted text with an ``@`` before each path if it is nothing but absolute paths of pictures.

    Paths may be quoted as for a shell, or be ``file:`` URLs. Any other text is returned unchanged, as is one
    of more than 10,000 characters, or with a path that has a ``"`` or a line break.
    """
    if len(text) > _LONGEST_PASTE:
        return text
    try:
        paths = [_local_path(word) for word in shlex.split(text)]
    except ValueError:
        return text
    named = "".join(f'@"{path}" ' for path in paths)
    are_pictures = all(_is_picture(path) and _is_file(path) for path in paths)
    return (
        named if paths and are_pictures and _named_paths(named) == [*dict.fromkeys(paths)] else text
    )


def _local_path(word: str) -> str:
    """Return the path of a ``file:`` URL; any other word is returned unchanged.

    Raises:
        ValueError: the URL is invalid.
    """
    return unquote(urlsplit(word).path) if word.startswith("file:") else word


def _is_picture(path: str) -> bool:
    """Return True if a path may be anywhere: it is absolute, and its name is a picture's."""
    return Path(path).is_absolute() and Path(path).suffix.lower() in _PICTURES


def _spellings(path: str) -> list[str]:
    """Return how rules may name a file; the last is where it is read, for a picture without links and ``..``."""
    if not _is_picture(path):
        return [path]
    real = Path(path).resolve()
    here = Path.cwd()
    below = [str(real.relative_to(here))] if real.is_relative_to(here) else []
    return [path, *below, str(real)]


def _rules_of_read(rules: Rules) -> Rules:
    """Return the rules that may match `read`: a toolset refuses those that name other tools."""
    kept: dict[Action, list[str]] = {action: [] for action in ORDER}
    for rule in rules:
        if fnmatch.fnmatchcase("read", rule.tool):
            kept[rule.action].append(str(rule).removeprefix(f"{rule.action} "))
    return Rules(kept["deny"], kept["ask"], kept["allow"], strict=rules.strict)


async def with_attachments(content: Content, paths: list[str], rules: Rules | None) -> Content:
    """Return a message with the content of files, as a stranger's text.

    Args:
        content: The message.
        paths: Files of the current folder, and absolute paths of pictures.
        rules: What they say about ``read`` holds.

    Raises:
        UsageProblem: a file that is no picture is outside of the folder, or a file is refused by a rule, or neither text
            nor picture. Rules hold for the path as written and for where its links lead.
    """
    blocks: list[Block] = list(content if isinstance(content, tuple) else [Text(content)])
    for path in paths:
        *others, place = _spellings(path)
        if rules and any(rules.action("read", {"path": o}) in ("deny", "ask") for o in others):
            raise UsageProblem(f"@{path}: a rule refuses this call of 'read', or asks a person")
        root = Path(place).parent if _is_picture(place) else "."
        tools = Toolset([Files(root).read], rules=rules and _rules_of_read(rules))
        [message] = await tools.run([ToolCall("attach", "read", {"path": place})], RunContext())
        if message.failed:
            raise UsageProblem(f"@{path}: {message.text}")
        shown = message.content if isinstance(message.content, tuple) else [Text(message.content)]
        blocks.append(Text(f"The file {path}:", extra={TRUSTED: False}))
        blocks += [
            Text(block.text, extra={TRUSTED: False}) if isinstance(block, Text) else block
            for block in shown
        ]
    return tuple(blocks) if paths else content
