"""Files are replaced whole, inside of the root, or not at all."""

from __future__ import annotations

import errno
import fcntl
import os
import random
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.shared import cannot_run
from tests.waiting import until_sync
from toolkeel._records.taint_sources import mark_file, read_file_mark
from toolkeel.errors import ToolError
from toolkeel_workspace.files import atomic_replace as module
from toolkeel_workspace.files.atomic_replace import replace_file
from toolkeel_workspace.files.open_beneath import Root


def test_a_file_is_made_with_its_folders_and_then_replaced_keeping_its_mode(tmp_path: Path) -> None:
    root = Root(tmp_path)
    assert replace_file(root, "a/b/c.sh", b"one") is True
    (tmp_path / "a/b/c.sh").chmod(0o751)
    assert replace_file(root, "a/b/c.sh", b"two") is False
    assert (tmp_path / "a/b/c.sh").read_bytes() == b"two"
    assert (tmp_path / "a/b/c.sh").stat().st_mode & 0o7777 == 0o751
    assert [path.name for path in (tmp_path / "a/b").iterdir()] == ["c.sh"]


def test_a_replaced_file_has_the_owner_and_the_attributes_of_the_old_one(tmp_path: Path) -> None:
    if sys.platform != "linux":
        cannot_run("files have attributes on Linux alone")
    path = tmp_path / "f"
    path.write_bytes(b"one")
    os.setxattr(path, "user.kept", b"value")
    mark_file(str(path), "a page")
    if os.geteuid() == 0:
        os.chown(path, 1234, 4321)
    was = path.stat()
    replace_file(Root(tmp_path), "f", b"two")
    now = path.stat()
    assert (now.st_uid, now.st_gid, now.st_mode) == (was.st_uid, was.st_gid, was.st_mode)
    assert os.getxattr(path, "user.kept") == b"value"
    assert not read_file_mark(str(path))  # the new content is not the stranger's


def test_a_read_only_file_is_not_written_also_where_the_user_could(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"one")
    path.chmod(0o444)
    with pytest.raises(ToolError, match=r"it is read-only \(mode 444\).* with chmod u\+w\.$"):
        replace_file(Root(tmp_path), "f", b"two")
    assert path.read_bytes() == b"one"
    path.chmod(0o644)
    assert not replace_file(Root(tmp_path), "f", b"two")


def test_a_file_of_several_names_is_not_written_until_it_has_one(tmp_path: Path) -> None:
    path, other = tmp_path / "f", tmp_path / "g"
    path.write_bytes(b"one")
    other.hardlink_to(path)
    with pytest.raises(ToolError, match=r"it has 2 names \(hard links\).* Remove it first"):
        replace_file(Root(tmp_path), "f", b"two")
    other.unlink()
    assert not replace_file(Root(tmp_path), "f", b"two") and path.read_bytes() == b"two"


@pytest.mark.parametrize(
    "path", ["../x", "/tmp/x", "a\0b", "C:\\x", "~/x", "../root_evil/x", "a/../../x", "", "."]
)
def test_no_path_leads_out_of_the_root(tmp_path: Path, path: str) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root_evil").mkdir()
    with pytest.raises(ToolError):
        replace_file(Root(tmp_path / "root"), path, b"x")
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["root", "root_evil"]


