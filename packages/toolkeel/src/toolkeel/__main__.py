"""The command ``toolkeel``, also as ``python -m toolkeel``: run the installed command line."""

import sys
from typing import NoReturn

from toolkeel._common.installed import install_hint, installed


def main() -> NoReturn:
    """Run the command line of toolkeel-studio and exit; without it, print its install command and exit with 3."""
    point = installed("toolkeel.hooks").get("cli")
    if point is None:
        print(f"toolkeel: {install_hint('cli')}", file=sys.stderr)
        sys.exit(3)
    point.load()()
    sys.exit()


if __name__ == "__main__":  # processes that it starts import this file, too
    main()
