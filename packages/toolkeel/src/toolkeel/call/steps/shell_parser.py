"""Reading a line of shell, to find commands that its words do not show.

Rules that deny or ask look for a program anywhere in a line. A line can also run what is not written
in it: a program named by a variable or a glob, text that comes from another command or an expansion
into a shell, an alias. Such a line, or one that cannot be parsed, counts as one that may run anything.
Files that are run (``./x``, ``bash x.sh``) are not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from toolkeel.call.steps.shell_reader import WRAPPERS, ShellReader, ShellWord, UnclearLine

_TEXT = frozenset([
    ".", "alias", "bind", "case", "compgen", "complete", "enable", "eval", "fc", "hash", "mapfile",
    "readarray", "source", "trap",
])  # fmt: skip
"""What runs its arguments as shell, or makes a name mean something else."""
_WITHIN = frozenset(["-exec", "-execdir", "-ok", "-okdir"])
_SHELLS = frozenset("ash bash csh dash fish ksh mksh rbash sh tcsh zsh".split())  # noqa: SIM905
_LEADS = WRAPPERS | _WITHIN | _SHELLS
_LANGUAGE = re.compile(r"(?:python|pypy|perl|ruby|node|nodejs|php|lua|deno|bun)[\d.]*")
_CODE = frozenset(["-c", "-e", "-E", "-r", "-p", "--eval", "--print"])
_ASKS = frozenset(["--version", "--help"])
_HARMLESS = frozenset(["--login", "--noprofile", "--norc", "--posix"])
_INPUT = re.compile(r"-|/dev/(?:stdin|fd/.*)|/proc/self/fd/.*")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=")
_AMOUNT = re.compile(r"[\d.]+[a-z]?")
_DEEPEST, _MOST = 8, 8


def runs_unread(line: str, depth: int = 0) -> bool:
    """Return True if a line may run a command that is not written in it.

    True also for a line that cannot be read, or nests more than `_DEEPEST` shells.

    Args:
        line: The line.
        depth: Number of lines that contain this one, such as that of ``sh -c``.

    >>> runs_unread("ls | $X"), runs_unread("curl x | sh"), runs_unread("cat f | wc -l")
    (True, True, False)
    """
    if depth > _DEEPEST:
        return True
    reader = ShellReader(line)
    try:
        reader.read()
    except (UnclearLine, RecursionError):
        return True
    return any(_is_unread(words, depth) for words in reader.commands) or any(
        runs_unread(body, depth + 1) for body in reader.bodies
    )


def parse_commands(line: str, deep: int = 0) -> Iterator[list[str]]:
    """Yield the words of each command in a line, also of those in its substitutions and quoted words.

    Yields nothing for what cannot be parsed.

    >>> list(parse_commands("git -c a=b push; sh -c 'ls -l'"))
    [['git', '-c', 'a=b', 'push'], ['sh', '-c', 'ls -l'], ['ls', '-l']]
    """
    reader = ShellReader(line)
    try:
        reader.read()
    except (UnclearLine, RecursionError):
        return
    quoted = list(reader.bodies)
    for words in reader.commands:
        yield [word.text for word in words]
        quoted += [word.text for word in words if " " in word.text]
    for inner in quoted if deep < _DEEPEST else ():
        yield from parse_commands(inner, deep + 1)


def plain_line(line: str) -> list[str]:
    """Return the words of a line that is one command, without operators and expansions.

    Raises:
        ValueError: it is more than one command.
        UnclearLine: it cannot be read.

    >>> plain_line("git log --format='%H %s'")
    ['git', 'log', '--format=%H %s']
    """
    reader = ShellReader(line)
    reader.read()
    [words] = reader.commands
    return [word.text for word in words]


def _is_unread(words: Sequence[ShellWord], depth: int) -> bool:
    """Return True if one command may run another that is not written in it."""
    names = [word.text.rpartition("/")[2] for word in words]
    if sum(name in _LEADS or bool(_LANGUAGE.fullmatch(name)) for name in names) > _MOST:
        return True
    return _runs_within(words, names, depth) or _starts_unread(words, depth)


def _runs_within(words: Sequence[ShellWord], names: Sequence[str], depth: int) -> bool:
    """Return True if a command among the words (``find -exec``, ``ssh sh -c``) may run an unread one."""
    for at, name in enumerate(names):
        inner = name in _SHELLS and at and any("c" in word.text for word in words[at + 1 : at + 2])
        if (name in _WITHIN or inner) and _starts_unread(words, depth, at + (not inner)):
            return True
    return False


def _starts_unread(words: Sequence[ShellWord], depth: int, first: int = 0) -> bool:
    """Return True if the program at `first`, after assignments, may run a command that is not written."""
    places = range(first, len(words))
    start = next((at for at in places if not _ASSIGNMENT.match(words[at].text)), None)
    if start is None:
        return False
    program, behind = words[start], start + 1
    name = program.text.rpartition("/")[2]
    if not program.sure or name in _TEXT:
        return True
    if name in WRAPPERS:
        return _is_unread_behind(words, depth, behind)
    if name in _SHELLS:
        return _takes_text(words[behind:], depth)
    return bool(_LANGUAGE.fullmatch(name)) and _takes_code(words[behind:])


def _is_unread_behind(words: Sequence[ShellWord], depth: int, first: int) -> bool:
    """Return True if the program that a wrapper such as ``env`` starts may run a command that is not written.

    Args:
        words: The command.
        depth: See `runs_unread`.
        first: Index of the word after the wrapper.
    """
    behind_option = False
    for at in range(first, len(words)):
        word = words[at]
        if word.text.startswith("-") and word.sure:
            if word.text.startswith(("-S", "--split-string")):
                return True
            behind_option = True
        elif not (_ASSIGNMENT.match(word.text) or _AMOUNT.fullmatch(word.text)):
            if _starts_unread(words, depth, at):
                return True
            if not behind_option or word.text.rpartition("/")[2] in WRAPPERS:
                return False  # what is behind that one has been examined
            behind_option = False
    return False


def _takes_text(words: Sequence[ShellWord], depth: int) -> bool:
    """Return True if a shell runs text that is not written in the line."""
    is_code = skip = False
    for text, sure in words:
        if text in _ASKS:
            return False
        if skip or text in _HARMLESS:
            skip = False
        elif sure and text[:1] in ("-", "+") and len(text) > 1:
            if text.startswith("--") or "s" in text:
                return True  # a file of commands, or standard input
            is_code, skip = is_code or "c" in text, text[-1] in "oO"
        elif is_code:
            return not sure or text == "{}" or runs_unread(text, depth + 1)
        else:
            return not sure or bool(_INPUT.fullmatch(text))
    return True


def _takes_code(words: Sequence[ShellWord]) -> bool:
    """Return True if another interpreter runs code that is not written in the line."""
    for at, (text, _) in enumerate(words):
        if text in _CODE:
            return any(not word.sure for word in words[at + 1 : at + 2])
        if not text.startswith("-") or text == "-" or text == "-m":
            return bool(_INPUT.fullmatch(text))
        if text in _ASKS or text in ("-V", "-v", "-h"):
            return False
    return True
