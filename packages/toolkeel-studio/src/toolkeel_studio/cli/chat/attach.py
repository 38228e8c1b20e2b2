"""Files that a message names as ``@path``: what a workspace's ``read`` shows of them goes along."""

from __future__ import annotations

import re
from pathlib import Path

from toolkeel.call.steps.label_sources import TRUSTED
from toolkeel.call.steps.rules import Rules
from toolkeel.call.toolset import Toolset
from toolkeel.content import Block, Content, Text
from toolkeel.context import RunContext
from toolkeel.messages import ToolCall
from toolkeel_studio.cli.exit_codes import UsageProblem
from toolkeel_workspace.files.file_tools import Files

_NAMED = re.compile(r'(?:(?<=\s)|\A)@(?:"([^"\n]+)"|(\S*[^\s.,;:!?)\]，。；：！？）]))')
_PATH = re.compile(r"/|\w\.\w+\Z")


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


async def with_attachments(content: Content, paths: list[str], rules: Rules | None) -> Content:
    """Return a message with the content of files of the current folder, as a stranger's text.

    Args:
        content: The message.
        paths: The files.
        rules: What they say about ``read`` holds.

    Raises:
        UsageProblem: a file is outside of the folder, refused by a rule, or neither text nor picture.
    """
    blocks: list[Block] = list(content if isinstance(content, tuple) else [Text(content)])
    tools = Toolset([Files().read], rules=rules)
    for path in paths:
        [message] = await tools.run([ToolCall("attach", "read", {"path": path})], RunContext())
        if message.failed:
            raise UsageProblem(f"@{path}: {message.text}")
        shown = message.content if isinstance(message.content, tuple) else [Text(message.content)]
        blocks.append(Text(f"The file {path}:", extra={TRUSTED: False}))
        blocks += [
            Text(block.text, extra={TRUSTED: False}) if isinstance(block, Text) else block
            for block in shown
        ]
    return tuple(blocks) if paths else content
