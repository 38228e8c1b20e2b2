"""How many calls an edit takes: a hundred changes of installed libraries, made with usual mistakes.

A scripted editor changes functions of libraries that are installed here. It has read the file, and
then makes one of the mistakes models make when they quote: another indentation, blanks at the ends
of lines, a line that stands there twice, a name from memory, and their like. What it does next it
takes from the answer: if the right passage stands in it, it quotes that; else it reads the file
again, which is a call as well. Beside ours stand the rules that pi and Claude Code publish for
their tools, written down here as functions of a text.

    python -m benchmarks.editing
"""

from __future__ import annotations

import ast
import importlib.util
import random
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

from toolkeel import RunContext, Toolset
from toolkeel.messages import ToolCall
from toolkeel_workspace.files.workspace import Workspace

LIBRARIES = ("click", "anyio", "h11", "idna", "attr", "jmespath", "docstring_parser", "pydantic")
TASKS = 100
MOST_CALLS = 8
MISTAKES = (
    "none",
    "indented otherwise",
    "blanks at line ends",
    "a word from memory",
    "stands there twice",
    "Windows line ends",
    "line numbers copied",
    "typographic quotes",
    "after its own sed",
    "every place at once",
)


class Task(NamedTuple):
    """One change.

    Args:
        name: Of the file.
        text: The file.
        old: The lines that change, with lines around them.
        new: What they become.
        mistake: What is wrong with the first try.
    """

    name: str
    text: str
    old: str
    new: str
    mistake: str


def sources() -> Iterator[Path]:
    for library in LIBRARIES:
        spec = importlib.util.find_spec(library)
        assert spec is not None and spec.origin is not None
        yield from sorted(Path(spec.origin).parent.rglob("*.py"))


def tasks() -> list[Task]:
    """A hundred changes, the same each time for the same libraries."""
    choice, found = random.Random(7), list[Task]()
    files = list(sources())
    while len(found) < TASKS:
        path = choice.choice(files)
        text = path.read_text("utf-8")
        made = changed(text, choice, path.name, MISTAKES[len(found) % len(MISTAKES)])
        if made is not None:
            found.append(made)
    return found


def changed(text: str, choice: random.Random, name: str, mistake: str) -> Task | None:
    """One statement within a function gets a guard around it, or another value."""
    lines = text.split("\n")
    bodies = [
        node.body
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and len(node.body) > 2
    ]
    if not bodies:
        return None
    body = choice.choice(bodies)
    first, last = body[1], body[2]
    assert last.end_lineno is not None
    old = lines[first.lineno - 1 : last.end_lineno]
    if text.count("\n".join(old)) != 1 or len(old) > 12 or "\n".join(old).count('"""'):
        return None
    indent = old[0][: len(old[0]) - len(old[0].lstrip())]
    new = [f"{indent}if enabled:", *(f"    {line}" if line else line for line in old)]
    if mistake == "every place at once":
        word = next((w for w in old[0].split() if w.isidentifier() and text.count(w) > 2), "")
        return Task(name, text, word, f"{word}_renamed", mistake) if word else None
    if mistake == "stands there twice" and text.count(f"{old[0]}\n") < 2:
        return None
    if mistake == "typographic quotes" and '"' not in "\n".join(old):
        return None
    return Task(name, text, "\n".join(old), "\n".join(new), mistake)


def first_try(task: Task) -> tuple[str, str, bool]:
    """What the editor quotes first: old text, new text, and whether it asks for every place."""
    old, new = task.old, task.new
    match task.mistake:
        case "indented otherwise":
            cut = len(old) - len(old.lstrip())
            old, new = (dedented(text, cut) for text in (old, new))
        case "blanks at line ends":
            old = old.replace("\n", "  \n")
        case "a word from memory":
            words = sorted({word for word in old.split() if word.isidentifier()}, key=len)
            old = old.replace(words[-1], f"the_{words[-1]}", 1) if words else f"{old} "
        case "stands there twice":
            old, new = old.split("\n")[0], new.split("\n", 1)[0]
        case "line numbers copied":
            start = task.text[: task.text.index(old)].count("\n") + 1
            old = "\n".join(f"{start + n}: {line}" for n, line in enumerate(old.split("\n")))
        case "typographic quotes":
            old = old.replace('"', "\u201d")
    return old, new, task.mistake == "every place at once"


def dedented(text: str, cut: int) -> str:
    return "\n".join(line[cut:] if not line[:cut].strip() else line for line in text.split("\n"))


