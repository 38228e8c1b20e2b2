"""Small behaviors of the public interface, each tried on the interpreter that runs this.

    python -W error -m tests.behaviors            # only the core must be installed

It prints those that fail and how many worked, and ends with 1 if one failed.
"""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import traceback
from collections.abc import Callable
from types import ModuleType

from tests.behaviors import calling, connecting, defining, running
from toolkeel.errors import MissingExtraError


def behaviors_of(module: ModuleType) -> list[Callable[[], None]]:
    """Return the functions of a module that are named as a sentence."""
    return [
        value
        for name, value in vars(module).items()
        if name.count("_") >= 2 and getattr(value, "__module__", "") == module.__name__
    ]


BEHAVIORS = [
    each for module in (defining, calling, running, connecting) for each in behaviors_of(module)
]


def main() -> int:
    """Try each in a new folder; return 1 if one failed."""
    failed = missing = 0
    for behavior in BEHAVIORS:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            os.environ["XDG_DATA_HOME"] = os.environ["LOCALAPPDATA"] = folder
            before = os.getcwd()
            os.chdir(folder)
            try:
                behavior()
            except MissingExtraError as error:
                missing += 1
                print(f"not installed: {behavior.__name__}: {error}")
            except BaseException:
                failed += 1
                print(f"FAILED: {behavior.__name__}\n{traceback.format_exc()}")
            finally:
                os.chdir(before)
    worked = len(BEHAVIORS) - failed - missing
    print(
        f"Python {platform.python_version()}: {worked} worked, {failed} failed, {missing} need an extra"
    )
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
