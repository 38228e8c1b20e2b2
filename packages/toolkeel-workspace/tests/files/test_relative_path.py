"""A path that a model writes means one file below the root, on Windows too."""

from __future__ import annotations

import os
import sys
from pathlib import PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel.errors import ToolError
from toolkeel_workspace.files.relative_path import clean_path

ROOT = r"C:\Projects\Straße"


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")


@pytest.mark.usefixtures("windows")
@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (r"src\main.py", "src/main.py"),
        ("src/main.py", "src/main.py"),
        (rf"{ROOT}\src\main.py", "src/main.py"),
        ("c:/projects/straße/src", "src"),
        (rf"\\?\{ROOT}\a.txt", "a.txt"),
        (ROOT, "."),
        ("console.txt", "console.txt"),
        ("com10.txt", "com10.txt"),
        (".env", ".env"),
    ],
)
def test_windows_spellings_of_a_path_are_one(path: str, expected: str) -> None:
    assert clean_path(path, [ROOT]) == expected


@pytest.mark.usefixtures("windows")
@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("nul", "device"),
        ("src/CON.txt", "device"),
        ("com1", "device"),
        ("lpt².log", "device"),
        ("a.txt:secret", "no ':'"),
        (".git/config::$DATA", "no ':'"),
        ("a.txt.", "drops"),
        (".git /hooks/x", "drops"),
        ("what?.txt", r"no '\?'"),
        (r"D:\other", "absolute"),
        (r"\\server\share\x", "absolute"),
        (r"\\?\D:\other", "absolute"),
        (r"C:\Projects\Straßen\x", "absolute"),
        (r"src\..\..\x", "leaves the root"),
        ("C:x", "no ':'"),
    ],
)
def test_names_that_windows_reads_as_something_else_are_refused(path: str, why: str) -> None:
    with pytest.raises(ToolError, match=why):
        clean_path(path, [ROOT])


@given(st.text(alphabet="ab./\\: ~@nulCON$?", max_size=12))
def test_what_windows_accepts_stays_below_the_root_and_is_stable(path: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "platform", "win32")
        try:
            clean = clean_path(path, [ROOT])
        except ToolError:
            return
        assert clean_path(clean, [ROOT]) == clean
    assert not PureWindowsPath(clean).is_absolute() and not PureWindowsPath(clean).drive
    assert ".." not in PureWindowsPath(clean).parts
    assert not any(part.upper() in ("NUL", "CON") for part in PureWindowsPath(clean).parts)


@pytest.mark.parametrize("path", ["nul", "a:b", "what?", "a."])
def test_other_systems_take_names_that_windows_does_not(path: str) -> None:
    assert clean_path(path) == path


def test_letters_that_the_encoding_of_the_process_lacks_are_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def to_ascii(text: str) -> bytes:
        return text.encode("ascii", "surrogateescape")

    monkeypatch.setattr(os, "fsencode", to_ascii)
    with pytest.raises(ToolError, match=r"holds 'ä'.*\(ascii\).*PYTHONUTF8=1"):
        clean_path("a/ä.txt")
    with pytest.raises(ToolError, match="surrogate pair"):
        clean_path("\ud800")
    assert clean_path("a/b.txt") == "a/b.txt"
