"""The processes that outlive what started them."""

from __future__ import annotations

from pathlib import Path


def survivors(mark: str) -> list[int]:
    """Processes whose command line holds a mark."""
    found = []
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            try:
                line = (place / "cmdline").read_bytes()
                state = (place / "stat").read_bytes().rpartition(b")")[2].split()[0]
            except OSError:
                continue
            if mark.encode() in line and state != b"Z":
                found.append(int(place.name))
    return found
