"""Install the Debian packages that tests use and this machine lacks.

As root, or by sudo where it asks for no password. Where neither works, or there is no apt, this
warns and goes on, since the tests concerned then say that they did not run; with ``CI=true`` it
fails.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from glob import glob
from shutil import which

PACKAGES = {
    "initdb": "postgresql",
    "bwrap": "bubblewrap",
    "rg": "ripgrep",
    "chromium": "chromium",
    "tmux": "tmux",
    "cc": "build-essential",
}
"""Programs that tests start, and the package that brings each."""
POSTGRES = "/usr/lib/postgresql/*/bin"
"""Where Debian puts its programs, off the path."""
OTHER_NAMES = {"chromium": ("chromium-browser", "google-chrome")}
ATTEMPTS = 3


def missing() -> list[str]:
    """Packages whose program is not on the machine."""
    found = {p: [p, *OTHER_NAMES.get(p, ())] for p in PACKAGES}
    places = os.pathsep.join([os.environ.get("PATH", os.defpath), *glob(POSTGRES)])
    found = {
        p: names for p, names in found.items() if not any(which(n, path=places) for n in names)
    }
    return [PACKAGES[p] for p in found]


def as_root() -> list[str] | None:
    """The words that give a command root's rights; None if nothing does."""
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") is None:
        return None
    asks = subprocess.run(["sudo", "-n", "true"], capture_output=True, check=False).returncode
    return None if asks else ["sudo", "-n"]


def install(packages: list[str]) -> str:
    """Install packages; why it could not be done, or an empty text."""
    root = as_root()
    if shutil.which("apt-get") is None:
        return "there is no apt-get here"
    if root is None:
        return "that needs root, or sudo without a password"
    # "env" carries the setting through sudo, which drops variables.
    apt = [*root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", "-y"]
    for _ in range(ATTEMPTS):  # mirrors fail now and then
        updated = subprocess.run([*apt, "update"], check=False).returncode
        command = [*apt, "install", "--no-install-recommends", *packages]
        if subprocess.run(command, check=False).returncode == 0:
            return ""
    return "apt-get update failed" if updated else "apt-get install failed"


def main() -> int:
    """Install what is missing; 0 unless that failed in CI."""
    packages = missing()
    if not packages:
        return 0
    print(f"installing {' '.join(packages)} ...", flush=True)
    reason = install(packages)
    left = missing()
    if not left:
        return 0
    print(
        f"\n*** {', '.join(left)} could not be installed: {reason or 'the programs are not there'}."
        f"\n*** Tests that need them will NOT RUN. Do it by hand: apt-get install {' '.join(left)}\n",
        file=sys.stderr,
    )
    return 1 if os.environ.get("CI") == "true" else 0


if __name__ == "__main__":
    sys.exit(main())
