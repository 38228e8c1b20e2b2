"""Nobody leaves the root."""

from __future__ import annotations

import os
import threading
import time
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel import Rules, ToolCall, Toolset
from toolkeel.errors import SetupError, ToolError
from toolkeel_workspace.files import open_beneath as beneath
from toolkeel_workspace.files.file_tools import Files
from toolkeel_workspace.files.open_beneath import FileResource, Root
from toolkeel_workspace.files.relative_path import clean_path
from toolkeel_workspace.files.workspace import Workspace

SECRET = "outside"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A root with files and traps, beside a folder it must not reach."""
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (root / "a.txt").write_text("inside")
    (root / "sub" / "b.txt").write_text("deep")
    (tmp_path / "root_evil").mkdir()
    (tmp_path / "root_evil" / "x.txt").write_text(SECRET)
    (tmp_path / "secret.txt").write_text(SECRET)
    (root / "link").symlink_to("a.txt")
    (root / "out").symlink_to("../secret.txt")
    (root / "outdir").symlink_to("../root_evil")
    (root / "absolute").symlink_to(tmp_path / "secret.txt")
    os.mkfifo(root / "pipe")
    return root


WAYS = {
    "openat2": beneath._openat2,
    "stepwise": beneath._open_stepwise,
}


def read(descriptor: int) -> str:
    with os.fdopen(descriptor) as file:
        return file.read()


@pytest.mark.parametrize(
    "path",
    ["../secret.txt", "sub/../../secret.txt", "/etc/passwd", "~/x", "~root/x", "a\0b", "C:\\x", "c:/x", "\\\\host\\x", "..\\x", "..", "@../secret.txt", "222\\../.", "a/..\\../x", "./~/x", "./C:\\x", "./\\\\host\\x"],
)  # fmt: skip
def test_a_path_that_leads_out_by_its_words_is_refused(place: Path, path: str) -> None:
    with pytest.raises(ToolError, match=r"absolute|leaves|home|NUL"):
        Root(place).open_file(path)


@pytest.mark.parametrize(
    "path", ["out", "outdir/x.txt", "absolute", "sub/../out", "outdir", "../root_evil/x.txt"]
)
@pytest.mark.parametrize("way", WAYS)
def test_a_path_that_leads_out_by_a_link_is_refused_by_each_way(
    place: Path, path: str, way: str
) -> None:
    handle = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with pytest.raises(OSError):
            opened = WAYS[way](handle, path)
            os.close(opened)
            if ".." in path and way == "stepwise":  # `clean` has refused it before
                raise OSError
    finally:
        os.close(handle)


@pytest.mark.parametrize("path", ["out", "outdir/x.txt", "absolute"])
def test_the_third_way_compares_where_a_path_leads(place: Path, path: str) -> None:
    with pytest.raises(OSError):
        beneath._open_by_path(place.resolve(), path)
    assert read(beneath._open_by_path(place.resolve(), "sub/b.txt")) == "deep"


def test_files_inside_open_also_through_a_link_that_stays_inside(place: Path) -> None:
    root = Root(place)
    assert read(root.open_file("sub/b.txt")) == "deep"
    assert read(root.open_file("./sub//b.txt")) == "deep"
    assert read(root.open_file("link")) == "inside"


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("nope", "does not exist"),
        ("A.TXT", "Did you mean 'a.txt'"),
        ("sub/c.txt", "Did you mean 'sub/b.txt'"),
        ("a.txt/x", "does not exist"),
        ("sub", "it is a folder; list it"),
        ("x" * 300, "too long"),
        ("\ud800", "surrogate"),
    ],
)
def test_what_cannot_be_read_is_told_with_the_reason(place: Path, path: str, told: str) -> None:
    with pytest.raises(ToolError, match=told):
        Root(place).open_file(path)


def test_a_pipe_is_refused_without_waiting_for_it(place: Path) -> None:
    start = time.perf_counter()
    with pytest.raises(ToolError, match="special file"):
        Root(place).open_file("pipe")
    assert time.perf_counter() - start < 10


def test_entries_tell_files_folders_links_and_others_apart(place: Path) -> None:
    kinds = {entry.name: entry.kind for entry in Root(place).list_entries(".")}
    assert kinds["a.txt"] == "file"
    assert kinds["sub"] == "folder"
    assert kinds["out"] == "link"
    assert kinds["pipe"] == "other"


def test_a_file_cannot_be_listed_and_a_folder_can_be_told(place: Path) -> None:
    root = Root(place)
    with pytest.raises(ToolError, match="is a file, not a folder"):
        root.list_entries("a.txt")
    assert root.is_folder("sub") and not root.is_folder("a.txt")


def test_a_root_that_is_no_folder_is_a_mistake_of_the_developer(place: Path) -> None:
    for path in (place / "a.txt", place / "nope"):
        with pytest.raises(SetupError, match="is not a folder"):
            Root(path)


def test_swapping_a_folder_for_a_link_while_reading_never_leads_out(place: Path) -> None:
    inside, outside = place / "swap", place.parent / "root_evil"
    inside.mkdir()
    (inside / "x.txt").write_text("fine")
    parked = place / "parked"
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            inside.rename(parked)
            inside.symlink_to(outside)
            inside.unlink()
            parked.rename(inside)

    thread = threading.Thread(target=swap)
    thread.start()
    root, seen = Root(place), set[str]()
    try:
        reads = 0
        while reads < 3000 or ("fine" not in seen and reads < 300_000):
            reads += 1
            try:
                seen.add(read(root.open_file("swap/x.txt")))
            except ToolError:
                seen.add("refused")
    finally:
        stop.set()
        thread.join()
    assert SECRET not in seen
    assert "fine" in seen


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Root]:
    folder = tmp_path_factory.mktemp("beneath") / "root"
    folder.mkdir()
    yield Root(folder)


pieces = st.sampled_from(["..", ".", "/", "\\", "a", "~", "\0", "C:", "@", " ", "猫", "\u202f"])


@given(path=st.text(max_size=20) | st.lists(pieces, max_size=8).map("".join))
def test_any_path_is_cleaned_to_a_plain_relative_one_or_refused(root: Root, path: str) -> None:
    try:
        cleaned = clean_path(path)
    except ToolError:
        return
    assert not cleaned.startswith("/") and ".." not in cleaned.split("/")
    assert clean_path(cleaned) == cleaned
    with pytest.raises(ToolError):
        root.open_file(path)


ALIKE = [
    ("Screenshot 1.05.00\u202fPM.png", "Screenshot 1.05.00 PM.png"),
    (unicodedata.normalize("NFD", "café.txt"), "café.txt"),
    ("it’s.txt", "it's.txt"),
    ("a b.txt", "a\u00a0b.txt"),
    (unicodedata.normalize("NFD", "é/ü.txt"), "é/ü.txt"),
]


@pytest.mark.parametrize(("there", "asked"), ALIKE)
def test_a_name_in_letters_that_look_the_same_is_found(place: Path, there: str, asked: str) -> None:
    (place / there).parent.mkdir(exist_ok=True)
    (place / there).write_text("found")
    assert Root(place).match_spelling(asked) == there
    assert Root(place).match_spelling(there) == there
    assert str(Files(place).read(asked).content).startswith("found")


def test_a_name_that_may_be_either_of_two_is_neither(place: Path) -> None:
    for there in ("a\u00a0b.txt", "a\u202fb.txt"):
        (place / there).write_text(SECRET)
    assert Root(place).match_spelling("a b.txt") == "a b.txt"
    with pytest.raises(ToolError, match="does not exist"):
        Files(place).read("a b.txt")


def test_a_link_that_leads_out_is_refused_under_a_name_that_looks_the_same_too(
    place: Path,
) -> None:
    (place / "o’ut").symlink_to("../secret.txt")
    with pytest.raises(ToolError, match=r"leaves the root|leads out"):
        Files(place).read("o'ut")


@pytest.mark.parametrize("path", ["secrets/x", "way/x", "./way//x", "{}/secrets/x"])
@pytest.mark.parametrize("pattern", ["secrets/*", "way/*", "{}/way/x"])
def test_a_rule_about_a_folder_holds_by_every_way_that_leads_there(
    tmp_path: Path, path: str, pattern: str
) -> None:
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "x").write_text("1")
    (tmp_path / "way").symlink_to("secrets")
    tools = Workspace(tmp_path, None).tools
    rules = Rules(deny=[f"read(path={pattern.format(tmp_path)})"])
    asked = ToolCall("1", "read", {"path": path.format(tmp_path)})
    assert Toolset(tools).run_sync([asked])[0].failed is False
    assert Toolset(tools, rules=rules).run_sync([asked])[0].kind == "denied"


def test_the_place_of_an_argument_is_known_for_its_own_parameter_and_within_the_root(
    place: Path,
) -> None:
    (place / "a").write_text("")
    resource = FileResource(Root(place), "path")
    absolute = os.path.realpath(place / "a")
    assert resource.resolve("path", "./a") == (absolute, "a")
    assert resource.resolve("other", "a") == resource.resolve("path", "../a") == ()
