"""A defence taken out in a copy of the package, and the test that must fail then."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tests.shared import ROOT, SOURCES, TESTS

PACKAGES = {path.name: path for source in SOURCES for path in source.iterdir() if path.is_dir()}
"""Folder of each import package by its name."""
PACKAGE = PACKAGES["toolkeel"]
TRIES = 4
"""A test that looks for a race does not meet it each time."""


class Break(NamedTuple):
    """What is taken out in one place, and the test that sees it.

    Args:
        what: What it is a defence of, and what is taken out.
        file: Below the sources, with the package in front.
        old: What stands there, once.
        new: What stands there instead.
        test: What fails then.
    """

    what: str
    file: str
    old: str
    new: str
    test: str


def stands_once(broken: Break) -> bool:
    """Whether what is taken out stands there, in one place."""
    package, _, inside = broken.file.partition("/")
    return (PACKAGES[package] / inside).read_text("utf-8").count(broken.old) == 1


def is_seen(broken: Break, folder: Path) -> bool:
    """Whether the test fails against a copy in which the defence is out.

    Args:
        broken: What is taken out.
        folder: Where the copy is made.
    """
    for name, path in PACKAGES.items():
        shutil.copytree(path, folder / name)
    place = folder / broken.file
    place.write_text(place.read_text("utf-8").replace(broken.old, broken.new), "utf-8")
    return any(_played(folder, broken.test) == 1 for _ in range(TRIES))


def _played(folder: Path, test: str) -> int:
    """Pytest's exit code of a test against the package in a folder: 1 for a test that failed."""
    words = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", test]
    paths = [str(folder), *map(str, TESTS)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(
        [*words, "--hypothesis-profile=steady", "--timeout=60"],
        cwd=ROOT,
        env=env,
        capture_output=True,
        timeout=300,
    )
    return done.returncode
