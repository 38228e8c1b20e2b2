"""Folders of skills: each is offered once or has a note that says why not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.skills.skill_corpus import SAMPLES, SkillSample, write
from toolkeel.errors import SetupError
from toolkeel_workspace.skills import folder as folders
from toolkeel_workspace.skills.folder import read_skills


def add(top: Path, name: str, text: str | bytes | None = None) -> Path:
    """Write a skill, by default a good one of this name."""
    place = top / name
    place.mkdir(parents=True)
    good = f"---\nname: {name}\ndescription: Do {name}.\n---\nSteps of {name}.\n"
    data = good if text is None else text
    (place / "SKILL.md").write_bytes(data if isinstance(data, bytes) else data.encode())
    return place


def test_a_folder_of_good_and_broken_skills_offers_what_is_usable_and_notes_the_rest(
    tmp_path: Path,
) -> None:
    top, outside = tmp_path / "skills", tmp_path / "outside"
    for name in ("commit", "review", "release", "größe"):
        add(top, name)
    add(top, "colon", "---\nname: colon\ndescription: Use when: asked.\n---\nDo.\n")
    add(top, "windows", "\ufeff---\r\nname: windows\r\ndescription: d\r\n---\r\nDo.\r\n")
    add(top, "renamed", "---\nname: other\ndescription: d\n---\nDo.\n")
    add(top, "silent", "---\nname: silent\n---\nDo.\n")
    add(top, "escape", "---\nname: ../../bin/sh\ndescription: d\n---\nDo.\n")
    add(top, "twin", "---\nname: commit\ndescription: another\n---\nDo.\n")
    add(top, "latin", "---\nname: latin\ndescription: größer\n---\nDo.\n".encode("latin-1"))
    (top / "empty").mkdir()
    (top / "lower").mkdir()
    (top / "lower" / "skill.md").write_text("---\nname: lower\n---\n")
    (top / ".git").mkdir()
    (top / "README.md").write_text("not a skill")
    (top / "again").symlink_to(top / "review")
    (top / "leads-out").symlink_to(add(outside, "leads-out"))
    secret = tmp_path / "secret"
    secret.write_text("---\nname: linked\ndescription: d\n---\nsecret\n")
    (top / "linked").mkdir()
    (top / "linked" / "SKILL.md").symlink_to(secret)
    skills, notes = read_skills([top])
    assert sorted(skills) == sorted(
        ["commit", "review", "release", "größe", "colon", "windows", "other"]
    )
    problems = {note.folder.name: str(note) for note in notes if not note.is_usable}
    assert sorted(problems) == [
        "empty", "escape", "latin", "leads-out", "linked", "lower", "silent", "twin",
    ]  # fmt: skip
    assert "rename skill.md" in problems["lower"]
    assert "no UTF-8" in problems["latin"]
    assert "'commit' is also in" in problems["twin"]
    assert "leads out" in problems["leads-out"]
    usable = {note.folder.name for note in notes if note.is_usable}
    assert usable == {"colon", "renamed"}


def test_a_folder_that_is_a_skill_is_one_and_a_trusted_link_is_followed(tmp_path: Path) -> None:
    one = add(tmp_path / "a", "one")
    assert list(read_skills([one, tmp_path / "a"])[0]) == ["one"]
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "one").symlink_to(one)
    assert list(read_skills([tmp_path / "b"], follow_links=True)[0]) == ["one"]


def test_a_folder_that_is_missing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"'.*absent' is not a folder"):
        read_skills([tmp_path / "absent"])


def test_a_skill_in_a_folder_of_its_name_is_offered_whatever_comes_before_it(
    tmp_path: Path,
) -> None:
    good = add(tmp_path / "b", "good")
    text = "---\nname: good\ndescription: another\nfoo: bar\n---\nDo.\n"
    add(tmp_path / "a", "first", text)
    add(tmp_path / "b", "also", text)
    add(tmp_path / "c", "good", text)
    skills, notes = read_skills([tmp_path / "a", tmp_path / "b", tmp_path / "c"])
    assert [skill.folder for skill in skills.values()] == [good]
    assert [note.folder.parent.name + note.folder.name for note in notes] == [
        "afirst",
        "balso",
        "cgood",
    ]
    assert all(str(good) in note.problem and not note.is_usable for note in notes)


def test_names_that_look_alike_are_one_name(tmp_path: Path) -> None:
    composed, apart = "gr\u00f6\u00dfe", "gro\u0308\u00dfe"
    add(tmp_path, "a", f"---\nname: {apart}\ndescription: d\n---\nDo.\n")
    add(tmp_path, composed)
    skills, [note] = read_skills([tmp_path])
    assert [skill.folder.name for skill in skills.values()] == [
        composed
    ] and note.folder.name == "a"


def test_no_more_skills_are_offered_than_a_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "MAX_SKILLS", 2)
    for name in ("a", "b", "c"):
        add(tmp_path, name)
    skills, [note] = read_skills([tmp_path])
    assert list(skills) == ["a", "b"] and "more than 2 skills" in str(note)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.folder[:20])
def test_a_skill_has_a_note_if_the_reference_validator_refuses_it_and_is_offered_if_usable(
    tmp_path: Path, sample: SkillSample
) -> None:
    place = write(tmp_path, sample)
    skills, notes = read_skills([tmp_path])
    assert bool(skills) is sample.is_offered
    assert all(note.is_usable for note in notes) is sample.is_offered
    harmless = "allowed-tools is ignored"
    assert (not [note for note in notes if harmless not in note.problem]) is sample.is_valid, notes
    assert all(note.folder == place for note in notes)
