"""Pytest plugin that writes tests/long_tests.txt: the quick tests that need much processor time.

``pytest -p scripts.long_tests -m "not slow"`` with the tests of `make fast`, on a quiet machine.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage

import pytest

LIMIT = 0.2
"""Seconds of processor time from which on a test, or the cases of one together, is long."""
FILE = Path(__file__).parents[1] / "tests" / "long_tests.txt"

_used = pytest.StashKey[float]()
_seconds: defaultdict[str, float] = defaultdict(float)


def _processor_time() -> float:
    """Return the seconds that this process and its ended children have used."""
    spent = [getrusage(who) for who in (RUSAGE_SELF, RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in spent)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Store the time before a test."""
    item.stash[_used] = _processor_time()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Give the report of a call the processor time that the test has used."""
    report = yield
    if call.when == "call":
        report.user_properties.append(("seconds", _processor_time() - item.stash[_used]))
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add a reported time to that of its test, whose cases count together."""
    _seconds[report.nodeid.partition("[")[0]] += float(
        dict(report.user_properties).get("seconds", 0)
    )


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the list, unless this is one of several processes or a test failed."""
    if hasattr(session.config, "workerinput") or session.testsfailed:
        return
    FILE.write_text("".join(f"{name}\n" for name in sorted(_seconds) if _seconds[name] > LIMIT))
    print(f"\n{sum(_seconds.values()):.0f} s of processor time in {len(_seconds)} tests")
