"""Fork a process that has threads, which is what some tests are about."""

from __future__ import annotations

import os
import warnings


def fork() -> int:
    """Fork; from 3.12 on Python warns if other threads run, which is an error in tests."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
        return os.fork()
