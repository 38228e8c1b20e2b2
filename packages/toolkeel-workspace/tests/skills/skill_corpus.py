"""Skills in the ways in which public ones are written, some broken; verdicts are those of skills-ref 0.1."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class SkillSample(NamedTuple):
    """One skill.

    Args:
        folder: Its folder.
        text: Its SKILL.md.
        is_valid: The specification allows it.
        is_offered: A model is offered it.
    """

    folder: str
    text: str | bytes
    is_valid: bool = True
    is_offered: bool = True


def _front(name: str, *lines: str, body: str = "# Steps\n\n1. Do it.\n") -> str:
    return "\n".join(["---", f"name: {name}", *lines, "---", body])


_LONG = "Fill in forms. " * 80
SAMPLES = (
    SkillSample("pdf-forms", _front("pdf-forms", "description: Fill in PDF forms.", "license: MIT")),
    SkillSample("commit", _front("commit", 'description: "Use when: a commit is written."')),
    SkillSample("review", _front("review", "description: >", "  Review a change.", "  Use it for pull requests.")),
    SkillSample("literal", _front("literal", "description: |", "  First line.", "  Second line.")),
    SkillSample("tools", _front("tools", "description: d", "allowed-tools: Bash(git:*) Read")),
    SkillSample("meta", _front("meta", "description: d", "metadata:", "  author: ada", '  version: "1.0"')),
    SkillSample("needs", _front("needs", "description: d", "compatibility: Needs git and the network.")),
    SkillSample("größe", _front("größe", "description: Größen umrechnen.")),
    SkillSample("中文", _front("中文", "description: 处理中文文件。")),
    SkillSample("a1-b2", _front("a1-b2", "description: d # a comment")),
    SkillSample("windows", _front("windows", "description: d").replace("\n", "\r\n")),
    SkillSample("quoted", _front("'quoted'", "description: 'it''s quoted'")),
    SkillSample("Upper", _front("Upper", "description: d"), is_valid=False),
    SkillSample("under_score", _front("under_score", "description: d"), is_valid=False),
    SkillSample("double--dash", _front("double--dash", "description: d"), is_valid=False),
    SkillSample("end-", _front("end-", "description: d"), is_valid=False),
    SkillSample("other-folder", _front("other", "description: d"), is_valid=False),
    SkillSample("colon", _front("colon", "description: Use when: it is asked for."), is_valid=False),
    SkillSample("extra", _front("extra", "description: d", "model: large"), is_valid=False),
    SkillSample("too-long", _front("too-long", f"description: {_LONG}"), is_valid=False),
    SkillSample("many-needs", _front("many-needs", "description: d", f"compatibility: {'x' * 600}"), is_valid=False),
    SkillSample("silent", _front("silent"), is_valid=False, is_offered=False),
    SkillSample("blank", _front("blank", "description: '  '"), is_valid=False, is_offered=False),
    SkillSample("nameless", "---\ndescription: d\n---\nDo.\n", is_valid=False, is_offered=False),
    SkillSample("plain", "# Just a text\n\nDo.\n", is_valid=False, is_offered=False),
    SkillSample("open", "---\nname: open\ndescription: d\n", is_valid=False, is_offered=False),
    SkillSample("listed", "---\n- name\n- description\n---\nDo.\n", is_valid=False, is_offered=False),
    SkillSample("slash", _front("../slash", "description: d"), is_valid=False, is_offered=False),
    SkillSample("x" * 65, _front("x" * 65, "description: d"), is_valid=False, is_offered=False),
)  # fmt: skip


def write(top: Path, sample: SkillSample) -> Path:
    """Write a skill below a folder, and return its own."""
    place = top / sample.folder
    place.mkdir(parents=True)
    data = sample.text if isinstance(sample.text, bytes) else sample.text.encode()
    (place / "SKILL.md").write_bytes(data)
    return place
