"""Markdown of models as HTML in which nothing runs, and from which nothing is fetched."""

from __future__ import annotations

import re
from collections.abc import Mapping

from markdown_it import MarkdownIt

from toolkeel.observe.wording import escaped

MAX_MARKDOWN = 20_000
"""Longer texts are not rendered as Markdown: unclosed brackets take quadratic time."""
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
_MARKDOWN.disable("image")  # no page fetches a URL from a reply
_ANSI = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]|[\x00-\x08\x0b-\x1f\x7f-\x9f]"
)


def without_controls(text: str) -> str:
    r"""Remove terminal control characters from a text, and escape what changes its direction.

    >>> without_controls("\x1b[31mred\x1b[0m\r\n\u202egnp.exe")
    'red\n\\u202egnp.exe'
    """
    return escaped(_ANSI.sub("", text.replace("\r\n", "\n")))


def markdown_html(text: str, references: Mapping[str, Mapping[str, str]] | None = None) -> str:
    r"""Render Markdown as HTML without the author's HTML, pictures and scripts.

    Args:
        text: The text, of at most `MAX_MARKDOWN` characters.
        references: Links that it may refer to, by their labels.

    >>> markdown_html("**a** <b>")
    '<p><strong>a</strong> &lt;b&gt;</p>\n'
    """
    made: str = _MARKDOWN.render(without_controls(text), {"references": dict(references or {})})
    return made.replace("<a href=", '<a rel="noopener noreferrer nofollow" href=')
