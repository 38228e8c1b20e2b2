"""Ask ripgrep, if it is there, which files of a tree may hold a match.

It only chooses files. What is shown comes from reading them again beneath the root, with the same
engine that searches where there is no ripgrep: so the output is the same either way, and a link
that is swapped in meanwhile leads nowhere.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence

from toolkeel_workspace.files.open_beneath import Root
from toolkeel_workspace.files.walk import SKIPPED

PLACES = "/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin"
"""Where the program is looked for: never in a PATH that may lead into a workspace."""
_OPTIONS = (
    *("--no-config", "--files-with-matches", "--null", "--no-messages", "--color=never"),
    *("--hidden", "--no-require-git", "--no-ignore-parent", "--no-ignore-global"),
    *("--no-ignore-exclude", "--no-ignore-dot", "--text", "--crlf"),
)
# What ripgrep, which looks at many lines at once, takes otherwise than an engine given one line.
_OTHERWISE = re.compile(r"\\[AzZnr0]|\\\n|[\r\n\0]|\(\?(?!:|P<|<|i\))|\[[^\]]*(?:\[|\\W|&&|--|~~)")
_SIMPLE_GLOB = re.compile(r"[\w.*-]*\w[\w.*-]*")


def program() -> str | None:
    """Path of ripgrep, if this machine has it where programs of the system are."""
    return shutil.which("rg", path=PLACES)


def candidates(
    root: Root,
    folder: str,
    pattern: str,
    *,
    glob: str = "",
    largest: int,
    ended: Callable[[], bool],
) -> list[str] | None:
    """Files below a folder that may hold a match, in no order.

    Args:
        root: Where nothing leads out of.
        folder: Where to start, relative to the root.
        pattern: A regular expression that was found valid.
        glob: Pattern of file names; a hint.
        largest: Size of the largest file to search, in bytes.
        ended: Asked now and then; when it says yes, ripgrep is killed.

    Returns:
        Their paths relative to the root, those found until the end; None if there is no ripgrep,
        or it cannot decide this pattern: it finds letters beyond ASCII in UTF-8 alone.
    """
    rg = program()
    if rg is None or _OTHERWISE.search(pattern) or not pattern.isascii():
        return None
    words = [rg, *_OPTIONS, f"--max-filesize={largest}"]
    if _SIMPLE_GLOB.fullmatch(glob):
        words.append(f"--glob={glob}")
    words += [f"--glob=!{name}/" for name in sorted(SKIPPED)]
    handle = root.open_folder(folder)
    try:
        data = _run([*words, "-e", pattern, "--", "./"], _place(root, folder, handle), ended)
    finally:
        os.close(handle)
    if data is None:
        return None
    prefix = "" if folder == "." else f"{folder}/"
    names = data.split(b"\0")[:-1]  # what stands after the last NUL was cut off by a kill
    return [prefix + os.fsdecode(name.removeprefix(b"./")) for name in names]


def _place(root: Root, folder: str, handle: int) -> str:
    """The folder itself, where a process can be started in an open one."""
    if sys.platform.startswith("linux"):
        return f"/proc/{os.getpid()}/fd/{handle}"
    return str(root.path / folder)


def _run(words: Sequence[str], place: str, ended: Callable[[], bool]) -> bytes | None:
    """What a program says until it ends or is killed; None if it failed."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                words,
                cwd=place,
                env={"PATH": PLACES, "LC_ALL": "C.UTF-8"},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=errors,
            )
        except OSError:
            return None
        with process:
            try:
                while not _over(process) and not ended():
                    pass
            finally:
                process.kill()
        # 1: nothing found; 2 with a reason: it does not know the pattern; without: a file that
        # could not be read, which no search shows.
        if process.returncode == 2 and errors.tell():
            return None
        out.seek(0)
        return out.read()


def _over(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(0.05)
    except subprocess.TimeoutExpired:
        return False
    return True
