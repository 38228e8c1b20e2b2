"""Find candidate files with ripgrep, if it is installed.

It only chooses files. What is shown comes from reading them again beneath the root, with the engine that
is used without ripgrep: so the output is the same either way, and a swapped link leads nowhere.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence

from toolkeel_workspace.files.open_beneath import OpenFolder, Root
from toolkeel_workspace.files.walk import SKIPPED_FOLDERS

SEARCH_PATH = "/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin"
"""Where the program is searched: not in PATH, which may include a workspace."""
_OPTIONS = (
    *("--no-config", "--files-with-matches", "--null", "--no-messages", "--color=never"),
    *("--hidden", "--no-require-git", "--no-ignore-parent", "--no-ignore-global"),
    *("--no-ignore-exclude", "--no-ignore-dot", "--text", "--encoding=none"),
)
# Patterns that ripgrep, which searches many lines at once, interprets differently.
_DIFFERS = re.compile(r"\\[AzZnr0]|\\\n|[\r\n\0]|\(\?(?!:|P<|<|i\))|\[[^\]]*(?:\[|\\W|&&|--|~~)")
# Files that are not UTF-8 are candidates for every pattern, as what they hold depends on their encoding;
# and those with carriage returns inside of lines, which may be line ends; binary ones are reported.
_NOT_UTF_8 = (
    r"(?-u:(?:^|[\x00-\x7F])[\x80-\xBF]|[\xC0\xC1\xF5-\xFF]|[\xC2-\xF4](?:[\x00-\x7F]|[\xC2-\xF4]|$)"
    r"|[\xC2-\xDF][\x80-\xBF]{2}|[\xE0-\xEF][\x80-\xBF](?:[\x00-\x7F]|[\xC2-\xF4]|$)"
    r"|[\xE0-\xEF][\x80-\xBF]{3}|[\xF0-\xF4][\x80-\xBF]{2}(?:[\x00-\x7F]|[\xC2-\xF4]|$)"
    r"|\x1B\$[@B(]|\r[^\n]|\x00|^%PDF-|^\xEF\xBB\xBF)"
)
_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\$")
_SIMPLE_GLOB = re.compile(r"[\w.*-]*\w[\w.*-]*")


def find_ripgrep() -> str | None:
    """Return ripgrep's path in the system's program folders, or None if it is missing."""
    return shutil.which("rg", path=SEARCH_PATH)


def find_candidates(
    root: Root,
    folder: str,
    pattern: str,
    *,
    glob: str = "",
    max_bytes: int,
    is_over: Callable[[], bool],
) -> list[str] | None:
    """List files below a folder that may contain a match, unordered.

    Args:
        root: The folder that bounds the search.
        folder: Where to start, relative to the root.
        pattern: A valid regular expression.
        glob: Pattern of file names; a hint.
        max_bytes: Size of the largest file to search.
        is_over: Polled; once it returns true, ripgrep is killed.

    Returns:
        Their paths relative to the root, as far as they were found; None without ripgrep, or for a
        pattern it cannot decide: it finds letters beyond ASCII in UTF-8 alone.
    """
    rg = find_ripgrep()
    if rg is None or _DIFFERS.search(pattern) or not pattern.isascii():
        return None
    words = [rg, *_OPTIONS, f"--max-filesize={max_bytes}"]
    if _SIMPLE_GLOB.fullmatch(glob):
        words.append(f"--glob={glob}")
    words += [f"--glob=!{name}/" for name in sorted(SKIPPED_FOLDERS)]
    opened = root.open_folder(folder)
    try:
        data = _run_program(
            [*words, "-e", _allow_crlf(pattern), "-e", _NOT_UTF_8, "--", "./"],
            _get_folder_path(opened),
            is_over,
        )
    finally:
        opened.close()
    if data is None:
        return None
    prefix = "" if folder == "." else f"{folder}/"
    names = data.split(b"\0")[:-1]  # a kill may have cut the last name
    return [prefix + os.fsdecode(name.removeprefix(b"./")) for name in names]


def _allow_crlf(pattern: str) -> str:
    """Let a pattern's line end match before CRLF; ripgrep's own option never matches a lone CR."""
    return _TOKEN.sub(lambda token: r"\r?$" if token[0] == "$" else token[0], pattern)


def _get_folder_path(folder: OpenFolder) -> str:
    """Return a path to the open folder itself, where the system allows it."""
    if sys.platform.startswith("linux"):
        return f"/proc/{os.getpid()}/fd/{folder.handle}"
    return str(folder.path)


def _run_program(argv: Sequence[str], place: str, is_over: Callable[[], bool]) -> bytes | None:
    """Return a program's output when it exits or is killed, or None if it failed."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                argv,
                cwd=place,
                env={"PATH": SEARCH_PATH, "LC_ALL": "C.UTF-8"},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=errors,
            )
        except OSError:
            return None
        with process:
            try:
                while not _has_exited(process) and not is_over():
                    pass
            finally:
                process.kill()
        # 1: nothing found; 2 with a reason: it does not know the pattern; without: a file that
        # could not be read, which no search shows.
        if process.returncode == 2 and errors.tell():
            return None
        out.seek(0)
        return out.read()


def _has_exited(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(0.05)
    except subprocess.TimeoutExpired:
        return False
    return True
