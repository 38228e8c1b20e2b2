"""Run the quick tests of one distribution where only what it declares is installed.

``python scripts/distribution.py toolkeel-compat`` makes an environment in ``build/distribution`` with
the distribution, the distributions that it declares, its own extras and its group ``test``, in the
locked versions.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
OPTIONS = ["-q", "-m"] + ["not slow", "--timeout=120", "-n", "auto", "--dist=loadfile"]


@cache
def project(name: str) -> dict[str, Any]:
    """Read what a distribution declares."""
    return tomllib.loads((ROOT / "packages" / name / "pyproject.toml").read_text("utf-8"))


def own_name(requirement: str) -> str:
    """Return the name of the distribution of ours that a requirement names; empty for others.

    >>> own_name("toolkeel-studio[cli]==0.1.0"), own_name("rich>=13")
    ('toolkeel-studio', '')
    """
    found = re.match(r"toolkeel[\w-]*", requirement)
    return found[0] if found else ""


def dependencies(name: str) -> list[str]:
    """List the distributions of ours that one cannot do without."""
    return list(filter(None, map(own_name, project(name)["project"]["dependencies"])))


def own_extras(name: str) -> dict[str, list[str]]:
    """Return the extras without those that only point at distributions further up."""
    extras: dict[str, list[str]] = project(name)["project"]["optional-dependencies"]
    known = {"", *dependencies(name)}
    return {e: needs for e, needs in extras.items() if known & {own_name(need) for need in needs}}


def declared(name: str) -> list[str]:
    """List the distribution and those of ours that it, or an extra of its own, needs."""
    extra = [own_name(need) for needs in own_extras(name).values() for need in needs]
    return list(dict.fromkeys(filter(None, [name, *dependencies(name), *extra])))


def constraints() -> str:
    """Return the locked versions without their hashes, which editable installs cannot have."""
    locks = [ROOT / "requirements" / lock for lock in ("dev.txt", "peers.txt")]
    lines = [line for lock in locks for line in lock.read_text("utf-8").splitlines()]
    pins = (line.rstrip("\\ ") for line in lines if re.match(r"[\w.-]+(\[.*\])?==", line))
    return "\n".join(dict.fromkeys(pins)) + "\n"


def install(name: str, folder: Path) -> Path:
    """Make the environment anew and return its interpreter."""
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    pins = folder / "constraints.txt"
    pins.write_text(constraints(), "utf-8")
    first, *others = declared(name)
    editable = [f"{ROOT / 'packages' / first}[{','.join(own_extras(name))}]"]
    editable += [str(ROOT / "packages" / other) for other in others]
    needs = [f"-e {place}" for place in editable] + project(name)["dependency-groups"]["test"]
    # In a file, since pip reads names among its arguments before the editable ones.
    listed = folder / "requirements.txt"
    listed.write_text("\n".join(needs) + "\n", "utf-8")
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "-q", "install"]
    subprocess.run([*pip, "-c", str(pins), "-r", str(listed)], check=True)
    return python


def main(name: str) -> int:
    """Run the tests; return how pytest ended."""
    python = install(name, ROOT / "build" / "distribution" / name)
    # CI=true turns a test that needs another distribution, and does not run here, into a failure.
    env = {k: v for k, v in os.environ.items() if k != "CI" and not k.startswith("PYTHON")}
    command = [str(python), "-m", "pytest", *OPTIONS, f"packages/{name}"]
    return subprocess.run(command, cwd=ROOT, env=env, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
