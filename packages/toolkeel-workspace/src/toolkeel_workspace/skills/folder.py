"""Find the skills below a folder, each in a folder of its own with a SKILL.md."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from toolkeel._common.data_folder import expand_home
from toolkeel._records.record import record
from toolkeel.errors import SetupError, ToolError
from toolkeel_workspace.files.open_beneath import Root
from toolkeel_workspace.skills.front_matter import SkillError, SkillText, is_same_name, parse_skill

MAX_BYTES = 1 << 20
"""Largest SKILL.md that is read."""
MAX_SKILLS = 200
"""Most skills that are offered."""
SKILL_FILE = "SKILL.md"


@record
class Skill:
    """A usable skill.

    Args:
        text: Its name, description and body.
        folder: Where it is.
    """

    text: SkillText
    folder: Path

    @property
    def has_own_folder(self) -> bool:
        """True if its folder has its name, as the specification wants."""
        return is_same_name(self.text.name, self.folder.name)


@record
class SkillNote:
    """What is wrong with the skill in a folder.

    Args:
        folder: The folder.
        problem: A clause without a period.
        is_usable: The skill is offered nevertheless.
    """

    folder: Path
    problem: str
    is_usable: bool

    def __str__(self) -> str:
        state = "" if self.is_usable else "not offered: "
        return f"{self.folder}: {state}{self.problem}"


def read_skills(
    folders: Iterable[str | os.PathLike[str]], *, follow_links: bool = False
) -> tuple[dict[str, Skill], list[SkillNote]]:
    """Read the skills of folders by name, and what is wrong with those and with others.

    A folder is a skill itself, or contains skills. Of two with one name, the one in a folder of that
    name is offered, else the first. A folder that is reached twice is read once.

    Args:
        folders: The folders.
        follow_links: True if a link may lead out of its folder.

    Raises:
        SetupError: a folder does not exist.
    """
    found: list[Skill] = []
    notes: list[SkillNote] = []
    known: set[str] = set()
    for folder in folders:
        top = expand_home(Path(folder))
        if not top.is_dir():
            raise SetupError(f"Skills: {str(folder)!r} is not a folder")
        for place in _find_places(top):
            true = os.path.realpath(place)
            if true in known:
                continue
            known.add(true)
            if not (follow_links or Path(true).is_relative_to(top.resolve())):
                notes.append(SkillNote(place, "a link leads out of the folder of skills", False))
                continue
            _add_skill(place, found, notes)
    return _choose_by_name(found, notes), notes


def _find_places(top: Path) -> Iterator[Path]:
    if os.path.lexists(top / SKILL_FILE):
        yield top
        return
    for place in sorted(top.iterdir()):
        if place.is_dir() and not place.name.startswith("."):
            yield place


def _add_skill(place: Path, found: list[Skill], notes: list[SkillNote]) -> None:
    """Read the skill of a folder, and add it or a note why not."""
    try:
        text = parse_skill(_read_file(place), place.resolve().name)
    except (SkillError, ToolError) as error:
        notes.append(SkillNote(place, str(error), False))
        return
    found.append(Skill(text, place.resolve()))
    notes += [SkillNote(place, note, True) for note in text.notes]


def _choose_by_name(found: list[Skill], notes: list[SkillNote]) -> dict[str, Skill]:
    """Return one skill for each name, in the order found, and add notes about the others."""
    chosen: dict[str, Skill] = {}
    for skill in found:
        other = chosen.get(skill.text.name)
        if other is None or (skill.has_own_folder and not other.has_own_folder):
            chosen[skill.text.name] = skill
    for skill in found:
        winner = chosen[skill.text.name]
        if skill is not winner:
            problem = f"{skill.text.name!r} is also in {winner.folder}, which is offered"
            notes[:] = [each for each in notes if each.folder.resolve() != skill.folder]
            notes.append(SkillNote(skill.folder, problem, False))
    offered = [skill for skill in found if chosen[skill.text.name] is skill]
    too_many = f"there are more than {MAX_SKILLS} skills"
    notes += [SkillNote(skill.folder, too_many, False) for skill in offered[MAX_SKILLS:]]
    return {skill.text.name: skill for skill in offered[:MAX_SKILLS]}


def _read_file(place: Path) -> str:
    """Return the text of a folder's SKILL.md, through no link that leads out of the folder.

    Raises:
        SkillError: there is none, or it is too large or no UTF-8.
        ToolError: it cannot be opened.
    """
    names: list[str] = []
    with suppress(OSError):
        names = os.listdir(place)
    if SKILL_FILE not in names:
        other = next((name for name in names if name.lower() == "skill.md"), "")
        raise SkillError(f"it has no SKILL.md{f'; rename {other}' if other else ''}")
    with os.fdopen(Root(place).open_file(SKILL_FILE), "rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise SkillError("its SKILL.md is larger than 1 MB")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SkillError(f"its SKILL.md is no UTF-8 (byte {error.start})") from None
