"""Reading a line of shell, to find commands that its words do not show.

Rules that deny or ask look for a program anywhere in a line. A line can also run what is not written
in it: a program named by a variable or a glob, text that comes from another command or an expansion
into a shell, an alias. Such a line, or one that cannot be parsed, counts as one that may run anything.
Files that are run (``./x``, ``bash x.sh``) are not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_TEXT = frozenset([
    ".", "alias", "bind", "case", "compgen", "complete", "enable", "eval", "fc", "hash", "mapfile",
    "readarray", "source", "trap",
])  # fmt: skip
"""What runs its arguments as shell, or makes a name mean something else."""
_BEFORE = frozenset([
    "!", "builtin", "busybox", "chroot", "command", "coproc", "do", "doas", "elif", "else", "env",
    "exec", "flock", "if", "ionice", "nice", "nohup", "parallel", "pkexec", "runuser", "script",
    "setsid", "stdbuf", "strace", "su", "sudo", "then", "time", "timeout", "unshare", "until",
    "watch", "while", "xargs",
])  # fmt: skip
"""Commands that run the program behind them and their options."""
_WITHIN = frozenset(["-exec", "-execdir", "-ok", "-okdir"])
_SHELLS = frozenset("ash bash csh dash fish ksh mksh rbash sh tcsh zsh".split())  # noqa: SIM905
_LEADS = _BEFORE | _WITHIN | _SHELLS
_LANGUAGE = re.compile(r"(?:python|pypy|perl|ruby|node|nodejs|php|lua|deno|bun)[\d.]*")
_CODE = frozenset(["-c", "-e", "-E", "-r", "-p", "--eval", "--print"])
_ASKS = frozenset(["--version", "--help"])
_HARMLESS = frozenset(["--login", "--noprofile", "--norc", "--posix"])
_INPUT = re.compile(r"-|/dev/(?:stdin|fd/.*)|/proc/self/fd/.*")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=")
_AMOUNT = re.compile(r"[\d.]+[a-z]?")
_REDIRECTION = re.compile(r"(?:\d*|\{\w+\})(<<<|<<-?|<>|>>|>\||[<>]&|<(?!\()|>(?!\())")
_EXPANDS = re.compile(r"\$(?=[\w@*#?!$'\"(\[{-])")
_PLAIN = re.compile(r"[^\s;&|()<>'\"\\`$*?\[]+")
_PLAIN_QUOTED = re.compile(r"[^\"\\`$]+")
_PLAIN_HERE = re.compile(r"[^\\`$]+")
_ARITHMETIC = re.compile(r"\(\([\w\s+*/%<>=!&|?:,^~$-]*\)\)")
_ESCAPED_QUOTE = re.compile(r"\$'(?:[^'\\]|\\.)*'", re.DOTALL)
_BACKQUOTED = re.compile(r"((?:[^`\\]|\\.)*)`", re.DOTALL)
_NAME = re.compile(r"[^\"'\\`$}]+")
_BRACES = re.compile(r"\{[^{}]*(?:,|\.\.)")
_DEEPEST, _MOST = 8, 8


class _Word(NamedTuple):
    """A word of a command, with its text as the shell reads it."""

    text: str
    sure: bool = True  # nothing in it is expanded


class _Unclear(Exception):
    """Raised for a line that is not shell or that uses unsupported syntax."""


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
    reader = _Reader(line)
    try:
        reader.read()
    except (_Unclear, RecursionError):
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
    reader = _Reader(line)
    try:
        reader.read()
    except (_Unclear, RecursionError):
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
        _Unclear: it cannot be read.

    >>> plain_line("git log --format='%H %s'")
    ['git', 'log', '--format=%H %s']
    """
    reader = _Reader(line)
    reader.read()
    [words] = reader.commands
    return [word.text for word in words]


def _is_unread(words: Sequence[_Word], depth: int) -> bool:
    """Return True if one command may run another that is not written in it."""
    names = [word.text.rpartition("/")[2] for word in words]
    if sum(name in _LEADS or bool(_LANGUAGE.fullmatch(name)) for name in names) > _MOST:
        return True
    return _runs_within(words, names, depth) or _starts_unread(words, depth)


