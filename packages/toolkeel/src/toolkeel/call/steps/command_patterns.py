"""Patterns of rules for shell commands.

A pattern of characters cannot decide if a command is harmless: ``git status; rm -rf .`` starts like
``git status``. So a rule that allows commands is compared with parsed words, and only a line that is
one plain command has any: no operators, expansions, redirections or assignments, and no character
that means something to a shell, even quoted.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence

from toolkeel.call.steps.shell_parser import parse_commands, plain_line, runs_unread

_PLAIN = re.compile(r"(?:[\w@%+:,./=-]|'[^'\\\x00-\x1f\x7f]*'|\"[^\"\\$`!\x00-\x1f\x7f]*\"| )+")
MAX_LENGTH = 4096
"""Longest line that is looked at, in characters; a longer one is not plain."""
MAX_PARTS = 200
"""Most words of a line that a `deny` or `ask` rule examines."""
MAX_SCANNED = 50_000
"""Longest line that such a rule examines, in characters; a longer one counts as a match."""
_QUOTES = re.compile(r"\\\n|[\\'\"]")
_COARSE = re.compile(r"[\s;&|()<>`{}]+|\$\(")
_FINE = re.compile(r"[\s;&|()<>`{}!=,:\[\]'\"]+|\$\(")
_FOLDERS = re.compile(r"^[^\s*?]*/")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_KEYWORDS = frozenset([
    "alias", "builtin", "case", "command", "coproc", "declare", "do", "done", "elif", "else",
    "enable", "env", "esac", "eval", "exec", "export", "fi", "for", "function", "hash", "if",
    "in", "local", "nice", "nohup", "readonly", "select", "set", "shopt", "source", "sudo",
    "then", "time", "timeout", "trap", "typeset", "unalias", "unset", "until", "while", "xargs",
    ".", ":",
])  # fmt: skip


def plain_words(command: str) -> list[str] | None:
    """Return the words of a line that is one plain command, or None if it may be more.

    >>> plain_words("git log --format='%H %s'")
    ['git', 'log', '--format=%H %s']
    >>> plain_words("git status; rm -rf .") is None
    True
    """
    text = command.strip(" ")
    if (
        len(text) > MAX_LENGTH
        or not text.isascii()
        or not _PLAIN.fullmatch(text)
        or _ASSIGNMENT.match(text)
    ):
        return None
    words = plain_line(text)
    return None if not words or words[0] in _KEYWORDS or not words[0] else words


def covers(pattern: str, command: str) -> bool:
    """Return True if a pattern of words, each with ``*`` and ``?``, covers all that a line runs.

    A last ``*`` of its own matches any further words, and for none.

    >>> covers("git log *", "git log -3"), covers("git log", "git log -3")
    (True, False)
    """
    words, wanted = plain_words(command), pattern.split()
    if words is None or not wanted:
        return False
    if wanted[-1] == "*" and len(wanted) > 1:
        wanted = wanted[:-1]
        words = words[: len(wanted)]
    return len(words) == len(wanted) and all(map(fnmatch.fnmatchcase, words, wanted))


def loose_words(command: str) -> list[list[str]]:
    """Return the parts of a line between signs, in three ways to split it.

    Whatever a shell makes of the line, its words are among them or are made of them: they are split
    at operators and spaces, the same without quotes, and at every sign.

    >>> loose_words("cat 'a b'")
    [['cat', "'a", "b'"], ['cat', 'a', 'b'], ['cat', 'a', 'b']]
    """
    plain = _QUOTES.sub("", command)
    ways = ((command, _COARSE), (plain, _COARSE), (command, _FINE))
    return [list(filter(None, breaks.split(text))) for text, breaks in ways]


def may_mention(pattern: str, command: str) -> bool:
    """Return True if a `deny` or `ask` pattern may match any command in a line of shell.

    It is compared with the line, with each part between operators, quotes and signs, and with each
    of their ends, as they are written and without quotes and the folders of programs. A last ``*``
    of its own matches no words, too. Between two words of the pattern, a command may have options, each
    with a value (``git -C x push``). What only a shell can tell, such as a program that is named
    by a variable, counts as a match (`shell_parser`); so does what is beyond `MAX_PARTS`, and a
    line of more characters than `MAX_SCANNED`, which would hold up the loop.

    >>> may_mention("rm *", "cd x && rm -rf ."), may_mention("rm *", "find . | xargs rm")
    (True, True)
    """
    if len(command) > MAX_SCANNED:
        return True
    loose = pattern if pattern.endswith("*") else f"{pattern}*"
    ways = loose_words(command)
    if any(len(parts) > MAX_PARTS or _matches_end(loose, parts) for parts in ways):
        return True
    ends = (words[at:] for words in parse_commands(command) for at in range(len(words)))
    if any(_matches_past_options(loose.split(), words) for words in ends):
        return True
    return fnmatch.fnmatchcase(command, pattern) or runs_unread(command)


def _matches_end(pattern: str, parts: Sequence[str]) -> bool:
    """Return True if a pattern matches any number, at least one, of the last words of a line."""
    for start in range(len(parts)):
        end = " ".join(parts[start:])
        for each in (end, _FOLDERS.sub("", end)):
            if fnmatch.fnmatchcase(each, pattern) or fnmatch.fnmatchcase(f"{each} ", pattern):
                return True
    return False


def _matches_past_options(pattern: Sequence[str], words: Sequence[str]) -> bool:
    """Return True if a command begins with the words of a pattern, options between them left out.

    An option may have a value, which is left out too. The program's folder does not count, and
    ``git-push`` is ``git push``.
    """
    program = _FOLDERS.sub("", words[0])
    wanted, rest = pattern[:1], pattern[1:]
    if rest and fnmatch.fnmatchcase(program, f"{wanted[0]}-{rest[0]}"):  # as git-push
        wanted, rest = [program], rest[1:]
    if not wanted or not fnmatch.fnmatchcase(program, wanted[0]):
        return False
    places = {1}
    for word in rest if rest[-1:] != ["*"] else rest[:-1]:
        for at in range(1, min(len(words), MAX_PARTS)):
            if at in places and words[at].startswith("-"):
                places |= {at + 1, at + 2}
        places = {
            at + 1 for at in places if at < len(words) and fnmatch.fnmatchcase(words[at], word)
        }
    return bool(places)
