"""The person's git settings: who commits in a sandbox, which has no home folder, and what git ignores."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import cache
from itertools import islice
from pathlib import Path

from toolkeel_workspace.sandbox.secret_files import MAX_BYTES, read_start

_SEARCH_PATH = "/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin"
_SECTION = re.compile(
    r"^[ \t]*\[[ \t]*(\w+)[ \t]*\]((?:(?!^[ \t]*\[).*\n?)*)", re.MULTILINE | re.IGNORECASE
)
DEFAULT = {"name": "Agent", "email": "agent@localhost"}
"""Who commits where no identity is configured, so that a first commit works."""
_NEW_SETTING = re.compile(
    r"\[core\]|\s*(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase"
    r"|precomposeunicode|symlinks)\s*=\s*\w+|",
    re.IGNORECASE,
)
_COMMENT = re.compile(r"#.*|")
_MOST_NEW = 50
_LOST = re.compile(r"git\s+config\s+(?:\S+\s+){0,9}--global")
_COMMIT = re.compile(r"\bgit(?:\s+\S+){0,9}\s+commit\b")
_BUSY = re.compile(
    r"could not (?:lock|write) config file \S*|\.git/config: (?:Device or resource busy|Read-only)"
)


def make_git_config() -> str:
    """Return a global git config with the person's name and address, or `DEFAULT`.

    It is a config file, as variables would override what a repository or a command sets itself.
    """
    lines = ["[user]"]
    for key, default in DEFAULT.items():
        value = read_global_setting(f"user.{key}") or default
        quoted = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        lines.append(f'\t{key} = "{quoted}"')
    return "\n".join(lines) + "\n"


def explain_git(command: str, output: str, root: Path) -> str:
    """Explain what a sandbox changes for git, if a command and its output show that it matters.

    Args:
        command: The line of shell.
        output: What it printed.
        root: The folder.

    Returns:
        Sentences for the model, or an empty string.
    """
    said = list[str]()
    if _LOST.search(command):
        said.append("The global git config is in HOME, which is deleted when the command ends.")
    if _BUSY.search(output) and "config" in output:
        said.append(".git/config is protected from commands.")
    own = read_own_settings(root)
    person = {key: read_global_setting(f"user.{key}") for key in DEFAULT}
    is_missing = any(not person[key] and f"user.{key}" not in own for key in DEFAULT)
    if said or (is_missing and _COMMIT.search(command)):
        if missing := [f"user.{key}" for key in DEFAULT if not person[key]]:
            said.append(f"This machine's git configuration has no {' and no '.join(missing)}.")
        name, email = (person[key] or DEFAULT[key] for key in DEFAULT)
        said.append(
            f"Where neither the repository nor the command sets another one, commits are made as "
            f"{name} <{email}>; git -c user.name=NAME -c user.email=ADDRESS commit sets one."
        )
    return " ".join(said)


def read_own_settings(root: Path) -> dict[str, str]:
    """Return the settings of a repository's own config, by lower-case ``section.key``."""
    text = read_start(root / ".git" / "config")  # a command may have replaced it by a pipe
    found = dict[str, str]()
    for section, body in _SECTION.findall(text):
        for line in body.splitlines():
            key, equals, value = line.partition("=")
            if equals:
                found[f"{section}.{key.strip()}".lower()] = value.strip().strip('"')
    return found


def is_as_git_makes(path: Path) -> bool:
    """Return True for what ``git init`` puts into a new repository: settings, hooks and info without effect."""
    if path.parent.name != ".git" or path.is_symlink():
        return False
    if path.name == "config":
        return _has_lines(path, _NEW_SETTING)
    if path.name not in ("hooks", "info") or not path.is_dir():
        return False
    inside = list(islice(path.iterdir(), _MOST_NEW))
    if path.name == "hooks":
        return len(inside) < _MOST_NEW and all(each.name.endswith(".sample") for each in inside)
    return all(each.name == "exclude" and _has_lines(each, _COMMENT) for each in inside)


def _has_lines(path: Path, kind: re.Pattern[str]) -> bool:
    """Return True for a small file of lines of one kind alone."""
    is_small = path.is_file() and path.stat().st_size < MAX_BYTES
    return is_small and all(map(kind.fullmatch, read_start(path).splitlines()))


@cache
def read_global_setting(key: str) -> str:
    """Read a setting of the person's own git config, not of a repository."""
    git = shutil.which("git", path=_SEARCH_PATH)
    if git is None:
        return ""
    words = [git, "config", "--global", "--get", key]
    done = subprocess.run(words, cwd="/", capture_output=True, text=True, check=False)
    return done.stdout.strip()


def find_exclude_files(root: Path) -> list[Path]:
    """Return the files outside of the tree that name what git ignores there, the strongest first.

    Args:
        root: The folder; if it is a repository, its own ``.git/info/exclude`` is the first.
    """
    configured = read_own_settings(root).get("core.excludesfile")
    configured = configured or read_global_setting("core.excludesFile")
    if configured is None or not configured:
        folder = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
        configured = f"{folder}/git/ignore"
    return [root / ".git" / "info" / "exclude", root / os.path.expanduser(configured)]
