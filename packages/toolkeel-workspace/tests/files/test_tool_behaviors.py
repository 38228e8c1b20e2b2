"""What the tools of coding agents do, and these as well: a sentence for each, with a call that shows it."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from toolkeel import RunContext, Toolset
from toolkeel.messages import ToolCall, ToolMessage
from toolkeel_workspace.files.apply_patch import apply_patch
from toolkeel_workspace.files.workspace import Workspace

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
LINES = "".join(f"line {number}\n" for number in range(1, 3001))
WIDE = "".join(f"{number} {'x' * 97}\n" for number in range(1, 1001))
"""About 100 KB in lines of about 100 bytes."""
TWICE = "end()\nend()\nend()\n"


class Row(NamedTuple):
    """One behavior.

    Args:
        sentence: The behavior, as a sentence.
        files: Files that exist before, by path.
        call: The tool and its arguments.
        shown: Parts of the result.
        after: Contents of files afterwards; None for a file that does not exist.
        fails: True if the call fails.
        hidden: A part that the result lacks.
    """

    sentence: str
    files: Mapping[str, str | bytes]
    call: tuple[str, dict[str, Any]]
    shown: tuple[str, ...] = ()
    after: Mapping[str, str | bytes | None] = {}
    fails: bool = False
    hidden: str = ""


def read(**arguments: Any) -> tuple[str, dict[str, Any]]:
    return "read", {"path": "f", **arguments}


def edit(old: str, new: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return "edit", {"path": "f", "old_text": old, "new_text": new, **more}


def edits(*pairs: tuple[str, str]) -> tuple[str, dict[str, Any]]:
    return "edit", {"path": "f", "edits": [{"old_text": o, "new_text": n} for o, n in pairs]}


def bash(command: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return "bash", {"command": command, **more}


def grep(pattern: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return "grep", {"pattern": pattern, **more}


def find(pattern: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return "find", {"pattern": pattern, **more}


READ = [
    Row("read shows a text", {"f": "a\nb\n"}, read(), ("a\nb\n", "[f: 2 lines, 4 B]")),
    Row("read shows at most 2000 lines", {"f": LINES}, read(), ("line 2000\n", "3000 lines"), hidden="line 2001"),
    Row("read says the next call for the rest", {"f": LINES}, read(), ('Read on with path="f", offset=2001.',)),
    Row("read shows at most 50 KB, in complete lines", {"f": WIDE}, read(), ("Lines 1 to", "Read on with"), hidden="\n999 "),
    Row("read starts at an offset", {"f": LINES}, read(offset=2990), ("line 2990\n", "line 3000\n"), hidden="line 2989\n"),
    Row("read stops at a limit", {"f": LINES}, read(limit=2), ("line 2\n", "offset=3"), hidden="line 3\n"),
    Row("read takes offset and limit together", {"f": LINES}, read(offset=5, limit=1), ("Lines 5 to 5",), hidden="line 6\n"),
    Row("read refuses an offset past the end", {"f": "a\n"}, read(offset=9), ("1 line; line 9 is past its end",), fails=True),
    Row("read refuses offset 0", {"f": "a\n"}, read(offset=0), ("count from 1",), fails=True),
    Row("read shows the beginning of a line that is too long", {"f": "é" * 40_000}, read(), ("Line 1 is shown from column 1", "column=")),
    Row("read says that a file is missing, and which one is meant", {"file.txt": "a"}, read(path="fil.txt"), ("Did you mean 'file.txt'?",), fails=True),
    Row("read shows an empty file as empty", {"f": ""}, read(), ("[f: 0 lines, 0 B]",)),
    Row("read shows a picture by its bytes, not its name", {"f": PIXEL}, read(), ("image/png", "1 x 1 pixels")),
    Row("read shows text with the name of a picture as text", {"f.png": "no picture\n"}, read(path="f.png"), ("no picture",)),
    Row("read refuses binary data", {"f": b"a\0b"}, read(), ("binary, not text",), fails=True),
    Row("read refuses a folder", {"d/x": "a"}, read(path="d"), ("folder",), fails=True),
    Row("read takes a path with a leading @", {"f": "a\n"}, read(path="@f"), ("a\n",)),
    Row("read finds a name with another kind of space", {"a\u202fb.txt": "x\n"}, read(path="a b.txt"), ("x\n",)),
    Row("read finds a name in another Unicode form", {"cafe\u0301.txt": "x\n"}, read(path="caf\u00e9.txt"), ("x\n",)),
    Row("read finds a name with a curly apostrophe", {"it\u2019s.txt": "x\n"}, read(path="it's.txt"), ("x\n",)),
    Row("read leaves the folder by no path", {}, read(path="../f"), ("leaves the root",), fails=True),
    Row("read says that lines end with CRLF", {"f": "a\r\nb\r\n"}, read(), ("lines end with CRLF",)),
    Row("read says that the last line has no end", {"f": "a\nb"}, read(), ("no line end at its end",)),
]  # fmt: skip

WRITE = [
    Row("write makes a file", {}, ("write", {"path": "f", "content": "a\n"}), ("File written: f (2 B)",), {"f": "a\n"}),
    Row("write makes the folders above it", {}, ("write", {"path": "a/b/c", "content": "x"}), ("a/b/c",), {"a/b/c": "x"}),
    Row("write replaces a file, and says what it held", {"f": "a\nb\n"}, ("write", {"path": "f", "content": "c"}), ("it replaced a file that had not been read: 2 lines, 4 B",), {"f": "c"}),
    Row("write counts bytes, not characters", {}, ("write", {"path": "f", "content": "héllo😀"}), ("(10 B)",), {"f": "héllo😀"}),
    Row("write says that nothing changed", {"f": "a"}, ("write", {"path": "f", "content": "a"}), ("it had this content already",), {"f": "a"}),
    Row("write makes an empty file", {}, ("write", {"path": "f", "content": ""}), ("(0 B)",), {"f": ""}),
    Row("write shows a name with a line end as one line", {}, ("write", {"path": "a\nb", "content": ""}), ("a\\x0ab (0 B)",)),
    Row("write says that CRLF was replaced", {"f": "a\r\n"}, ("write", {"path": "f", "content": "a\n"}), ("lines ended with CRLF",)),
    Row("write says nothing of line ends that stay", {"f": "a\r\n"}, ("write", {"path": "f", "content": "b\r\n"}), ("1 line, 3 B)",)),
    Row("write refuses a folder", {"d/x": "a"}, ("write", {"path": "d", "content": ""}), ("folder",), {"d/x": "a"}, True),
    Row("write leaves the folder by no path", {}, ("write", {"path": "../f", "content": ""}), ("leaves the root",), fails=True),
]  # fmt: skip

EDIT = [
    Row("edit replaces a passage", {"f": "a\nb\n"}, edit("a", "x"), ("1 replacement",), {"f": "x\nb\n"}),
    Row("edit replaces several passages, all searched in the original", {"f": "a b c"}, edits(("a", "b"), ("b", "a")), ("2 replacements",), {"f": "b a c"}),
    Row("edit refuses passages that overlap", {"f": "abc"}, edits(("ab", "x"), ("bc", "y")), ("overlap",), {"f": "abc"}, True),
    Row("edit makes none of several if one fails", {"f": "a b"}, edits(("a", "x"), ("q", "y")), ("old_text of edit 2 was not found",), {"f": "a b"}, True),
    Row("edit refuses a passage that occurs twice", {"f": "a\na\n"}, edit("a", "x"), ("more than once", "lines 1, 2"), {"f": "a\na\n"}, True),
    Row("edit refuses overlapping occurrences", {"f": TWICE}, edit("end()\nend()", "x"), ("more than once",), {"f": TWICE}, True),
    Row("edit replaces all occurrences on demand", {"f": "a\na\n"}, edit("a", "x", replace_all=True), ("2 replacements",), {"f": "x\nx\n"}),
    Row("edit shows the most similar passage of one it does not find", {"f": "def total(x):\n    return x\n"}, edit("def totl(x):", "y"), ("line 1", "def total(x):"), {}, True),
    Row("edit refuses a change that changes nothing", {"f": "a"}, edit("a", "a"), ("would not change",), {"f": "a"}, True),
    Row("edit refuses an empty passage", {"f": "a"}, edit("", "x"), ("old_text is empty",), {"f": "a"}, True),
    Row("edit refuses a missing file", {}, edit("a", "b"), ("does not exist",), {"f": None}, True),
    Row("edit keeps a byte order mark", {"f": "\ufeffa\n"}, edit("a", "b"), (), {"f": "\ufeffb\n"}),
    Row("edit keeps CRLF", {"f": b"a\r\nb\r\n"}, edit("a\nb", "x\ny"), (), {"f": b"x\r\ny\r\n"}),
    Row("edit keeps mixed line ends beside it", {"f": b"a\r\nb\nc\r\n"}, edit("b", "x"), (), {"f": b"a\r\nx\nc\r\n"}),
    Row("edit finds typographic quotes by plain ones", {"f": "say “hi”\n"}, edit('say "hi"', "say no"), ("1 replacement",), {"f": "say no\n"}),
    Row("edit finds a dash by a hyphen", {"f": "a – b\n"}, edit("a - b", "c"), (), {"f": "c\n"}),
    Row("edit finds a line with trailing spaces", {"f": "a  \nb\n"}, edit("a\nb", "x\ny"), (), {"f": "x\ny\n"}),
    Row("edit finds compatible characters", {"f": "ﬁle\n"}, edit("file", "x"), (), {"f": "x\n"}),
    Row("edit deletes a passage", {"f": "a\nb\n"}, edit("a\n", ""), (), {"f": "b\n"}),
    Row("edit deletes lines with their indentation, though less of it was quoted", {"f": "    a = 1\nb\n"}, edit("  a = 1\n", ""), (), {"f": "b\n"}),
    Row("edit deletes a part of a line and no more", {"f": "x: a = 1\nb\n"}, edit(" a = 1\n", ""), (), {"f": "x:b\n"}),
    Row("edit keeps a missing line end", {"f": "a\nb"}, edit("a", "x"), ("no line end at its end",), {"f": "x\nb"}),
    Row("edit takes both forms together", {"f": "a b"}, edit("a", "x", edits=[{"old_text": "b", "new_text": "y"}]), ("2 replacements",), {"f": "x y"}),
    Row("edit refuses half a pair", {"f": "a"}, ("edit", {"path": "f", "old_text": "a"}), ("together",), {"f": "a"}, True),
]  # fmt: skip

BASH = [
    Row("bash returns output", {}, bash("echo hi"), ("hi",)),
    Row("bash joins standard output and error", {}, bash("echo a; echo b >&2"), ("a\nb",)),
    Row("bash starts in the folder", {"f": "here"}, bash("cat f"), ("here",)),
    Row("bash says that there was no output", {}, bash("true"), ("(no output)",)),
    Row("bash fails with the exit code, after the output", {}, bash("echo why; exit 3"), ("why\n\nCommand exited with code 3.",), fails=True),
    Row("bash reports a signal", {}, bash("kill -9 $$"), ("SIGKILL",), fails=True),
    Row("bash kills at its timeout, with the output so far", {}, bash("echo so far; sleep 60", timeout=0.3), ("so far", "timed out after 0.3 seconds"), fails=True),
    Row("bash refuses timeout 0", {}, bash("true", timeout=0), ("timeout counts from 1",), fails=True),
    Row("bash shows the last 2000 lines", {}, bash("seq 3000"), ("3000\n", "Lines 1001 to 3000 of 3000 are shown", 'All of it is kept: path="output:'), hidden="\n1000\n"),
    Row("bash shows the last 50 KB", {}, bash("yes 0123456789012345678901234567890123456789 | head -n 1900"), ("to 1900 of 1900 are shown",)),
    Row("bash shows the end of a line that is too long, from a character on", {}, bash("printf 'é%.0s' $(seq 40000)"), ("of line 1 are shown",), hidden="\ufffd"),
    Row("bash limits the output of a failed command in the same way", {}, bash("seq 3000; exit 1"), ("Lines 1001 to 3000 of 3000", "exited with code 1"), hidden="\n1000\n", fails=True),
    Row("bash gives no input", {}, bash("cat; echo done"), ("done",)),
    Row("bash ends what the command left running", {}, bash("sleep 60 & echo started"), ("started",)),
    Row("bash removes colors", {}, bash(r"printf '\033[31mred\033[0m\n'"), ("red",), hidden="\033"),
    Row("bash runs what only bash can", {}, bash("a=(1 2); echo ${a[1]}"), ("2",)),
    Row("bash says that output is in another encoding", {}, bash(r"printf 'caf\351\n'"), ("Not all of the output is UTF-8",)),
    Row("bash says nothing of an encoding that is UTF-8", {}, bash("echo café; echo \ufffd"), ("café",), hidden="Not all"),
    Row("bash says that a failed command asked for input", {}, bash("printf 'Go on? '; exit 1"), ("asked for input (Go on?)",), fails=True),
    Row("bash takes a line that has ended for no question", {}, bash("echo 'Error 111: refused>' ; echo 'why?'; exit 1"), ("why?",), hidden="asked for input", fails=True),
    Row("bash says of a command that is missing", {}, bash("no_such_program"), ("not found", "code 127"), fails=True),
]  # fmt: skip

SEARCH = [
    Row("grep shows file, line number and text", {"f": "a\nb\n"}, grep("b"), ("f:2: b", "1 match in 1 file")),
    Row("grep shows context with a dash", {"f": "a\nb\nc\n"}, grep("b", context=1), ("f-1- a\nf:2: b\nf-3- c",)),
    Row("grep searches one file", {"f": "b\n", "g": "b\n"}, grep("b", path="f"), ("1 match in 1 file",)),
    Row("grep ignores case on demand", {"f": "B\n"}, grep("b", ignore_case=True), ("f:1: B",)),
    Row("grep searches plain text on demand", {"f": "a.b\naxb\n"}, grep("a.b", literal=True), ("1 match",)),
    Row("grep takes a pattern of names", {"f.py": "b\n", "f.js": "b\n"}, grep("b", glob="*.py"), ("f.py:1",), hidden="f.js"),
    Row("grep searches hidden files", {".f": "b\n"}, grep("b"), (".f:1: b",)),
    Row("grep leaves out what git ignores", {".gitignore": "f\n", "f": "b\n"}, grep("b"), ("No matches.", "f (ignored)")),
    Row("grep stops at a limit, and says so", {"f": "b\n" * 200}, grep("b", limit=3), ("First 3 matches in 1 file; there may be more",)),
    Row("grep shows 100 matches by default", {"f": "b\n" * 200}, grep("b"), ("First 100 matches",)),
    Row("grep shows 500 characters of a long line, around the match", {"f": "x" * 3000 + "needle" + "y" * 3000}, grep("needle"), ("needle", "1 long line is shown in part", "[columns")),
    Row("grep says that nothing was found", {"f": "a\n"}, grep("zzz"), ("No matches.",)),
    Row("grep refuses a pattern that is no expression", {"f": "a\n"}, grep("("), ("literal=true",), fails=True),
    Row("find finds by a pattern of names at every depth", {"a/b/c.py": "", "d.py": ""}, find("*.py"), ("a/b/c.py\nd.py", "2 files found")),
    Row("find finds by a path", {"a/b/c.py": "", "d.py": ""}, find("a/**/*.py"), ("1 file found",)),
    Row("find finds hidden files", {".env.sample": ""}, find("*.sample"), (".env.sample",)),
    Row("find obeys a nested .gitignore", {"d/.gitignore": "x\n", "d/x": "", "x": ""}, find("x"), ("1 file found", "Left out of searches, and not counted: d/x")),
    Row("find takes a pattern that begins with ./", {"a/b.py": ""}, find("./a/*.py"), ("1 file found",)),
    Row("find says that a pattern matches a folder", {"a/b.py": ""}, find("a/"), ("It matches 1 folder: a/",), hidden="b.py"),
    Row("find leaves the folder by no pattern", {}, find("../*"), ("leaves the root",), fails=True),
    Row("grep takes a pattern of names that begins with ./", {"a/b.py": "x\n"}, grep("x", glob="./a/*.py"), ("a/b.py:1",)),
    Row("grep says that no file matches its pattern of names", {"f": "b\n"}, grep("b", glob="*.zig"), ("No file that is looked into matches glob '*.zig'.",)),
    Row("grep says how to write several patterns", {"f.py": "b\n"}, grep("b", glob="*.py,*.js"), ("Write several patterns as {a,b}",)),
    Row("grep says nothing of names that match", {"f.py": "b\n"}, grep("zzz", glob="*.py"), ("No matches.",), hidden="No file"),
    Row("find stops at a limit, and says so", {f"{n}.py": "" for n in range(9)}, find("*.py", limit=3), ("First 3 of 9 files shown",)),
    Row("find says that nothing was found", {"f": ""}, find("*.zig"), ("0 files found",)),
    Row("find refuses a missing folder", {}, find("*", path="d"), ("does not exist",), fails=True),
    Row("ls sorts without case and marks folders", {"B": "", "a": "", "c/x": ""}, ("ls", {}), ("a\nB\nc/\n",)),
    Row("ls shows dot files", {".f": ""}, ("ls", {}), (".f",)),
    Row("ls stops at a limit, and says so", {str(n): "" for n in range(9)}, ("ls", {"limit": 2}), ("first 2 of 9 entries shown",)),
    Row("ls says that a folder is empty", {}, ("ls", {}), ("0 entries",)),
    Row("ls refuses a file", {"f": ""}, ("ls", {"path": "f"}), ("a file, not a folder",), fails=True),
    Row("ls refuses a missing folder", {}, ("ls", {"path": "d"}), ("does not exist",), fails=True),
]  # fmt: skip

ROWS = [*READ, *WRITE, *EDIT, *BASH, *SEARCH]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.sentence.replace(" ", "_"))
def test_a_tool_does_what_the_sentence_says(row: Row, tmp_path: Path) -> None:
    for path, content in row.files.items():
        place = tmp_path / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content if isinstance(content, bytes) else content.encode())
    tools = Toolset(Workspace(tmp_path, "off").tools)
    run = RunContext(approver=lambda ticket: True)
    name, arguments = row.call
    [message] = tools.run_sync([ToolCall("c", name, arguments)], run)
    check(message, row)
    for path, expected in row.after.items():
        place = tmp_path / path
        wanted = expected.encode() if isinstance(expected, str) else expected
        assert (place.read_bytes() if place.exists() else None) == wanted


def test_a_link_to_nothing_is_called_one(tmp_path: Path) -> None:
    (tmp_path / "f").symlink_to("nowhere")
    [message] = Toolset(Workspace(tmp_path, None).tools).run_sync([ToolCall("c", *read())])
    assert message.text == "'f' does not exist. It is a link to 'nowhere'."


@pytest.mark.parametrize(
    ("there", "asked"),
    [
        (b"caf\xe9.txt", r"caf\xe9.txt"),
        (b"a\tb.txt", r"a\x09b.txt"),
        ("cafe\u0301.txt".encode(), "caf\u00e9.txt"),
        ("a\u202fb.txt".encode(), "a b.txt"),
    ],
)
def test_every_tool_takes_a_name_as_it_is_shown(tmp_path: Path, there: bytes, asked: str) -> None:
    place = os.path.join(os.fsencode(tmp_path), there)
    with open(place, "w") as file:
        file.write("one\n")
    workspace = Workspace(tmp_path, None)
    tools = Toolset([*workspace.tools, apply_patch(workspace)])
    patch = {"type": "update_file", "diff": "@@\n-two\n+three"}
    calls: list[tuple[str, dict[str, Any]]] = [
        ("read", {}), ("grep", {"pattern": "one"}), ("edit", {"old_text": "one", "new_text": "two"}),
        ("apply_patch", patch), ("write", {"content": "four\n"}),
    ]  # fmt: skip
    for name, arguments in calls:
        [message] = tools.run_sync([ToolCall("c", name, {"path": asked, **arguments})])
        assert not message.failed, message.text
        json.dumps(dict(message.details), ensure_ascii=False).encode()
    assert os.listdir(os.fsencode(tmp_path)) == [there]
    with open(place) as file:
        assert file.read() == "four\n"
    [listed] = tools.run_sync([ToolCall("c", "ls", {})])
    assert "caf" in listed.text or "b.txt" in listed.text


def test_a_pattern_may_begin_with_the_path_of_the_root(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.py").write_text("x\n")
    tools = Toolset(Workspace(tmp_path, None).tools)
    for arguments in (
        {"pattern": f"{tmp_path}/a/*.py"},
        {"pattern": f"{tmp_path}/a/*.py", "path": "a"},
    ):
        [message] = tools.run_sync([ToolCall("c", "find", arguments)])
        assert "1 file found" in message.text


def check(message: ToolMessage, row: Row) -> None:
    text = message.text
    assert message.failed is row.fails, text
    for part in row.shown:
        assert part in text
    assert not row.hidden or row.hidden not in text
