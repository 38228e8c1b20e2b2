"""The person's name and address for commits made in a sandbox, which has no home folder."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path

from toolkeel_workspace.sandbox.secret_files import read_start

_SEARCH_PATH = "/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin"


def read_git_identity(root: Path) -> dict[str, str]:
    """Return variables that tell git who commits; none if the repository's own config does.

    Args:
        root: The folder.
    """
    own = read_start(root / ".git" / "config")  # a command may have replaced it by a pipe
    name, email = _read_global_setting("user.name"), _read_global_setting("user.email")
    if not own or "[user]" in own or not (name and email):
        return {}
    return {
        f"GIT_{who}_{what}": value
        for who in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", name), ("EMAIL", email))
    }


@cache
def _read_global_setting(key: str) -> str:
    """Read a setting of the person's own git config, not of a repository."""
    git = shutil.which("git", path=_SEARCH_PATH)
    if git is None:
        return ""
    words = [git, "config", "--global", "--get", key]
    done = subprocess.run(words, cwd="/", capture_output=True, text=True, check=False)
    return done.stdout.strip()
