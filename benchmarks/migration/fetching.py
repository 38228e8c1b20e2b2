"""Source distributions from the package index, unpacked; nothing of them is kept in the project."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path


def fetch(folder: Path, distribution: str) -> Path:
    """The unpacked source distribution; fetched once.

    Args:
        folder: Where it is kept.
        distribution: Name and version, as ``openai-agents==0.24.0``.
    """
    name = distribution.partition("=")[0]
    pattern = f"{name.replace('-', '_')}-[0-9]*"
    if not any(one.is_dir() for one in folder.glob(pattern)):
        folder.mkdir(parents=True, exist_ok=True)
        options = ["--no-deps", "--no-binary", name, "-q", "-d", str(folder)]
        command = [sys.executable, "-m", "pip", "download", *options, distribution]
        subprocess.run(command, check=True)
        [archive] = folder.glob(f"{pattern}.tar.gz")
        with tarfile.open(archive) as packed:
            packed.extractall(folder, filter="data")
    return next(one for one in sorted(folder.glob(pattern)) if one.is_dir())


PLUGINS = (
    "pytest-asyncio", "pytest-mock", "inline-snapshot", "syrupy", "pytest-socket", "blockbuster",
    "forbiddenfruit", "psycopg-pool", "executing", "asttokens",
)  # fmt: skip


def plugins(folder: Path) -> Path:
    """What the tests of other libraries need besides themselves; installed once."""
    if not folder.exists():
        options = ["install", "-q", "--no-deps", "--target", str(folder)]
        subprocess.run([sys.executable, "-m", "pip", *options, *PLUGINS], check=True)
    return folder
