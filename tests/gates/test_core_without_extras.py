"""The core works with its own two dependencies and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.shared import ROOT, cannot_run

CHAPTERS = [f"packages/toolkeel/tests/{name}" for name in ("define", "call", "agent", "testing")]
# The service needs a server for HTTP; doors to MCP and the workspace are tried where both are.
BEYOND_THE_CORE = {
    "packages/toolkeel/tests/test__lazy_exports.py",
    "packages/toolkeel/tests/test_approvals_service.py",
}


def _say(command: list[str], **env: str) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PYTEST"))}
    return subprocess.run(
        command, cwd=ROOT, env={**kept, **env}, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def core_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with the core's dependencies and pytest alone."""
    folder = tmp_path_factory.mktemp("core") / "venv"
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    made = _say([sys.executable, "-m", "venv", str(folder)])
    assert made.returncode == 0, made.stderr
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
    locked = _say([*pip, "--no-deps", "--require-hashes", "-r", "requirements/core.txt"])
    if locked.returncode:
        cannot_run(f"requirements/core.txt could not be installed: {locked.stderr[-500:]}")
    own = _say([*pip, "--no-deps", "--no-build-isolation", "-e", "packages/toolkeel"])
    assert own.returncode == 0, own.stderr
    return python


def run_tests(core_python: Path, paths: list[str], *more: str) -> None:
    """Run quick tests in the core's environment; fail with what they print."""
    options = ["-q", "-m", "not slow", "-p", "no:cacheprovider", "--hypothesis-profile=steady"]
    done = _say([str(core_python), "-m", "pytest", *options, *more, *paths])
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


@pytest.mark.slow
def test_the_first_tests_of_the_core_pass_without_any_extra(core_python: Path) -> None:
    tests = ROOT / "packages" / "toolkeel" / "tests"
    names = sorted(path.relative_to(ROOT).as_posix() for path in tests.glob("test_*.py"))
    run_tests(core_python, [name for name in names if name not in BEYOND_THE_CORE])
    run_tests(core_python, CHAPTERS, "--collect-only")


@pytest.mark.slow
@pytest.mark.nightly
def test_the_chapters_of_the_core_pass_without_any_extra(core_python: Path) -> None:
    run_tests(core_python, CHAPTERS)


@pytest.mark.slow
def test_a_missing_extra_is_told_with_the_line_that_installs_it(core_python: Path) -> None:
    listed = _say([str(core_python), "-m", "pip", "list", "--format=freeze"])
    assert "openai" not in listed.stdout
    done = _say([str(core_python), "-m", "toolkeel", "--help"])
    assert done.returncode != 0
    assert "pip install 'toolkeel[cli]'" in done.stdout + done.stderr
