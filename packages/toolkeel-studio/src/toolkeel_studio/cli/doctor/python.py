"""The versions of Python and toolkeel."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from toolkeel import errors
from toolkeel_studio.cli.doctor.section import Check, Section


def check_python() -> Section:
    """Check the interpreter, the package and the machine."""
    python = platform.python_version()
    place = str(Path(errors.__file__).parent)
    try:
        package = version("toolkeel")
    except PackageNotFoundError:
        package = "not installed, only on the path"
    machine = f"{platform.system()} {platform.release()}, {platform.machine()}"
    return Section(
        "Python",
        (
            Check(
                "python",
                "ok",
                f"{python}, {sys.executable}",
                data={"version": python, "executable": sys.executable},
            ),
            Check("toolkeel", "ok", f"{package}, {place}", data={"version": package}),
            Check("machine", "ok", machine),
        ),
    )