def _runs_within(words: Sequence[_Word], names: Sequence[str], depth: int) -> bool:
    """Return True if a command among the words (``find -exec``, ``ssh sh -c``) may run an unread one."""
    for at, name in enumerate(names):
        inner = name in _SHELLS and at and any("c" in word.text for word in words[at + 1 : at + 2])
        if (name in _WITHIN or inner) and _starts_unread(words, depth, at + (not inner)):
            return True
    return False


def _starts_unread(words: Sequence[_Word], depth: int, first: int = 0) -> bool:
    """Return True if the program at `first`, after assignments, may run a command that is not written."""
    places = range(first, len(words))
    start = next((at for at in places if not _ASSIGNMENT.match(words[at].text)), None)
    if start is None:
        return False
    program, behind = words[start], start + 1
    name = program.text.rpartition("/")[2]
    if not program.sure or name in _TEXT:
        return True
    if name in _BEFORE:
        return _is_unread_behind(words, depth, behind)
    if name in _SHELLS:
        return _takes_text(words[behind:], depth)
    return bool(_LANGUAGE.fullmatch(name)) and _takes_code(words[behind:])


def _is_unread_behind(words: Sequence[_Word], depth: int, first: int) -> bool:
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
            if not behind_option or word.text.rpartition("/")[2] in _BEFORE:
                return False  # what is behind that one has been examined
            behind_option = False
    return False


def _takes_text(words: Sequence[_Word], depth: int) -> bool:
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


def _takes_code(words: Sequence[_Word]) -> bool:
    """Return True if another interpreter runs code that is not written in the line."""
    for at, (text, _) in enumerate(words):
        if text in _CODE:
            return any(not word.sure for word in words[at + 1 : at + 2])
        if not text.startswith("-") or text == "-" or text == "-m":
            return bool(_INPUT.fullmatch(text))
        if text in _ASKS or text in ("-V", "-v", "-h"):
            return False
    return True


