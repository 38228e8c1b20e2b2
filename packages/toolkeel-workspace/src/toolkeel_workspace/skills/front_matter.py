"""Parse SKILL.md: its front matter by the specification at agentskills.io, and its body."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

from toolkeel._common.needs_extra import needs_extra
from toolkeel._records.record import record

MAX_NAME = 64
"""Most characters of a skill's name."""
MAX_DESCRIPTION = 1024
"""Most characters of a skill's description."""
MAX_FRONT_MATTER = 64 << 10
"""Most characters of the front matter."""
MAX_COMPATIBILITY = 500
"""Most characters of what a skill says it needs."""
_NAME = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
_HARMLESS_NAME = re.compile(r"\w[\w .-]*")
_LINE = re.compile(r"([A-Za-z][\w-]*):[ \t]+(.*)")
_FIELDS = {
    "name", "description", "license", "compatibility", "metadata", "allowed-tools",
}  # fmt: skip


class SkillError(ValueError):
    """A SKILL.md that describes no usable skill."""


@record
class SkillText:
    """What a SKILL.md holds.

    Args:
        name: The skill's name.
        description: What it does and when to use it.
        body: The instructions.
        notes: What is wrong with it but does not prevent its use, each as a sentence.
    """

    name: str
    description: str
    body: str
    notes: tuple[str, ...] = ()


def parse_skill(text: str, folder: str) -> SkillText:
    r"""Parse a SKILL.md.

    Args:
        text: The file.
        folder: Name of its folder, which the skill's name should equal.

    Raises:
        SkillError: it has no front matter, or no usable name or description.
        MissingExtraError: PyYAML is not installed.

    >>> parse_skill("---\nname: pdf\ndescription: Read PDF files.\n---\n# PDF\n", "pdf").body
    '# PDF'
    """
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if lines[0].rstrip() != "---":
        raise SkillError("it does not begin with front matter; write --- in the first line")
    end = next((at for at, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), 0)
    if not end:
        raise SkillError("its front matter does not end; write --- below it")
    front = "\n".join(lines[1:end])
    if len(front) > MAX_FRONT_MATTER:
        raise SkillError(f"its front matter has more than {MAX_FRONT_MATTER} characters")
    fields, notes = _read_fields(front)
    name, name_notes = _check_name(fields.get("name"), folder)
    description, more = _check_description(fields.get("description"))
    unknown = [f"the field {field!r} is unknown" for field in fields if field not in _FIELDS]
    if "allowed-tools" in fields:
        unknown.append("allowed-tools is ignored: a skill cannot widen what may be done")
    needs = fields.get("compatibility", "")
    if not isinstance(needs, str) or len(needs) > MAX_COMPATIBILITY:
        unknown.append(f"compatibility is not a text of at most {MAX_COMPATIBILITY} characters")
    body = "\n".join(lines[end + 1 :]).strip()
    if not body:
        unknown.append("it has no instructions below the front matter")
    return SkillText(name, description, body, (*notes, *name_notes, *more, *unknown))


def _read_fields(front: str) -> tuple[Mapping[str, object], list[str]]:
    """Return the fields of front matter, with a note if it is no YAML and was read line by line.

    Raises:
        SkillError: it is neither YAML nor lines of ``key: value``.
    """
    with needs_extra("reading skills", "skills"):
        import yaml

    try:
        # A few aliases, each of ten others, are a text without end.
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(front)):
            raise yaml.YAMLError("it has an alias")
        loaded = yaml.safe_load(front)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        fields = {m[1]: m[2].strip(" \"'") for m in map(_LINE.fullmatch, front.split("\n")) if m}
        if not {"name", "description"} <= fields.keys():
            raise SkillError(f"its front matter is no YAML ({_first_line(error)})") from None
        return fields, ["its front matter is no YAML; put values with a colon in quotes"]
    if not isinstance(loaded, Mapping):
        raise SkillError("its front matter has no fields; write name: and description:")
    return {str(key): value for key, value in loaded.items()}, []


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:200]


def _check_name(name: object, folder: str) -> tuple[str, list[str]]:
    """Return a usable name and what is wrong with it.

    Raises:
        SkillError: it is missing, no text, or could be taken for a path.
    """
    if not isinstance(name, str) or not name.strip():
        raise SkillError(f"its name is {name!r:.80}, not a text" if name else "it has no name")
    name = unicodedata.normalize("NFC", name.strip())
    if len(name) > MAX_NAME or not _HARMLESS_NAME.fullmatch(name) or ".." in name:
        raise SkillError(
            f"its name is {name!r:.80}; write at most {MAX_NAME} lowercase letters, digits and "
            "hyphens"
        )
    notes = []
    if not _NAME.fullmatch(name) or name != name.lower():
        notes.append(f"its name {name!r} should have only lowercase letters, digits and hyphens")
    if not is_same_name(name, folder):
        notes.append(f"its name {name!r} differs from the name of its folder, {folder!r}")
    return name, notes


def is_same_name(name: str, folder: str) -> bool:
    """Return True if a folder has the name of a skill, in whatever form its characters are."""
    return unicodedata.normalize("NFKC", name) == unicodedata.normalize("NFKC", folder)


def _check_description(description: object) -> tuple[str, list[str]]:
    """Return a usable description and what is wrong with it.

    Raises:
        SkillError: it is missing or no text.
    """
    if not isinstance(description, str) or not description.strip():
        is_missing = description is None or description == ""
        raise SkillError(
            "it has no description" if is_missing else f"its description is {description!r:.80}"
        )
    description = " ".join(description.split())
    if len(description) > MAX_DESCRIPTION:
        note = f"its description has more than {MAX_DESCRIPTION} characters and is cut"
        return description[:MAX_DESCRIPTION], [note]
    return description, []
