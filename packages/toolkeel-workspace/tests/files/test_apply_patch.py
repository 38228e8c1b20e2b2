"""Patches as OpenAI's models write them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from toolkeel import Toolset
from toolkeel.errors import ToolError
from toolkeel.messages import ToolCall, ToolMessage
from toolkeel_workspace.files.apply_patch import apply_patch, patch_text
from toolkeel_workspace.files.workspace import Workspace


def call(folder: Path, **arguments: object) -> ToolMessage:
    toolset = Toolset([apply_patch(Workspace(folder, None))])
    return toolset.run_sync([ToolCall("c", "apply_patch", arguments)])[0]


def test_a_file_is_made_changed_and_deleted(tmp_path: Path) -> None:
    made = call(tmp_path, type="create_file", path="a/f.py", diff="+def f():\n+    pass")
    assert made.status == "success" and (tmp_path / "a/f.py").read_text() == "def f():\n    pass\n"
    diff = "@@ def f():\n-    pass\n+    return 1"
    assert call(tmp_path, type="update_file", path="a/f.py", diff=diff).status == "success"
    assert (tmp_path / "a/f.py").read_text() == "def f():\n    return 1\n"
    assert call(tmp_path, type="delete_file", path="a/f.py").content == "File deleted: a/f.py"
    assert not (tmp_path / "a/f.py").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"type": "create_file", "path": "f", "diff": "+x"}, "exists already"),
        ({"type": "create_file", "path": "g", "diff": "x"}, "begins with '+'"),
        ({"type": "update_file", "path": "g", "diff": "@@\n-x"}, "does not exist"),
        ({"type": "update_file", "path": "f", "diff": "@@\n-y\n+x"}, "not found in order"),
        ({"type": "update_file", "path": "f", "diff": "what"}, "begins with ' '"),
        ({"type": "update_file", "path": "f", "diff": "@@\n a"}, "changes nothing"),
        ({"type": "update_file", "path": "f", "diff": "@@"}, "empty"),
        ({"type": "delete_file", "path": "g"}, "does not exist"),
        ({"type": "delete_file", "path": "../f"}, "leaves the root"),
    ],
)
def test_what_does_not_fit_is_told_and_changes_nothing(
    tmp_path: Path, arguments: dict[str, object], told: str
) -> None:
    (tmp_path / "f").write_text("one\n")
    message = call(tmp_path, **arguments)
    assert message.status == "error" and told in str(message.content)
    assert (tmp_path / "f").read_text() == "one\n" and len(list(tmp_path.iterdir())) == 1


def test_what_cannot_be_deleted_is_still_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "f").write_text("one\n")

    def refuse(*args: object, **more: object) -> None:
        raise PermissionError(1, "not permitted")

    monkeypatch.setattr("os.unlink", refuse)
    message = call(tmp_path, type="delete_file", path="f")
    monkeypatch.undo()
    assert "was not deleted: not permitted" in message.text
    assert (tmp_path / "f").read_text() == "one\n"


def test_a_protected_file_is_asked_about(tmp_path: Path) -> None:
    assert call(tmp_path, type="create_file", path=".env", diff="+A=1").kind == "denied"


def test_blanks_that_models_lose_are_looked_over_and_line_ends_stay() -> None:
    assert patch_text("  a \r\nb\r\n", "@@\n a\n-b\n+c") == "  a \r\nc\r\n"
    assert patch_text("a\nb\na\nc\n", "@@ b\n-a\n+A") == "a\nb\nA\nc\n"
    assert patch_text("a\n", "@@\n+b") == "a\nb\n"


def test_a_hunk_may_come_after_all_lines_are_gone() -> None:
    assert patch_text("a", "-a\n@@\n+b") == "b"


def test_hunks_are_found_in_order() -> None:
    with pytest.raises(ToolError, match="occur only above"):
        patch_text("a\nb\n", "@@\n-b\n+B\n@@\n-a\n+A")


ROWS = st.lists(st.sampled_from(["a", "b", "", "  c", "é"]), max_size=12)


@given(ROWS, ROWS, ROWS)
def test_a_patch_of_whole_lines_leads_from_old_to_new(
    head: list[str], old: list[str], new: list[str]
) -> None:
    assume(old != new)
    lines = ["start", *head, "here", *old, "there", "end"]
    rows = ["@@", " here", *(f"-{row}" for row in old), *(f"+{row}" for row in new), " there"]
    done = patch_text("\n".join(lines) + "\n", "\n".join(rows))
    assert done == "\n".join(["start", *head, "here", *new, "there", "end"]) + "\n"


CLASSES = (
    "class A:\n    def run(self):\n        x = 1\n        return x\n\n"
    "class B:\n    def run(self):\n        x = 1\n        return x\n"
)


@given(st.booleans(), st.sampled_from(["    def run(self):", "def run(self):", "def run"]))
def test_stacked_anchors_are_looked_for_one_after_the_other(second: bool, method: str) -> None:
    name = "B" if second else "A"
    patch = f"@@ class {name}:\n@@ {method}\n-        x = 1\n+        x = 2\n         return x"
    before, _, after = CLASSES.partition(f"class {name}:")
    done = before + f"class {name}:" + after.replace("x = 1", "x = 2", 1)
    assert patch_text(CLASSES, patch) == done


def test_what_stands_more_than_once_is_not_guessed_at() -> None:
    hunk = " def run(self):\n-        x = 1\n+        x = 2".replace(" def", "     def")
    with pytest.raises(ToolError, match=r"more than once \(lines 2, 7\)"):
        patch_text(CLASSES, f"@@\n{hunk}")
    with pytest.raises(ToolError, match="no line 'class C:'"):
        patch_text(CLASSES, f"@@ class C:\n{hunk}")


@given(st.integers(0, 2), st.integers(0, 1))
def test_a_unified_diff_with_its_line_numbers_is_taken(off: int, second: int) -> None:
    line = 2 + 5 * second
    patch = (
        "diff --git a/f b/f\n--- a/f\n+++ b/f\n"
        f"@@ -{line + off},3 +{line + off},3 @@ class A:\n     def run(self):\n-        x = 1\n"
        "+        x = 3\n         return x\n\\ No newline at end of file\n"
    )
    lines = CLASSES.split("\n")
    lines[line] = "        x = 3"
    assert patch_text(CLASSES, patch) == "\n".join(lines)


NO_END = "\\ No newline at end of file\n"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("had_end", [True, False])
@pytest.mark.parametrize(
    ("rows", "last", "has_end"),
    [
        (f"-y\n+z\n{NO_END}", "z", False),
        (f"-y\n{NO_END}+z\n", "z", True),
        (f"-y\n{NO_END}+y\n", "y", True),
        (f"-y\n{NO_END}+z\n{NO_END}", "z", False),
        (f"-y\n+y\n{NO_END}", "y", False),
        (f"+w\n y\n{NO_END}", "w{end}y", None),
    ],
)
def test_a_patch_gives_the_last_line_an_end_or_takes_it(
    rows: str, last: str, has_end: bool | None, had_end: bool, end: str
) -> None:
    before = f"x{end}y{end * had_end}"
    done = f"x{end}{last.format(end=end)}{end * (had_end if has_end is None else has_end)}"
    assert patch_text(before, f"@@ -1,2 +1,2 @@\n x\n{rows}") == done


def test_a_patch_does_not_call_a_line_the_last_one_that_others_follow() -> None:
    with pytest.raises(ToolError, match="line 2 is the last one and has no line end"):
        patch_text("x\ny\nz\n", f"@@\n x\n-y\n+Y\n{NO_END}")
    assert patch_text("y\nx\ny", f"@@\n-y\n+Y\n{NO_END}") == "y\nx\nY"


def test_what_does_not_fit_shows_what_is_like_it() -> None:
    with pytest.raises(ToolError, match=r"most similar passage is lines 3 to 4(?s:.*)line 4"):
        patch_text(CLASSES, "@@\n         x = 1\n-        return y")


def test_a_file_in_another_encoding_stays_so(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes("第一行文字\n第二行文字\n".encode("gbk"))
    diff = "@@\n 第一行文字\n-第二行文字\n+新的一行"
    assert call(tmp_path, type="update_file", path="f", diff=diff).status == "success"
    assert (tmp_path / "f").read_bytes() == "第一行文字\n新的一行\n".encode("gbk")


def test_a_hunk_that_fits_below_each_of_several_such_lines_fails() -> None:
    text = "class A:\n  def run():\n    x = 1\nclass B:\n  def run():\n    x = 1\n"
    hunk = "@@ def run():\n-    x = 1\n+    x = 2"
    for anchor in ("", "@@ def run\n"):
        with pytest.raises(ToolError, match=r"several lines 'def run.*\(lines 2, 5\)"):
            patch_text(text, hunk if not anchor else anchor + hunk.partition("\n")[2])
    assert patch_text(text, f"@@ class B:\n{hunk}").count("x = 2") == 1
    once = text.replace("class B:\n  def run", "class B:\n  def walk")
    assert patch_text(once, hunk).index("x = 2") < once.index("class B")


@pytest.mark.parametrize(
    ("text", "diff", "made"),
    [
        ("class A:\n    def f():\n        return 1\n", "@@\n def f():\n-    return 1\n+    return 2\n+\n+    # done", "class A:\n    def f():\n        return 2\n\n        # done\n"),
        ("if a:\n    if x:\n        b()\n", "@@\n-if x:\n-    b()\n+if y:\n+    c()", "if a:\n    if y:\n        c()\n"),
        ("a()\n", "@@\n-    a()\n+    b()", "b()\n"),
        ("a  \n", "@@\n-a\n+b", "b\n"),
        ("a\r\nb\nc\r\n", "@@\n-b\n+B", "a\r\nB\nc\r\n"),
        ("a\r\nb\nc\r\n", "@@\n-c\n+C\n+D", "a\r\nb\nC\r\nD\r\n"),
        ("a\r\nb", "@@\n-b\n+B\n+C", "a\r\nB\r\nC"),
        ("a\r\nb", "@@\n+c", "a\r\nb\r\nc"),
        ("a\r\nb", "@@\n a\n-b", "a"),
        ("a\nb\n", "@@\r\n-a\r\n+A\r\n b\r\n", "A\nb\n"),
        ("a\u2028b\x0cc\n", "@@\n-a\u2028b\x0cc\n+d\x85e", "d\x85e\n"),
    ],
)  # fmt: skip
def test_added_lines_get_the_indentation_and_the_line_ends_of_their_place(
    text: str, diff: str, made: str
) -> None:
    assert patch_text(text, diff) == made


@pytest.mark.parametrize(
    ("text", "diff", "why"),
    [
        ("f {\n\treturn 1\n}\n", "@@\n f {\n-    return 1\n+    return 2\n }", "only with another indentation"),
        ("if x:\n  y()\n", "@@\n-    if x:\n-    y()\n+z()", "only with another indentation"),
        ("one\ntwo\n", "@@\n-two\n+2\n@@\n-one\n+1", "occur only above the one before"),
        ("one\ntwo\n", "@@ two\n-one\n+1", "or its '@@' line (lines 1)"),
    ],
)  # fmt: skip
def test_a_patch_that_would_break_a_file_is_refused_with_the_reason(
    text: str, diff: str, why: str
) -> None:
    with pytest.raises(ToolError) as raised:
        patch_text(text, diff)
    assert why in raised.value.text


@pytest.mark.parametrize(
    ("text", "diff", "said"),
    [
        (
            "x = 1  \n",
            "@@\n-x = 1\n+x = 2",
            "line 1: the file has other spaces at line ends there.]",
        ),
        (
            "a\n    b\n    c\n",
            "@@\n-b\n+B\n c",
            "line 2: the file has another indentation there, and the added lines have it now.]",
        ),
        ("a\n  b\nc\n", "@@\n b\n-c\n+C", "line 2: the file has another indentation there.]"),
        ("a\nb\n", "@@\n-b\n+B", ""),
    ],
)
def test_what_was_matched_approximately_is_said(
    tmp_path: Path, text: str, diff: str, said: str
) -> None:
    (tmp_path / "f").write_text(text)
    message = call(tmp_path, type="update_file", path="f", diff=diff)
    assert message.text.endswith(said or " B)")


def test_the_end_of_a_file_chooses_among_places() -> None:
    patch = "@@\n-a\n-b\n+c\n*** End of File"
    assert patch_text("a\nb\na\nb\n", patch) == "a\nb\nc\n"


def test_a_file_that_others_changed_since_it_was_read_is_not_deleted(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("a\n")
    workspace = Workspace(tmp_path, None)
    tools = Toolset([*workspace.tools, apply_patch(workspace)])
    delete = ToolCall("d", "apply_patch", {"type": "delete_file", "path": "f"})
    read = ToolCall("r", "read", {"path": "f"})
    tools.run_sync([read])
    path.write_text("work of another\n")
    [refused] = tools.run_sync([delete])
    assert refused.failed and "was changed since it was read" in refused.text
    assert path.read_text() == "work of another\n"
    tools.run_sync([read])
    [done] = tools.run_sync([delete])
    assert not done.failed and not path.exists()
