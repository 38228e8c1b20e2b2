"""A shell line, split into its commands and the texts of commands in backquotes."""

from __future__ import annotations

import re
from typing import NamedTuple

WRAPPERS = frozenset([
    "!", "builtin", "busybox", "chroot", "command", "coproc", "do", "doas", "elif", "else", "env",
    "exec", "flock", "if", "ionice", "nice", "nohup", "parallel", "pkexec", "runuser", "script",
    "setsid", "stdbuf", "strace", "su", "sudo", "then", "time", "timeout", "unshare", "until",
    "watch", "while", "xargs",
])  # fmt: skip
"""Commands that run the program behind them and their options."""
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


class ShellWord(NamedTuple):
    """A word of a command.

    Args:
        text: The text as the shell reads it.
        sure: True if the shell expands nothing in it.
    """

    text: str
    sure: bool = True


class UnclearLine(Exception):
    """Raised for a line that is not shell or that uses unsupported syntax."""


class ShellReader:
    """Splits a line into its commands and the texts of commands in backquotes."""

    def __init__(self, line: str) -> None:
        self.line, self.at = line, 0
        self.commands: list[list[ShellWord]] = []
        self.bodies: list[str] = []
        self._here: list[tuple[str, str]] = []  # patterns of the ends of texts in the next lines

    def read(self, end: str = "") -> None:
        """Read commands up to `end` or the line's end; raise `UnclearLine` if `end` is missing."""
        words: list[ShellWord] = []
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
            raise UnclearLine
        self.commands.append(words)

    def _operator(self, char: str) -> None:
        """Read what follows an operator, such as a subshell; raise `UnclearLine` for ``)``."""
        if char == ")":  # of a case, or of nothing
            raise UnclearLine
        if char == "(":
            self._nested()
        if char == "\n" and self._here:
            self._skip_texts()

    def _nested(self) -> None:
        """Read the commands of a group in parentheses, and move behind it.

        Raises:
            UnclearLine: the group has no end.
        """
        self.read(")")
        self.at += 1

    def _add(self, words: list[ShellWord], word: ShellWord, quoted: bool) -> list[ShellWord]:
        """Add a word to a command. Return the current command's words: a new list after a brace.

        An unquoted ``[[`` is read up to its end, and adds nothing. Raises `UnclearLine` without an end.
        """
        if quoted:  # then no word means anything to the shell itself
            words.append(word)
            return words
        if word.text == "[[" and all(each.text in WRAPPERS for each in words):
            while self._of_condition() != "]]":
                pass
            return words
        if word.text in ("{", "}"):
            self.commands.append(words)
            return []
        words.append(word)
        return words

    def _of_condition(self) -> str:
        """Read a word of a ``[[``. Return it, "" for an operator; raise `UnclearLine` at the end."""
        if self.at >= len(self.line):
            raise UnclearLine
        if self.line[self.at] in " \t\r\n;&|()<>":
            self.at += 1
            return ""
        return self._word().text

    def _redirect(self, found: re.Match[str]) -> None:
        """Skip a redirection and its target, and record the end mark of a here-document.

        Raises:
            UnclearLine: the target is missing, or is not certain.
        """
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
        """Skip here-documents but read their substitutions; raise `UnclearLine` if one has no end."""
        for end, expanded in self._here:
            found = re.compile(end, re.MULTILINE).search(self.line, self.at)
            if found is None:
                raise UnclearLine
            inner = ShellReader(self.line[self.at : found.start()])
            while expanded and inner.at < len(inner.line):
                inner._piece(_PLAIN_HERE)
            self.commands += inner.commands
            self.bodies += inner.bodies
            self.at = found.end()
        self._here = []

    def _word(self) -> ShellWord:
        """Read and return the next word, without quotes, with True if its text is certain.

        Raises:
            UnclearLine: there is none, or its text depends on what the shell does.
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
            raise UnclearLine
        if self.line[start : self.at] in ("[", "[["):
            return ShellWord(self.line[start : self.at])
        return ShellWord(made, sure and not _BRACES.search(bare))

    def _quoted(self) -> str | None:
        """Read a text in double quotes. Return it, or None if it contains an expansion.

        Raises:
            UnclearLine: the text has no end.
        """
        self.at += 1
        made, sure = "", True
        while self.at < len(self.line) and self.line[self.at] != '"':
            text = self._piece(_PLAIN_QUOTED)
            made, sure = made + (text or ""), sure and text is not None
        self._to('"')
        self.at += 1
        return made if sure else None

    def _piece(self, plain: re.Pattern[str]) -> str | None:
        """Read on. Return the next characters, None for an expansion, or raise `UnclearLine`.

        Commands in backquotes are added to `bodies`, those in other expansions to `commands`.
        """
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
                raise UnclearLine
            self.bodies.append(re.sub(r"\\([`$\\])", r"\1", found[1]))
            self.at = found.end()
        elif char == "$" and not _EXPANDS.match(self.line, self.at - 1):
            return char
        elif char == "$" and rest in ("(", "{"):
            self._expansion(rest)
        return None

    def _expansion(self, opens: str) -> None:
        """Skip an expansion but read the commands inside it; raise `UnclearLine` if it has no end."""
        if found := _ARITHMETIC.match(self.line, self.at):
            self.at = found.end()
            return
        self.at += 1
        if opens == "(":
            self._nested()
            return
        while self.at < len(self.line) and self.line[self.at] != "}":
            if self.line[self.at] == "'":
                raise UnclearLine
            if self.line[self.at] == '"':
                self._quoted()
            else:
                self._piece(_NAME)
        self._to("}")
        self.at += 1

    def _to(self, end: str) -> str:
        """Move to `end` and return the text before it; raise `UnclearLine` if it is missing.

        A missing line end is the end of the text.
        """
        found = self.line.find(end, self.at)
        if found < 0 and end != "\n":
            raise UnclearLine
        start, self.at = self.at, found if found >= 0 else len(self.line)
        return self.line[start : self.at]
