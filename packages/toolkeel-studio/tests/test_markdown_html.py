"""Markdown becomes HTML in which nothing of the author's runs or is fetched."""

from __future__ import annotations

import pytest

from toolkeel_studio.markdown_html import markdown_html


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("| a |\n|--|\n| **1** |", "<td><strong>1</strong></td>"),
        ("<b>x</b>", "&lt;b&gt;x&lt;/b&gt;"),
        ("![p](http://h.test/p.png)", "http://h.test/p.png"),
        ("[x](javascript:alert)", "[x](javascript:alert)"),
        (
            "[x](https://h.test)",
            '<a rel="noopener noreferrer nofollow" href="https://h.test">x</a>',
        ),
    ],
)
def test_markdown_is_rendered_and_html_and_pictures_are_not(text: str, shown: str) -> None:
    made = markdown_html(text)
    assert shown in made and "<img" not in made