def test_links_are_not_written_through(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (tmp_path / "root").mkdir()
    outside.mkdir()
    (outside / "f").write_text("old")
    (tmp_path / "root" / "file").symlink_to(outside / "f")
    (tmp_path / "root" / "folder").symlink_to(outside)
    for path in ("file", "folder/f", "folder/new", "folder/sub/new"):
        with pytest.raises(ToolError):
            replace_file(Root(tmp_path / "root"), path, b"x")
    assert (outside / "f").read_text() == "old" and len(list(outside.iterdir())) == 1


def test_a_file_with_a_second_name_is_not_written(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "out").write_text("old")
    os.link(tmp_path / "out", tmp_path / "root" / "in")
    with pytest.raises(ToolError, match="is not written to: it has 2 names"):
        replace_file(Root(tmp_path / "root"), "in", b"x")
    assert (tmp_path / "out").read_text() == "old"


def test_special_files_are_not_written(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    with pytest.raises(ToolError, match="special file, which is not written to"):
        replace_file(Root(tmp_path), "pipe.txt", b"x")


def test_a_folder_swapped_for_a_link_all_the_time_never_leads_out(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "d").mkdir(parents=True)
    outside.mkdir()
    (root / "link").symlink_to(outside)
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            for one, other in (("d", "t"), ("link", "d"), ("d", "link"), ("t", "d")):
                try:
                    os.rename(root / one, root / other)
                except OSError:
                    continue

    thread = threading.Thread(target=swap)
    thread.start()
    place, written = Root(root), 0
    end = time.monotonic() + 0.5
    try:
        while time.monotonic() < end:
            try:
                replace_file(place, "d/f", b"x")
                written += 1
            except ToolError:
                pass
    finally:
        stop.set()
        thread.join()
    assert list(outside.iterdir()) == []
    assert written > 0


WRITER = """
import sys
from toolkeel_workspace.files.open_beneath import Root
from toolkeel_workspace.files.atomic_replace import replace_file
root = Root(sys.argv[1])
print("ready", flush=True)
while True:
    for byte in (b"a", b"b"):
        replace_file(root, "big", byte * {size})
"""


def _killed_writes(tmp_path: Path, times: int, size: int) -> None:
    (tmp_path / "big").write_bytes(b"a" * size)
    luck = random.Random(7)
    for _ in range(times):
        code = WRITER.format(size=size)
        process = subprocess.Popen([sys.executable, "-c", code, tmp_path], stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        until_sync(lambda: any(p.name.endswith(".tmp") for p in tmp_path.iterdir()))
        time.sleep(luck.random() * 0.02)  # in the middle of a write, or a little later
        process.kill()
        process.wait()
        process.stdout.close()
        data = (tmp_path / "big").read_bytes()
        assert data in (b"a" * size, b"b" * size)
    replace_file(Root(tmp_path), "big", b"end")
    assert [path.name for path in tmp_path.iterdir()] == ["big"]


def test_a_kill_in_the_middle_leaves_the_old_content_or_the_new(tmp_path: Path) -> None:
    _killed_writes(tmp_path, 2, 10_000_000)


@pytest.mark.slow
def test_fifty_kills_leave_the_old_content_or_the_new(tmp_path: Path) -> None:
    _killed_writes(tmp_path, 50, 10_000_000)


def test_a_full_disk_leaves_the_old_content_and_no_rest(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("old")
    code = (
        "import resource, sys\n"
        "from toolkeel_workspace.files.open_beneath import Root\n"
        "from toolkeel_workspace.files.atomic_replace import replace_file\n"
        "from toolkeel.errors import ToolError\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try:\n"
        "    replace_file(Root(sys.argv[1]), 'f', b'x' * 100_000)\n"
        "except ToolError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True)
    assert "was not written: " in done.stdout
    assert "larger than is allowed" in done.stdout and "as it was" in done.stdout
    assert (tmp_path / "f").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


def test_a_name_that_is_too_long_for_a_new_file_is_not_called_unchanged(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match=r"the name is too long\. There is no such file yet\.$"):
        replace_file(Root(tmp_path), "n" * 300, b"x")


def test_a_change_between_reading_and_replacing_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("old")
    was = (tmp_path / "f").stat()
    (tmp_path / "f").write_text("other")
    with pytest.raises(ToolError, match="changed since it was read"):
        replace_file(Root(tmp_path), "f", b"new", was)
    assert (tmp_path / "f").read_text() == "other"


def test_of_many_that_replace_what_they_read_at_once_one_succeeds(tmp_path: Path) -> None:
    """Programs share no lock of ours: that of the folder keeps their looks and renames apart."""
    root = Root(tmp_path)
    for turn in range(10):
        (tmp_path / "f").write_bytes(b"old")
        was, ready = (tmp_path / "f").stat(), threading.Barrier(4)
        done: list[bytes] = []

        def write(data: bytes) -> None:
            ready.wait()  # noqa: B023
            try:
                replace_file(root, "f", data, was)  # noqa: B023
                done.append(data)  # noqa: B023
            except ToolError as error:
                assert "changed since it was read" in str(error)

        threads = [threading.Thread(target=write, args=(b"%d-%d" % (turn, n),)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [(tmp_path / "f").read_bytes()] == done


def test_a_lock_that_somebody_else_holds_keeps_nobody_from_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_LOCK_SECONDS", 0.05)
    handle = os.open(tmp_path, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        assert replace_file(Root(tmp_path), "f", b"new") is True
    finally:
        os.close(handle)
    assert (tmp_path / "f").read_bytes() == b"new"


def test_a_link_swapped_in_for_a_folder_leads_to_no_protected_file(tmp_path: Path) -> None:
    """After a look at the path, before the write: what counts is the folder that is open."""
    (tmp_path / ".git" / "hooks").mkdir(parents=True)
    (tmp_path / "plain").symlink_to(".git/hooks")
    with pytest.raises(ToolError, match="which is protected"):
        replace_file(Root(tmp_path), "plain/pre-commit", b"x")
    assert list((tmp_path / ".git" / "hooks").iterdir()) == []
    replace_file(
        Root(tmp_path), ".git/hooks/pre-commit", b"x"
    )  # by its own name: it was asked about


def test_what_was_renamed_is_written_even_if_the_folder_cannot_be_flushed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flush = os.fsync

    def refuses_folders(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "no")
        flush(descriptor)

    monkeypatch.setattr(os, "fsync", refuses_folders)
    assert replace_file(Root(tmp_path), "f", b"new") and (tmp_path / "f").read_bytes() == b"new"