class _Reader:
    """Splits a line into its commands and the texts of commands in backquotes."""

    def __init__(self, line: str) -> None:
        self.line, self.at = line, 0
        self.commands: list[list[_Word]] = []
        self.bodies: list[str] = []
        self._here: list[tuple[str, str]] = []  # patterns of the ends of texts in the next lines

    def read(self, end: str = "") -> None:
        """Read commands up to `end` or the line's end; raise `_Unclear` if `end` is missing."""
        words: list[_Word] = []
        while self.at < len(self.line) and self.line[self.at] != end:
            char = self.line[self.at]
            if found := _REDIRECTION.match(self.line, self.at):
                self._redirect(found)
            elif char in " \t\r" or self.line.startswith("\\\n", self.at):
                self.at += 1 + (char == "\\")
            elif char == "#":
                self._to("\n")
            elif char in "\n;&|()":
                self.at += 1
                self.commands.append(words)
                self._operator(char)
                words = []
            else:
                start = self.at
                word = self._word()
                words = self._add(words, word, self.line[start : self.at] != word.text)
        if end and self.at >= len(self.line):
            raise _Unclear
        self.commands.append(words)

    def _operator(self, char: str) -> None:
        """Read what follows an operator, such as a subshell; raise `_Unclear` for ``)``."""
        if char == ")":  # of a case, or of nothing
            raise _Unclear
        if char == "(":
            self._nested()
        if char == "\n" and self._here:
            self._skip_texts()

    def _nested(self) -> None:
        """Read the commands of a group in parentheses, and move behind it."""
        self.read(")")
        self.at += 1

    def _add(self, words: list[_Word], word: _Word, quoted: bool) -> list[_Word]:
        """Add a word to a command. Return the current command's words: a new list after a brace.

        An unquoted ``[[`` is read up to its end, and adds nothing.
        """
        if quoted:  # then no word means anything to the shell itself
            words.append(word)
            return words
        if word.text == "[[" and all(each.text in _BEFORE for each in words):
            while self._of_condition() != "]]":
                pass
            return words
        if word.text in ("{", "}"):
            self.commands.append(words)
            return []
        words.append(word)
        return words

    def _of_condition(self) -> str:
        """Read a word of a ``[[``. Return it, "" for an operator; raise `_Unclear` at the end."""
        if self.at >= len(self.line):
            raise _Unclear
        if self.line[self.at] in " \t\r\n;&|()<>":
            self.at += 1
            return ""
        return self._word().text

    def _redirect(self, found: re.Match[str]) -> None:
        """Skip a redirection and its target, and record the end mark of a here-document."""
        self.at = found.end()
        while self.line.startswith((" ", "\t"), self.at):
            self.at += 1
        start = self.at
        target = self._word()
        if found[1] in ("<<", "<<-"):
            quoted = not {"'", '"', "\\"}.isdisjoint(self.line[start : self.at])
            tabs = r"\t*" if found[1] == "<<-" else ""
            self._here.append((rf"^{tabs}{re.escape(target.text)}$", "" if quoted else "expanded"))

    def _skip_texts(self) -> None:
        """Skip here-documents but read their substitutions; raise `_Unclear` if one has no end."""
        for end, expanded in self._here:
            found = re.compile(end, re.MULTILINE).search(self.line, self.at)
            if found is None:
                raise _Unclear
            inner = _Reader(self.line[self.at : found.start()])
            while expanded and inner.at < len(inner.line):
                inner._piece(_PLAIN_HERE)
            self.commands += inner.commands
            self.bodies += inner.bodies
            self.at = found.end()
        self._here = []

    def _word(self) -> _Word:
        """Read the next word, without quotes, and whether its text is certain.

        Raises:
            _Unclear: there is none, or its text depends on what the shell does.
        """
        made, bare, sure, start = "", "", True, self.at
        while self.at < len(self.line) and self.line[self.at] not in " \t\r\n;&|()":
            char = self.line[self.at]
            text: str | None
            if found := _ESCAPED_QUOTE.match(self.line, self.at):
                text, self.at = None, found.end()
            elif char in "<>":
                if not self.line.startswith("(", self.at + 1):
                    break
                self.at += 2  # what reads, or is read, like a file
                self._nested()
                text = None
            elif char == "'":
                self.at += 1
                text = self._to("'")
                self.at += 1
            elif char == '"':
                text = self._quoted()
            else:
                text = self._piece(_PLAIN)
                bare += text or ""
            made, sure = made + (text or ""), sure and text is not None
        if self.at == start:
            raise _Unclear
        if self.line[start : self.at] in ("[", "[["):
            return _Word(self.line[start : self.at])
        return _Word(made, sure and not _BRACES.search(bare))

    def _quoted(self) -> str | None:
        """Read a text in double quotes. Return it, or None if it contains an expansion."""
        self.at += 1
        made, sure = "", True
        while self.at < len(self.line) and self.line[self.at] != '"':
            text = self._piece(_PLAIN_QUOTED)
            made, sure = made + (text or ""), sure and text is not None
        self._to('"')
        self.at += 1
        return made if sure else None

    def _piece(self, plain: re.Pattern[str]) -> str | None:
        """Read on. Return the next characters, None for an expansion, or raise `_Unclear`."""
        if found := plain.match(self.line, self.at):
            self.at = found.end()
            return found[0]
        char, rest = self.line[self.at], self.line[self.at + 1 : self.at + 2]
        self.at += 1
        if char == "\\":
            self.at += 1
            return "" if rest == "\n" else rest
        if char == "`":
            if not (found := _BACKQUOTED.match(self.line, self.at)):
                raise _Unclear
            self.bodies.append(re.sub(r"\\([`$\\])", r"\1", found[1]))
            self.at = found.end()
        elif char == "$" and not _EXPANDS.match(self.line, self.at - 1):
            return char
        elif char == "$" and rest in ("(", "{"):
            self._expansion(rest)
        return None

    def _expansion(self, opens: str) -> None:
        """Skip an expansion but read the commands inside it; raise `_Unclear` if it has no end."""
        if found := _ARITHMETIC.match(self.line, self.at):
            self.at = found.end()
            return
        self.at += 1
        if opens == "(":
            self._nested()
            return
        while self.at < len(self.line) and self.line[self.at] != "}":
            if self.line[self.at] == "'":
                raise _Unclear
            if self.line[self.at] == '"':
                self._quoted()
            else:
                self._piece(_NAME)
        self._to("}")
        self.at += 1

    def _to(self, end: str) -> str:
        """Move to `end` and return the text before it; raise `_Unclear` if it is missing.

        A missing line end is the end of the text.
        """
        found = self.line.find(end, self.at)
        if found < 0 and end != "\n":
            raise _Unclear
        start, self.at = self.at, found if found >= 0 else len(self.line)
        return self.line[start : self.at]
