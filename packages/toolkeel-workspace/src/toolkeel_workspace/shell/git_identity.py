"""The person's name and address for commits that a model makes in a sandbox, which has no home."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path

from toolkeel_workspace.sandbox.secret_files import start_of

_PLACES = "/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin"


def git_identity(root: Path) -> dict[str, str]:
    """Variables by which git knows who commits below a folder; none if its repository says it.

    Args:
        root: The folder.
    """
    own = start_of(root / ".git" / "config")  # which a command may have made a pipe of
    name, email = _global("user.name"), _global("user.email")
    if not own or "[user]" in own or not (name and email):
        return {}
    return {
        f"GIT_{who}_{what}": value
        for who in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", name), ("EMAIL", email))
    }


@cache
def _global(key: str) -> str:
    """A setting of the person's own, not of any repository."""
    git = shutil.which("git", path=_PLACES)
    if git is None:
        return ""
    words = [git, "config", "--global", "--get", key]
    done = subprocess.run(words, cwd="/", capture_output=True, text=True, check=False)
    return done.stdout.strip()
