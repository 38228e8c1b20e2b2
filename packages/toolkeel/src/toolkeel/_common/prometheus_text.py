"""Metrics in Prometheus' text format, of one process or of several that share a folder.

Several processes behind one address answer a scraper in turn, so each must answer for all of them, and a
counter must not fall when a process is replaced: `increase()` would take that for a restart. So each
process writes its numbers to a file of its own in the folder, before it shows them to anybody. The answer
has the sum of all files. Those of processes that have ended count on, their gauges excepted.
"""

from __future__ import annotations

import atexit
import json
import os
import threading
import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from math import isnan
from pathlib import Path
from typing import Final

from toolkeel._records.record import record

_VARIABLE: Final = "TOOLKEEL_METRICS"
"""Environment variable with the folder that child processes share, after the id of their parent."""
CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Bounds of the buckets of a histogram, in seconds."""
WRITE_SECONDS: Final = 0.2
"""Seconds after a change until it is in the folder."""


@record
class Family:
    """A metric: its name, type and description.

    Args:
        name: Its name.
        type: ``counter``, ``gauge`` or ``histogram``.
        help: What it counts, in one sentence.
    """

    name: str
    type: str
    help: str


PROCESS_FAMILIES: Final = (
    Family("process_cpu_seconds_total", "counter", "CPU time that the process has used."),
    Family("process_resident_memory_bytes", "gauge", "Memory of the process."),
    Family("process_open_fds", "gauge", "Open file descriptors of the process."),
    Family("process_start_time_seconds", "gauge", "When the process started, since the epoch."),
)


class Metrics:
    """The metrics of this process.

    With a folder, a thread and the exit of the process write them to a file there.

    Args:
        families: The metrics, in the order of the output.
        folder: Folder shared with other processes; by default the one that the parent process set by
            `share_with_children`, if any.
    """

    def __init__(self, families: Sequence[Family], folder: str = "") -> None:
        self._families = families
        self._counters: defaultdict[str, float] = defaultdict(float)
        self._gauges: dict[str, float] = {}
        self._lock = threading.Lock()
        shared = folder or _folder_of_parent()
        self._file = Path(shared, f"{os.getpid()}-{time.time_ns()}.json") if shared else None
        self._changed = threading.Event()
        if self._file is not None:
            threading.Thread(target=self._write_changes, daemon=True).start()
            atexit.register(self._write)

    def add(self, name: str, amount: float = 1, **labels: str) -> None:
        """Add an amount to a counter. An amount of 0 makes it appear in the output."""
        with self._lock:
            self._counters[_key(name, labels)] += amount
        self._changed.set()

    def add_histogram(self, name: str) -> None:
        """Add the buckets, sum and count of a histogram, all 0, so that it appears before any duration."""
        for bound in (*BUCKETS, "+Inf"):
            self.add(f"{name}_bucket", 0, le=str(bound))
        self.add(f"{name}_sum", 0)
        self.add(f"{name}_count", 0)

    def observe(self, name: str, seconds: float, **labels: str) -> None:
        """Add a duration to a histogram."""
        place = bisect_left(BUCKETS, seconds)
        with self._lock:
            for number, bound in enumerate((*BUCKETS, "+Inf")):
                key = _key(f"{name}_bucket", {**labels, "le": str(bound)})
                self._counters[key] += number >= place
            self._counters[_key(f"{name}_sum", labels)] += seconds
            self._counters[_key(f"{name}_count", labels)] += 1
        self._changed.set()

    def set(self, name: str, value: float, **labels: str) -> None:
        """Set a gauge."""
        self._gauges[_key(name, labels)] = value
        self._changed.set()

    def render(self) -> str:
        """Return the metrics of all processes of the folder in Prometheus' text format; write this process's first.

        Counters of ended processes are included, their gauges are not.
        """
        samples = {**self._counters, **self._gauges}
        pids = {os.getpid()}
        if self._file is not None:
            self._write()
            samples = {}
            for pid, stored in _read_all(self._file.parent):
                _sum_up(stored["counters"], samples)
                if _is_alive(pid):
                    pids.add(pid)
                    _sum_up(stored["gauges"], samples)
        for pid in sorted(pids):
            label = {} if self._file is None else {"pid": str(pid)}
            samples.update({_key(name, label): value for name, value in _process(pid)})
        return "".join(_lines((*self._families, *PROCESS_FAMILIES), samples))

    def _write_changes(self) -> None:
        """Write the numbers to the file of this process whenever they change, forever, in a thread."""
        while self._changed.wait():
            time.sleep(WRITE_SECONDS)
            self._write()

    def _write(self) -> None:
        """Replace the file of this process by the present numbers, atomically; do nothing if the folder is gone."""
        assert self._file is not None
        self._changed.clear()
        with self._lock, suppress(FileNotFoundError):  # the folder is gone: all has ended
            text = json.dumps({"counters": self._counters, "gauges": self._gauges})
            new = self._file.with_suffix(".new")
            new.write_text(text, "utf-8")
            new.replace(self._file)


def share_with_children(folder: str) -> None:
    """Set the folder, in an environment variable, in which processes started from here on share their metrics."""
    os.environ[_VARIABLE] = f"{os.getpid()}:{folder}"


def _folder_of_parent() -> str:
    """Return the metrics folder that the parent process set; empty if none did, or only a grandparent."""
    parent, _, folder = os.environ.get(_VARIABLE, "").partition(":")
    return folder if parent == str(os.getppid()) else ""


def _read_all(folder: Path) -> Iterator[tuple[int, dict[str, dict[str, float]]]]:
    """Yield process id and numbers of each file in a folder."""
    for path in sorted(folder.glob("*.json")):
        yield int(path.name.partition("-")[0]), json.loads(path.read_text("utf-8"))


def _sum_up(more: dict[str, float], samples: dict[str, float]) -> None:
    """Add numbers to `samples`, in place."""
    for key, value in more.items():
        samples[key] = samples.get(key, 0) + value


def _is_alive(pid: int) -> bool:
    """Return True if a process with this id exists."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _key(name: str, labels: dict[str, str]) -> str:
    """Return a sample's name with its labels in the text format.

    >>> _key("calls_total", {"tool": 'a"b'})
    'calls_total{tool="a\\\\"b"}'
    """
    if not labels:
        return name
    escapes = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
    pairs = (f'{label}="{value.translate(escapes)}"' for label, value in labels.items())
    return f"{name}{{{','.join(pairs)}}}"


