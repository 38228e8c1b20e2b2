"""SKILL.md files as people write them: read where possible, refused with a reason where not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel_workspace.skills.front_matter import SkillError, parse_skill

TEN = [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 10)}]}}\n" for n in range(1, 10)]
BOMB = f"a0: &a0 {{k: v}}\n{''.join(TEN)}"
"""A few lines that stand for a thousand million."""
GOOD = "---\nname: pdf\ndescription: Read PDF files.\n---\n# PDF\n\nUse pypdf.\n"


@pytest.mark.parametrize(
    ("text", "notes"),
    [
        (GOOD, ()),
        ("\ufeff" + GOOD.replace("\n", "\r\n"), ()),
        (GOOD.replace("# PDF", "---\nkey: a: b\n---"), ()),
        (GOOD.replace("name: pdf", "license: MIT\nmetadata:\n  version: '1'\nname: pdf"), ()),
        (GOOD.replace("Read PDF files.", "'Read: PDF files.'"), ()),
        (GOOD.replace("Read PDF", "Use when: PDF"), ("its front matter is no YAML",)),
        (GOOD.replace("name: pdf", "name: pdfs"), ("differs from the name of its folder",)),
        (GOOD.replace("name: pdf", "name: PDF Tools"), ("only lowercase letters", "differs")),
        (GOOD.replace("Read", "x" * 2000), ("more than 1024 characters and is cut",)),
        (GOOD.replace("name:", "allowed-tools: Bash(*)\nname:"), ("cannot widen",)),
        (GOOD.replace("name:", "version: 2\nname:"), ("the field 'version' is unknown",)),
        (GOOD[: GOOD.index("# PDF")], ("has no instructions",)),
        (GOOD.replace("Read PDF files.", ">\n  Read\n  PDF files."), ()),
    ],
)
def test_a_skill_with_small_mistakes_is_read_with_a_note_for_each(
    text: str, notes: tuple[str, ...]
) -> None:
    skill = parse_skill(text, "pdf")
    assert len(skill.notes) == len(notes), skill.notes
    assert all(part in note for part, note in zip(notes, skill.notes, strict=True))
    assert skill.name.lower().startswith("pdf") and skill.description


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "does not begin with front matter"),
        ("# PDF\n\nname: pdf\n", "does not begin with front matter"),
        ("---\nname: pdf\ndescription: d\n# PDF\n", "does not end"),
        ("---\ndescription: d\n---\n", "has no name"),
        ("---\nname: pdf\n---\nx", "has no description"),
        ("---\nname: pdf\ndescription:\n---\nx", "has no description"),
        ("---\nname: pdf\ndescription: [a]\n---\nx", r"its description is \['a'\]"),
        ("---\nname: 5\ndescription: d\n---\nx", "its name is 5, not a text"),
        ("---\nname: ../../etc\ndescription: d\n---\nx", "lowercase letters"),
        ("---\nname: a/b\ndescription: d\n---\nx", "lowercase letters"),
        (f"---\nname: {'a' * 65}\ndescription: d\n---\nx", "at most 64"),
        ("---\n- a\n- b\n---\nx", "has no fields"),
        ("---\n{: [\n---\nx", "no YAML"),
        (f"---\n{BOMB}<<: *a9\nname: 5\n---\nx", "no YAML"),
        (f"---\n{BOMB}name: *a9\ndescription: d\n---\nx", "lowercase letters"),
        (f"---\nx: {'a' * 70_000}\n---\nx", "more than 65536 characters"),
    ],
)
def test_a_skill_that_cannot_be_used_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(SkillError, match=reason):
        parse_skill(text, "pdf")


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_text_is_a_skill_or_refused(front: str, body: str) -> None:
    try:
        skill = parse_skill(f"---\n{front}\n---\n{body}", "a")
    except SkillError as error:
        assert str(error)
    else:
        assert "/" not in skill.name and ".." not in skill.name and skill.description