class Tools(Protocol):
    """What the editor works with: tools for one file."""

    def now(self) -> str:
        """The file."""

    def edit(self, old: str, new: str, everywhere: bool) -> str:
        """Replace a passage; what went wrong, or nothing."""

    def sed(self) -> None:
        """Change the file by a command of one's own."""

    def read(self) -> None:
        """Read the file again."""


class Pi:
    """pi: unique, exact or with trimmed line ends and plain characters; line ends do not matter."""

    def __init__(self, text: str) -> None:
        self.text = text

    def now(self) -> str:
        return self.text

    def sed(self) -> None:
        self.text += "# end\n"

    def read(self) -> None:
        pass

    def edit(self, old: str, new: str, everywhere: bool) -> str:
        text, ending = self.text, "\r\n" if "\r\n" in self.text else "\n"
        text = text.replace("\r\n", "\n")
        if text.count(old) == 0:
            text, old = plain(text), plain(old)
        if text.count(old) != 1:
            return "occurrences" if old in text else "Could not find the exact text"
        self.text = text.replace(old, new).replace("\n", ending)
        return ""


def plain(text: str) -> str:
    kept = "\n".join(line.rstrip() for line in unicodedata.normalize("NFKC", text).split("\n"))
    return kept.translate(str.maketrans("\u2018\u2019\u201c\u201d\u2013\u2014", "''\"\"--"))


class ClaudeCode(Pi):
    """Claude Code: exact but for quotes, unique or ``replace_all``, and read again after changes."""

    stale = False

    def edit(self, old: str, new: str, everywhere: bool) -> str:
        if self.stale:
            return "File has been modified since read. Read it again"
        text, ending = self.text, "\r\n" if "\r\n" in self.text else "\n"
        text = text.replace("\r\n", "\n")
        straight = old.translate(str.maketrans("\u2018\u2019\u201c\u201d", "''\"\""))
        old = old if old in text else straight
        if old not in text:
            return "String to replace not found in file"
        if text.count(old) > 1 and not everywhere:
            return "occurrences"
        self.text = text.replace(old, new).replace("\n", ending)
        return ""

    def sed(self) -> None:
        super().sed()
        self.stale = True

    def read(self) -> None:
        self.stale = False


class Ours:
    """The tools of a `Workspace`, called as a model calls them."""

    def __init__(self, text: str) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name, "file.py")
        self.path.write_bytes(text.encode())
        self.tools = Toolset(Workspace(self.folder.name, "off").tools)
        self.read()

    def now(self) -> str:
        return self.path.read_bytes().decode()

    def call(self, name: str, **arguments: object) -> str:
        run = RunContext(approver=lambda ticket: True)
        [message] = self.tools.run_sync([ToolCall("1", name, arguments)], run)
        return message.text if message.failed else ""

    def edit(self, old: str, new: str, everywhere: bool) -> str:
        return self.call("edit", path="file.py", old_text=old, new_text=new, replace_all=everywhere)

    def sed(self) -> None:
        self.call("bash", command="echo '# end' >> file.py")

    def read(self) -> None:
        self.call("read", path="file.py")


def calls_to_success(task: Task, make: Callable[[str], Tools]) -> int:
    """How many calls the editor needs."""
    windows = task.mistake == "Windows line ends"
    text = task.text.replace("\n", "\r\n") if windows else task.text
    tools = make(text)
    wanted = task.text.replace(task.old, task.new)
    if task.mistake == "after its own sed":
        tools.sed()
        wanted += "# end\n"
    wanted = wanted.replace("\n", "\r\n") if windows else wanted
    old, new, everywhere = first_try(task)
    calls = 0
    while calls < MOST_CALLS:
        calls += 1
        said = tools.edit(old, new, everywhere)
        if tools.now() == wanted:
            return calls
        if everywhere:  # by a command, then
            return calls + 1
        shown = all(line.strip() in said for line in task.old.split("\n"))
        told = ("more than once", "occurrences", "line numbers")
        if not shown and not any(words in said for words in told):
            tools.read()
            calls += 1
        old, new = task.old, task.new
    return calls


def main() -> None:
    """Print the table."""
    rows = {"toolkeel": Ours, "pi's rules": Pi, "Claude Code's rules": ClaudeCode}
    all_tasks = tasks()
    print("| tools | calls for 100 edits | at once | " + " | ".join(MISTAKES) + " |")
    for name, make in rows.items():
        taken = [(task.mistake, calls_to_success(task, make)) for task in all_tasks]
        total, once = sum(calls for _, calls in taken), sum(calls == 1 for _, calls in taken)
        by = Counter[str]()
        for mistake, calls in taken:
            by[mistake] += calls
        print(f"| {name} | {total} | {once} | " + " | ".join(str(by[m]) for m in MISTAKES) + " |")


if __name__ == "__main__":
    main()
