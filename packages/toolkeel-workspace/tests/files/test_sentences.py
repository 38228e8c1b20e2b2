"""Each sentence of a file tool is said where it is so, and not where one thing makes it false."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.files.test_tool_behaviors import edit, edits, find, grep, read
from toolkeel import Toolset
from toolkeel.messages import ToolCall
from toolkeel_workspace.files.apply_patch import apply_patch
from toolkeel_workspace.files.workspace import Workspace

Call = tuple[str, dict[str, Any]]
Files = Mapping[str, str | bytes | Path]
"""Content by path; a path as the content is a link to it."""


class Sentence(NamedTuple):
    """One sentence.

    Args:
        part: A part of it.
        files: Files with which it is so.
        call: The call that says it.
        other_files: Files with which it is not so; None for the same.
        other_call: The call that then does not say it; None for the same.
    """

    part: str
    files: Files
    call: Call
    other_files: Files | None = None
    other_call: Call | None = None


def patch(diff: str, type: str = "update_file", path: str = "f") -> Call:
    return "apply_patch", {"type": type, "path": path, "diff": diff}


def write(path: str, content: str = "") -> Call:
    return "write", {"path": path, "content": content}


TWO = "def run():\n    return 1\n\ndef run():\n    return 1\n"
CLASSES = "class A:\n  def run():\n    return 1\nclass B:\n  def run():\n    return 1\n"
RUN = "@@ def run():\n-    return 1\n+    return 2"
EVEN = "".join(f"{number} even\n" for number in range(3))
CP1251 = "Съешь же ещё этих мягких французских булок, да выпей чаю. Настройки сохранены.\n"
TABBED = "if x:\n\t\treturn compute(x)\n"

SENTENCES = [
    Sentence("exists already. Update it, or delete it first.", {"f": ""}, patch("+a", "create_file"), {}),
    Sentence("no line 'def go():' after line 0", {"f": TWO}, patch("@@ def go():\n-    return 1\n+    return 2"), {"f": "def go():\n    return 1\n"}),
    Sentence("fits below each of several lines 'def run():' (lines 2, 5)", {"f": CLASSES}, patch(RUN), None, patch(f"@@ class B:\n{RUN}")),
    Sentence("The lines of a hunk occur more than once (lines 2, 5)", {"f": TWO}, patch("@@\n-    return 1\n+    return 2"), {"f": TWO.replace("1", "5", 1)}),
    Sentence("To make it, use create_file.", {}, patch("@@\n-a\n+b"), {"f": "a\n"}),
    Sentence("Each line of a new file begins with '+'", {}, patch("a", "create_file"), None, patch("+a", "create_file")),
    Sentence("The patch is empty or changes nothing", {"f": "a\n"}, patch("@@\n a"), None, patch("@@\n-a\n+b")),
    Sentence("A line of a patch begins with", {"f": "a\n"}, patch("@@\n-a\nb"), None, patch("@@\n-a\n+b")),
    Sentence("is a folder, not a file.", {"d/x": ""}, write("d"), {}),
    Sentence("is a folder, not a file.", {}, write("."), None, write("x")),
    Sentence("is a file, not a folder.", {"d": ""}, write("d/x"), {}),
    Sentence("the name is too long", {}, write("x" * 300), None, write("x" * 30)),
    Sentence("overlap. Join them into one.", {"f": "abc"}, edits(("ab", "x"), ("bc", "y")), {"f": "ab bc"}),
    Sentence("old_text and new_text are the same.", {"f": "a"}, edit("a", "a"), None, edit("a", "b")),
    Sentence("is empty. To make a new file, write it.", {"f": "a"}, edit("", "b"), None, edit("a", "b")),
    Sentence("Add lines around it until it is unique", {"f": "a a"}, edit("a", "b"), {"f": "a b"}),
    Sentence("new_text is already in line 2: was it changed before?", {"f": "x\nnew one\n"}, edit("old one", "new one"), {"f": "x\nnewer one\n"}),
    Sentence("new_text is already in", {"f": "x = 1\nend\n"}, edit("gone away", "end"), None, edit("gone away", "e")),
    Sentence("At another indentation it is in several places (lines 1, 2)", {"f": "  total = compute()\n    total = compute()\n"}, edit("\ttotal = compute()", "x"), {"f": "  total = compute()\n"}),
    Sentence("the file indents with tabs, old_text with blanks", {"f": TABBED}, edit("if x:\n        return compute(x)", "y"), {"f": TABBED.replace("\t\t", " " * 8)}),
    Sentence("the file indents with blanks, old_text with tabs", {"f": "if x:\n        return compute(x)\n"}, edit("if x:\n\treturn compute(x)", "y"), {"f": "if x:\n\treturn compute(x)\n"}),
    Sentence("the indentation differs", {"f": "if x:\n    return compute(x)\n"}, edit("if x:\n  return compute(x)", "y"), {"f": "if x:\n  return compute(x)\n"}),
    Sentence("only spaces differ", {"f": "a  =  compute(x)\n"}, edit("a = compute(x)", "y"), {"f": "a = compute(x)\n"}),
    Sentence("It ends there, but old_text goes on with 'three'", {"f": "one\ntwo"}, edit("one\ntwo\nthree", "y"), {"f": "one\ntwo\nthree"}),
    Sentence("Nothing in it is like it.", {"f": "zzz\n"}, edit("abcdef", "y"), {"f": "abcdeg\n"}),
    Sentence("has line numbers before its lines: leave them out.", {"f": "one\n"}, edit("1: one", "y"), None, edit("one x", "y")),
    Sentence("old_text was matched approximately at line 1: the file has “ ” there", {"f": "x = “hi”\n"}, edit('x = "hi"', 'x = "bye"'), {"f": 'x = "hi"\n'}),
    Sentence("the file has other spaces there", {"f": "a \nb\n"}, edit("a\nb", "a\nc"), {"f": "a\nb\n"}),
    Sentence("old_text is at another indentation at line 1", {"f": "  total = compute()\n"}, edit("    total = compute()", "    x"), {"f": "    total = compute()\n"}),
    Sentence("so it is not known which to write", {"f": "“a” b\n"}, edit('"a" b', '"a b"'), None, edit('"a" b', '"a" c')),
    Sentence("several times that overlap, first in line 1", {"f": "aaaaa"}, edit("aaa", "b", replace_all=True), {"f": "aaaaaa"}),
    Sentence("it has what new_text has already", {"f": "“a”\n"}, edit('"a"', "“a”"), None, edit('"a"', "“b”")),
    Sentence("no line end at its end", {"f": "a b"}, edit("a", "x"), {"f": "a b\n"}),
    Sentence("in no encoding that was recognized", {"f": b"\x81\x8d\x8f\x90\x9d\xff\n"}, read(), {"f": "é\n"}),
    Sentence("Windows-1251 (a guess, confidence", {"f": CP1251.encode("cp1251")}, read(), {"f": CP1251}),
    Sentence("which has no '文'", {"f": CP1251.encode("cp1251")}, edit("булок", "文"), None, edit("булок", "Ж")),
    Sentence("An edit that repeats each \ufffd leaves it as it is.", {"f": b"gr\xc3\xb6\xff\n"}, read(), {"f": "gr\u00f6\n"}),
    Sentence("Write all of them in new_text as in old_text, or none", {"f": b"a \xff b \xfe\n"}, edit("a \ufffd b \ufffd", "\ufffd \ufffd \ufffd"), None, edit("a \ufffd b \ufffd", "c \ufffd d \ufffd")),
    Sentence("binary (image/png), not text", {"f": b"\x89PNG\r\n\x1a\n\0"}, edit("a", "b"), {"f": "a"}),
    Sentence("is UTF-32, which is not read as text here", {"f": "a".encode("utf-32")}, read(), {"f": "a".encode("utf-16")}),
    Sentence("This tool reads text and pictures.", {"f": b"a\0"}, read(), {"f": b"a"}),
    Sentence("is damaged: it ends before its picture data", {"f": b"\x89PNG\r\n\x1a\n"}, read(), {"f": b"\x89PNG\r\n\x1a"}),
    Sentence("lines end with CR", {"f": "a\rb\r"}, read(), {"f": "a\nb\n"}),
    Sentence("its lines end with CR, and do so still", {"f": "a\rb\r"}, edit("a", "c"), {"f": "a\rb\n"}),
    Sentence("lines ended with CR", {"f": "a\rb\r"}, write("f", "x"), {"f": "a\nb\n"}),
    Sentence("ends with half a character", {"f": "ab".encode("utf-16") + b"c"}, edit("b\ufffd", "b\ufffdd"), None, edit("b\ufffd", "c\ufffd")),
    Sentence("1 half of a character shown as", {"f": "ab".encode("utf-16") + b"c"}, read(), {"f": "ab".encode("utf-16")}),
    Sentence("Windows-1251 (a guess", {"f": CP1251.encode("cp1251")}, patch("@@\n-" + CP1251.strip() + "\n+" + CP1251.strip() + "!"), {"f": CP1251}),
    Sentence("Read on with path=\"f\", offset=2.", {"f": "a\nb\n"}, read(limit=1), None, read(limit=2)),
    Sentence("Line 1 is shown from column 3 to its end", {"f": "abcd\n"}, read(column=3, limit=1), None, read(limit=1)),
    Sentence("column 9 is past its end", {"f": "abcd\n"}, read(column=9), {"f": "abcdefghij\n"}),
    Sentence("line 3 is past its end", {"f": "a\nb\n"}, read(offset=3), {"f": "a\nb\nc"}),
    Sentence("cannot be read: it is a folder; list it instead", {"f/x": ""}, read(), {"f": ""}),
    Sentence("does not exist: a part of it is a file, not a folder", {"f": ""}, read(path="f/x"), {"f/x": ""}),
    Sentence("does not exist.", {}, read(), {"f": ""}),
    Sentence("Did you mean 'src/main.py'?", {"src/main.py": ""}, read(path="src/mian.py"), {"src/other.txt": ""}),
    Sentence("No result is kept as 'output:0'", {}, read(path="output:0"), {"f": ""}, read()),
    Sentence("List a folder below it, or search it.", {"a": "", "b": ""}, ("ls", {"limit": 1}), None, ("ls", {"limit": 2})),
    Sentence("The pattern's braces have too many meanings.", {}, find("{a,b}" * 8), None, find("{a,b}" * 3)),
    Sentence("The pattern is empty. '*' finds every file.", {}, find("/"), None, find("*")),
    Sentence("Narrow the pattern or the path", {"a": "", "b": ""}, find("*", limit=1), None, find("*", limit=2)),
    Sentence("It matches 1 folder, too: a/", {"a/a": ""}, find("a"), {"a": ""}),
    Sentence("Left out of searches, and not counted: a", {".gitignore": "a\n", "a": ""}, find("a"), {"a": ""}),
    Sentence("Left out of searches, and not counted: a", {".git/info/exclude": "a\n", "a": ""}, find("a"), {"a": ""}),
    Sentence("Not looked into: node_modules/", {"node_modules/a": ""}, find("a"), {"modules/a": ""}),
    Sentence("The pattern is empty.", {"f": "a"}, grep(""), None, grep("a")),
    Sentence("finds nothing:", {"f": "a"}, grep("a$b"), None, grep("a|b$")),
    Sentence("is not a valid regular expression here", {"f": "a("}, grep("a("), None, grep("a(", literal=True)),
    Sentence("is not searched: it is binary", {"f": b"a\0"}, grep("a", path="f"), {"f": "a"}),
    Sentence("No matches. Not searched: f (binary)", {"f": b"a\0"}, grep("a"), {"f": b"a"}),
    Sentence("1 match in 1 file. Not searched: g (binary)", {"f": "a", "g": b"\0"}, grep("a"), {"f": "a", "g": b"0"}),
    Sentence("f (only its bytes that are no UTF-8)", {"f": "größe".encode() + b"\xff"}, grep("x"), {"f": "größe"}),
    Sentence("In another spelling or case: A.py", {"A.py": ""}, find("a.py"), {"a.py": ""}),
    Sentence("'d' does not exist.", {"f": ""}, find("d/*"), {"d/f": ""}, find("d/x")),
    Sentence("Nothing outside of the root is looked at", {"f": ""}, find("/etc/f"), {"f": ""}, find("etc/f")),
    Sentence("Plain characters in this pattern: [", {"f": ""}, find("[a"), {"f": ""}, find("[a]")),
    Sentence("1 long line is shown in part", {"f": "x" * 600 + "b"}, grep("b"), {"f": "x" * 400 + "b"}),
    Sentence("there may be more. Narrow the search", {"f": "a\na\n"}, grep("a", limit=1), None, grep("a", limit=2)),
    Sentence("f is perhaps Windows-1252 (a guess", {"f": "café\n".encode("cp1252")}, grep("caf"), {"f": "café\n"}),
    Sentence("could mean", {}, read(path="./@.env"), None, read(path="@x")),
    Sentence("there is no home folder here", {}, read(path="~/f"), None, read(path="a~")),
    Sentence("is absolute. Give a path relative to the root", {}, read(path="/f"), None, read(path="f/")),
    Sentence("contains a NUL character", {}, read(path="a\0"), None, read(path="a0")),
    Sentence("old_text has escapes such as \\n where the file has the characters themselves, in line 2.", {"f": "x\na\nb\n"}, edit("a\\nb", "y"), {"f": "x\na\\nb\n"}),
    Sentence("old_text has entities such as &lt;", {"f": "a < b\n"}, edit("a &lt; b", "y"), {"f": "a &lt; b\n"}),
    Sentence("old_text has line ends where the file has \\n, in line 1.", {"f": "'a\\nb'\n"}, edit("a\nb", "y"), {"f": "a\nb\n"}),
    Sentence('old_text has quotes where the file has \\", in line 1.', {"f": '"x \\"y\\" z"\n'}, edit('x "y" z', "y"), {"f": 'x "y" z\n'}),
    Sentence('line ends and quotes where the file has \\n and \\"', {"f": '"\\"a\\nb\\""\n'}, edit('"a\nb"', "y"), {"f": '"a\nb"\n'}),
    Sentence("old_text has characters where the file has entities, such as &lt;", {"f": "a &lt; b\n"}, edit("a < b", "y"), {"f": "a < b\n"}),
    Sentence("In another case it is in line 2: 'Abc def'", {"f": "x\nAbc def\n"}, edit("abc DEF", "y"), {"f": "x\nabc DEF\n"}),
    Sentence("In other quotes, dashes or spaces it is in line 2.", {"f": "a\nx“y”\n"}, patch('@@\n-x"y"\n+z'), {"f": 'a\nx"y"\n'}),
    Sentence("names a folder. Give the path of a file", {}, write("d/"), None, write("d")),
    Sentence("names a folder. Give the path of a file", {}, patch("+a", "create_file", "d/"), None, patch("+a", "create_file", "d")),
    Sentence("is the last one and has no line end, but lines follow it", {"f": "a\nb\n"}, patch("@@\n-a\n+c\n\\ No newline at end of file"), {"f": "a\n"}),
    Sentence("is probably UTF-16LE without a byte order mark", {"f": "a b\n".encode("utf-16-le")}, read(), {"f": "a b\n".encode("utf-16")}),
    Sentence("Not searched: f (probably UTF-16LE without a byte order mark)", {"f": "a b\n".encode("utf-16-le")}, grep("a"), {"f": "a b\n".encode("utf-16")}),
    Sentence("No matches. To search for ( as such, pass literal=true.", {"f": "f(x)\n"}, grep("f(x)"), None, grep("f(x)", literal=True)),
    Sentence("\\| is a plain |: alternatives are written a|b.", {"f": "a\n"}, grep("a\\|b"), {"f": "a|b\n"}),
    Sentence("A carriage return at the end of a line is not part of it", {"f": "a\r\n"}, grep("a\\r"), {"f": "a\rb\n"}),
    Sentence("matches glob 'd/*'. A glob is below d/.", {"d/f": "a\n"}, grep("a", path="d", glob="d/*"), None, grep("a", path="d", glob="*")),
    Sentence("Plain characters in this pattern: !", {"f": ""}, find("!f"), {"!f": ""}),
    Sentence("offset, limit and column count from 1.", {"f": "a\n"}, read(limit=0), None, read(limit=1)),
    Sentence("The pattern is longer than any path: 4,096 characters at most.", {}, find("a" * 4097), None, find("a" * 4096)),
    Sentence("It differs from old_text where it begins or ends. Quote it exactly.", {"f": "abc def\n"}, edit("\n\nabc def", "y"), {"f": "x\n\nabc def\n"}),
    Sentence("'f' is a link to 'g'. Name the file itself.", {"g": "a", "f": Path("g")}, write("f"), {"g": "a", "f": "a"}),
    Sentence("'f' goes through a link, which is not followed", {"f": Path("f")}, read(), {"f": ""}),
    Sentence("'f' leaves the root through a link", {"f": Path("/etc/hostname")}, read(), {"g": "", "f": Path("g")}),
    Sentence("There is no such file yet.", {}, write("x" * 300), {"d/x": ""}, write("d")),
]  # fmt: skip


def run(place: Path, files: Files, call: Call) -> str:
    place.mkdir()
    for path, content in files.items():
        file = place / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, Path):
            file.symlink_to(content)
        else:
            file.write_bytes(content if isinstance(content, bytes) else content.encode())
    workspace = Workspace(place, None)
    tools = Toolset([*workspace.tools, apply_patch(workspace)])
    [message] = tools.run_sync([ToolCall("c", *call)])
    return message.text


@pytest.mark.parametrize("sentence", SENTENCES, ids=lambda each: each.part[:40])
def test_a_sentence_is_said_where_it_is_so_and_only_there(
    sentence: Sentence, tmp_path: Path
) -> None:
    assert sentence.part in run(tmp_path / "so", sentence.files, sentence.call)
    files = sentence.files if sentence.other_files is None else sentence.other_files
    said = run(tmp_path / "not", files, sentence.other_call or sentence.call)
    assert sentence.part not in said