def _lines(families: Sequence[Family], samples: dict[str, float]) -> Iterator[str]:
    """Yield the output's lines, by family, with help and type; samples of no family are left out."""
    by_name: dict[str, list[str]] = {}
    for key, value in samples.items():
        number = "NaN" if isnan(value) else f"{value:.6f}".rstrip("0").rstrip(".")
        by_name.setdefault(key.partition("{")[0], []).append(f"{key} {number}\n")
    for family in families:
        suffixes = ("_bucket", "_sum", "_count") if family.type == "histogram" else ("",)
        lines = [line for end in suffixes for line in by_name.get(family.name + end, ())]
        if lines:
            yield f"# HELP {family.name} {family.help}\n# TYPE {family.name} {family.type}\n"
            yield from lines


def _process(pid: int) -> Iterator[tuple[str, float]]:
    """Yield CPU time, memory, start time and open files of a process; fewer if the system hides them."""
    with suppress(OSError, ValueError, IndexError):  # it has ended, or there is no /proc
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks, page = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
        boots = (x for x in Path("/proc/stat").read_text().splitlines() if x.startswith("btime"))
        yield "process_cpu_seconds_total", (int(fields[11]) + int(fields[12])) / ticks
        yield "process_resident_memory_bytes", int(fields[21]) * page
        yield "process_start_time_seconds", int(next(boots).split()[1]) + int(fields[19]) / ticks
        yield "process_open_fds", len(os.listdir(f"/proc/{pid}/fd"))
