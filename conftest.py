"""What holds for every test: Hypothesis profiles, and a last word on what did not run."""

from __future__ import annotations

import gc
import importlib.util
import os
import re
import secrets
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests import warm
from tests.shared import NOT_RUN, ROOT, TESTS
from tests.waiting import until_sync
from toolkeel._common import redact_secrets
from toolkeel._common.redact_secrets import Redactor

NIGHTLY = ROOT / "docs" / "project" / "nightly.md"
"""Names the files whose slow tests run in `make nightly` alone."""
LONG = ROOT / "tests" / "long_tests.txt"
"""Tests above 0.2 s of processor time."""

collect_ignore = (
    [] if importlib.util.find_spec("toolkeel_compat") else ["packages/toolkeel/src/toolkeel/compat"]
)
"""The core's place for names of another distribution, where that is not installed."""

# "steady" tries the same few examples every time: what make and CI run. "wander" tries new ones, and
# "night" many of them.
settings.register_profile(
    "steady", derandomize=True, deadline=None, print_blob=True, max_examples=50
)
settings.register_profile("wander", deadline=None, print_blob=True)
settings.register_profile("night", deadline=None, print_blob=True, max_examples=400)
settings.load_profile("steady" if os.environ.get("CI") == "true" else "wander")

# Ray reads both as it is imported, and whatever test looks at every public name imports it: so all heads
# that tests start share them, and they stand here, before any test is read.
os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(32))

# Processes that tests start find the tests, too.
os.environ["PYTHONPATH"] = os.pathsep.join(
    filter(None, (os.environ.get("PYTHONPATH"), *map(str, TESTS)))
)

# Programs in the background of a shell are started deaf to Ctrl-C, and so would be all they start.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True, scope="session")
def _what_is_noted_for_the_user_is_noted_elsewhere(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[None]:
    """Tests leave nothing in the data folder of whoever runs them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TOOLKEEL_DATA", str(tmp_path_factory.mktemp("data")))
        yield


@pytest.fixture(scope="session")
def warm_python() -> Iterator[None]:
    """What begins with ``WARM`` begins in a fork of one process, which ends with the tests."""
    if not hasattr(os, "pidfd_open"):
        yield
        return
    words = [sys.executable, "-P", warm.__file__, "wait", warm.ADDRESS]
    with subprocess.Popen(
        words, stdin=-1, stdout=subprocess.DEVNULL, start_new_session=True
    ) as one:
        until_sync(lambda: os.path.exists(warm.ADDRESS) or one.poll() is not None, 120)
        yield
        assert one.stdin
        one.stdin.close()


@pytest.fixture(autouse=True)
def _where_modules_are_found_stays_as_it_was() -> Iterator[None]:
    """What is loaded from a user's folder puts it on ``sys.path``: no later test shall see it."""
    before = sys.path.copy()
    yield
    sys.path[:] = before


@pytest.fixture(autouse=True)
def _secrets_of_one_test_are_not_redacted_in_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process redacts its latest secrets in every log line: here, each test is a process of its own."""
    monkeypatch.setattr(redact_secrets, "_recent", Redactor(limit=redact_secrets.KEPT))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Processes that share the tests must all call them the same: no name holds an address."""
    if shifting := [item.nodeid for item in items if re.search(r" at 0x[\da-f]{6}", item.nodeid)]:
        raise pytest.UsageError(f"the name of a test changes each time: {shifting[0]}")
    nightly = set(re.findall(r"`((?:packages|tests)/[\w/.-]+)`", NIGHTLY.read_text("utf-8")))
    for item in items:
        if item.get_closest_marker("slow") and item.nodeid.partition("::")[0] in nightly:
            item.add_marker("nightly")
    long = set(LONG.read_text("utf-8").split("\n"))
    for item in items:
        if item.nodeid.partition("[")[0] in long:
            item.add_marker("long")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is read here stays as long as the process, three million objects: none is garbage, now or later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(
    file_path: Path,
) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """No file is imported and searched for examples that has none: that is most of them."""
    found = yield
    searched = [one for one in found if type(one).__name__ == "DoctestModule"]
    if searched and b">>> " not in file_path.read_bytes():
        return [one for one in found if one not in searched]
    return found


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List the tests that could not run on this machine, with what each lacks."""
    missed = [r for r in terminalreporter.getreports("skipped") if NOT_RUN in str(r.longrepr)]
    if not missed:
        return
    terminalreporter.section(f"{len(missed)} NOT RUN on this machine", yellow=True, bold=True)
    for report in missed:
        _, _, reason = str(report.longrepr).partition(NOT_RUN)
        terminalreporter.line(f"{report.nodeid}: {reason.rstrip(')').strip(chr(39))}")
