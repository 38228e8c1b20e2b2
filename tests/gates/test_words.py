"""The project speaks of itself alone: no path of a machine, no address of a registry."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.gates.sources import report
from tests.shared import ROOT

# Written in pieces, so that this file does not hold what it forbids.
FORBIDDEN = re.compile(
    "|".join(
        [
            r"/wor[k]/",
            r"/roo[t]/",
            r"/far[m]/",
            r"/hom[e]/\w+/",
            r"/User[s]/\w+/",
            r"/opt/(?:pyp[i]|wheel[s])",
            r"far[m]-(?:studio|bench)",
            r"this sessio[n]",
            r"np[m]js\.",
            r"pyp[i]\.(?:org|python)",
            r"python[h]osted",
            r"deb[.]debian",
            r"(?:registry|proxy)\.(?:np[m]|yar[n]|golan[g])",
        ]
    ),
    re.IGNORECASE,
)


def tracked() -> list[Path]:
    """Every file that a commit of the present state would hold."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listed.returncode:  # a source archive: no repository, every file is the project's
        skipped = {".venv", "node_modules", "__pycache__"}
        return [p for p in ROOT.rglob("*") if p.is_file() and not skipped & set(p.parts)]
    paths = [ROOT / name.decode() for name in listed.stdout.split(b"\0") if name]
    return [path for path in paths if path.is_file()]


def lines_with_forbidden_words(text: str) -> list[tuple[int, str]]:
    """Number and text of each line that names what it must not."""
    lines = enumerate(text.splitlines(), start=1)
    return [(number, line.strip()) for number, line in lines if FORBIDDEN.search(line)]


def test_no_file_names_a_machine_a_registry_or_how_it_was_made() -> None:
    rows = []
    for path in tracked():
        text = path.read_bytes().decode("utf-8", errors="ignore")
        for number, line in lines_with_forbidden_words(text):
            rows.append(f"{path.relative_to(ROOT).as_posix()}:{number}: {line[:120]}")
    report(rows)


@pytest.mark.parametrize(
    "line",
    [
        "cd /wor" + "k/x",
        "see https://pyp" + "i.org/p",
        "registry.np" + "mjs.org",
    ],
)
def test_a_planted_word_is_found_with_its_line(line: str) -> None:
    assert lines_with_forbidden_words(f"fine\n{line}\n") == [(2, line)]
    assert lines_with_forbidden_words("worker/agents of a session, homework/\n") == []
