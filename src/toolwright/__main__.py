"""``python -m toolwright`` is the command ``toolwright``."""

from toolwright.cli.main import main

main()
